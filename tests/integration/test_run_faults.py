"""`localdp run` with cheaters and refusals: what a forecast leaves out, and what people are told in the end."""

from __future__ import annotations

from pathlib import Path

from tests.support.processes import envelope, localdp

TEXT = """[data]
set = "made-up"
[parties]
number = 5
budget = 1
[faults]
cheaters = 0.2
[run]
models = ["local", "shuffled", "shared"]
query = "smoker"
epsilon = 1
people = 2000
trials = 4
insecure_seeds = 3
[run.options.shared]
tier = "prio3"
[output]
directory = "out"
"""


def test_a_forecast_says_that_it_is_for_honest_parties_and_large_budgets(tmp_path: Path) -> None:
    (tmp_path / "experiment.toml").write_text(TEXT)
    shown = localdp(tmp_path, "run", "experiment.toml", "--dry-run")
    assert "Predicted without cheaters" in shown.stdout
    assert "exceeds budget = 1, trials will be refused" in shown.stdout
    told = envelope(localdp(tmp_path, "run", "experiment.toml", "--dry-run", "--json"))["data"]
    assert len(told["caveats"]) == 2


def test_a_run_tells_how_many_parties_refused_and_what_was_rejected(tmp_path: Path) -> None:
    (tmp_path / "experiment.toml").write_text(TEXT)
    shown = localdp(tmp_path, "run", "experiment.toml", "--jobs", "1")
    assert shown.returncode == 0, shown.stderr
    assert "refused, policy_refused: 4 trials, by up to 5 parties each" in shown.stdout
    page = (tmp_path / "out" / "report.html").read_text()
    for words in (
        "1 of 5 parties cheat",
        "400 reports in the mean",
        "5 of 5",
        "write a larger one, or none",
    ):
        assert words in page, words
