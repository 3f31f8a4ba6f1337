"""Heavy hitters of a large domain by extending prefixes (PEM of Wang, Li and Jha 2019).

Values are words of m <= 64 bits.  People are split into G groups, of which group g is asked for the prefix of length
L(g) = first + g step of its values, by optimal local hashing; each person is asked once, so the epsilon of one report
is the epsilon of the whole protocol.  The server keeps the candidates of group g that stand out, extends each by all
continuations, asks group g + 1, and reports what stands out in the last group.

Claim.  Let sigma_G = sqrt(G v / n), v = n Var(f = 0) of the oracle.  An item of frequency 5 sigma_G is missed by
about one run in a thousand while v is well above f, by one or two in a hundred at large epsilon, where the draw of
the groups adds to the noise; above 6 sigma_G hardly ever.  An item that nobody has is reported by at most one run in
two hundred: its count would have to pass the tail of 4.5 standard deviations or more, by the exact binomial law.

**Deviation** from PEM, which passes on the k largest candidates of each group and reports the k largest of the last
one:
- An answer must pass a threshold; the k largest are k even when there is nothing to find.
- With equal groups, a threshold of 4.5 sigma_G in the last one alone would lose 31 % of the items at 5 sigma_G.  So
  the last group, which decides, is larger (`last_share`).
- Candidates are ranked by their evidence along the whole prefix: that of the parent, as far as it speaks against it,
  and the own.  A child of a certain parent is then not crowded out by lucky grandchildren of nothing, and prefixes
  whose evidence is hopeless are given up, so that the work follows what there is to find.
Checked in tests/unit/algorithms/test_heavy_hitters.py; sampled in tests/statistical/test_structures.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from math import sqrt
from statistics import NormalDist

import numpy as np

from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter, TooFewReports
from localdp.estimation.intervals import surprising_count
from localdp.randomizers.definition import Floats, Frequencies, Reports, Values
from localdp.randomizers.local_hashing import OptimalLocalHashing
from localdp.randomizers.parts.inputs import require_between
from localdp.randomizers.parts.universal_hash import checked_fingerprints
from localdp.randomness.source import IntegerLaw, Integers, RandomSource, Words

MOST_BITS = 64
MOST_EXTENSIONS = 1 << 18
TEXT_BYTES = MOST_BITS // 8
LEAST_EVIDENCE = -8.0  # A logarithm of odds; with less, a prefix is given up.

# Asks a group of people, by its number, for prefixes of this length through this randomizer.
Ask = Callable[[int, int, OptimalLocalHashing], Reports]


@dataclass(frozen=True, slots=True)
class PrefixPlan:
    """The public parameters of a search for heavy hitters."""

    requested: Epsilon  # for the whole protocol: each person answers once
    bits: int  # m
    first: int = 8  # length of the first group's prefixes
    step: int = 4  # bits that each further group adds
    most_candidates: int = 256  # that a group passes on; bounds the work
    deciding: float = 4.5  # standard errors that an item must exceed to be reported, at least
    false_alarms: float = 0.005  # items that nobody has, reported in a run on average, at most
    last_share: Fraction = Fraction(7, 20)  # of the people, in the last group
    randomizer: OptimalLocalHashing = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        require_between("the number of bits", self.bits, 1, MOST_BITS)
        require_between("the first prefix length", self.first, 1, 16)
        require_between("the step", self.step, 1, 12)
        require_between("the number of candidates", self.most_candidates, 1, MOST_EXTENSIONS >> self.step)
        if not 0 < self.last_share < 1 or not 0 < self.deciding <= 37 or not 0 < self.false_alarms < 1:
            raise InvalidParameter(
                "shares lie between 0 and 1, and a threshold between 0 and 37 standard errors"
            )
        object.__setattr__(self, "randomizer", OptimalLocalHashing(self.requested))

    @property
    def lengths(self) -> tuple[int, ...]:
        """The prefix length of each group; the last is m."""
        return (*range(min(self.first, self.bits), self.bits, self.step), self.bits)

    @property
    def groups(self) -> int:
        """G."""
        return len(self.lengths)

    @property
    def group_law(self) -> IntegerLaw:
        """How a person's group is drawn: the last one with `last_share`, the others alike."""
        if self.groups == 1:
            return IntegerLaw((1,))
        others = (1 - self.last_share) / (self.groups - 1)
        scale = others.denominator * self.last_share.denominator
        return IntegerLaw((*[int(others * scale)] * (self.groups - 1), int(self.last_share * scale)))

    def sigma(self, people: int) -> float:
        """sigma_G: the standard error of a group of equal groups, for an item that nobody has."""
        return sqrt(self.groups * self.randomizer.variance(0.0) / people)


