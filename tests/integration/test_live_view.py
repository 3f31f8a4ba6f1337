"""`localdp run` and `localdp parties up` on a pseudo-terminal and without one: what is shown, and what never is."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from pathlib import Path

from parties.addresses import read_state
from parties.simulation.roles import load_records
from tests.support.processes import COMMAND, Stage, envelope, localdp, stage, wait_until
from tests.support.terminals import on_terminal

TEXT = """[data]
set = "made-up"
[parties]
number = 2
budget = 1
[run]
models = ["curator", "local"]
query = "smoker"
epsilon = [0.5, 2]
people = 200
trials = {trials}
[output]
directory = "out"
"""


def written(directory: Path, trials: int = 400) -> str:
    path = directory / "experiment.toml"
    path.write_text(TEXT.format(trials=trials))
    return str(path)


def test_a_run_on_a_terminal_shows_cells_with_estimates_and_then_the_table(tmp_path: Path) -> None:
    with stage(tmp_path) as made, on_terminal(made, "run", written(tmp_path), "--jobs", "1") as terminal:
        assert terminal.wait(60) == 0
    text = terminal.text
    assert re.search(r"local +0\.5 +\d+/400 +0 +100% +0\.5 +0\.\d+ ± 0\.\d+", text)
    assert re.search(r"refused: [\d,]+ (policy_refused|budget_exhausted)", text)
    assert re.search(r"[\d,]+/1600 trials", text)
    assert b"\x1b[?25h" in terminal.raw  # the cursor is back
    final = text[text.rindex("error: root mean square") :]
    assert re.search(r"local +0\.5 +200 ", final)
    assert "trials about" not in final
    assert all(len(line.rstrip()) <= 80 for line in text.splitlines() if "±" in line)


def test_a_run_that_is_interrupted_leaves_the_terminal_as_it_was(tmp_path: Path) -> None:
    file = written(tmp_path, trials=100_000)
    with stage(tmp_path) as made, on_terminal(made, "run", file, "--jobs", "1") as terminal:
        terminal.wait_for("±")
        os.kill(terminal.process.pid, signal.SIGINT)
        assert terminal.wait() == 130
    assert "interrupted" in terminal.text
    assert "Traceback" not in terminal.text
    assert terminal.raw.rindex(b"\x1b[?25h") > terminal.raw.rindex(b"\x1b[?25l")


def test_a_run_for_machines_tells_progress_as_json_and_the_result_as_one_envelope(tmp_path: Path) -> None:
    told = localdp(tmp_path, "run", written(tmp_path), "--jobs", "1", "--json")
    assert envelope(told)["status"] == "ok"
    events = [json.loads(line) for line in told.stderr.splitlines()]
    assert {event["event"] for event in events} == {"progress"}
    assert (events[-1]["trials"], events[-1]["of"]) == (1600, 1600)
    assert sum(events[-1]["refused"].values()) == 800


def directory_of(state: Path) -> Path:
    events = read_state(state).events
    assert events is not None
    return events.parent


def process_ids(made: Stage, name: str, state: Path) -> list[int]:
    """The processes that have the ledger of that party open."""
    ledger = str(directory_of(state) / f"{name}.ledger")
    found = []
    for pid in made.process_ids():
        files = Path(f"/proc/{pid}/fd")
        if any(os.path.realpath(file) == ledger for file in files.iterdir()):
            found.append(pid)
    return found


UP = ("parties", "up", "--people", "60", "--parties", "2", "--budget", "3", "--state", "parties.json")


def test_running_parties_on_a_terminal_show_rounds_budgets_and_who_is_gone(tmp_path: Path) -> None:
    state = tmp_path / "parties.json"
    with stage(tmp_path) as made, on_terminal(made, *UP) as terminal:
        terminal.wait_for("no rounds yet")
        assert re.search(r"party-0 +up +30 +0 +3\b", terminal.text)
        answer = envelope(localdp(tmp_path, "ask", "smoker", "--connect", str(state), "--json"))["data"]
        terminal.wait_for(r"smoker +local +1 +2/2 +-?\d\.\d\d ± \d\.\d\d +answered")
        assert f"± {answer['half_width']:.2g}" in terminal.text
        terminal.wait_for(r"party-0 +up +30 +1 +2\b")
        with (directory_of(state) / "rounds.jsonl").open("ab") as file:
            file.write(b'garbage\n{"kind": "round ended", "round": "torn')
        localdp(tmp_path, "ask", "smoker", "--connect", str(state), "--epsilon", "2.5")
        terminal.wait_for(r"smoker +local +2\.5 +- +- +budget_exhausted")
        terminal.wait_for("rounds failed: 1 budget_exhausted")
        (victim,) = process_ids(made, "party-1", state)
        os.kill(victim, signal.SIGKILL)
        terminal.wait_for(r"party-1 +gone")
        terminal.wait_for("1 of 2 agents up")
        told = localdp(
            tmp_path,
            *("round", "age >= 65", "--connect", str(state), "--journal", "rounds.sqlite"),
            *("--quorum", "0.4", "--deadline", "2s", "--epsilon", "0.5", "--json"),
        )
        # Who is gone cannot be enrolled, and is missing: the file says how many people that are.
        assert envelope(told)["data"]["answered"]["people"] == 30
        assert envelope(told)["data"]["missing"]["unreachable"]["people"] == 30
        terminal.wait_for(r"age >= 65 +local +0\.5 +1/2 +-?\d\.\d\d ± \d\.\d\d +in part")
        terminal.wait_for("people missing: 30 unreachable")
        os.kill(terminal.process.pid, signal.SIGINT)
        assert terminal.wait() == 0
        assert "stopping" in terminal.text
        assert "Traceback" not in terminal.text
        wait_until(lambda: not made.process_ids(), "no process is left")
        assert not made.leftovers()
    assert not state.exists()


def lines_of(path: Path) -> list[str]:
    """What was printed, but for what was waited for: that depends on the machine."""
    lines = path.read_text().splitlines() if path.exists() else []
    return [line for line in lines if not line.startswith("starting ")]


def test_elsewhere_running_parties_print_a_line_for_each_round_and_each_loss(tmp_path: Path) -> None:
    state, told = tmp_path / "parties.json", tmp_path / "stderr"
    with stage(tmp_path) as made, told.open("wb") as file:
        process = made.popen([str(COMMAND), *UP], stdout=subprocess.DEVNULL, stderr=file)
        wait_until(state.exists, "the parties are up")
        ask = ("--connect", str(state), "--json")
        envelope(localdp(tmp_path, "ask", "smoker", "--model", "shared", "--tier", "additive", *ask))
        envelope(localdp(tmp_path, "ask", "smokr", *ask))
        wait_until(lambda: len(lines_of(told)) == 2, "both rounds are told")
        (victim,) = process_ids(made, "party-0", state)
        os.kill(victim, signal.SIGKILL)
        wait_until(lambda: len(lines_of(told)) == 3, "the loss is told")
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
    first, second, *others = lines_of(told)
    pattern = r"shared: smoker; -?\d\.\d+ ± \d\.\d+ \(95 %\); epsilon 1; 60 reports of 60 people; 2 of 2 parties; left: 2"
    assert re.fullmatch(pattern, first)
    assert second == "local: smokr; failed: query_refused"
    assert others == ["gone: party-0", "stopping"]


def test_for_machines_every_step_is_an_object_and_nothing_private_is_among_them(tmp_path: Path) -> None:
    state, told, announced = tmp_path / "parties.json", tmp_path / "stderr", tmp_path / "stdout"
    with stage(tmp_path) as made, told.open("wb") as errors, announced.open("wb") as out:
        process = made.popen([str(COMMAND), *UP, "--json"], stdout=out, stderr=errors)
        wait_until(state.exists, "the parties are up")
        records = load_records(directory_of(state) / "party-0.npz")
        envelope(localdp(tmp_path, "ask", "clip(bmi/60)", "--connect", str(state), "--json"))
        wait_until(lambda: '"round ended"' in told.read_text(), "the round is told")
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
    events = [json.loads(line) for line in lines_of(told)]
    assert [event["event"] for event in events if event["event"] != "budgets"] == [
        "round started",
        "round ended",
        "remark",
    ]
    budgets = [(event["lowest"], event["highest"]) for event in events if event["event"] == "budgets"]
    assert budgets[0] == (3.0, 3.0)
    assert budgets[-1] == (2.0, 2.0)
    assert len(lines_of(announced)) == 1
    assert json.loads(announced.read_text())["data"]["events"].endswith("rounds.jsonl")
    # Whole numbers as they are told, not digits in a row: a value may well stand inside of a noisy answer.
    told_numbers = set(map(float, re.findall(r"-?\d+(?:\.\d+)?(?:e-?\d+)?", told.read_text())))
    sizes = {float(size) for size in (60, 30, 2)}
    assert not (set(records.column("bmi").tolist()) - sizes) & told_numbers
    ended = next(event for event in events if event["event"] == "round ended")
    assert set(ended) == {
        *("schema_version", "event", "round", "model", "query", "queries", "people", "reports"),
        *("parties", "asked", "epsilon", "value", "standard_error", "half_width"),
    }
