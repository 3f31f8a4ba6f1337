"""The comparison of section 9.3: the same numbers in process, on a pool of workers, and over gRPC."""

from __future__ import annotations

import json
import signal
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter
from localdp.experiments.panels import Point
from localdp.oracles.models import MODELS
from localdp.sharing.noise_plans import PLANS, NoisePlan
from parties.command.compare import JOURNAL
from parties.executors.chosen import ChosenExecutor
from parties.experiments import comparing
from parties.experiments.cells import Block, BlockResult, SweepWork, cells_of
from parties.experiments.comparing import comparison, promise_of, run_comparison
from parties.experiments.definition import Experiment, PartiesPlan, Sweep, Transport
from parties.experiments.journal import SweepJournal, header_of
from tests.integration.test_nothing_is_left_behind import CLEANUP_SECONDS, ended
from tests.support.processes import COMMAND, envelope, localdp, stage, wait_until


def compared(
    people: tuple[int, ...],
    trials: int,
    *,
    epsilon: str = "1",
    models: tuple[str, ...] = tuple(MODELS),
    plan: NoisePlan = NoisePlan.EACH_SERVER,
    parties: int = 4,
    transport: Transport = "in-process",
    seed: int = 7,
) -> Experiment:
    """The experiment, with repeatable coins."""
    sweep = Sweep(models, (Epsilon.requested(epsilon),), people, (None,), trials, (seed,))
    return comparison(sweep, PartiesPlan(parties, transport=transport), plan)


def rows(experiment: Experiment, **how: Any) -> list[Point]:
    """What it brings."""
    return run_comparison(experiment, **how)[0]


@pytest.mark.parametrize("plan", PLANS)
def test_the_comparison_has_the_same_numbers_however_it_is_run(plan: NoisePlan) -> None:
    # 53 trials are a full block and a part of one.
    settings: dict[str, Any] = {"epsilon": "0.7", "plan": plan, "parties": 3}
    here, claims = run_comparison(compared((60,), 53, **settings))
    assert rows(compared((60,), 53, transport="processes", **settings)) == here
    seen: list[Block] = []
    assert (
        rows(
            compared((60,), 53, **settings),
            chosen=ChosenExecutor("processes", 2),
            done=lambda block, _: seen.append(block),
        )
        == here
    )
    assert sum(block.trials for block in seen) == 6 * 53
    assert {row.series for row in here} == {"exact", "curator", "local", "shuffled", "flooded", "shared"}
    assert all((row.value or 0) > 0 for row in here if row.series != "exact")
    assert {claim["model"]: claim["epsilon"] for claim in claims} == dict.fromkeys(MODELS, 0.7) | {
        "exact": None
    }


def test_joint_noise_has_the_same_numbers_however_it_is_run_beside_two_servers_that_have_none() -> None:
    settings: dict[str, Any] = {"models": ("shared", "joint"), "parties": 2}
    here, claims = run_comparison(compared((60,), 12, **settings))
    assert rows(compared((60,), 12, transport="processes", **settings)) == here
    assert rows(compared((60,), 12, models=("shared",), parties=2)) == here[:1]
    assert [claim["honest"].split(".")[0] for claim in claims] == [
        "At least one share server must be honest",
        "At least 2 share servers must be honest",
    ]


def test_a_run_without_the_shuffled_model_has_no_shuffler() -> None:
    experiment = compared((50,), 2, models=("local",), parties=2, transport="processes")
    assert promise_of(experiment) is None
    (cell,) = cells_of(experiment)
    try:
        assert (
            comparing._held.people_of(SweepWork(experiment, bytes(32), bytes(32)), cell).parties.mixer
            is None
        )
    finally:
        comparing._held.let_go()


@pytest.mark.parametrize("people", [1, 10**8])
def test_a_shuffler_needs_a_number_of_people_that_can_be_accounted_for(people: int) -> None:
    with pytest.raises(InvalidParameter, match="shuffler"):
        compared((people,), 2, parties=1)
    compared((people,), 2, parties=1, models=("local", "shared"))


@pytest.mark.parametrize(
    ("people", "trials", "models"),
    [
        ((60, 60), 2, ("local",)),
        ((2,), 2, ("local",)),
        ((60,), 1, ("local",)),
        ((60,), 2, ("secret",)),
        ((60,), 2, ()),
    ],
)
def test_what_cannot_be_compared_is_refused(
    people: tuple[int, ...], trials: int, models: tuple[str, ...]
) -> None:
    with pytest.raises(InvalidParameter):
        compared(people, trials, models=models)


def test_the_shuffled_error_is_the_predicted_one_whatever_n_is() -> None:
    # 400 trials: the mean of |error| has a standard error of 3.8 %; five of them.
    for row in rows(compared((100, 10_000), 400, models=("shuffled",))):
        assert row.predicted == pytest.approx(4.6, abs=0.1)
        assert row.predicted is not None
        assert row.value == pytest.approx(row.predicted, rel=5 * 0.038)
        assert row.bound is None


def test_another_seed_gives_other_numbers() -> None:
    assert rows(compared((50,), 20)) != rows(compared((50,), 20, seed=8))


def test_a_comparison_that_is_cut_off_goes_on_with_the_blocks_that_it_lacks(tmp_path: Path) -> None:
    experiment, seen = compared((60, 80), 120, models=("local", "shared")), list[Block]()

    def interrupted(block: Block, _: BlockResult) -> None:
        seen.append(block)
        if len(seen) == 3:
            raise KeyboardInterrupt

    with closing(SweepJournal(tmp_path, header_of(experiment), False, "compare.jsonl")) as journal:
        with pytest.raises(KeyboardInterrupt):
            run_comparison(experiment, journal=journal, done=interrupted)
        kept = set(journal.blocks)
    assert {block.name for block in seen} == kept and len(kept) == 3
    with closing(SweepJournal(tmp_path, header_of(experiment), True, "compare.jsonl")) as journal:
        assert run_comparison(experiment, journal=journal)[0] == rows(experiment)
        lines = journal.path.read_text().splitlines()[1:]
    names = [json.loads(line.partition(" ")[2])["block"] for line in lines]
    assert len(names) == len(set(names)) == 12, "nothing is run twice"


def test_a_comparison_that_is_interrupted_exits_with_130_and_resumes(tmp_path: Path) -> None:
    settings = "--people 1e5 --trials 300 --models local --jobs 1 --insecure-seed 5 --out out --json"
    asked = ("compare", *settings.split())
    journal = tmp_path / "out" / JOURNAL
    with stage(tmp_path) as made:
        process = made.popen([str(COMMAND), *asked], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        with ended(process):
            wait_until(lambda: journal.exists() and journal.read_text().count("\n") >= 2, "a block is done")
            process.send_signal(signal.SIGINT)
            told = json.loads(process.communicate(timeout=CLEANUP_SECONDS)[0])
    assert process.returncode == told["exit_code"] == 130
    assert (told["error_code"], "--resume" in told["hint"]) == ("interrupted", True)
    again = envelope(localdp(tmp_path, *asked))
    assert again["exit_code"] == 2 and "--resume" in again["message"]
    resumed = envelope(localdp(tmp_path, *asked, "--resume"))
    assert resumed["exit_code"] == 0
    assert not journal.exists(), "what is whole needs no journal"


def test_to_resume_needs_a_directory(tmp_path: Path) -> None:
    told = envelope(localdp(tmp_path, "compare", "--people", "100", "--resume", "--json"))
    assert told["exit_code"] == 2 and "--out" in told["message"]
