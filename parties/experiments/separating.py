"""The separations of section 12.1 (`localdp/experiments/separations.py`) as blocks of one trial each.

Checked in tests/statistical/test_separations.py and tests/integration/test_separate_command.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product

from localdp.experiments.panels import Demonstration
from localdp.experiments.separations import Lab, Separation, Tried
from parties.experiments.executors import run_blocks


def outcomes_of(
    tried: Sequence[Tried], lab: Lab, trials: int, done: Callable[[Tried], None] = lambda tried: None
) -> dict[Tried, list[float]]:
    """What every trial brought, in this process."""
    outcomes: dict[Tried, list[float]] = {one: [] for one in tried}
    run_blocks(
        lambda block: lab.outcome(*block),
        product(tried, range(trials)),
        1,
        lambda block, outcome: outcomes[block[0]].append(outcome),
        lambda block, _: done(block[0]),
    )
    return outcomes


def run_separation(
    separation: Separation, lab: Lab, trials: int, done: Callable[[Tried], None] = lambda tried: None
) -> Demonstration:
    """The whole of a separation."""
    return separation.shown(lab.epsilon, outcomes_of(separation.tried, lab, trials, done))
