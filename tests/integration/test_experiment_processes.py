"""Trials over gRPC: the rows of trials in one process, bit for bit; fresh ledgers where there is a budget; no leftovers."""

from __future__ import annotations

import json
import signal
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from localdp.errors import InvalidParameter, PolicyRefused, Unreachable
from parties.executors.chosen import ChosenExecutor
from parties.experiments.cells import Block, SweepWork
from parties.experiments.forecast import forecasts
from parties.experiments.journal import FILE
from parties.experiments.processes import MOST_PROCESSES, Processes, require_few_processes
from parties.experiments.running import run_experiment
from parties.experiments.trials import run_block
from parties.simulation.launcher import Simulation
from tests.support.experiments import SMALL, experiment, work
from tests.support.processes import COMMAND, envelope, localdp, stage, wait_until

HERE = (
    SMALL.replace("number = 3", "number = 3\nshare_servers = 3")
    .replace('["curator", ', '["exact", "curator", ')
    .replace("[30, 60]", "60")
    .replace("[1, 2]", "1")
    .replace("trials = 30", "trials = 3")
)
THERE = HERE.replace("number = 3", 'number = 3\ntransport = "processes"')
LOCAL = THERE.replace('"exact", "curator", "local", "shuffled", "shared"', '"local"')

LEARNER = """[data]
set = "conjunction"
[parties]
number = 2
transport = "processes"
[run]
models = ["local", "shared"]
learner = "conjunction"
epsilon = 4
people = 2000
dimension = 4
trials = 1
insecure_seeds = 1
[output]
directory = "out"
"""  # a block is one trial


def results(directory: Path, text: str, **options: Any) -> dict[str, Any]:
    made = experiment(directory, text)
    out = directory / ("there" if "processes" in text else "here")
    run_experiment(replace(made, output=replace(made.output, directory=out)), **options)
    found: dict[str, Any] = json.loads((out / "results.json").read_text())
    return found


def started(monkeypatch: pytest.MonkeyPatch) -> list[Simulation]:
    """The simulations that are begun from now on."""
    found: list[Simulation] = []
    begin = Simulation.__enter__

    def noted(self: Simulation) -> Simulation:
        found.append(self)
        return begin(self)

    monkeypatch.setattr(Simulation, "__enter__", noted)
    return found


def all_ended(some: list[Simulation]) -> bool:
    return not any(Path(f"/proc/{pid}").exists() for one in some for pid in one.process_ids)


def test_rows_are_those_of_one_process_bit_for_bit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun = started(monkeypatch)
    here, there = results(tmp_path, HERE), results(tmp_path, THERE)
    assert here["trials"] == there["trials"]
    assert [cell["privacy"] for cell in here["cells"]] == [cell["privacy"] for cell in there["cells"]]
    assert len(begun) == 3  # one for each block of the local, the shuffled and the shared model
    assert all_ended(begun)


def test_a_learner_learns_the_same(tmp_path: Path) -> None:
    here = LEARNER.replace('\ntransport = "processes"', "")
    assert results(tmp_path, here)["trials"] == results(tmp_path, LEARNER)["trials"]


def test_with_a_budget_every_trial_has_fresh_ledgers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = THERE.replace("number = 3", "number = 3\nbudget = 1").replace("trials = 3", "trials = 2")
    made, blocks = work(tmp_path, text)
    begun = started(monkeypatch)
    block = next(block for block in blocks if block.cell.model == "shared")
    rows = run_block(made, block).rows  # each costs all that there is
    assert len(rows) == len(begun) == 2
    assert not any("refused" in row for row in rows)
    assert all_ended(begun)


def test_a_party_that_refuses_is_an_outcome_and_one_that_is_gone_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = THERE.replace("number = 3", "number = 3\nbudget = 0.5").replace("trials = 3", "trials = 1")
    made, blocks = work(tmp_path, text)
    block = next(block for block in blocks if block.cell.model == "local")
    result = run_block(made, block)
    assert result.rows == [{"trial": 0, "refused": "policy_refused", "parties_refusing": 3}]
    assert result == run_block(*_here(tmp_path, text, block.cell.model))

    def gone(self: Processes, *_: Any) -> Any:
        raise Unreachable("party-0 is gone")

    monkeypatch.setattr(Processes, "of_trial", gone)
    with pytest.raises(Unreachable):
        run_block(made, block)


def _here(directory: Path, text: str, model: str) -> tuple[SweepWork, Block]:
    """The same block in this process."""
    made, blocks = work(directory, text.replace('\ntransport = "processes"', ""))
    return made, next(block for block in blocks if block.cell.model == model)


