"""The comparison of section 9.3: the same numbers in process, on a pool of workers, and over gRPC."""

from __future__ import annotations

from typing import Any

import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter
from localdp.experiments.panels import Point
from localdp.oracles.models import MODELS
from localdp.sharing.noise_plans import PLANS, NoisePlan
from parties.experiments import comparing
from parties.experiments.cells import Block, SweepWork, cells_of
from parties.experiments.comparing import comparison, promise_of, run_comparison
from parties.experiments.definition import Experiment, PartiesPlan, Sweep, Transport


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
    assert rows(compared((60,), 53, **settings), jobs=2, done=lambda block, _: seen.append(block)) == here
    assert sum(block.trials for block in seen) == 5 * 53
    assert {row.series for row in here} == {"exact", "curator", "local", "shuffled", "shared"}
    assert all((row.value or 0) > 0 for row in here if row.series != "exact")
    assert {claim["model"]: claim["epsilon"] for claim in claims} == dict.fromkeys(MODELS, 0.7) | {
        "exact": None
    }


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
