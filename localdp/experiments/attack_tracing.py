"""Tracing, shown: who is behind published means, by how many attributes there are and how the means were made.

Checked in tests/unit/experiments/test_attack_runs.py, and at full size in tests/statistical/test_attacks.py.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial

import numpy as np

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.gaussian import gaussian_variance
from localdp.attacks.subset_sums import random_subsets
from localdp.attacks.tracing import (
    FALSE_ALARM,
    accused,
    expected_fraction,
    fair_frequencies,
    traced_at_most,
)
from localdp.attacks.traitor_tracing import named_trial
from localdp.experiments.attack_trials import Range
from localdp.experiments.draws import normals
from localdp.experiments.panels import Demonstration, Panel, Point
from localdp.mechanisms.adder import SharesInProcess, TrustedCurator
from localdp.oracles.curator import CuratorOracle
from localdp.oracles.exact import ExactOracle
from localdp.oracles.shared import SharedOracle
from localdp.randomness.source import Bits, Floats, RandomSource

PEOPLE = 100
ATTRIBUTES = (100, 300, 1000, 3000, 5000)
OFF = 0.05  # by which careless means are
EPSILON, DELTA = Epsilon.requested(1), Fraction(1, 10**6)
OUTSIDERS = 1000
USERS, MEMBERS = 50, 5
TOTALS = (1, 10, 100, 1000)  # epsilons for all questions together
ACCUSED = "fraction of the people behind the means who are accused"
OUTSIDE = "others"

Publish = Callable[[Bits, RandomSource], Floats]


def exact(rows: Bits, source: RandomSource) -> Floats:
    """Nothing is hidden."""
    means: Floats = rows.mean(axis=0)
    return means


def careless(rows: Bits, source: RandomSource) -> Floats:
    """Off by a little, and not private."""
    return exact(rows, source) + OFF * normals(source, rows.shape[1])


def by_curator(rows: Bits, source: RandomSource) -> Floats:
    """Discrete Laplace noise of a trusted curator: replacing somebody can change every sum."""
    return TrustedCurator(source).noisy_sums(_numbers(rows), rows.shape[1], EPSILON) / len(rows)


def by_shares(rows: Bits, source: RandomSource) -> Floats:
    """The same from two share servers."""
    return SharesInProcess(source).noisy_sums(_numbers(rows), rows.shape[1], EPSILON) / len(rows)


def gaussian(rows: Bits, source: RandomSource) -> Floats:
    """Gaussian noise of a trusted curator, with a delta."""
    variance = gaussian_variance(EPSILON, DELTA, rows.shape[1])
    return TrustedCurator(source).gaussian_sums(_numbers(rows), variance) / len(rows)


WAYS: dict[str, Publish] = {
    ExactOracle.model: exact,
    "careless": careless,
    CuratorOracle.model: by_curator,
    SharedOracle.model: by_shares,
    "Gaussian": gaussian,
}
DEVIATIONS = {ExactOracle.model: 0.0, "careless": OFF}  # of what is not private


def members_trial(publish: Publish, attributes: int, source: RandomSource) -> float:
    """Which fraction of those behind the means is accused."""
    rows = random_subsets(PEOPLE, attributes, source)
    return float(accused(rows, fair_frequencies(attributes), publish(rows, source)).mean())


def outsiders_trial(attributes: int, source: RandomSource) -> float:
    """Which fraction of other people is accused by exact means."""
    means = exact(random_subsets(PEOPLE, attributes, source), source)
    others = random_subsets(OUTSIDERS, attributes, source)
    return float(accused(others, fair_frequencies(attributes), means).mean())


def tracing(tried: Range) -> Demonstration:
    """Both panels."""
    notes = (
        f"careless means are off by {OFF:g}; curator and share servers spend epsilon = 1, with Gaussian noise also "
        f"delta = {float(DELTA):g}; the others are people who are not behind the means, which are exact",
        f"one outsider in {1 / FALSE_ALARM:,.0f} is accused wrongly; private answers can name those behind them at most "
        f"e^epsilon times as often: {traced_at_most(1):.4f} at epsilon = 1",
        f"traitor tracing: {MEMBERS} of {USERS} users put their keys into a decoder that counts; one user is named",
    )
    panels = (_by_attributes(tried), _by_keys(tried))
    return Demonstration("tracing", "Who is behind published means", panels, notes)


def _by_attributes(tried: Range) -> Panel:
    points = [
        tried.point(
            name,
            attributes,
            partial(members_trial, publish, attributes),
            predicted=expected_fraction(PEOPLE, attributes, DEVIATIONS[name])
            if name in DEVIATIONS
            else None,
        )
        for name, publish in WAYS.items()
        for attributes in ATTRIBUTES
    ]
    points += [
        tried.point(OUTSIDE, attributes, partial(outsiders_trial, attributes)) for attributes in ATTRIBUTES
    ]
    points += [Point("at most, at epsilon = 1", one, traced_at_most(1), 1) for one in ATTRIBUTES]
    title = f"means of {PEOPLE} people"
    return Panel(title, "attributes", ACCUSED, tuple(points))


def _by_keys(tried: Range) -> Panel:
    """Traitor tracing against counts of decryptions, exact and private."""
    points = [
        tried.point(series, total, partial(named_trial, USERS, MEMBERS, each))
        for total in TOTALS
        for series, each in (
            (ExactOracle.model, None),
            (CuratorOracle.model, Epsilon.requested(total / (USERS + 1))),
        )
    ]
    points += [Point("guessing", total, MEMBERS / USERS, 1) for total in TOTALS]
    title = f"a decoder made of {MEMBERS} of {USERS} keys"
    measure = "fraction of runs in which a user in the decoder is named"
    return Panel(title, "epsilon for all questions together", measure, tuple(points))


def _numbers(rows: Bits) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    return rows.astype(np.int64)
