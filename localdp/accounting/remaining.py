"""What people have left, in coarse steps and never by whom: what a coordinator may be told for free.

    n(a) = how many people have at least a nats left,    for a = 10, 3, 1, 0.3, 0.1, 0

It is a function of what was charged and of the limit alone: no record enters, nor who owns which row.  The people between
two steps are a group, and a group of fewer than `fewest` people would tell somebody apart.  So its people are counted with
those who have less, and the poorest, who have nobody below, with those who have more.

Claim.  Every n(a) that is told is at most the true one, and everybody is counted at 0.  Of any two numbers that are told
the difference is 0 or at least `fewest` (but for fewer people in all).
Checked in tests/unit/accounting/test_remaining.py.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from localdp.accounting.epsilon import Epsilon

STEPS = (*map(Epsilon.requested, ("10", "3", "1", "0.3", "0.1")), Epsilon(0))


@dataclass(frozen=True, slots=True)
class Step:
    """So many people have at least so much left."""

    at_least: Epsilon
    people: int


def remaining(spent: NDArray[np.int64], limit: Epsilon, fewest: int = 1) -> tuple[Step, ...]:
    """The steps, largest amount first, from what each person has spent in nanonats."""
    most = [limit.nanonats - step.nanonats for step in STEPS[:-1]]  # that somebody of the step has spent
    counts = [int(np.count_nonzero(spent <= one)) for one in most]
    told = _in_groups([*counts, len(spent)], fewest)
    return tuple(Step(step, people) for step, people in zip(STEPS, told, strict=True))


def _in_groups(counts: list[int], fewest: int) -> list[int]:
    """Growing counts, each the same as the one before it or larger by a group; the last one, everybody, stays."""
    *some, everybody = counts
    told: list[int] = []
    for count in some:
        last = told[-1] if told else 0
        told.append(count if count - last >= fewest else last)
    tops = [one for one in (0, *told) if one == everybody or everybody - one >= fewest]
    return [*(min(one, max(tops, default=0)) for one in told), everybody]
