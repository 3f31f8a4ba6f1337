"""Reconstruction by linear programming, which survives answers that are plainly wrong (section 8.3; Dwork, McSherry and
Talwar 2007).

Find x in [0, 1]^n with the least sum of |A x - y|, and round.  A sum of absolute values cares how many answers are off and
little by how much: 0.239 of them may be arbitrary, where least squares is lost.  The notes of chapter 8 tell of it, beside
the attack of the same paper that stands any share below one half and tries everything (`exhaustive.py`).

Solved by HiGHS, through scipy, which is no dependency of the library: it is imported when it is needed.
Checked in tests/unit/attacks/test_reconstruction.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from localdp.errors import InvalidParameter, LocalDpError, requiring
from localdp.randomizers.definition import Floats
from localdp.randomness.source import Bits

MOST_VARIABLES = 1 << 14


def linear_program(subsets: Bits, answers: Floats) -> Bits:
    """The rounded solution of least absolute deviation."""
    queries, people = subsets.shape
    if len(answers) != queries or queries + people > MOST_VARIABLES:
        raise InvalidParameter(
            f"a linear program has an answer for each query, and {MOST_VARIABLES} variables"
        )
    matrix, identity = subsets.astype(np.float64), -np.eye(queries)
    # Variables x and t, with -t <= A x - y <= t; the sum of t is to be small.
    solved = _linprog()(
        np.concatenate([np.zeros(people), np.ones(queries)]),
        A_ub=np.block([[matrix, identity], [-matrix, identity]]),
        b_ub=np.concatenate([answers, -answers]),
        bounds=[(0, 1)] * people + [(0, None)] * queries,
        method="highs",
    )
    if solved.x is None:
        raise LocalDpError("the linear program was not solved")
    return np.asarray(solved.x[:people] > 0.5)


def require_solver() -> None:
    """Fails early where there is no solver."""
    _linprog()


def _linprog() -> Any:
    with requiring("linear programs need scipy, which is not installed", "attacks"):
        from scipy.optimize import linprog
    return linprog
