"""A crowd asked under every model: near the truth, the same again by the same seed, and stopped in good order."""

from pathlib import Path

import numpy as np
import pytest

from localdp.errors import InvalidParameter
from localdp.experiments.crowd_answers import CrowdAnswer
from localdp.oracles.models import MODELS, ModelName
from parties.executors.chosen import ChosenExecutor
from parties.experiments.simulating import simulate_crowd

PEOPLE = 50_000
TABLE = {"age": [20, 30, 70, 80, 90], "city": ["a", "b", "a", "c", "a"]}
SCHEMA = {
    "age": {"kind": "integer", "low": 0, "high": 120},
    "city": {"kind": "category", "labels": ["a", "b", "c"]},
}


@pytest.mark.parametrize("model", sorted(MODELS.keys() - {"flooded"}))  # which has no crowd: below
@pytest.mark.parametrize(("randomizer", "inputs"), [("one-bit", 2), ("k-ary", 4), ("one-bit", 9)])
def test_every_model_is_within_six_standard_errors_and_repeats_itself(
    model: ModelName, randomizer: str, inputs: int
) -> None:
    first, again = (
        simulate_crowd(PEOPLE, randomizer=randomizer, inputs=inputs, model=model, insecure_seed=5)
        for _ in range(2)
    )
    off = np.abs(first.answer.values - first.truth)
    assert (off <= 6 * first.answer.standard_errors + 1e-12).all() and first.answer.people == PEOPLE
    assert first.answer.values.tolist() == again.answer.values.tolist() and first.digest == again.digest
    data = first.to_data()
    assert data["people"] == PEOPLE and len(data["estimates"]) == len(data["truth"])


def test_a_crowd_sends_no_flood_and_says_what_to_do() -> None:
    with pytest.raises(InvalidParameter, match="ask simulated parties"):
        simulate_crowd(PEOPLE, model="flooded")


def test_people_of_a_table_are_asked_its_query() -> None:
    asked = simulate_crowd(30_000, data=TABLE, schema=SCHEMA, query="age >= 65", epsilon=4, insecure_seed=1)
    assert asked.truth.tolist() == [0.6] and abs(asked.answer.values[0] - 0.6) < 0.02
    whole = simulate_crowd(
        data=TABLE, schema=SCHEMA, query="city", randomizer="k-ary", inputs=3, model="exact"
    )
    assert whole.answer.people == 5 and whole.answer.values.tolist() == [0.6, 0.2, 0.2]


def test_it_stops_between_two_tasks_and_says_how_many_were_asked() -> None:
    told: list[CrowdAnswer] = []
    people = 9 << 20
    stopped = simulate_crowd(people, told=told.append, stop=lambda: len(told) == 3, insecure_seed=1)
    assert stopped.answer.people == 3 << 20 == told[-1].people and stopped.wanted == people
    with pytest.raises(InvalidParameter, match="nobody was asked"):
        simulate_crowd(stop=lambda: True)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"model": "bazaar"}, "trust model"),
        ({"randomizer": "k-arry"}, "did you mean k-ary"),
        ({"randomizer": "k-ary", "inputs": 3, "delta": 0.1}, "no option delta"),
        ({"data": TABLE, "schema": SCHEMA}, "which query"),
        ({"data": Path("none.csv"), "schema": SCHEMA, "query": "age"}, "none.csv"),
        ({"randomizer": "local-hashing"}, "another randomizer"),
        ({"people": 0, "law": "0.5"}, "people"),
    ],
)
def test_what_cannot_be_asked_is_refused_beforehand(options: dict[str, object], why: str) -> None:
    with pytest.raises((InvalidParameter, FileNotFoundError), match=why):
        simulate_crowd(**options)  # type: ignore[arg-type]


def test_workers_are_named_as_an_executor_is() -> None:
    here = simulate_crowd(3 << 20, insecure_seed=3)
    two = simulate_crowd(3 << 20, insecure_seed=3, chosen=ChosenExecutor("processes", 2))
    assert here.digest == two.digest