@pytest.mark.parametrize(
    ("model", "cheat", "tier"),
    [
        ("local", "reports", "additive"),
        ("shuffled", "inputs", "additive"),
        ("shared", "reports", "additive"),
        ("shared", "reports", "prio3"),
    ],
)
def test_cheaters_cheat_over_the_network_as_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: str, cheat: str, tier: str
) -> None:
    faults = f'[faults]\ncheaters = 0.34\ncheat = "{cheat}"\n[run]'
    text = THERE.replace("[run]", faults).replace("trials = 3", "trials = 2")
    text = text.replace("[output]", f'[run.options.shared]\ntier = "{tier}"\n[output]')
    begun = started(monkeypatch)
    made, blocks = work(tmp_path, text)
    block = next(block for block in blocks if block.cell.model == model)
    result = run_block(made, block)
    assert len(begun) == 2  # others cheat in the next trial
    assert all_ended(begun)
    assert result == run_block(*_here(tmp_path, text, model))
    for row in result.rows:
        assert row["people_cheating"] == 20
        assert row.get("reports_rejected") == (None if model != "shared" else 20 if tier == "prio3" else 0)


def test_a_refusal_of_processes_alone_stays_a_refusal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, blocks = work(tmp_path, LOCAL)

    def refusing(self: Processes, *_: Any) -> Any:
        raise PolicyRefused("not today")

    monkeypatch.setattr(Processes, "of_trial", refusing)
    result = run_block(made, blocks[0])
    assert {row["refused"] for row in result.rows} == {"policy_refused"}
    assert not any("estimate" in row for row in result.rows)
    assert result.refusals == {"policy_refused": "not today"}


def test_an_interruption_leaves_no_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made, blocks = work(tmp_path, THERE)
    begun = started(monkeypatch)

    def interrupted(*_: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(type(made.experiment.task), "measured", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_block(made, next(block for block in blocks if block.cell.model == "local"))
    assert len(begun) == 1
    assert all_ended(begun)


def test_workers_run_processes_of_their_own(tmp_path: Path) -> None:
    here = LOCAL.replace('\ntransport = "processes"', "")
    assert (
        results(tmp_path, LOCAL, chosen=ChosenExecutor("processes", 2))["trials"]
        == results(tmp_path, here)["trials"]
    )


@pytest.mark.parametrize(
    ("ending", "jobs"),
    [
        (signal.SIGKILL, 2),
        pytest.param(signal.SIGKILL, 1, marks=pytest.mark.nightly),
        pytest.param(signal.SIGINT, 1, marks=pytest.mark.nightly),
        pytest.param(signal.SIGINT, 2, marks=pytest.mark.nightly),
    ],
)
def test_a_run_that_is_ended_leaves_no_process_and_goes_on_where_it_was(
    tmp_path: Path, ending: signal.Signals, jobs: int
) -> None:
    text = LEARNER.replace('"local", "shared"', '"local"').replace("trials = 1", "trials = 4")
    (tmp_path / "experiment.toml").write_text(text)
    command = [str(COMMAND), "run", "experiment.toml", "--jobs", str(jobs)]
    journal = tmp_path / "out" / FILE
    with stage(tmp_path) as made:
        with made.popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            wait_until(
                lambda: journal.exists() and journal.read_bytes().count(b"\n") >= 2, "a block is done"
            )
            wait_until(lambda: len(made.process_ids()) >= 6, "the next one has its processes")
            process.send_signal(ending)
            process.wait(30)
        wait_until(lambda: not made.process_ids(), "no process is left", 20)
        wait_until(lambda: not made.leftovers(), "no temporary file is left", 20)
    told = envelope(localdp(tmp_path, *command[1:], "--resume", "--json"))
    assert told["data"]["provenance"]["blocks_from_earlier_runs"] >= 1
    there = json.loads((tmp_path / "out" / "results.json").read_text())
    here = results(tmp_path, text.replace('\ntransport = "processes"', ""))
    assert there["trials"] == here["trials"]


def test_a_forecast_measures_processes(tmp_path: Path) -> None:
    (there,) = forecasts(experiment(tmp_path, LOCAL))
    (here,) = forecasts(experiment(tmp_path, LOCAL.replace('\ntransport = "processes"', "")))
    assert here.seconds is not None and there.seconds is not None
    assert there.seconds > here.seconds
    assert there.predicted_standard_error == here.predicted_standard_error


def test_too_many_processes_are_refused_before_any_is_started(tmp_path: Path) -> None:
    made = experiment(tmp_path, THERE)
    most = MOST_PROCESSES // 6
    require_few_processes(made, most)
    require_few_processes(experiment(tmp_path, HERE), 10 * most)
    with pytest.raises(InvalidParameter, match="fewer --jobs"):
        run_experiment(made, chosen=ChosenExecutor("processes", most + 1))


@pytest.mark.parametrize("fault", ["dropouts", "stragglers"])
def test_missing_parties_are_for_one_process(tmp_path: Path, fault: str) -> None:
    with pytest.raises(InvalidParameter, match="missing parties are those of one process"):
        experiment(tmp_path, THERE.replace("[run]", f"[faults]\n{fault} = 0.34\n[run]"))


def test_a_transport_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidParameter, match=r"parties\.transport"):
        experiment(tmp_path, THERE.replace('"processes"', '"pigeons"'))
    with pytest.raises(InvalidParameter, match=r"parties\.transport"):
        experiment(tmp_path, THERE.replace('"processes"', '["processes", "in-process"]'))
