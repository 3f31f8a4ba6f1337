"""RAPPOR (Erlingsson, Pihur and Korolova 2014): two rounds of noise on bits, the first of them remembered.

An item sets some bits of a row: one bit of its own (`BasicRappor`, a closed domain), or the bits of a Bloom filter with h
hash functions in the party's cohort (`BloomRappor`, fingerprints of an open domain).  Then
- permanent round, once for each value and *remembered by the party*: each bit is flipped with probability F / 2**64
  (the source's f / 2);
- instantaneous round, for every report: a remembered one is sent as 1 with probability Q / 2**64 (the source's q), a
  remembered zero with probability P / 2**64 (the source's p).

Claim.  Let own and other be the probabilities that a report has a 1 where the item has a one and a zero.  Two items
differ in at most 2 h bits, so one report has exp(epsilon) = (own (1 - other) / (other (1 - own)))**h, and any number of
reports about one remembered value have exp(permanent_epsilon) = ((2**64 - F) / F)**(2 h).  Both are attained by items
with disjoint bits.  `randomize` is one report with fresh noise in both rounds.  A party that reports again must keep what
`memoise` gave it, and must charge `permanent_epsilon` once for every *distinct* value: drawing a fresh permanent round each
time is not RAPPOR, and its losses add up.
Checked exactly, by enumerating the coins, in tests/unit/randomizers/test_rappor.py.

Kept to compare with, and to speak to what is deployed: better oracles are in projective_geometry.py and local_hashing.py.
**Deviation.**  The source decodes Bloom filters by LASSO followed by least squares on what it selected, which is biased;
here it is least squares on all candidates, unbiased when everybody holds one of them.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import ClassVar, Self

import numpy as np

from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter
from localdp.randomizers.definition import DrawCost, Floats, Frequencies, Parameters, Reports, Tally, Values
from localdp.randomizers.parts.construction import Construction, OfFingerprints
from localdp.randomizers.parts.inputs import checked_inputs, require_between, require_own
from localdp.randomizers.parts.labelled_bits import (
    LARGEST_TABLE,
    column_sums,
    label_bits,
    labelled,
    one_hot,
    pack_labelled,
    unpack_labelled,
)
from localdp.randomizers.parts.pure_protocol import CountedSupport, Support
from localdp.randomizers.parts.thresholds import keep_threshold
from localdp.randomizers.parts.universal_hash import bucket_of, checked_fingerprints, family_seeds
from localdp.randomness.source import WORD_RANGE, Bits, RandomSource, Words

LARGEST_WIDTH = 1 << 16
LARGEST_HASHES = 64


@dataclass(frozen=True, slots=True)
class TwoRounds:
    """The noise of both rounds, as integers over 2**64."""

    flip: int  # F: a bit is flipped in the permanent round
    low: int  # P: a remembered zero is sent as 1
    high: int  # Q: a remembered one is sent as 1

    def __post_init__(self) -> None:
        require_between("the flip of the permanent round", self.flip, 1, WORD_RANGE // 2 - 1)
        require_between("the high threshold", self.high, 1, WORD_RANGE - 1)
        require_between("the low threshold", self.low, 0, self.high - 1)

    @property
    def support(self) -> Support:
        """How often a report has a 1 where the item has a one, and where it has a zero."""
        flip, low, high = (Fraction(part, WORD_RANGE) for part in (self.flip, self.low, self.high))
        return Support(high + flip * (low - high), low + flip * (high - low))

    def report_epsilon(self, hashes: int) -> Epsilon:
        """Privacy loss of one report."""
        own, other = self.support.own, self.support.other
        return Epsilon.of_ratio((own * (1 - other) / (other * (1 - own))) ** hashes)

    def permanent_epsilon(self, hashes: int) -> Epsilon:
        """Privacy loss of any number of reports about one remembered value."""
        return Epsilon.of_ratio(Fraction(WORD_RANGE - self.flip, self.flip) ** (2 * hashes))

    def permanent(self, rows: Bits, source: RandomSource) -> Bits:
        """The rows after the first round."""
        return rows ^ source.bernoulli(self.flip, rows.size).reshape(rows.shape)

    def instantaneous(self, rows: Bits, source: RandomSource) -> Bits:
        """What is sent for remembered rows."""
        # Both coins for every bit: the same work for all, and no threshold of 64 bits for each of them.
        high = source.bernoulli(self.high, rows.size).reshape(rows.shape)
        sent = source.bernoulli(self.low, rows.size).reshape(rows.shape)
        high ^= sent
        high &= rows
        sent ^= high
        return sent

    def row_law(self, ones: set[int], width: int) -> Iterator[tuple[tuple[int, ...], Fraction]]:
        """The exact law of one report, for an item with these ones."""
        own, other = self.support.own, self.support.other
        chances = [own if place in ones else other for place in range(width)]
        for row in product((0, 1), repeat=width):
            mass = Fraction(1)
            for bit, chance in zip(row, chances, strict=True):
                mass *= chance if bit else 1 - chance
            yield row, mass


def published_rounds(noise: Fraction | str, low: Fraction | str, high: Fraction | str) -> TwoRounds:
    """The rounds of the source's (f, p, q), each rounded towards more privacy."""
    try:
        f, p, q = (Fraction(part) * WORD_RANGE for part in (noise, low, high))
    except (ValueError, ZeroDivisionError) as error:
        raise InvalidParameter("the noise of a round is a fraction, such as 3/4 or 0.75") from error
    return TwoRounds(-(-f // 2), -(-p // 1), min(q // 1, WORD_RANGE - 1))


def symmetric_rounds(permanent: Epsilon, report: Epsilon, hashes: int = 1) -> TwoRounds:
    """Symmetric flips in both rounds, for these losses of a remembered value and of one report."""
    require_between("the number of hash functions", hashes, 1, LARGEST_HASHES)
    if not report < permanent:
        raise InvalidParameter("one report loses less than all reports about one value")
    flip = WORD_RANGE - keep_threshold(permanent.divided_by(2 * hashes))
    own = keep_threshold(report.divided_by(2 * hashes))
    # own = (1 - flip) high + flip (1 - high), solved for high and rounded down.
    high = (own - flip) * WORD_RANGE // (WORD_RANGE - 2 * flip)
    return TwoRounds(flip, WORD_RANGE - high, high)


class _InTwoRounds(Construction):
    """What both forms share: they are made from their rounds, not from an epsilon."""

    __slots__ = ()

    @classmethod
    def from_parameters(cls, parameters: Parameters) -> Self:
        """The randomizer of these rounds."""
        return cls(**parameters | {"rounds": TwoRounds(**parameters["rounds"])})


@dataclass(frozen=True, slots=True)
class BasicRappor(_InTwoRounds, CountedSupport):
    """One bit for each input; inputs are 0 .. inputs - 1."""

    name: ClassVar[str] = "basic-rappor"
    rounds: TwoRounds
    inputs: int

    def __post_init__(self) -> None:
        require_between("the number of inputs", self.inputs, 2, LARGEST_WIDTH)

    @property
    def epsilon(self) -> Epsilon:
        """Privacy loss of one report of `randomize`, in nats, replace-one neighbours; rounded up."""
        return self.rounds.report_epsilon(1)

    @property
    def permanent_epsilon(self) -> Epsilon:
        """Privacy loss of any number of reports about one remembered value, in nats; rounded up."""
        return self.rounds.permanent_epsilon(1)

    @property
    def report_bits(self) -> int:
        """Size of one packed report."""
        return self.inputs

    @property
    def support(self) -> Support:
        """A report supports the inputs whose bits are one."""
        return self.rounds.support

    def memoise(self, values: Values, source: RandomSource) -> Bits:
        """The permanent round: what a party remembers for its value."""
        items = checked_inputs(values, self.inputs)
        return self.rounds.permanent(one_hot(items.astype(np.uint64), self.inputs), source)

    def report(self, remembered: Bits, source: RandomSource) -> Bits:
        """The instantaneous round: one report for each remembered row."""
        return self.rounds.instantaneous(remembered, source)

    @property
    def draw_cost(self) -> DrawCost:
        """Two words for each input."""
        return DrawCost(150, 50 + 10 * self.inputs, 2 * self.inputs)

    def randomize(self, values: Values, source: RandomSource) -> Bits:
        """One report for each value, with fresh noise in both rounds."""
        return self.report(self.memoise(values, source), source)

    def law(self, value: int) -> dict[Hashable, Fraction]:
        """The exact law of the row."""
        return dict(self.rounds.row_law({value}, self.inputs))

    def pack(self, reports: Reports) -> bytes:
        """One bit for each input."""
        return np.packbits(reports).tobytes()

    def unpack(self, data: bytes, count: int) -> Bits:
        """The rows again."""
        rows: Bits = unpack_labelled(data, count, 1, self.inputs)["bits"]
        return rows

    def tally(self, reports: Reports) -> Tally:
        """How many reports have a 1 in each column."""
        return Tally(self, len(reports), np.count_nonzero(reports, axis=0).astype(np.int64))


@dataclass(frozen=True, slots=True)
class BloomRappor(_InTwoRounds, OfFingerprints):
    """The bits of a Bloom filter in a random cohort; inputs are 64-bit fingerprints."""

    name: ClassVar[str] = "bloom-rappor"
    rounds: TwoRounds
    width: int  # bits of the filter
    hashes: int  # h
    cohorts: int = 1
    hash_seed: int = 0  # public: names the family of hash functions

    def __post_init__(self) -> None:
        require_between("the number of hash functions", self.hashes, 1, LARGEST_HASHES)
        require_between("the number of bits", self.width, 2 * self.hashes, LARGEST_WIDTH)
        require_between("the number of cohorts", self.cohorts, 1, LARGEST_TABLE // self.width)
        require_between("the seed of the family", self.hash_seed, 0, WORD_RANGE - 1)

    @property
    def epsilon(self) -> Epsilon:
        """Privacy loss of one report of `randomize`, in nats, replace-one neighbours; rounded up."""
        return self.rounds.report_epsilon(self.hashes)

    @property
    def permanent_epsilon(self) -> Epsilon:
        """Privacy loss of any number of reports about one remembered value, in nats; rounded up."""
        return self.rounds.permanent_epsilon(self.hashes)

    @property
    def report_bits(self) -> int:
        """Size of one packed report: the cohort and the row."""
        return label_bits(self.cohorts) + self.width

    def filters(self, cohorts: Words, items: Words) -> Bits:
        """The Bloom filter of each item in the cohort beside it."""
        seeds = family_seeds(self.hash_seed, self.cohorts * self.hashes).reshape(self.cohorts, self.hashes)
        columns = bucket_of(seeds[cohorts.astype(np.int64)], items[:, None], self.width)
        rows = np.zeros((len(items), self.width), np.bool_)
        rows[np.arange(len(items))[:, None], columns.astype(np.int64)] = True
        return rows

    def memoise(self, values: Values, source: RandomSource) -> Reports:
        """The cohort and the permanent round: what a party remembers (the cohort for good, the row for its value)."""
        items = checked_fingerprints(values)
        cohorts = source.below(self.cohorts, len(items))
        return labelled(cohorts, self.rounds.permanent(self.filters(cohorts, items), source))

    def report(self, remembered: Reports, source: RandomSource) -> Reports:
        """The instantaneous round: one report for each remembered row."""
        sent = self.rounds.instantaneous(remembered["bits"], source)
        return labelled(remembered["label"], sent)

    @property
    def draw_cost(self) -> DrawCost:
        """Two words for each bit of the filter."""
        return DrawCost(400, 100 + 12 * self.width, 2 * self.width)

    def randomize(self, values: Values, source: RandomSource) -> Reports:
        """One report for each value, with a fresh cohort and fresh noise in both rounds."""
        return self.report(self.memoise(values, source), source)

    def law(self, value: int) -> dict[Hashable, Fraction]:
        """The exact law of (cohort, bits ..)."""
        law: dict[Hashable, Fraction] = {}
        for cohort in range(self.cohorts):
            row = self.filters(np.array([cohort], np.uint64), np.array([value], np.uint64))[0]
            for bits, mass in self.rounds.row_law(set(np.flatnonzero(row).tolist()), self.width):
                law[(cohort, *bits)] = mass / self.cohorts
        return law

    def pack(self, reports: Reports) -> bytes:
        """Cohort and row of each report, bit by bit."""
        return pack_labelled(reports, self.cohorts)

    def unpack(self, data: bytes, count: int) -> Reports:
        """The reports again."""
        return unpack_labelled(data, count, self.cohorts, self.width)

    def tally(self, reports: Reports) -> Tally:
        """For each cohort the sums of the columns, and last the number of reports."""
        return Tally(self, len(reports), column_sums(reports, self.cohorts))

    def estimate(self, tally: Tally, candidates: Values) -> Frequencies:
        """Frequencies of the candidates by least squares; unbiased if everybody holds one of them.

        The empirical variance is given the cohorts; the population variance adds the sampling term to it.
        """
        require_own(tally, self)
        each_column = np.repeat(tally.sums[:, -1], self.width)
        present = each_column > 0
        people: Floats = each_column[present].astype(np.float64)
        shares = tally.sums[:, :-1].ravel()[present] / people
        inverse = self._inverse(checked_fingerprints(candidates), present, people)
        own, other = float(self.rounds.support.own), float(self.rounds.support.other)
        ones = (shares - other) / (own - other)
        inside = np.clip(ones, 0.0, 1.0)
        each = (own * (1 - own) * inside + other * (1 - other) * (1 - inside)) / (own - other) ** 2 / people
        values = inverse @ ones
        empirical = inverse**2 @ each
        held = np.clip(values, 0.0, 1.0)
        population = empirical + held * (1 - held) / tally.reports
        return Frequencies(values, tally.reports, empirical, population)

    def _inverse(self, items: Words, present: Bits, people: Floats) -> Floats:
        """The matrix of weighted least squares: from the shares of ones in all columns to candidates."""
        if len(items) > len(people):
            raise InvalidParameter("there are more candidates than columns in all cohorts together")
        if len(items) * len(people) > LARGEST_TABLE:
            raise InvalidParameter(
                f"candidates times columns of all cohorts must not exceed {LARGEST_TABLE}"
            )
        cohorts = np.arange(self.cohorts, dtype=np.uint64)
        design = np.stack(
            [self.filters(cohorts, np.full_like(cohorts, item)).ravel()[present] for item in items], axis=1
        )
        weights = np.sqrt(people)
        weighted = design * weights[:, None]
        if np.linalg.matrix_rank(weighted) < len(items):
            raise InvalidParameter("the filters do not tell the candidates apart: use more cohorts or bits")
        inverse: Floats = np.linalg.pinv(weighted) * weights
        return inverse
