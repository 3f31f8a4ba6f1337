"""k-ary randomized response (Kairouz, Bonawitz and Ramage 2016), also called direct or generalized.

An input x of 0 .. k - 1 is reported as it is with probability p = T / 2**64, and otherwise as one of the k - 1 other
values, each with probability q = (1 - p) / (k - 1).  At k = 2 this is Warner's randomized response.

Claim.  The randomizer is epsilon-local with exp(epsilon) = T (k - 1) / (2**64 - T); T is rounded down, so that the
epsilon never exceeds what was requested.  It is a pure protocol (`pure_protocol.py`): with e = exp(epsilon)

    n Var f(x) = (e + k - 2) / (e - 1)**2 + f (k - 2) / (e - 1),

the smallest of the frequency oracles for k < 3 e + 2.  Checked exactly, by enumerating the coins, in
tests/unit/randomizers/test_k_ary.py, and as sampled in tests/statistical/test_frequency_randomizers.py.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter
from localdp.randomizers.definition import DrawCost, Frequencies, Reports, Tally, Values
from localdp.randomizers.parts.construction import IntegerReports
from localdp.randomizers.parts.inputs import checked_inputs, input_counts, require_between
from localdp.randomizers.parts.packing import (
    Unsigned,
    count_integers,
    unsigned_type,
)
from localdp.randomizers.parts.pure_protocol import CountedSupport, Support
from localdp.randomizers.parts.thresholds import keep_threshold
from localdp.randomness.source import WORD_RANGE, RandomSource

MOST_INPUTS = 1 << 32
LARGEST_TALLY = 1 << 22
_BLOCK = 1 << 14  # the temporaries of a block stay in the cache


@dataclass(frozen=True, slots=True)
class KaryRandomizedResponse(IntegerReports, CountedSupport):
    """Reports the input, or one of the other values."""

    name: ClassVar[str] = "k-ary"
    draw_cost: ClassVar[DrawCost] = DrawCost(200, 18)
    requested: Epsilon
    inputs: int  # k
    # T: the truth is kept with probability T / 2**64.
    keep: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        Epsilon.requested(self.requested)
        require_between("the number of inputs", self.inputs, 2, MOST_INPUTS)
        object.__setattr__(self, "keep", keep_threshold(self.requested, 1, self.inputs - 1))

    @property
    def epsilon(self) -> Epsilon:
        """Privacy loss of one report, in nats, replace-one neighbours; from the integer law, rounded up."""
        return Epsilon.of_ratio(Fraction(self.keep * (self.inputs - 1), WORD_RANGE - self.keep))

    @property
    def support(self) -> Support:
        """A report supports the value that it names."""
        own = Fraction(self.keep, WORD_RANGE)
        return Support(own, (1 - own) / (self.inputs - 1))

    @property
    def likely(self) -> Fraction:
        """The value itself, of all."""
        return Fraction(1, self.inputs)

    @property
    def outputs(self) -> int:
        """The inputs."""
        return self.inputs

    def randomize(self, values: Values, source: RandomSource) -> Unsigned:
        """One value for each value: a step around the circle of inputs, of length zero if the truth is kept."""
        truth = checked_inputs(values, self.inputs)
        kept = source.bernoulli(self.keep, len(truth))
        # Everybody draws a step, and those who keep the truth multiply theirs by zero: the same work for all.
        steps = source.below(self.inputs - 1, len(truth)).view(np.int64)
        reports = np.empty(len(truth), unsigned_type(self.report_bits))
        for start in range(0, len(truth), _BLOCK):
            part = slice(start, start + _BLOCK)
            block = steps[part]
            block += 1
            block *= (~kept[part]).astype(np.int64)
            block += truth[part]
            wrapped = (block >= self.inputs).astype(np.int64)
            wrapped *= self.inputs
            block -= wrapped
            reports[part] = block
        return reports

    def law(self, value: int) -> dict[Hashable, Fraction]:
        """The exact law of the report."""
        self._require_tally_size("the law")
        support = self.support
        return {output: support.own if output == value else support.other for output in range(self.inputs)}

    def tally(self, reports: Reports) -> Tally:
        """How many reports name each value."""
        self._require_tally_size("a tally of all inputs")
        return Tally(self, len(reports), input_counts(reports, self.inputs))

    def tally_packed(self, data: bytes, count: int) -> Tally:
        """The tally of packed reports."""
        self._require_tally_size("a tally of all inputs")
        return Tally(self, count, count_integers(data, count, self.report_bits, self.inputs))

    def estimate_candidates(self, reports: Reports, candidates: NDArray[np.integer]) -> Frequencies:
        """Unbiased estimates for a list of distinct candidates: for more inputs than a tally holds."""
        chosen, order = checked_inputs(candidates, self.inputs), np.argsort(candidates)
        ordered = chosen[order].astype(np.uint64)
        if (np.diff(ordered) == 0).any():
            raise InvalidParameter("a candidate is listed twice")
        found = np.sort(checked_inputs(reports, self.inputs)).astype(np.uint64)
        supporting = np.empty(len(chosen), np.int64)
        supporting[order] = np.searchsorted(found, ordered, "right") - np.searchsorted(
            found, ordered, "left"
        )
        return self.support.estimate(supporting, len(reports))

    def _require_tally_size(self, what: str) -> None:
        if self.inputs > LARGEST_TALLY:
            raise InvalidParameter(
                f"{what} is kept for at most {LARGEST_TALLY} inputs; estimate a list of candidates instead"
            )
