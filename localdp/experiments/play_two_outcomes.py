"""Two outcomes, shown: how often the better one is taken, by its lead (section 10.3.3).

Checked in tests/unit/experiments/test_play_runs.py.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial

import numpy as np

from localdp.accounting.epsilon import Epsilon
from localdp.algorithms.games.two_outcomes import TwoOutcomes
from localdp.domains import BitDomain, Records, Schema
from localdp.experiments.attack_trials import Range
from localdp.experiments.panels import Demonstration, Panel
from localdp.experiments.parties_in_process import asked_in_process
from localdp.mechanisms.noisy_maximum import exact_law
from localdp.oracles.curator import CuratorOracle
from localdp.oracles.local import LocalOracle
from localdp.oracles.shared import SharedOracle
from localdp.randomness.source import RandomSource

PEOPLE = 400
LEADS = (2, 6, 20, 60)
SHOWN = (CuratorOracle.model, SharedOracle.model, LocalOracle.model)
ONE = Epsilon.requested(1)


def right(model: str, lead: int, source: RandomSource) -> float:
    """Whether the outcome is taken that so many more people like."""
    likes = np.arange(PEOPLE) < (PEOPLE + lead) // 2
    records = Records(Schema({"rye": BitDomain()}), {"rye": likes})
    told = TwoOutcomes("rye", "not rye").fit(asked_in_process(model, records, ONE, source))
    return float(told.chosen_ == "rye")


def expected(lead: int) -> float:
    """The probability of the noisy maximum."""
    ratio = Fraction(math.exp(-float(ONE) / 2))
    return float(exact_law([(PEOPLE + lead) // 2, (PEOPLE - lead) // 2], ratio)[0])


def two_outcomes(tried: Range) -> Demonstration:
    """By the lead, in people."""
    points = [
        tried.point(
            model,
            lead,
            partial(right, model, lead),
            predicted=expected(lead) if model == CuratorOracle.model else None,
        )
        for model in tried.shown(SHOWN)
        for lead in LEADS
    ]
    notes = (
        "noise of scale 2 / epsilon on each sum; the scale 1 / epsilon of the book costs twice epsilon",
        "nobody to whom the outcomes differ by more than 2 epsilon gains by a lie, even if being told of costs epsilon",
    )
    panel = Panel(
        f"{PEOPLE} people, epsilon = 1",
        "people who like the first one, less the others",
        "fraction of trials in which the first one is taken",
        tuple(points),
    )
    return Demonstration("two-outcomes", "Two outcomes, for people who mind being asked", (panel,), notes)
