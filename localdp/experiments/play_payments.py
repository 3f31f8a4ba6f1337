"""Private VCG, shown: what a lie gains after paying, and what privacy costs everybody (section 10.3.1).

Checked in tests/unit/experiments/test_play_runs.py.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from localdp.accounting.epsilon import Epsilon
from localdp.algorithms.games.payments import SCALE, PaidChoice
from localdp.experiments.attack_trials import Range
from localdp.experiments.draws import uniforms
from localdp.experiments.panels import Demonstration, Panel
from localdp.randomness.source import Floats, RandomSource

PLAYERS, OUTCOMES = 5, 6
EPSILONS = ("0.3", "1", "3", "10")
LIES = 100  # in a trial


def gain(epsilon: str, paying: bool, source: RandomSource) -> float:
    """The most that a lie of the first player gains: after paying, or where nobody pays."""
    truth = _drawn(epsilon, source)
    worth = truth.said / SCALE
    honest = _had(truth, worth, paying)
    gains = []
    for _ in range(LIES):
        said = truth.said.copy()
        said[0] = (uniforms(source, OUTCOMES) * SCALE).astype(np.int64)
        gains.append(_had(PaidChoice(said, truth.epsilon), worth, paying) - honest)
    return max(gains)


def miss(epsilon: str, source: RandomSource) -> float:
    """How much less than with the best outcome all have together, on average."""
    drawn = _drawn(epsilon, source)
    sums = drawn.said.sum(axis=0) / SCALE
    return float(sums.max() - sums @ drawn.probabilities)


def payments(tried: Range) -> Demonstration:
    """By epsilon."""
    lies = [
        tried.point(name, float(epsilon), partial(gain, epsilon, paying))
        for name, paying in (("with payments", True), ("without", False))
        for epsilon in EPSILONS
    ]
    missed = [
        tried.point("on average", float(epsilon), partial(miss, epsilon), predicted=_bound(epsilon))
        for epsilon in EPSILONS
    ]
    about = f"{PLAYERS} players, {OUTCOMES} outcomes"
    panels = (
        Panel(about, "epsilon", f"most that one of {LIES} lies gains, on average", tuple(lies)),
        Panel(about, "epsilon", "sum of utilities missed", tuple(missed), "at most"),
    )
    notes = (
        "with payments no lie gains anything, whatever epsilon is",
        "the law of the outcome is the best one for the sum of utilities and entropy, so VCG payments exist for it",
    )
    return Demonstration("payments", "Payments that make every lie pointless", panels, notes)


def _drawn(epsilon: str, source: RandomSource) -> PaidChoice:
    worth = uniforms(source, PLAYERS * OUTCOMES).reshape(PLAYERS, OUTCOMES)
    return PaidChoice.of(worth, Epsilon.requested(epsilon))


def _had(choice: PaidChoice, worth: Floats, paying: bool) -> float:
    had = choice.utilities(worth) if paying else worth @ choice.probabilities
    return float(had[0])


def _bound(epsilon: str) -> float:
    return 2 * float(np.log(OUTCOMES)) / float(epsilon)
