"""Count-mean sketches (Apple's Differential Privacy Team 2017), for open domains; kept to compare with.

A public family of k hash functions maps fingerprints to m columns (universal_hash.py).  The party draws one function j.
- `CountMeanSketch`: the one-hot row of the item's column, each of its m bits flipped with probability F / 2**64.
- `HadamardCountMeanSketch`: one entry of that row's Walsh-Hadamard transform, at a uniform place, flipped likewise.

Claim.  Both are epsilon-local for every family.  Two rows differ in two bits, so exp(epsilon) = ((2**64 - F) / F)**2 for
the first, and (2**64 - F) / F for the second; F is rounded up.  The noise is unbiased given the family: the estimate of
x has expectation m / (m - 1) times (the share of people in the column of x - 1 / m), averaged over j.  Over the choice of
the family that is f(x).  Checked exactly, by enumerating the coins, in tests/unit/randomizers/test_count_mean_sketch.py.

The variance of a frequency estimate, over coins and families, with c = 2**64 / (2**64 - 2 F), F2 = sum of f**2:
    (m / (m - 1))**2 [(c**2 - 1) / (4 n) + (1 - 1 / m) / m ((1 - 1 / k) / n + F2 / k)]     for the first, and
    (m / (m - 1))**2 [c**2 / n           + (1 - 1 / m) / m F2 / k]                         for the second.
The last term does not shrink with n: for one fixed family it is a bias, and the reason to use another oracle.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter
from localdp.randomizers.definition import DrawCost, Floats, Frequencies, Reports, Tally, Values
from localdp.randomizers.parts.construction import OfFingerprints
from localdp.randomizers.parts.inputs import require_between, require_own
from localdp.randomizers.parts.labelled_bits import (
    LARGEST_TABLE,
    column_sums,
    label_bits,
    labelled,
    one_hot,
    pack_labelled,
    unpack_labelled,
)
from localdp.randomizers.parts.packing import pack_integers, unpack_integers
from localdp.randomizers.parts.thresholds import keep_threshold
from localdp.randomizers.parts.universal_hash import bucket_of, checked_fingerprints, family_seeds
from localdp.randomizers.parts.walsh import parity, transform_columns
from localdp.randomness.source import WORD_RANGE, Integers, RandomSource, Words

_HALF = WORD_RANGE // 2


@dataclass(frozen=True, slots=True)
class _Sketch(OfFingerprints):
    """What both sketches share: the family, and the collisions that it costs."""

    requested: Epsilon
    hashes: int  # k
    width: int  # m
    hash_seed: int = 0  # public: names the family
    flip: int = field(init=False, repr=False, compare=False)  # F

    def __post_init__(self) -> None:
        Epsilon.requested(self.requested)
        require_between("the number of hash functions", self.hashes, 1, LARGEST_TABLE)
        require_between("the number of columns", self.width, 2, LARGEST_TABLE // self.hashes)
        require_between("the seed of the family", self.hash_seed, 0, WORD_RANGE - 1)
        each = self.requested.divided_by(self._bits_changed)
        object.__setattr__(self, "flip", WORD_RANGE - keep_threshold(each))
        if self.flip >= _HALF:
            raise InvalidParameter("this epsilon is too small for a 64-bit threshold")

    @property
    @abstractmethod
    def _bits_changed(self) -> int:
        """How many bits of a report depend on the input."""

    @property
    def epsilon(self) -> Epsilon:
        """Privacy loss of one report, in nats, replace-one neighbours; from the integer law, rounded up."""
        return Epsilon.of_ratio(Fraction(WORD_RANGE - self.flip, self.flip) ** self._bits_changed)

    @property
    def _scale(self) -> float:
        """c: what a flipped sign is multiplied with."""
        return float(Fraction(WORD_RANGE, WORD_RANGE - 2 * self.flip))

    def columns(self, numbers: NDArray[np.uint64], items: Words) -> Words:
        """The columns of items under the hash functions of these numbers; the two broadcast."""
        return bucket_of(
            family_seeds(self.hash_seed, self.hashes)[numbers.astype(np.int64)], items, self.width
        )

    def _looked_up(self, table: Floats, candidates: Values) -> Floats:
        """For each candidate, the sum over j of the entry in its column."""
        items = checked_fingerprints(candidates)
        found = np.zeros(len(items))
        for seed, row in zip(family_seeds(self.hash_seed, self.hashes)[:, None], table, strict=True):
            found += row[bucket_of(seed, items, self.width).astype(np.int64)]
        return found

    def _frequencies(self, sums: Floats, reports: int, noise: float, spread: float) -> Frequencies:
        """Frequencies from summed entries; `noise` is per report, `spread` is what collisions add in all."""
        m = self.width
        values = (sums / reports - 1 / m) * m / (m - 1)
        empirical = (m / (m - 1)) ** 2 * (noise / reports + (1 - 1 / m) / m * spread)
        inside = np.clip(values, 0.0, 1.0)
        population = empirical + inside * (1 - inside) / reports
        return Frequencies(values, reports, np.full(len(values), empirical), population)


@dataclass(frozen=True, slots=True)
class CountMeanSketch(_Sketch):
    """Reports the number of a hash function, and a noisy one-hot row."""

    name: ClassVar[str] = "count-mean-sketch"

    @property
    def _bits_changed(self) -> int:
        return 2

    @property
    def report_bits(self) -> int:
        """Size of one packed report: the function and the row."""
        return label_bits(self.hashes) + self.width

    @property
    def draw_cost(self) -> DrawCost:
        """A word for each column."""
        return DrawCost(200, 50 + 4.5 * self.width, self.width)

    def randomize(self, values: Values, source: RandomSource) -> Reports:
        """One noisy row for each fingerprint."""
        items = checked_fingerprints(values)
        numbers = source.below(self.hashes, len(items))
        rows = one_hot(self.columns(numbers, items), self.width)
        rows ^= source.bernoulli(self.flip, rows.size).reshape(rows.shape)
        return labelled(numbers, rows)

    def law(self, value: int) -> dict[Hashable, Fraction]:
        """The exact law of (function, bits ..)."""
        flipped = Fraction(self.flip, WORD_RANGE)
        law: dict[Hashable, Fraction] = {}
        for number in range(self.hashes):
            own = int(self.columns(np.array([number], np.uint64), np.array([value], np.uint64))[0])
            for row in product((0, 1), repeat=self.width):
                flips = sum(bit != (place == own) for place, bit in enumerate(row))
                law[number, *row] = flipped**flips * (1 - flipped) ** (self.width - flips) / self.hashes
        return law

    def pack(self, reports: Reports) -> bytes:
        """Function and row of each report, bit by bit."""
        return pack_labelled(reports, self.hashes)

    def unpack(self, data: bytes, count: int) -> Reports:
        """The reports again."""
        return unpack_labelled(data, count, self.hashes, self.width)

    def tally(self, reports: Reports) -> Tally:
        """For each function the sums of the columns, and last the number of reports."""
        return Tally(self, len(reports), column_sums(reports, self.hashes))

    def estimate(self, tally: Tally, candidates: Values, second_moment: float = 1.0) -> Frequencies:
        """Frequencies of the candidates; F2 enters the variance alone, and 1 is its largest value."""
        require_own(tally, self)
        ones, people = tally.sums[:, :-1], tally.sums[:, -1:]
        table = (self._scale * (2 * ones - people) + people) / 2
        spread = (1 - 1 / self.hashes) / tally.reports + second_moment / self.hashes
        noise = (self._scale**2 - 1) / 4
        return self._frequencies(self._looked_up(table, candidates), tally.reports, noise, spread)


@dataclass(frozen=True, slots=True)
class HadamardCountMeanSketch(_Sketch):
    """Reports the number of a hash function, a place, and one noisy sign: an integer of few bits."""

    name: ClassVar[str] = "hadamard-count-mean-sketch"
    draw_cost: ClassVar[DrawCost] = DrawCost(300, 36)

    def __post_init__(self) -> None:
        _Sketch.__post_init__(self)
        if self.width & (self.width - 1):
            raise InvalidParameter("the number of columns of a Hadamard sketch is a power of two")

    @property
    def _bits_changed(self) -> int:
        return 1

    @property
    def _row_bits(self) -> int:
        return self.width.bit_length() - 1

    @property
    def report_bits(self) -> int:
        """Size of one packed report: the function, the place and the sign."""
        return label_bits(self.hashes) + self._row_bits + 1

    def randomize(self, values: Values, source: RandomSource) -> Words:
        """(function * m + place) * 2 + sign for each fingerprint; sign 1 is negative."""
        items = checked_fingerprints(values)
        numbers = source.below(self.hashes, len(items))
        places = source.below(self.width, len(items))
        negative = parity(places & self.columns(numbers, items)) ^ source.bernoulli(self.flip, len(items))
        return ((numbers * np.uint64(self.width) + places) << np.uint64(1)) | negative.astype(np.uint64)

    def law(self, value: int) -> dict[Hashable, Fraction]:
        """The exact law of the report."""
        law: dict[Hashable, Fraction] = {}
        for number in range(self.hashes):
            own = int(self.columns(np.array([number], np.uint64), np.array([value], np.uint64))[0])
            for place, sign in product(range(self.width), (0, 1)):
                kept = sign == (place & own).bit_count() % 2
                weight = WORD_RANGE - self.flip if kept else self.flip
                total = WORD_RANGE * self.hashes * self.width
                law[(number * self.width + place) * 2 + sign] = Fraction(weight, total)
        return law

    def pack(self, reports: Reports) -> bytes:
        """Function, place and sign of each report."""
        return pack_integers(reports, self.report_bits)

    def unpack(self, data: bytes, count: int) -> Words:
        """The reports again."""
        below = 2 * self.hashes * self.width
        return unpack_integers(data, count, self.report_bits, below).astype(np.uint64)

    def tally(self, reports: Reports) -> Tally:
        """The sum of the signs at each place of each function."""
        entries = self.hashes * self.width
        counts = np.bincount(reports.astype(np.int64), minlength=2 * entries).reshape(entries, 2)
        return Tally(self, len(reports), (counts[:, 0] - counts[:, 1]).reshape(self.hashes, self.width))

    def estimate(self, tally: Tally, candidates: Values, second_moment: float = 1.0) -> Frequencies:
        """Frequencies of the candidates; F2 enters the variance alone, and 1 is its largest value."""
        require_own(tally, self)
        spectrum: Integers = np.ascontiguousarray(tally.sums.T)
        transform_columns(spectrum)
        table: Floats = spectrum.T * np.float64(self._scale)
        sums = self._looked_up(table, candidates)
        return self._frequencies(sums, tally.reports, self._scale**2, second_moment / self.hashes)
