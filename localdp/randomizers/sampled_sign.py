"""One sign of many: what `haar.py` and `marginals.py` share.

A person's value has many signs s_j = +-1, j = 0 .. signs - 1: Haar coefficients, parities.  A report is an index j,
drawn with a law that does not depend on the value, and the sign s_j after binary randomized response.

Claim.  The index says nothing, so the report is epsilon-local with exp(epsilon) = (2**64 - F) / F where F / 2**64 is
the probability of a flip, rounded up.  The mean of a reported sign is s_j / C with C = 1 / (1 - 2 F / 2**64) =
(exp(eps) + 1) / (exp(eps) - 1).
Checked through both users, in tests/unit/randomizers/test_haar.py and test_marginals.py.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable
from fractions import Fraction
from typing import cast

import numpy as np
from numpy.typing import NDArray

from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter
from localdp.randomizers.definition import LocalRandomizer, Reports, Tally
from localdp.randomizers.one_bit import flip_threshold
from localdp.randomizers.parts.construction import IntegerReports
from localdp.randomizers.parts.packing import unsigned_type
from localdp.randomness.source import WORD_RANGE, Bits

LARGEST_SIGNS = 1 << 22


class SampledSign(IntegerReports):
    """A report is 2 j + 1 for a negative sign of index j, and 2 j for a positive one."""

    __slots__ = ()
    requested: Epsilon
    flip: int

    @property
    @abstractmethod
    def signs(self) -> int:
        """How many signs a value has."""

    @property
    def outputs(self) -> int:
        """An index and a sign."""
        return 2 * self.signs

    @property
    def epsilon(self) -> Epsilon:
        """Privacy loss of one report, in nats, replace-one neighbours; from the integer law, rounded up."""
        return Epsilon.of_ratio(Fraction(WORD_RANGE - self.flip, self.flip))

    @property
    def scale(self) -> float:
        """C: what undoes the randomized response."""
        return WORD_RANGE / (WORD_RANGE - 2 * self.flip)

    def tally(self, reports: Reports) -> Tally:
        """For each index, how many more positive signs than negative ones."""
        counts = np.bincount(reports, minlength=2 * self.signs).astype(np.int64, copy=False)
        return Tally(cast(LocalRandomizer, self), len(reports), counts[0::2] - counts[1::2])

    def _set_flip(self) -> None:
        Epsilon.requested(self.requested)
        flip = flip_threshold(self.requested)
        if 2 * flip >= WORD_RANGE:
            raise InvalidParameter("this epsilon is too small for a 64-bit threshold")
        object.__setattr__(self, "flip", flip)

    def _reports(self, indices: NDArray[np.integer], negative: Bits) -> Reports:
        """Indices and randomized signs as the integers of the wire, in their own type."""
        reports: Reports = indices * 2 + negative
        return reports.astype(unsigned_type(self.report_bits))

    def _masses(self, index: int, negative: bool, likelihood: Fraction) -> dict[Hashable, Fraction]:
        """The law of the two reports of one index, whose probability is the likelihood."""
        flipped = Fraction(self.flip, WORD_RANGE)
        truth = 2 * index + negative
        return {truth: likelihood * (1 - flipped), truth ^ 1: likelihood * flipped}
