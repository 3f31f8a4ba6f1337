"""Vectors of the Euclidean unit ball: PrivUnitG (Asi, Feldman and Talwar 2022) by a choice among public candidates.

PrivUnitG reports g ~ N(0, I), with probability p conditioned on <g, x> >= gamma, else on <g, x> < gamma.  Its epsilon
rests on the exact normal measure of a half-space, which no computer draws from.

**Deviation** (after the modified minimal random coding of Shah et al. 2022).  A public seed, drawn without regard to
x, stands for K candidates: K / 2 normal vectors and their negatives.  The k candidates of largest <g, x> are the near
ones.  With probability T / 2**64 the report is a uniform near candidate, else a uniform one of the K - k others; what is
sent is the seed and the number of the candidate, 64 + log2 K bits in place of d floats.

Claims.
- Privacy is exact.  Whatever the candidates are, k of them are near: given the seed, every candidate has probability
  T / (2**64 k) or (2**64 - T) / (2**64 (K - k)) under every x.  So exp(epsilon) is the ratio of the two, an exact
  rational.  Rounding, ties, or a bad public generator change which candidates are near: never the ratio.
- The estimator is unbiased.  The law of the candidates is invariant under rotations about x, so the reported one has
  mean m x, where m = E[near score] (p - (1 - p) k / (K - k)); sigma = 1 / m.  A vector shorter than 1 gets a coordinate
  sqrt(1 - |x|**2), which is dropped again.
- The mean squared error of a report is sigma**2 (d - 1 + E[score**2]) - 1 at |x| = 1.  At K = 128 it exceeds that of
  PrivUnitG by 0.3, 0.6, 1.1 and 2.8 % at epsilon 0.5, 1, 2 and 4; the excess falls as 1 / K.
Checked in tests/unit/randomizers/test_priv_unit.py (the first exactly), and as a sample in
tests/statistical/test_mean_randomizers.py.
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
from localdp.randomizers.definition import DrawCost, Floats, Frequencies, Reports, Tally, Values
from localdp.randomizers.input_kinds import BallInput, InputKind
from localdp.randomizers.parts.construction import Construction
from localdp.randomizers.parts.inputs import require_between, require_own
from localdp.randomizers.parts.near_scores import NearScores, best_near
from localdp.randomizers.parts.order_statistics import places_of_ranks
from localdp.randomizers.parts.packing import bits_below, pack_integers, packed_size, unpack_integers
from localdp.randomizers.parts.public_normals import PublicScores, Singles, public_normals
from localdp.randomizers.parts.thresholds import keep_threshold
from localdp.randomness.source import WORD_BITS, WORD_RANGE, Bits, Integers, RandomSource, Words

LARGEST_DIMENSION = 1 << 16
LARGEST_CANDIDATES = 1 << 11
LARGEST_LIST = 1 << 22  # normals that one person's candidates take
LARGEST_RESOLUTION = 1 << 20
_BLOCK_NORMALS = 1 << 18  # normals made at a time: a block stays in the cache
_SCORES_AT_ONCE = 1 << 17  # ranked at a time
_FIXED_POINT = 1 << 16


@dataclass(frozen=True, slots=True)
class PrivUnit(Construction):
    """Reports the seed of a public list of directions, and which of them was chosen."""

    name: ClassVar[str] = "priv-unit"
    requested: Epsilon
    dimension: int
    resolution: int = 1 << 15  # entry v of a vector stands for v / resolution
    candidates: int = 128  # K, even
    near: int = 0  # k; 0 stands for the best one
    keep: int = field(init=False, repr=False, compare=False)  # T
    scores: NearScores = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        Epsilon.requested(self.requested)
        require_between("the dimension", self.dimension, 1, LARGEST_DIMENSION)
        require_between("the resolution", self.resolution, 1, LARGEST_RESOLUTION)
        require_between("the number of candidates", self.candidates, 2, LARGEST_CANDIDATES)
        if self.candidates % 2 or self.candidates * (self.dimension + 1) > LARGEST_LIST:
            raise InvalidParameter(
                f"the candidates are even in number, and have at most {LARGEST_LIST} entries in all"
            )
        require_between("the number of near candidates", self.near, 0, self.candidates // 2)
        near = self.near or best_near(self.candidates, float(self.requested))
        keep = keep_threshold(self.requested, near, self.candidates - near)
        object.__setattr__(self, "near", near)
        object.__setattr__(self, "keep", keep)
        object.__setattr__(self, "scores", NearScores(self.candidates, near, keep / WORD_RANGE))
        if self._ratio <= 1:
            raise InvalidParameter("this epsilon is too small")

    @property
    def _ratio(self) -> Fraction:
        return Fraction(self.keep * (self.candidates - self.near), (WORD_RANGE - self.keep) * self.near)

    @property
    def epsilon(self) -> Epsilon:
        """Privacy loss of one report, in nats, replace-one neighbours; from the integer law, rounded up."""
        return Epsilon.of_ratio(self._ratio)

    @property
    def likely(self) -> Fraction:
        """Under each seed, the near candidates."""
        return Fraction(self.near, self.candidates)

    @property
    def assumption(self) -> str:
        """What the claims rest on besides the coins."""
        return (
            "privacy: none; unbiasedness: the public expansion of a seed behaves like independent normals"
        )

    @property
    def inputs(self) -> int:
        """The points of the cube around the ball, numbered by digits; those outside of the ball are refused."""
        return int((2 * self.resolution + 1) ** self.dimension)

    @property
    def report_bits(self) -> int:
        """Size of one packed report."""
        return WORD_BITS + bits_below(self.candidates)

    @property
    def takes(self) -> InputKind:
        """A vector of the unit ball."""
        return BallInput(self.dimension, self.resolution)

    @property
    def draw_cost(self) -> DrawCost:
        """The normals of half of the candidates, and their scores sorted."""
        pairs = self.candidates // 2
        return DrawCost(500, 12 * pairs * (self.dimension + 1) + 80 * pairs)

    def randomize(self, values: Values, source: RandomSource) -> Words:
        """One (seed, candidate) for each row of an (n, dimension) array of integers within the ball."""
        vectors = self._unit_vectors(values)
        seeds = source.raw(np.uint64, len(values))
        return np.stack([seeds, self.choose(vectors, seeds, source)], axis=1)

    def choose(self, vectors: Floats, seeds: Words, source: RandomSource) -> Words:
        """The number of a candidate for each unit vector, given the seeds: all of the privacy is here."""
        people = len(vectors)
        kept = source.bernoulli(self.keep, people)
        near = source.below(self.near, people).view(np.int64)
        far = source.below(self.candidates - self.near, people).view(np.int64)
        ranks, opposite = self._wanted(kept, near, far)
        pairs = self.candidates // 2
        scores = PublicScores(min(people, self._people_at_once(pairs)), pairs, self.dimension + 1)
        chosen = np.empty(people, np.uint64)
        step = max(1, _SCORES_AT_ONCE // pairs)
        for start in range(0, people, step):
            some = slice(start, start + step)
            found = self._found(vectors[some], seeds[some], scores)
            chosen[some] = _candidates(found, ranks[some]) ^ opposite[some]
        return chosen

    def _found(self, vectors: Floats, seeds: Words, scores: PublicScores) -> Singles:
        """The scores of one normal of each pair, for more people than normals are made for at a time."""
        found = np.empty((len(seeds), scores.rows), np.float32)
        for part in self._blocks(len(seeds), scores.rows):
            found[part] = scores.of(seeds[part], vectors[part])
        return found

    def _wanted(self, kept: Bits, near: Integers, far: Integers) -> tuple[Integers, Integers]:
        """Of which pair, by falling score, a candidate is taken, and whether it is the one of negative score.

        Candidates 2 i and 2 i + 1 are normal i and its negative.  The far ones are the negatives of the near ones,
        then both of every other pair.
        """
        beyond: Integers = far - self.near
        negative: Integers = (beyond < 0).astype(np.int64)
        back: Integers = beyond - (beyond >> 1)  # two far candidates have one rank, but for the first ones
        back *= beyond >= 0
        moved: Integers = (~kept).astype(np.int64)
        further: Integers = far - back - near
        further *= moved
        return near + further, (negative | (beyond & 1)) & moved

    def law(self, value: int) -> dict[Hashable, Fraction]:
        """Not listed: a report has 2**64 seeds.  Use `law_given_seed`."""
        raise InvalidParameter("the law of PrivUnit is listed for one seed at a time")

    def law_given_seed(self, vector: Values, seed: int) -> dict[Hashable, Fraction]:
        """The exact law of the number of the candidate, for one seed."""
        seeds = np.array([seed], np.uint64)
        scores = PublicScores(1, self.candidates // 2, self.dimension + 1)
        found = scores.of(seeds, self._unit_vectors(vector[None, :]))
        nearest = set(_candidates(found.repeat(self.near, axis=0), np.arange(self.near)).tolist())
        near = Fraction(self.keep, WORD_RANGE * self.near)
        far = Fraction(WORD_RANGE - self.keep, WORD_RANGE * (self.candidates - self.near))
        return {number: near if number in nearest else far for number in range(self.candidates)}

    def pack(self, reports: Reports) -> bytes:
        """All seeds, then all numbers, without gaps."""
        numbers = pack_integers(reports[:, 1], bits_below(self.candidates))
        return pack_integers(reports[:, 0], WORD_BITS) + numbers

    def unpack(self, data: bytes, count: int) -> Words:
        """The reports again, if there are exactly `count`, with numbers of candidates."""
        cut = packed_size(count, WORD_BITS)
        numbers = unpack_integers(data[cut:], count, bits_below(self.candidates), self.candidates)
        seeds = unpack_integers(data[:cut], count, WORD_BITS, WORD_RANGE)
        return np.stack([seeds, numbers.astype(np.uint64)], axis=1)

    def decoded(self, reports: Reports) -> NDArray[np.float32]:
        """The reported candidates, before scaling, without the coordinate that was added."""
        rows = (reports[:, 1] >> np.uint64(1)).astype(np.int64)[:, None]
        normals = public_normals(reports[:, 0], rows, self.dimension + 1)[:, 0, : self.dimension]
        sign = 1 - 2 * (reports[:, 1] & np.uint64(1)).astype(np.float32)
        return normals * sign[:, None]

    def tally(self, reports: Reports) -> Tally:
        """The sums of the candidates and of their squares, in units of 2**-16."""
        sums = np.zeros((2, self.dimension), np.int64)
        for part in self._blocks(len(reports), 1):
            candidates = self.decoded(reports[part]).astype(np.float64)
            sums[0] += np.rint(candidates * _FIXED_POINT).astype(np.int64).sum(axis=0)
            sums[1] += np.rint(candidates**2 * _FIXED_POINT).astype(np.int64).sum(axis=0)
        return Tally(self, len(reports), sums)

    def estimate(self, tally: Tally) -> Frequencies:
        """Unbiased estimates of the means of all coordinates of the vectors."""
        require_own(tally, self)
        first, second = tally.sums / (_FIXED_POINT * tally.reports)
        values = self.scores.scale * first
        # Var = sigma**2 (1 + (E[score**2] - 1) x**2) - x**2 in a coordinate x: its second moment gives E[x**2].
        inside = np.clip(values, -1.0, 1.0) ** 2
        bend = self.scores.mean_square - 1
        spread = np.clip((second - 1) / bend if bend else inside, inside, 1.0)
        raw = self.scores.scale**2 * (1 + bend * spread)
        return Frequencies(
            values, tally.reports, (raw - spread) / tally.reports, (raw - inside) / tally.reports
        )

    def mean_squared_error(self, squared_norm: float = 1.0) -> float:
        """The expected squared distance of one debiased report from a vector of this squared norm."""
        bend = self.scores.mean_square - 1
        return self.scores.scale**2 * (self.dimension + bend * squared_norm) - squared_norm

    def _unit_vectors(self, values: Values) -> Floats:
        """The vectors in units of the radius, with the coordinate that makes their length 1."""
        if values.ndim != 2 or values.shape[1] != self.dimension or values.dtype.kind not in "ui":
            raise InvalidParameter(f"the inputs are rows of {self.dimension} integers")
        radius = self.resolution
        if values.size and (int(values.min()) < -radius or int(values.max()) > radius):
            raise InvalidParameter(f"the entries of a vector are integers from {-radius} to {radius}")
        missing = radius**2 - np.square(values.astype(np.int64)).sum(axis=1)
        if values.size and int(missing.min()) < 0:
            raise InvalidParameter(f"a vector is longer than {radius}")
        return np.concatenate([values, np.sqrt(missing)[:, None]], axis=1) / radius

    def _blocks(self, people: int, rows: int) -> list[slice]:
        size = self._people_at_once(rows)
        return [slice(start, start + size) for start in range(0, people, size)]

    def _people_at_once(self, rows: int) -> int:
        return max(1, _BLOCK_NORMALS // (rows * (self.dimension + 1)))


def _candidates(scores: Singles, ranks: Integers) -> Integers:
    """For each person, the candidate of positive score in the pair of this rank."""
    places = places_of_ranks(scores, ranks)
    negative = np.take_along_axis(scores, places[:, None], axis=1)[:, 0] < 0
    return 2 * places + negative
