"""Differencing: count everybody, count everybody but one, and subtract.

Exact answers give that person's bit away, however many people there are and however innocent both counts look (the
difference attack of section 1).  What stops it: a collection below its minimum batch is never released; noise on both
counts leaves at most e^(2 epsilon) / (1 + e^(2 epsilon)) to guess with; and a shuffler asks another cohort under another
identifier, so that everybody's report is drawn anew and not only one of them is missing.

Checked in tests/unit/attacks/test_differencing.py.
"""

from __future__ import annotations

from collections.abc import Callable

from localdp.cohorts import Cohort
from localdp.errors import InvalidParameter
from localdp.oracles.definition import StatisticalQueryOracle
from localdp.oracles.lr import LROracle, tally_of
from localdp.party.party import Request
from localdp.queries.asked import Asked

OracleOf = Callable[[Cohort], StatisticalQueryOracle]


def difference(oracle_of: OracleOf, query: Asked, people: int) -> float:
    """What two counts say about the last of the people."""
    everybody, rest = (
        oracle_of(cohort).answer([query])[0].count for cohort in (Cohort(0, people), but_the_last(people))
    )
    return everybody - rest


def report_difference(reports: LROracle, request: Request, people: int) -> float:
    """The same for sums of one-bit reports under one request."""
    everybody, rest = (
        int(tally_of(reports, request, cohort).sums[0])
        for cohort in (Cohort(0, people), but_the_last(people))
    )
    return float(everybody - rest)


def guessed(gap: float) -> bool:
    """The bit that a difference speaks for."""
    return gap > 0.5


def but_the_last(people: int) -> Cohort:
    """Everybody but the last person."""
    if people < 2:
        raise InvalidParameter("leaving one person out takes at least two")
    return Cohort(0, people - 1)
