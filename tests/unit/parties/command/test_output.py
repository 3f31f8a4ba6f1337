"""The command line's envelope, exit codes and streams."""

from __future__ import annotations

import inspect
import json
import signal
from typing import Any

import pytest
import typer
from rich.text import Text

from localdp import errors
from parties.command import output
from parties.command.output import (
    OUTCOMES,
    ExitCode,
    envelope_error,
    envelope_ok,
    message_of,
    outcome_of,
    print_ok,
    reporting,
)

LIBRARY_ERRORS = [
    kind for _, kind in inspect.getmembers(errors, inspect.isclass) if kind.__module__ == errors.__name__
]
ERROR_KEYS = ["schema_version", "status", "exit_code", "error_code", "message", "hint"]
PRIVATE = "diagnosis=positive"


def run(error: BaseException, as_json: bool) -> int:
    with pytest.raises(typer.Exit) as caught, reporting(as_json):
        raise error
    return caught.value.exit_code


def test_a_result_has_its_envelope(capsys: pytest.CaptureFixture[str]) -> None:
    assert envelope_ok([1]) == {"schema_version": 1, "status": "ok", "exit_code": 0, "data": [1]}
    print_ok({"n": 3})
    printed = capsys.readouterr()
    assert json.loads(printed.out) == envelope_ok({"n": 3})
    assert printed.out.count("\n") == 1
    assert printed.err == ""


@pytest.mark.parametrize("kind", LIBRARY_ERRORS)
def test_every_error_of_the_library_has_its_own_outcome(kind: type[errors.LocalDpError]) -> None:
    assert kind in OUTCOMES
    envelope = envelope_error(kind("no"))
    assert list(envelope) == ERROR_KEYS
    assert envelope["status"] == "error"
    assert envelope["message"] == "no"
    assert envelope["hint"]
    assert type(envelope["exit_code"]) is int
    json.dumps(envelope, allow_nan=False)


def test_error_codes_are_distinct_and_exit_codes_below_126_but_for_an_interruption() -> None:
    assert len({outcome.error_code for outcome in OUTCOMES.values()}) == len(OUTCOMES)
    assert [code for code in ExitCode if code >= 126] == [ExitCode.INTERRUPTED] == [128 + signal.SIGINT]


def test_exit_codes_are_those_of_the_conventions() -> None:
    special = {
        errors.InvalidParameter: 2,
        errors.QueryRefused: 2,
        errors.Unreachable: 3,
        errors.CannotListen: 3,
        errors.Busy: 3,
        errors.DeadlineMissed: 4,
        errors.QuorumMissed: 4,
        errors.BudgetExhausted: 5,
    }
    for kind, outcome in OUTCOMES.items():
        assert outcome.exit_code == special.get(kind, 1)


def test_an_error_defined_elsewhere_takes_the_outcome_of_its_parent() -> None:
    class Later(errors.Unreachable):
        pass

    assert outcome_of(Later("gone")) is OUTCOMES[errors.Unreachable]


@pytest.mark.parametrize(
    "error", [ValueError(PRIVATE), KeyError(PRIVATE), AssertionError(PRIVATE), OSError(PRIVATE)]
)
def test_an_unknown_exception_is_a_bug_and_shows_its_type_only(
    error: Exception, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LOCALDP_DEBUG", raising=False)
    for as_json in (True, False):
        assert run(error, as_json) == 70
        printed = capsys.readouterr()
        assert PRIVATE not in printed.out + printed.err
        assert type(error).__name__ in printed.out + printed.err
        assert "LOCALDP_DEBUG=1" in printed.out + printed.err


def test_debugging_shows_the_traceback_on_stderr(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOCALDP_DEBUG", "1")
    assert run(ValueError("detail"), as_json=True) == 70
    printed = capsys.readouterr()
    assert json.loads(printed.out)["error_code"] == "bug"
    assert "Traceback" in printed.err


def test_json_goes_to_stdout_alone_and_words_go_to_stderr_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(errors.BudgetExhausted("person 3 has 0.1 left"), as_json=True) == 5
    printed = capsys.readouterr()
    assert printed.err == ""
    assert json.loads(printed.out)["error_code"] == "budget_exhausted"
    assert run(errors.BudgetExhausted("person 3 has 0.1 left"), as_json=False) == 5
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    assert printed.err.startswith("error budget_exhausted: person 3 has 0.1 left (hint: ")


def test_a_message_is_one_line_of_text_and_neither_markup_nor_terminal_codes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    run(errors.Unreachable("[bold]a[/bold]\nb\x1b[31mc\x07" + "d" * 200), as_json=False)
    printed = capsys.readouterr().err
    assert "[bold]a[/bold] b [31mc " + "d" * 200 in printed
    assert "\x1b" not in printed
    assert printed.count("\n") == 1


def test_an_interruption_exits_with_130(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(KeyboardInterrupt(), as_json=True) == 130
    assert json.loads(capsys.readouterr().out)["message"] == "interrupted"
    assert run(typer.Abort(), as_json=False) == 130
    assert "(hint: run the command again)" in capsys.readouterr().err


def test_an_interruption_can_say_how_to_go_on(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(output.Interrupted("go on with --resume"), as_json=True) == 130
    told = json.loads(capsys.readouterr().out)
    assert (told["message"], told["hint"]) == ("interrupted", "go on with --resume")
    assert run(output.Interrupted("go on with --resume"), as_json=False) == 130
    assert capsys.readouterr().err == "interrupted (hint: go on with --resume)\n"


def test_a_generic_hint_is_for_scripts_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(errors.InvalidParameter("epsilon must be positive"), as_json=False) == 2
    assert capsys.readouterr().err == "error invalid_parameter: epsilon must be positive\n"
    assert run(errors.InvalidParameter("epsilon must be positive"), as_json=True) == 2
    assert "--help" in json.loads(capsys.readouterr().out)["hint"]


def test_a_file_that_cannot_be_opened_is_no_bug(capsys: pytest.CaptureFixture[str]) -> None:
    error = FileNotFoundError(2, "No such file or directory", "absent.toml")
    assert run(error, as_json=True) == 1
    envelope = json.loads(capsys.readouterr().out)
    assert envelope["error_code"] == "file_error"
    assert envelope["message"] == "No such file or directory: absent.toml"


def test_a_usage_error_becomes_an_envelope_only_for_scripts(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(typer.BadParameter("not a number"), as_json=True) == 2
    assert json.loads(capsys.readouterr().out)["exit_code"] == 2
    with pytest.raises(typer.BadParameter), reporting(json=False):
        raise typer.BadParameter("not a number")


@pytest.mark.parametrize("error", [typer.Exit(4), BrokenPipeError()])
def test_what_was_told_already_passes_through_in_silence(
    error: Exception, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(type(error)), reporting(json=True):
        raise error
    assert capsys.readouterr() == ("", "")


def test_an_error_without_words_is_named_by_its_type() -> None:
    assert message_of(errors.ShareMismatch()) == "ShareMismatch"


def test_nothing_happens_around_a_body_that_succeeds(capsys: pytest.CaptureFixture[str]) -> None:
    result: list[Any] = []
    with reporting(json=True):
        result.append(1)
    assert result == [1]
    assert capsys.readouterr() == ("", "")


def test_consoles_write_to_their_own_stream_without_colour(capsys: pytest.CaptureFixture[str]) -> None:
    output.stdout_console().print(Text("result", style="bold"))
    output.stderr_console().print(Text("progress", style="red"))
    assert capsys.readouterr() == ("result\n", "progress\n")
