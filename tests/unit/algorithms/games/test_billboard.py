"""The billboard lemma, by enumeration: all that the others see of a person is epsilon-private, and broken games are not.

Two roads, four people, two rounds.  Locally every report of everybody is enumerated; where noise is added to sums, every
path of published loads in a box.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import product
from typing import cast

import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.algorithms.games.billboard import Billboard
from localdp.algorithms.games.equilibrium import EquilibriumSelection
from localdp.cohorts import Cohort
from localdp.domains import RealDomain, Records, Schema
from localdp.errors import InvalidParameter, QueryRefused
from localdp.oracles.curator import CuratorOracle
from localdp.oracles.local import LocalOracle
from localdp.party.party import Request
from localdp.randomizers.definition import Reports
from localdp.randomness.hazmat import SeededSource

PEOPLE, ROUNDS = 4, 2
SCHEMA = Schema(dict.fromkeys(("north", "south", "luck"), RealDomain(0, 1)))
ONE = Epsilon.requested(1)
OTHERS = [(0.1, 0.2, 0.3), (0.2, 0.1, 0.7), (0.0, 0.3, 0.45)]
FIRST = [(0.0, 1.0, 0.1), (1.0, 0.0, 0.9), (0.3, 0.3, 0.4)]  # what the first person's record may be
Law = dict[object, float]
View = Callable[[Billboard, Records], object]


def game() -> EquilibriumSelection:
    return EquilibriumSelection(["north", "south"], [0.1, 0.1], [1, 1], rounds=ROUNDS, check_signal=False)


def records(first: tuple[float, float, float]) -> Records:
    return Records(SCHEMA, dict(zip(SCHEMA.names, np.array([first, *OTHERS]).T, strict=True)))


class Prescribed:
    """Everybody's reports are those of a path; how probable they are under given records is kept."""

    schema, people, by_row, samples, bytes_moved = SCHEMA, PEOPLE, False, False, 0

    def __init__(self, of: Records, path: tuple[int, ...]) -> None:
        self._records, self._path, self.probability, self.asked = of, iter(path), 1.0, list[int]()

    def reports(self, request: Request, cohort: Cohort) -> Iterator[Reports]:
        values = request.question(SCHEMA).inputs(self._records.take(cohort.indices()))
        said = []
        for value in np.asarray(values).tolist():
            law = cast(dict[int, Fraction], request.randomizer.law(value))
            said.append(sorted(law)[next(self._path)])
            self.probability *= float(law[said[-1]])
        self.asked += cohort.indices().tolist()
        yield np.array(said, np.int64)


def played(of: Records, path: tuple[int, ...], *, split: bool) -> tuple[Prescribed, Billboard]:
    """The game on one path of reports; a broken one asks everybody in every round, at all of epsilon."""
    told = Prescribed(of, path)
    oracle = LocalOracle(told, ONE, SeededSource(3))  # which splits them evenly
    learner = game()
    if split:
        return told, learner.fit(oracle).billboard_
    learner._learn(oracle)
    return told, learner.billboard_


def law_of(view: View, of: Records, *, split: bool = True) -> Law:
    """The law of what the others see."""
    found: Law = defaultdict(float)
    for path in product((0, 1), repeat=PEOPLE if split else PEOPLE * ROUNDS):
        told, board = played(of, path, split=split)
        found[view(board, of)] += told.probability
    assert math.isclose(sum(found.values()), 1)
    return found


def seen_by_others(board: Billboard, of: Records) -> object:
    """All that was published, and the roads of everybody else: in every round, and in the end."""
    boards = [*(board.before(number) for number in range(ROUNDS)), board]
    return board.published, tuple(tuple(one.roads(of)[1:].tolist()) for one in boards)


def told_by_a_planner(board: Billboard, of: Records) -> object:
    """A broken game: a planner who has everybody's roads publishes exact loads, and people follow those."""
    exact = board.before(0)
    for _ in range(ROUNDS):
        taken = exact.roads(of)
        exact = exact.with_loads(np.bincount(taken, minlength=2) / PEOPLE)
    return board.published, tuple(exact.roads(of)[1:].tolist())


