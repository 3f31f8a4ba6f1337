"""An exact audit: every coin of the real sampler, through to the bytes of its report.

Definition.  For each input x the law of the packed report is enumerated as exact fractions.  The measured epsilon is the
logarithm of the largest P[R(x) = w] / P[R(x') = w] over inputs x, x' and bytes w; infinite if some w has probability zero
for x' alone.  Besides, the masses must add up to 1, the law must be the one that the randomizer states, and the reports of
two people must be independent, where that is small enough to follow.

Claim.  If all inputs were tried and the verdict is "holds", the randomizer is epsilon-local (Definition 12.1) for the
epsilon that it claims, for coins as the source gives them.  What it cannot see: a source that is itself at fault, time and
memory, and anything that the report does not hold.
Checked in tests/unit/auditing/test_exact.py, against named broken twins of every family.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from localdp.accounting.epsilon import Epsilon
from localdp.auditing.drawing import (
    MOST_INPUTS,
    PUBLIC_SEEDS,
    FixedSeedSource,
    Law,
    counted_paths,
    packed_report,
    report_key,
    stated_law,
    values_of,
)
from localdp.auditing.result import Audit
from localdp.errors import InvalidParameter, MalformedReport
from localdp.randomizers.definition import LocalRandomizer
from localdp.randomizers.input_kinds import Input
from localdp.randomness.enumerating import enumerate_law
from localdp.randomness.source import RandomSource

MOST_PATHS = 1 << 15  # a few seconds
MOST_JOINT_PATHS = 1 << 12  # of two people together

_IMPOSSIBLE = None  # the ratio of a mass to none
Worst = tuple[Fraction | None, tuple[Input, Input]]


def exact_audit(randomizer: LocalRandomizer, inputs: Sequence[Input] | None = None) -> Audit:
    """Follow every coin of a small randomizer, for these inputs, or for all of them.

    An input is a number, or a vector for a randomizer of vectors.  Refused if there are more than `MOST_PATHS` paths.
    """
    tried = tuple(range(min(randomizer.inputs, MOST_INPUTS)) if inputs is None else inputs)
    if len(tried) < 2:
        raise InvalidParameter("an audit compares at least two inputs")
    paths, seeds = planned(randomizer, tried)
    if paths > MOST_PATHS:
        raise InvalidParameter(f"there are more than {MOST_PATHS} paths of coins to follow; audit a sample")
    (ratio, pair), faults = _followed(randomizer, tried, seeds)
    notes = _extent(randomizer, tried, seeds)
    if (paths // (len(tried) * len(seeds))) ** 2 > MOST_JOINT_PATHS:
        notes.append("one person at a time: too many coins to follow two")
    elif not _independent(randomizer, tried, seeds[0]):
        faults.append("the reports of two people are not independent")
    return Audit(
        subject=randomizer.canonical,
        claimed=randomizer.epsilon,
        measured=math.inf if ratio is None else math.log1p(ratio - 1),
        rounded=None if ratio is None else Epsilon.of_ratio(ratio),
        pair=pair,
        complete=len(tried) == randomizer.inputs and seeds == (None,),
        effort=paths,
        faults=tuple(dict.fromkeys(faults)),
        notes=tuple(notes),
    )


def _followed(
    randomizer: LocalRandomizer, tried: Sequence[Input], seeds: tuple[int | None, ...]
) -> tuple[Worst, list[str]]:
    """The largest ratio over all inputs and seeds, and what else is wrong."""
    worst: Worst = (Fraction(1), (tried[0], tried[1]))
    faults: list[str] = []
    for seed in seeds:
        laws = {value: _wire_law(randomizer, value, seed) for value in tried}
        worst = larger(worst, largest_ratio(laws))
        faults += _faults(randomizer, laws, seed)
    return worst, faults


def planned(randomizer: LocalRandomizer, tried: Sequence[Input]) -> tuple[int, tuple[int | None, ...]]:
    """How many paths an exact audit of these inputs follows, and under which public seeds."""
    counted = [counted_paths(randomizer, value) for value in tried]
    seeds = PUBLIC_SEEDS if any(seeded for _, seeded in counted) else (None,)
    return sum(paths for paths, _ in counted) * len(seeds), seeds


def largest_ratio(laws: dict[Input, dict[bytes, Fraction]]) -> Worst:
    """The largest ratio of the masses of one output under two inputs, and those inputs; None is infinity."""
    worst: Worst = (Fraction(1), (next(iter(laws)), next(iter(laws))))
    for output in set().union(*laws.values()):
        masses = {value: law.get(output, Fraction(0)) for value, law in laws.items()}
        low, high = min(masses, key=masses.__getitem__), max(masses, key=masses.__getitem__)
        ratio = masses[high] / masses[low] if masses[low] else _IMPOSSIBLE
        worst = larger(worst, (ratio, (high, low)))
    return worst


def larger(one: Worst, other: Worst) -> Worst:
    """The larger of two ratios; None is infinity."""
    if one[0] is None or (other[0] is not None and other[0] <= one[0]):
        return one
    return other


def _wire_law(randomizer: LocalRandomizer, value: Input, seed: int | None) -> dict[bytes, Fraction]:
    return enumerate_law(lambda source: packed_report(randomizer, value, source, seed))


def _faults(
    randomizer: LocalRandomizer, laws: dict[Input, dict[bytes, Fraction]], seed: int | None
) -> list[str]:
    faults = []
    for value, law in laws.items():
        if sum(law.values()) != 1:
            faults.append("the probabilities of the reports do not add up to 1")
        try:
            received: Law = {
                report_key(randomizer.unpack(packed, 1)[0]): mass for packed, mass in law.items()
            }
        except MalformedReport:
            faults.append("a packed report does not unpack")
            continue
        stated = stated_law(randomizer, value, seed)
        if stated is not None and stated != received:
            faults.append("the reports do not have the law that is stated")
    return faults


def _independent(randomizer: LocalRandomizer, tried: Sequence[Input], seed: int | None) -> bool:
    """Whether the joint law of two people's reports is the product of their laws."""
    pair = tried[:2]
    values = np.concatenate([values_of(randomizer, value) for value in pair])

    def both(source: RandomSource) -> tuple[bytes, bytes]:
        drawn = randomizer.randomize(values, source if seed is None else FixedSeedSource(source, seed))
        return randomizer.pack(drawn[:1]), randomizer.pack(drawn[1:])

    first, second = (_wire_law(randomizer, value, seed) for value in pair)
    return enumerate_law(both) == {(a, b): p * q for a, p in first.items() for b, q in second.items()}


def _extent(
    randomizer: LocalRandomizer, tried: Sequence[Input], seeds: tuple[int | None, ...]
) -> list[str]:
    """Where the audit looked, if not everywhere."""
    notes = [f"{len(tried)} of {randomizer.inputs:,} inputs"] if len(tried) < randomizer.inputs else []
    return notes if seeds == (None,) else [*notes, f"given each of {len(seeds)} public seeds"]
