"""Whose rows they are, where one person owns several: group privacy (Theorem 2.2) made explicit.

A randomizer protects a record.  A person with k records in a table is protected k times less well, unless the table says
which rows are the same person's, and then one of two things is done:

- "sample": each request looks at one row of each person, drawn with the person's own coins and independently of what
  stands in the rows.  The report is a mixture of epsilon-local reports, hence epsilon-local for the person.
- "each": every row answers, and every row's epsilon is charged to its owner: k rows cost k epsilon (basic composition).

Checked in tests/unit/test_ownership.py.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from localdp.errors import InvalidParameter, InvalidRecord
from localdp.framing import digest

Rows = Literal["sample", "each"]


@dataclass(frozen=True, slots=True, eq=False)
class Ownership:
    """The owner of each row, as a person's number; the rows of one person stand together."""

    owners: NDArray[np.int64]
    rows: Rows
    starts: NDArray[np.int64] = field(init=False, repr=False)  # of each person, the first row
    counts: NDArray[np.int64] = field(init=False, repr=False)  # and how many there are
    fingerprint: bytes = field(init=False, repr=False)  # of all of it, computed once

    def __post_init__(self) -> None:
        steps = np.diff(self.owners)
        if not len(self.owners) or self.owners[0] != 0 or ((steps != 0) & (steps != 1)).any():
            raise InvalidRecord("the rows of one person stand together, and people are numbered from 0")
        if self.rows not in ("sample", "each"):
            raise InvalidParameter(
                'where a person owns several rows, "sample" one of them or charge for "each"'
            )
        starts = np.flatnonzero(np.concatenate(([True], steps == 1))).astype(np.int64)
        object.__setattr__(self, "starts", starts)
        object.__setattr__(self, "counts", np.diff(np.append(starts, len(self.owners))))
        object.__setattr__(self, "fingerprint", digest(self.rows.encode(), self.owners.tobytes()))

    @property
    def people(self) -> int:
        """How many different owners there are."""
        return len(self.starts)

    @property
    def indices(self) -> int:
        """How many indices a request can name: people, or rows where each row answers."""
        return self.people if self.rows == "sample" else len(self.owners)

    def sampled(self, people: NDArray[np.int64] | slice, words: NDArray[np.uint64]) -> NDArray[np.int64]:
        """One row of each person, by a uniform word each: off uniform by less than rows / 2**32, which privacy ignores."""
        counts = self.counts[people].astype(np.uint64)
        places = (words >> np.uint64(32)) * counts >> np.uint64(32)
        return self.starts[people] + places.astype(np.int64)
