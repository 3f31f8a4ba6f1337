"""Averaging: ask a party the same question again and again, and let the noise cancel.

Against k independent reports of randomized response the majority is right with a probability that tends to 1: noise alone
is no protection against repetition.  What stops it is that a party gives the same request the same report, so that the
average of k of them is one of them; that a new request is charged, so that after limit / epsilon of them there are no more;
and, if its owner wants, that the same question has the same report under whatever identifier.

Checked in tests/unit/attacks/test_averaging.py.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from localdp.cohorts import Cohort
from localdp.errors import BudgetExhausted
from localdp.party.party import Party, Request
from localdp.randomness.source import Bits


@dataclass(frozen=True, slots=True, eq=False)
class Averaged:
    """What repetition brought."""

    guess: Bits  # of everybody's bit
    answered: int  # requests, before the party refused


def averaged(party: Party, requests: Iterable[Request], cohort: Cohort) -> Averaged:
    """Ask until the budget is spent, and take the majority of everybody's reports; of a tie, the first report."""
    lead = np.zeros(cohort.size(), np.int64)
    answered = 0
    for request in requests:
        try:
            reports = party.randomize(request, cohort)
        except BudgetExhausted:
            break
        # The first report counts a little more than the others: that settles ties.
        lead += np.where(reports, 1, -1) * (2 if answered else 3)
        answered += 1
    return Averaged(lead > 0, answered)
