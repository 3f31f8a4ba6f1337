"""Whether many rounds together say about as much as one: then a learner can ask step by step, and lose nothing.

Where rounds divide people, they do; where they divide epsilon, T rounds are off by sqrt(T) times as much, together.  What
the oracle plans tells which it is, and whoever mixes reports lies between the two.

Checked in tests/unit/algorithms/learners/test_free_rounds.py.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from localdp.errors import TooFewReports
from localdp.oracles.definition import StatisticalQueryOracle

MOST_LOSS = 1.25  # the factor in accuracy that many rounds may cost


def rounds_are_free(oracle: StatisticalQueryOracle, queries: Sequence[str], rounds: int) -> bool:
    """Whether so many rounds of these queries, averaged, are about as good as one round of them; nobody is asked."""
    try:
        one, many = (oracle.in_rounds(number).plan(queries) for number in (1, rounds))
    except TooFewReports:
        return False
    together = many.tolerance() / math.sqrt(rounds)
    return not many.certain and 0 < together < MOST_LOSS * one.tolerance()
