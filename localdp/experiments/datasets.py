"""Made-up people by name, each set with something known to find: nobody's records, so that everything may be shown.

A set is made from a source of coins and a number of people; where it has a dimension, of that many features x0, x1, ...
The label, where there is one, is the column `target`.  `number_sets.py` and `bit_sets.py` have the recipes.

| set | what is there to find |
|---|---|
| made-up | three in ten of made-up people smoke |
| bits | every conjunction of k literals has frequency 2**-k |
| conjunction-2, conjunction, conjunction-4, conjunction-5 | the target is a conjunction of 2, 3, 4, 5 of the fair bits |
| noisy-conjunction | of 3, with 5 % wrong labels |
| parity, noisy-parity | the target is the parity of every second bit, from x0; with 5 % wrong labels |
| majority | the target is what most of the first five bits are |
| tree, rare-tree | (x0 and (x1 or x2)) or (not x0 and x3 and x4), 5 % wrong labels; of bits that are rare |
| two-classes, few-of-a-class, copied-bits | bits independent given the class; a tenth in one; every other bit a copy |
| gaussian-, correlated-, skewed-, rare-, outlier-halfspace | the target is the side of a hyperplane |
| gaussian-, correlated-, skewed-, outlier-line | the target is a linear form, with noise |
| components, correlated-components, skewed-components | directions of large variance |
| drivers | roads of equal cost, whatever they cost each person besides |
| clusters | four groups in the unit square (or cube, ...) |
| corner-clusters, random-clusters, uneven-clusters | four groups in a cube of ten dimensions |

Checked in tests/unit/experiments/test_datasets.py.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from localdp.domains import Records
from localdp.errors import InvalidParameter
from localdp.experiments import bit_sets, number_sets
from localdp.experiments.number_sets import CORRELATED, ISOTROPIC, SKEWED, SKEWED_TOGETHER
from localdp.experiments.population import made_up_people
from localdp.randomness.source import RandomSource

MOST_FEATURES = 256


@dataclass(frozen=True, slots=True)
class SyntheticSet:
    """A recipe for made-up people."""

    about: str
    make: Callable[[int, int, RandomSource], Records]  # of people and dimension
    dimension: int | None = None  # unless another one is asked for; None: the set has none
    fewest: int = 1  # features that it needs


def synthetic(name: str, people: int, source: RandomSource, dimension: int | None = None) -> Records:
    """The named set, with so many people."""
    made = SYNTHETIC.get(name)
    if made is None:
        raise InvalidParameter(f"no set is called {name!s:.40}; there are {', '.join(SYNTHETIC)}")
    if people < 1:
        raise InvalidParameter("a set has at least one person")
    if made.dimension is None:
        if dimension is not None:
            raise InvalidParameter(f"the set {name} has no dimension")
        return made.make(people, 0, source)
    chosen = made.dimension if dimension is None else dimension
    if not made.fewest <= chosen <= MOST_FEATURES:
        raise InvalidParameter(f"the dimension of {name} lies between {made.fewest} and {MOST_FEATURES}")
    return made.make(people, chosen, source)


SYNTHETIC: dict[str, SyntheticSet] = {
    "made-up": SyntheticSet(
        "smoker, age, region and bmi of made-up people",
        lambda people, _, source: made_up_people(people, source),
    ),
    "bits": SyntheticSet("fair bits", bit_sets.plain, 8),
    "conjunction-2": SyntheticSet("2 of 10 fair bits", bit_sets.conjunction(2), 10, 2),
    "conjunction": SyntheticSet("3 of 10 fair bits", bit_sets.conjunction(3), 10, 3),
    "conjunction-4": SyntheticSet("4 of 10 fair bits", bit_sets.conjunction(4), 10, 4),
    "conjunction-5": SyntheticSet("5 of 10 fair bits", bit_sets.conjunction(5), 10, 5),
    "noisy-conjunction": SyntheticSet(
        "3 of 10 fair bits, 5 % wrong labels", bit_sets.noisy_conjunction(), 10, 3
    ),
    "parity": SyntheticSet("parity of fair bits", bit_sets.parity(), 8),
    "noisy-parity": SyntheticSet("parity of fair bits, 5 % wrong labels", bit_sets.parity(0.05), 8),
    "majority": SyntheticSet("majority of 5 of 10 fair bits", bit_sets.majority(), 10, 5),
    "tree": SyntheticSet("tree of three levels, fair bits, 5 % wrong labels", bit_sets.tree(), 10, 5),
    "rare-tree": SyntheticSet("the same tree, bits that are rare", bit_sets.tree(rare=True), 10, 5),
    "two-classes": SyntheticSet("bits independent given the class", bit_sets.two_classes(), 10),
    "few-of-a-class": SyntheticSet("the same, a tenth in one class", bit_sets.two_classes(few=True), 10),
    "copied-bits": SyntheticSet("the same, every other bit a copy", bit_sets.two_classes(copied=True), 10),
    "gaussian-halfspace": SyntheticSet("isotropic", number_sets.halfspace(ISOTROPIC), 10),
    "correlated-halfspace": SyntheticSet("correlated", number_sets.halfspace(CORRELATED), 10),
    "skewed-halfspace": SyntheticSet("skewed", number_sets.halfspace(SKEWED), 10),
    "rare-halfspace": SyntheticSet(
        "a tenth in one class", number_sets.halfspace(CORRELATED, rare=True), 10
    ),
    "outlier-halfspace": SyntheticSet(
        "2 % at the bounds", number_sets.halfspace(ISOTROPIC, outliers=True), 10
    ),
    "gaussian-line": SyntheticSet("isotropic", number_sets.line(ISOTROPIC), 10),
    "correlated-line": SyntheticSet("correlated", number_sets.line(CORRELATED), 10),
    "skewed-line": SyntheticSet("skewed", number_sets.line(SKEWED), 10),
    "outlier-line": SyntheticSet("2 % at the bounds", number_sets.line(ISOTROPIC, outliers=True), 10),
    "components": SyntheticSet("variances 0.37 and nine of 0.07", number_sets.components, 10),
    "correlated-components": SyntheticSet(
        "spreads from 1.5 to 0.3", number_sets.features_alone(CORRELATED), 10
    ),
    "skewed-components": SyntheticSet("skewed", number_sets.features_alone(SKEWED_TOGETHER), 10),
    "clusters": SyntheticSet("four groups in the unit square", number_sets.clusters, 2),
    "drivers": SyntheticSet(
        "costs of their own between 0 and 0.3 for each road", number_sets.drivers, 4, 2
    ),
    "corner-clusters": SyntheticSet("four groups at corners of a cube", number_sets.groups(), 10),
    "random-clusters": SyntheticSet("four groups anywhere", number_sets.groups(anywhere=True), 10),
    "uneven-clusters": SyntheticSet(
        "groups of 70, 20, 7 and 3 %, 2 % at the bounds", number_sets.groups(uneven=True), 10
    ),
}
