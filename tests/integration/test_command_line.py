"""The command line as a user or a script meets it: envelopes, exit codes, files, budgets."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.processes import COMMAND, Stage, envelope, localdp, stage, wait_until

SMALL = ("--people", "20,80", "--trials", "6", "--parties", "2", "--insecure-seed", "1")
ROW = {"model", "people", "trials", "mean_abs_error", "standard_error", "predicted", "lower_bound"}


@contextmanager
def parties_up(made: Stage, *options: str) -> Iterator[Path]:
    """Running parties; yields the file that says where they are."""
    state = made.directory / "parties.json"
    arguments = [
        str(COMMAND),
        "parties",
        "up",
        "--parties",
        "2",
        "--people",
        "60",
        "--state",
        str(state),
        *options,
    ]
    with subprocess.Popen(
        arguments, env=made.environment, cwd=made.directory, stdout=subprocess.DEVNULL
    ) as process:
        try:
            wait_until(state.exists, "the parties are up")
            yield state
        finally:
            process.send_signal(signal.SIGTERM)
            assert process.wait(20) == 0
    assert not state.exists()


def test_compare_prints_one_envelope_of_the_documented_shape_and_writes_its_files(tmp_path: Path) -> None:
    out = tmp_path / "deep" / "out"
    result = localdp(tmp_path, "compare", *SMALL, "--transport", "grpc", "--json", "--out", str(out))
    told = envelope(result)
    assert (told["schema_version"], told["status"], told["exit_code"]) == (1, "ok", 0)
    data = told["data"]
    assert set(data["slopes"]) == {"local", "shuffled", "flooded", "curator", "shared", "joint"}
    assert [set(row) for row in data["rows"]] == [ROW] * 14
    assert {(row["model"], row["people"]) for row in data["rows"]} == {
        (model, people)
        for model in ("exact", "curator", "local", "shuffled", "flooded", "shared", "joint")
        for people in (20, 80)
    }
    assert {path.name for path in out.iterdir()} == {"compare.json", "compare.svg", "compare.html"}
    written = json.loads((out / "compare.json").read_text())
    assert written["rows"] == data["rows"]
    assert "<svg" in (out / "compare.svg").read_text()
    assert "</html>" in (out / "compare.html").read_text()


def test_compare_has_the_same_rows_in_process(tmp_path: Path) -> None:
    told = [
        envelope(localdp(tmp_path, "compare", *SMALL, "--transport", transport, "--json"))["data"]
        for transport in ("process", "grpc")
    ]
    assert told[0]["rows"] == told[1]["rows"]


BAD = {
    **{
        f"epsilon {value}": (("ask", "smoker", f"--epsilon={value}"), "invalid_parameter")
        for value in ("0", "-1", "nan", "inf", "1e9", "abc")
    },
    "compare with epsilon nan": (("compare", "--epsilon", "nan"), "invalid_parameter"),
    "a column that is not there": (("ask", "smokr"), "query_refused"),
    "a query that is a number": (("ask", "age"), "query_refused"),
    "a query that compares nonsense": (("ask", 'smoker == "north"'), "query_refused"),
    "a query that is code": (("ask", "__import__('os').system('true')"), "query_refused"),
    "people beyond number": (("ask", "smoker", "--people", "1e20"), "invalid_parameter"),
    "more parties than the machine holds": (("ask", "smoker", "--parties", "1000000"), "invalid_parameter"),
    "compare with people beyond number": (("compare", "--people", "1e23"), "invalid_parameter"),
    "compare with trials beyond number": (("compare", "--trials", "1e9"), "invalid_parameter"),
    "an option that is not there": (("ask", "smoker", "--privacy", "yes"), "invalid_parameter"),
    "up with people beyond number": (("parties", "up", "--people", "1e20"), "invalid_parameter"),
    "up with budget 0": (("parties", "up", "--budget", "0"), "invalid_parameter"),
}


@pytest.mark.parametrize(("arguments", "error_code"), BAD.values(), ids=BAD)
def test_what_is_mistyped_is_a_usage_error(
    tmp_path: Path, arguments: tuple[str, ...], error_code: str
) -> None:
    told = envelope(localdp(tmp_path, *arguments, "--json"))
    assert (told["exit_code"], told["error_code"]) == (2, error_code), told
    assert told["message"]
    assert told["hint"]


def test_two_questions_on_a_budget_for_one_exhaust_it(tmp_path: Path) -> None:
    with stage(tmp_path) as made, parties_up(made, "--budget", "1") as state:
        ask = ("ask", "smoker", "--connect", str(state), "--epsilon", "1", "--json")
        first = envelope(localdp(tmp_path, *ask))
        assert first["exit_code"] == 0
        assert first["data"]["reports"] == 60
        second = envelope(localdp(tmp_path, *ask))
        assert (second["exit_code"], second["error_code"]) == (5, "budget_exhausted")
        shared = envelope(localdp(tmp_path, *ask, "--model", "shared"))
        assert shared["exit_code"] == 5
        curator = envelope(localdp(tmp_path, *ask, "--model", "curator"))
        assert curator["exit_code"] == 2


def _state(path: Path, address: str) -> str:
    peer = {"name": "party-0", "address": address}
    path.write_text(json.dumps({"agents": [peer], "share_servers": [peer, peer]}))
    return str(path)


def test_a_dead_address_is_unreachable_quickly(tmp_path: Path) -> None:
    state = _state(tmp_path / "dead.json", "127.0.0.1:1")
    started = time.monotonic()
    told = envelope(localdp(tmp_path, "ask", "smoker", "--connect", state, "--json"))
    assert (told["exit_code"], told["error_code"]) == (3, "unreachable")
    assert "party-0" in told["message"]
    assert time.monotonic() - started < 10


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "{}",
        '{"agents": 3, "share_servers": []}',
        "\x00\xff",
        '{"agents": [], "share_servers": []}',
    ],
)
def test_a_file_that_does_not_say_where_parties_are_is_refused(tmp_path: Path, content: str) -> None:
    from localdp.errors import InvalidParameter
    from parties.addresses import read_state
    from parties.coordinator import RemoteParties

    path = tmp_path / "state.json"
    path.write_text(content, encoding="latin-1")
    with pytest.raises(InvalidParameter):
        RemoteParties(read_state(path).agents)


def test_up_does_not_write_over_a_file_that_is_something_else(tmp_path: Path) -> None:
    precious = tmp_path / "thesis.txt"
    precious.write_text("years of work")
    told = envelope(localdp(tmp_path, "parties", "up", "--state", str(precious), "--json"))
    assert (told["exit_code"], told["error_code"]) == (2, "invalid_parameter")
    assert precious.read_text() == "years of work"


def test_an_answer_for_people_goes_to_standard_output_and_nothing_else_does(tmp_path: Path) -> None:
    result = localdp(tmp_path, "ask", "smoker", "--people", "100", "--parties", "2")
    assert result.returncode == 0
    assert "epsilon promised" in result.stdout and "epsilon charged" in result.stdout
    assert "\x1b" not in result.stdout + result.stderr
