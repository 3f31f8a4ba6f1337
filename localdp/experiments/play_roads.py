"""Roads, shown: loads that settle over a billboard, and what people would gain by another road, under several models.

Checked in tests/unit/experiments/test_play_runs.py.
"""

from __future__ import annotations

from functools import partial

from localdp.accounting.epsilon import Epsilon
from localdp.algorithms.games.deviations import gains, loads_of, regrets
from localdp.algorithms.games.equilibrium import EquilibriumSelection
from localdp.domains import Records
from localdp.experiments.attack_trials import Range
from localdp.experiments.datasets import synthetic
from localdp.experiments.panels import Demonstration, Panel, Point
from localdp.experiments.parties_in_process import asked_in_process
from localdp.oracles.curator import CuratorOracle
from localdp.oracles.exact import ExactOracle
from localdp.oracles.local import LocalOracle
from localdp.oracles.shared import SharedOracle
from localdp.randomness.source import Floats, RandomSource

BASE, SLOPE = (0.1, 0.2, 0.3, 0.15), (1.0, 0.8, 0.4, 1.2)
ROUNDS = 50
ROUNDS_SHOWN = (*range(1, 11), *range(15, ROUNDS + 1, 5))
SETTLING = 10_000  # people, in the first picture
PEOPLE = (1000, 10_000, 100_000)
SHOWN = (ExactOracle.model, CuratorOracle.model, SharedOracle.model, LocalOracle.model)
ONE = Epsilon.requested(1)


def played(model: str, people: int, source: RandomSource) -> tuple[EquilibriumSelection, Records]:
    """A game of so many drivers in two parties, and the drivers."""
    drivers = synthetic("drivers", people, source, len(BASE))
    oracle = asked_in_process(model, drivers, ONE, source)
    own = [f"x{road}" for road in range(len(BASE))]
    return EquilibriumSelection(own, BASE, SLOPE, rounds=ROUNDS, check_signal=False).fit(oracle), drivers


def gain(model: str, people: int, source: RandomSource) -> float:
    """What people would gain by another road, on average, in thousandths."""
    game, drivers = played(model, people, source)
    return 1000 * float(gains(game.billboard_, drivers).mean())


def regret(people: int, source: RandomSource) -> float:
    """What they would have gained by one road in all rounds, on average, with exact loads."""
    game, drivers = played(ExactOracle.model, people, source)
    return 1000 * float(regrets(game.billboard_, drivers).mean())


def roads(tried: Range) -> Demonstration:
    """Loads by round, and gains by the number of people."""
    notes = (
        "each person's own costs stay at home; what is published are loads, and all rounds together cost epsilon = 1",
        "a gain of 0 for everybody is an equilibrium; a road costs between 0.1 and 1.7 in all",
    )
    exact = _loads(ExactOracle.model, tried)
    settling = (_settling(model, tried, exact) for model in tried.shown((LocalOracle.model,)))
    panels = (*settling, _by_people(tried))
    return Demonstration("roads", "Choosing roads over a billboard of noisy loads", panels, notes)


def _settling(model: str, tried: Range, exact: list[Floats]) -> Panel:
    points = [
        Point(f"road {road + 1}", number + 1, float(load), 1, predicted=float(exact[number][road]))
        for number, loads in enumerate(_loads(model, tried))
        for road, load in enumerate(loads)
        if number + 1 in ROUNDS_SHOWN
    ]
    title = f"{SETTLING:,} people, {model}, epsilon = 1"
    return Panel(title, "round", "share of the people on a road", tuple(points), "where loads are exact")


def _loads(model: str, tried: Range) -> list[Floats]:
    """The loads in truth, round by round; of the same people under every model."""
    game, drivers = played(model, SETTLING, tried.keyring.source("play", "roads", "settling"))
    tried.done(f"{model}, round by round")
    boards = (game.billboard_.before(number) for number in range(ROUNDS))
    return [loads_of(board.roads(drivers), len(BASE)) for board in boards]


def _by_people(tried: Range) -> Panel:
    points = [
        tried.point(model, people, partial(gain, model, people))
        for model in tried.shown(SHOWN)
        for people in PEOPLE
    ]
    drawn = "exact, roads drawn from all rounds"
    points += [tried.point(drawn, people, partial(regret, people)) for people in PEOPLE]
    return Panel("epsilon = 1", "people", "mean gain by another road, in thousandths", tuple(points))