def loss(view: View, *, split: bool = True) -> float:
    """The largest logarithm of a ratio, over all neighbours and views."""
    laws = [law_of(view, records(first), split=split) for first in FIRST]
    views = {one for law in laws for one in law}
    ratios = [
        math.log(law.get(one, 0.0) / other[one]) if other.get(one) and law.get(one) else math.inf
        for law, other in product(laws, laws)
        for one in views
        if law.get(one) or other.get(one)
    ]
    return max(ratios)


def test_what_the_others_see_is_private_and_costs_what_one_question_costs() -> None:
    assert 0.9 < loss(seen_by_others) <= 1 + 1e-12


def test_a_planner_with_exact_loads_is_found_out() -> None:
    assert loss(told_by_a_planner) > 1 + 1e-9


def test_a_game_that_pays_in_full_for_every_round_is_found_out() -> None:
    assert loss(seen_by_others, split=False) > 1.6


def test_nobody_is_asked_twice_locally() -> None:
    told, _ = played(records(FIRST[0]), (0,) * PEOPLE, split=True)
    assert sorted(told.asked) == list(range(PEOPLE))


@pytest.mark.parametrize("broken", [False, True])
def test_no_path_of_noisy_loads_tells_more_than_epsilon(broken: bool) -> None:
    """Published loads are counts and discrete Laplace noise, so a path loses its parameter for each count that moved."""
    curator = CuratorOracle(records(FIRST[0]), ONE, SeededSource(9))
    board = Billboard.empty([0.1, 0.1], [1, 1], ["north", "south"], "luck", 4, ROUNDS, SCHEMA)
    view = curator if broken else curator.in_rounds(ROUNDS)
    noise = view.answer_vectors([_text(board)])[0].noise
    assert noise is not None
    worst, box = 0.0, [place / PEOPLE for place in range(-4, 9, 4)]
    for loads in product(box, repeat=2):
        after = board.with_loads(loads)
        for one, other in product(FIRST, repeat=2):
            moved = sum(
                int(np.abs(_counts(now, records(one)) - _counts(now, records(other))).sum())
                for now in (board, after)
            )
            worst = max(worst, moved * float(noise.law.parameter))
    assert (worst > 1.9) if broken else (0.9 < worst <= 1)


def _counts(board: Billboard, of: Records) -> np.ndarray:
    return np.bincount(board.roads(of), minlength=2)


def _text(board: Billboard) -> str:
    return str(json.loads(json.dumps(board.to_data()))["game"])


def test_a_billboard_comes_back_from_its_file() -> None:
    board = Billboard.empty([0.1, 0.1], [1, 1], ["north", "south/2"], "luck", 4, ROUNDS, SCHEMA)
    board = board.with_loads([0.123456789123, 1.5]).with_loads([-0.25, 0.3])
    assert Billboard.read(json.loads(json.dumps(board.to_data()))) == board
    assert board.move.seen == ROUNDS
    with pytest.raises(InvalidParameter, match="has its rounds"):
        board.with_loads([0.5, 0.5])


@pytest.mark.parametrize("loads", [[0.5], [math.nan, 0.5], [1e300, 0.5]])
def test_loads_that_are_none_are_refused(loads: list[float]) -> None:
    board = Billboard.empty([0.1, 0.1], [1, 1], ["north", "south"], "luck", 4, ROUNDS, SCHEMA)
    with pytest.raises(InvalidParameter):
        board.with_loads(loads)


@pytest.mark.parametrize("data", [{}, {"game": "smoker", "loads": []}, {"game": "north", "loads": 3}])
def test_a_file_that_is_no_billboard_is_refused(data: dict[str, object]) -> None:
    with pytest.raises((InvalidParameter, QueryRefused)):
        Billboard.read(data)
