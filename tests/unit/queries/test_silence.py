"""The time of an evaluation says nothing about values: for every kind of node, and every way to a randomizer's inputs.

In `make test` a difference of `GROSS` of the mean times is found, at 1,000 people; each of the broken twins has more.  The
nightly test holds the criterion itself, 1 %, at one person and at 1,000.  Both measure again, for longer, what is above.
"""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from localdp.domains import Records
from localdp.queries import scalars, vectors
from localdp.queries.nodes import Node
from localdp.queries.parser import parse
from tests.support.leaky_queries import TWINS
from tests.support.query_leaks import (
    MORE_NODES,
    NODES,
    WAYS,
    Case,
    columns_for,
    leaks_of,
    measures_of,
    on_buffers,
)

CASES = NODES | MORE_NODES | WAYS
GROSS = (
    0.05  # silent evaluations stay below 0.04 in a short measurement, and what is above is measured again
)
ROUNDS, BATCHES = 15, 3
PEOPLE = 1_000
MOST = 0.01
NIGHTLY_ROUNDS, NIGHTLY_BATCHES = 300, 5


def node_kinds() -> set[str]:
    found = (inspect.getmembers(module, inspect.isclass) for module in (scalars, vectors))
    return {
        name for members in found for name, kind in members if issubclass(kind, Node) and kind is not Node
    }


def nodes_in(node: Node) -> set[str]:
    return {type(node).__name__}.union(*map(nodes_in, node.children))


def test_every_kind_of_node_has_a_case() -> None:
    assert set(NODES) == node_kinds()


@pytest.mark.parametrize("kind", NODES)
def test_a_case_has_the_node_that_it_is_named_after(kind: str) -> None:
    assert kind in nodes_in(parse(NODES[kind].text))


@pytest.mark.parametrize("name", CASES)
def test_no_gross_difference_between_values_shows_in_the_time(name: str) -> None:
    assert not leaks_of(CASES[name], PEOPLE, ROUNDS, BATCHES, GROSS, short=True)


def values_of(case: Case, people: int) -> list[Any]:
    tables: list[Records] = [on_buffers(*columns_for(kind, people)) for kind in case.classes]
    evaluation = case.asked(case.text)
    return [evaluation(table) for table in tables]


@pytest.mark.parametrize(("place", "twin", "name", "people"), TWINS)
def test_a_twin_has_the_same_values_and_is_found_out_by_its_time(
    place: str, twin: Callable[..., Any], name: str, people: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    sound = values_of(CASES[name], 50)
    monkeypatch.setattr(place, twin)
    for one, other in zip(sound, values_of(CASES[name], 50), strict=True):
        np.testing.assert_array_equal(one, other)
    measures = measures_of(CASES[name], people, BATCHES, short=True)
    assert any(measure(ROUNDS).size > GROSS for measure in measures)


@pytest.mark.nightly
@pytest.mark.parametrize("people", [1, PEOPLE])
@pytest.mark.parametrize("name", CASES)
def test_the_mean_times_of_two_values_differ_by_at_most_one_percent(name: str, people: int) -> None:
    assert not leaks_of(CASES[name], people, NIGHTLY_ROUNDS, NIGHTLY_BATCHES, MOST)


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["Column", "Which", "DecisionList", "Nearest", "fingerprints of numbers"])
def test_nor_do_they_for_a_hundred_thousand_people(name: str) -> None:
    assert not leaks_of(CASES[name], 100_000, 240, NIGHTLY_BATCHES, MOST)
