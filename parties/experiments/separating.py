"""The separations of section 12.1 (`localdp/experiments/separations.py`) as blocks of one trial each.

Checked in tests/statistical/test_separations.py and tests/integration/test_separate_command.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from itertools import product

from localdp.experiments.all_separations import SEPARATIONS
from localdp.experiments.panels import Demonstration
from localdp.experiments.separations import Lab, Separation, Tried
from parties.executors.chosen import HERE, ChosenExecutor
from parties.executors.running import run_blocks


def outcomes_of(
    tried: Sequence[Tried],
    lab: Lab,
    trials: int,
    done: Callable[[Tried], None] = lambda tried: None,
    run: Callable[[tuple[int, int]], float] | None = None,
    chosen: ChosenExecutor = HERE,
) -> dict[Tried, list[float]]:
    """What every trial brought, in order; `run` has a trial by its place and number, where workers are to run it."""
    found: dict[tuple[int, int], float] = {}
    run_blocks(
        run or (lambda block: lab.outcome(tried[block[0]], block[1])),
        product(range(len(tried)), range(trials)),
        found.__setitem__,
        lambda block, _: done(tried[block[0]]),
        chosen,
    )
    return {one: [found[place, number] for number in range(trials)] for place, one in enumerate(tried)}


def run_separation(
    separation: Separation,
    lab: Lab,
    trials: int,
    done: Callable[[Tried], None] = lambda tried: None,
    chosen: ChosenExecutor = HERE,
) -> Demonstration:
    """The whole of a separation; workers know it by its name."""
    run = partial(_outcome, separation.name, lab) if separation.name in SEPARATIONS else None
    return separation.shown(
        lab.epsilon,
        outcomes_of(separation.tried, lab, trials, done, run if chosen != HERE else None, chosen),
    )


def _outcome(name: str, lab: Lab, block: tuple[int, int]) -> float:
    place, number = block
    return lab.outcome(_named(name).tried[place], number)


@cache
def _named(name: str) -> Separation:
    return SEPARATIONS[name]()
