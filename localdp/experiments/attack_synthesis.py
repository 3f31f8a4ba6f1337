"""Synthetic data for one hard query, shown: useful rows are somebody's records, and the count alone is easy (section 9.1).

Checked in tests/unit/experiments/test_attack_runs.py.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from localdp.accounting.epsilon import Epsilon
from localdp.attacks.signed_rows import (
    SignedRows,
    Synthesizer,
    copied,
    independent,
    product,
    turned,
)
from localdp.experiments.attack_trials import Range
from localdp.experiments.panels import Demonstration, Panel, Point
from localdp.mechanisms.adder import TrustedCurator
from localdp.randomness.source import RandomSource

PEOPLE = (10, 100, 1000)
EPSILON = Epsilon.requested(1)
SYNTHESIZERS: dict[str, Synthesizer] = {
    "every bit by itself": independent,
    "messages and signatures, each by itself": product,
    "new messages, old signatures": turned,
    "rows copied": copied,
}
CURATOR = "curator, epsilon = 1, the count alone"
Share = Callable[[SignedRows, RandomSource], float]


def counted(synthesizer: Synthesizer, table: SignedRows, source: RandomSource) -> float:
    """What the query says about synthetic rows."""
    return table.counted(synthesizer(table.rows, source))


def theirs(synthesizer: Synthesizer, table: SignedRows, source: RandomSource) -> float:
    """Which of the synthetic rows are somebody's."""
    return table.records(synthesizer(table.rows, source))


def told(table: SignedRows, source: RandomSource) -> float:
    """What a curator says about the query, as a fraction between 0 and 1."""
    rows = np.array([[table.valid(row)] for row in table.rows], np.int64)
    noisy = TrustedCurator(source).noisy_sums(rows, 1, EPSILON)[0] / len(table.rows)
    return float(min(max(noisy, 0.0), 1.0))


def synthesis(tried: Range) -> Demonstration:
    """What is useful, and whose it is."""
    useful: list[tuple[str, Share]] = [
        *((name, partial(counted, synthesizer)) for name, synthesizer in SYNTHESIZERS.items()),
        (CURATOR, told),
    ]
    own: list[tuple[str, Share]] = [
        (name, partial(theirs, synthesizer)) for name, synthesizer in SYNTHESIZERS.items()
    ]
    panels = (
        _panel(
            tried, "What the query says", "fraction of the rows that are valid; of the data, all", useful
        ),
        _panel(tried, "Whose rows they are", "fraction of the rows that are somebody's record", own),
    )
    notes = (
        "rows are messages with signatures (Ed25519); whoever makes valid ones without the key can forge signatures, so "
        "every valid synthetic row is a record (Theorem 9.1)",
    )
    return Demonstration("synthesis", "Synthetic data for a query about signatures", panels, notes)


def _panel(tried: Range, title: str, measure: str, shares: list[tuple[str, Share]]) -> Panel:
    points: list[Point] = [
        tried.point(name, people, partial(_trial, share, people))
        for name, share in shares
        for people in PEOPLE
    ]
    return Panel(title, "people", measure, tuple(points))


def _trial(share: Share, people: int, source: RandomSource) -> float:
    return share(SignedRows.drawn(people, source), source)