@dataclass(frozen=True, slots=True, eq=False)
class HeavyHitters:
    """The items that stood out in the last group, the most frequent first, with their unbiased frequencies."""

    items: Words
    frequencies: Frequencies


def find_heavy_hitters(plan: PrefixPlan, ask: Ask) -> HeavyHitters:
    """The server's side: one question to each group, each depending on the answers before it."""
    candidates, evidence, known = np.zeros(1, np.uint64), np.zeros(1), 0
    for group, length in enumerate(plan.lengths[:-1]):
        candidates = _extended(candidates, length - known)
        frequencies, error = _estimated(ask(group, length, plan.randomizer), candidates, plan)
        parents = np.repeat(np.minimum(evidence, 0.0), len(candidates) // max(1, len(evidence)))
        evidence = parents + _log_likelihood_ratio(frequencies.values / error, plan.deciding)
        order = np.argsort(-evidence, kind="stable")[: plan.most_candidates]
        best = order[evidence[order] >= LEAST_EVIDENCE]
        candidates, evidence, known = candidates[best], evidence[best], length
    candidates = _extended(candidates, plan.bits - known)
    frequencies, _ = _estimated(ask(plan.groups - 1, plan.bits, plan.randomizer), candidates, plan)
    order = np.argsort(-frequencies.values, kind="stable")
    found = order[frequencies.values[order] >= _deciding_frequency(plan, frequencies)]
    return HeavyHitters(candidates[found], _some(frequencies, found))


def run_heavy_hitters(values: Values, plan: PrefixPlan, source: RandomSource) -> HeavyHitters:
    """The whole protocol in one process: every person draws a group, and answers the question to that group."""
    words = checked_fingerprints(values)
    if plan.bits < MOST_BITS and words.size and int(words.max()) >> plan.bits:
        raise InvalidParameter(f"values are words of {plan.bits} bits")
    groups = source.categorical(plan.group_law, len(words))

    def ask(group: int, length: int, randomizer: OptimalLocalHashing) -> Reports:
        return randomizer.randomize(prefixes(words[groups == group], plan.bits, length), source)

    return find_heavy_hitters(plan, ask)


def prefixes(words: Words, bits: int, length: int) -> Words:
    """The first `length` of the `bits` bits of each word."""
    return words >> np.uint64(bits - length)


def words_of_texts(texts: Iterable[str | bytes]) -> Words:
    """Short texts as 64-bit words whose prefixes are those of the texts; at most 8 bytes, none of them zero."""
    encoded = [text.encode() if isinstance(text, str) else text for text in texts]
    if any(len(text) > TEXT_BYTES or b"\0" in text for text in encoded):
        raise InvalidParameter(f"texts have at most {TEXT_BYTES} bytes, and no zero byte")
    return np.frombuffer(b"".join(text.ljust(TEXT_BYTES, b"\0") for text in encoded), ">u8").astype(
        np.uint64
    )


def texts_of_words(words: Words) -> list[bytes]:
    """The texts again; a word that is no text is cut at its first zero byte."""
    return [int(word).to_bytes(TEXT_BYTES, "big").split(b"\0")[0] for word in words]


def _extended(candidates: Words, by: int) -> Words:
    """Every candidate with every continuation of so many bits."""
    endings = np.arange(1 << by, dtype=np.uint64)
    return ((candidates << np.uint64(by))[:, None] | endings).ravel()


def _estimated(reports: Reports, candidates: Words, plan: PrefixPlan) -> tuple[Frequencies, float]:
    """The candidates' frequencies, and the standard error of one that nobody has."""
    if not len(reports):
        raise TooFewReports("a group of people gave no report")
    error = sqrt(plan.randomizer.variance(0.0) / len(reports))
    return plan.randomizer.estimate(reports, candidates), error


def _deciding_frequency(plan: PrefixPlan, estimated: Frequencies) -> float:
    """What an item that nobody has reaches too rarely to matter, over all candidates together.

    The count of its supports is binomial, and skewed where there are many buckets: the exact tail is used.
    """
    tail = min(NormalDist().cdf(-plan.deciding), plan.false_alarms / max(1, len(estimated.values)))
    count = surprising_count(estimated.reports, 1 / plan.randomizer.number, tail)
    return float(plan.randomizer.estimate_from_counts(np.array([count]), estimated.reports).values[0])


def _log_likelihood_ratio(standardised: Floats, signal: float) -> Floats:
    """Of a normal variable with this mean against one with mean zero, both of variance one."""
    ratio: Floats = signal * (standardised - signal / 2)
    return ratio


def _some(frequencies: Frequencies, chosen: Integers) -> Frequencies:
    return Frequencies(
        frequencies.values[chosen],
        frequencies.reports,
        frequencies.variance_empirical[chosen],
        frequencies.variance_population[chosen],
    )
