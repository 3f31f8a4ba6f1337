"""`localdp choose` and `localdp audit`: tables of 80 columns, envelopes, and an exit code that tells of a violation."""

import json
import subprocess
import sys
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from localdp.auditing.histories import Schedule
from localdp.randomizers.registry import REGISTRY
from parties.command.main import app
from tests.support.broken_epochs import PermanentForGood
from tests.unit.auditing.twins import epsilon_times

BROKEN = replace(
    REGISTRY["k-ary"], make=lambda epsilon, size: _twice(REGISTRY["k-ary"].made(epsilon, size))
)


def _twice(sound: Any) -> Any:
    return epsilon_times("k-ary", sound, 2)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments), env={"COLUMNS": "80", "NO_COLOR": "1"})


def data_of(result: Result) -> Any:
    assert result.exit_code == 0, result.output
    envelope = json.loads(result.stdout)
    assert envelope["status"] == "ok" and envelope["exit_code"] == 0
    return envelope["data"]


def assert_reads_well(text: str) -> None:
    assert max(len(line) for line in text.splitlines()) <= 80
    assert "…" not in text, "a cell was cut off"


@pytest.mark.parametrize(
    ("domain", "epsilon"),
    [("2", "1"), ("1024", "1"), ("65536", "5"), ("1e6", "0.001"), ("4294967296", "30")],
)
def test_choose_prints_a_table_of_80_columns(domain: str, epsilon: str) -> None:
    result = run("choose", "--domain", domain, "--epsilon", epsilon)
    assert result.exit_code == 0
    table, use = result.stdout.rsplit("Use: ", 1)
    assert_reads_well(table)
    assert use.count("\n") == 1, "what is to be copied stays on one line"


def test_choose_says_what_and_why() -> None:
    printed = run("choose", "--domain", "1024", "--people", "1e6").stdout
    assert "*projective-geometry" in printed and "3.686" in printed and "2+10" in printed
    assert "not subset-selection: its sets have more than 32 items" in printed
    assert "projective-geometry(epsilon=1,inputs=1024,field_order=4,dimension=6)" in printed


def test_choose_takes_every_wish() -> None:
    base = ("choose", "--domain", "1024", "--json")
    chosen = {
        "--bits=1": "recursive-hadamard(",
        "--additive": "optimized-unary(",
        "--open-domain": "local-hashing(",
        "--linear": "recursive-hadamard(",
        "--target=heavy": "projective-geometry(",
        "--decode-seconds=1": "projective-geometry(",
    }
    for wish, name in chosen.items():
        assert data_of(run(*base, wish))["chosen"].startswith(name)


@pytest.mark.parametrize(
    "arguments",
    [
        ("choose", "--domain", "1"),
        ("choose", "--domain", "ten"),
        ("choose", "--domain", "10", "--epsilon", "0"),
        ("choose", "--domain", "10", "--people", "0"),
        ("choose", "--domain", "10", "--additive", "--open-domain"),
        ("audit",),
        ("audit", "k-ary", "--all"),
        ("audit", "kary"),
        ("audit", "k-ary", "--inputs", "1"),
        ("audit", "k-ary", "--inputs", "1e5", "--trials", "1"),
        ("audit", "k-ary", "--inputs", "1e5", "--confidence", "2"),
    ],
)
def test_bad_options_are_usage_errors(arguments: tuple[str, ...]) -> None:
    result = run(*arguments, "--json")
    assert result.exit_code == 2
    assert json.loads(result.stdout)["error_code"] == "invalid_parameter"


def test_audit_of_everything_holds() -> None:
    findings = data_of(run("audit", "--all", "--json"))
    assert len(findings) == len(REGISTRY)
    assert {finding["verdict"] for finding in findings} == {"holds", "holds where tried"}
    assert {finding["method"] for finding in findings} == {"exact"}
    for finding in findings:
        found = finding["two_epochs"]
        assert found["verdict"] == "holds where tried" and not found["epochs_share_coins"]
        booked = float(found["booked_epsilon"])
        assert booked - 1e-8 < found["measured_epsilon"] <= booked
        assert found["any_number_of_requests"] == finding["randomizer"].startswith("memoised")


def test_audit_of_one_randomizer_is_told_in_words() -> None:
    printed = run("audit", "k-ary", "--inputs", "5").stdout
    assert "holds (exact: 40 paths of coins followed)" in printed
    assert "measured   1.000000000" in printed
    assert "two epochs 2.000000000 lost over 2 requests, 2 booked" in printed
    assert_reads_well(printed)


def test_audit_of_a_memoised_randomizer_counts_any_number_of_requests() -> None:
    printed = run("audit", "memoised-hashing", "--epsilon", "0.25").stdout
    assert "two epochs 1.000000000 lost over any number of requests, 1 booked" in printed
    assert_reads_well(printed.split("  note")[0])


def test_audit_shows_answers_that_outlive_an_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("localdp.auditing.histories.Schedule", partial(Schedule, party=PermanentForGood))
    result = run("audit", "memoised-symmetric-unary")
    assert result.exit_code == 1
    assert "violated" in result.stdout and "epochs share coins" in result.stdout
    finding = json.loads(run("audit", "memoised-symmetric-unary", "--json").stdout)["data"][0]
    assert finding["two_epochs"]["measured_epsilon_is_infinite"]
    assert finding["two_epochs"]["measured_epsilon"] is None and finding["verdict"] == "violated"


def test_audit_of_a_large_randomizer_is_sampled() -> None:
    finding = data_of(run("audit", "optimized-unary", "--inputs", "100", "--trials", "2000", "--json"))[0]
    assert (finding["method"], finding["verdict"]) == ("sampled", "not refuted")
    assert finding["confidence"] == 0.9999
    assert finding["two_epochs"] is None
    printed = run("audit", "optimized-unary", "--inputs", "100", "--trials", "200").stdout
    assert "two epochs too many coins to follow" in printed


def test_a_violation_has_its_exit_code_and_its_findings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("localdp.randomizers.registry.ENTRIES", (REGISTRY["one-bit"], BROKEN))
    result = run("audit", "--all", "--json")
    envelope = json.loads(result.stdout)
    assert result.exit_code == envelope["exit_code"] == 1
    assert envelope["error_code"] == "claim_violated" and "k-ary" in envelope["message"]
    assert [finding["verdict"] for finding in envelope["data"]] == ["holds", "violated"]
    result = run("audit", "--all")
    assert result.exit_code == 1 and "fault" in result.stdout
    assert "lost over 2 requests, 2 booked" in result.stdout
    assert_reads_well(result.stdout)


def test_the_command_starts_without_the_libraries_that_it_may_not_need() -> None:
    heavy = "import sys, parties.command.main; print({'numpy', 'grpc', 'cryptography'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", heavy], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
