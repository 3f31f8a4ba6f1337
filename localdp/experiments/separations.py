"""What one trust model can do and another cannot, as experiments (section 12.1).

- parity: a local learner needs 2**d people, a curator 500;
- masked parity: two rounds learn what one round cannot;
- conjunctions: the error of releasing all conjunctions of three literals, as there are more of them.

Each runs trials on made-up people and gives points: of a series, at a parameter, with a number between 0 and 1 (how often
a learner was right) or an error.  Progress is told to a callback.
Checked in tests/statistical/test_separations.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.ledger import MemoryLedger
from localdp.algorithms.parity.elimination import ParityElimination
from localdp.algorithms.parity.exponential import ParityExponential
from localdp.algorithms.parity.learner import ParityLearner, parity_of
from localdp.algorithms.parity.masked import (
    GuessingMaskedParityLearner,
    MaskedParityLearner,
    OneRoundMaskedParityLearner,
)
from localdp.domains import BitDomain, Records, Schema
from localdp.errors import InvalidParameter
from localdp.experiments.keyring import Keyring
from localdp.oracles.curator import CuratorOracle
from localdp.oracles.definition import StatisticalQueryOracle
from localdp.oracles.exact import ExactOracle
from localdp.oracles.local import LocalOracle
from localdp.oracles.lr import InProcessLROracle
from localdp.party.party import Party
from localdp.randomizers.marginals import parity_masks
from localdp.randomness.source import RandomSource, uniform_bytes

Bits = NDArray[np.bool_]
Done = Callable[[str], None]
MOST_TRIALS = 10_000


@dataclass(frozen=True, slots=True)
class Point:
    """The outcome of all trials of one series at one parameter."""

    series: str
    parameter: int  # the dimension, or the number of people
    people: int
    trials: int
    value: float  # the fraction of successes, or the mean error


@dataclass(frozen=True, slots=True)
class Separation:
    """A named experiment with its points."""

    name: str
    title: str
    parameter: str  # what the horizontal axis is
    measure: str  # what the vertical axis is
    epsilon: Epsilon
    points: tuple[Point, ...]
    notes: tuple[str, ...] = field(default_factory=tuple)

    def series(self) -> dict[str, list[Point]]:
        """The points of every series, by parameter."""
        found: dict[str, list[Point]] = {}
        for point in sorted(self.points, key=lambda point: point.parameter):
            found.setdefault(point.series, []).append(point)
        return found

    def to_data(self) -> dict[str, Any]:
        """As plain data, for JSON."""
        return {
            "name": self.name,
            "title": self.title,
            "parameter": self.parameter,
            "measure": self.measure,
            "epsilon": float(self.epsilon),
            "points": [asdict(point) for point in self.points],
            "notes": list(self.notes),
        }


@dataclass(frozen=True, slots=True)
class Lab:
    """What all trials share: epsilon, how many there are, and where randomness comes from."""

    epsilon: Epsilon
    trials: int
    keyring: Keyring
    done: Done = lambda _: None

    def __post_init__(self) -> None:
        if not 1 <= self.trials <= MOST_TRIALS:
            raise InvalidParameter(f"an experiment has 1 to {MOST_TRIALS} trials")

    def point(
        self, series: str, parameter: int, people: int, trial: Callable[[RandomSource, str], float]
    ) -> Point:
        """The mean of a trial's outcome; every trial has coins of its own."""
        outcomes = []
        for number in range(self.trials):
            purpose = f"{series} {parameter} {people} {number}"
            outcomes.append(trial(self.keyring.source("separation", purpose), purpose))
            self.done(f"{series}, {parameter}")
        return Point(series, parameter, people, self.trials, float(np.mean(outcomes)))

    def local(self, records: Records, purpose: str) -> LocalOracle:
        """The records' people in the local model, in this process."""
        secret = uniform_bytes(self.keyring.source("separation party", purpose), 32)
        party = Party("people", records, secret, MemoryLedger(records.people, self.epsilon))
        return LocalOracle(
            InProcessLROracle([party]), self.epsilon, self.keyring.source("analyst", purpose)
        )

    def curator(self, records: Records, purpose: str) -> CuratorOracle:
        """The records in the hands of a curator."""
        return CuratorOracle(records, self.epsilon, self.keyring.source("curator", purpose))


def parity_separation(
    lab: Lab,
    people: int = 100_000,
    dimensions: Iterable[int] = (6, 8, 10, 12, 14),
    curator_people: int = 500,
) -> Separation:
    """How often a parity is found, as the dimension grows: local reports against a curator with far fewer people."""
    points = []
    for dimension in dimensions:
        points.append(lab.point("local", dimension, people, _local_parity(lab, people, dimension)))
        points.append(
            lab.point(
                "curator, exponential mechanism",
                dimension,
                curator_people,
                _curator_parity(lab, curator_people, dimension),
            )
        )
    return Separation(
        "parity",
        "Learning a parity: what statistical queries cannot do",
        "dimension",
        "fraction of trials in which the parity was found",
        lab.epsilon,
        tuple(points),
        (f"local: {people} people; curator: {curator_people} people",),
    )


def elimination_points(
    lab: Lab, sizes: Iterable[tuple[int, int]] = ((64, 2000), (256, 6000))
) -> list[Point]:
    """How often solving equations finds the parity when the curator does not stop, for (dimension, people)."""

    def trial(dimension: int, people: int) -> Callable[[RandomSource, str], float]:
        def run(source: RandomSource, _: str) -> float:
            rows, labels, mask = made_up_parity(source, people, dimension)
            found = None
            while found is None:  # each attempt on fresh people, until the curator does not stop
                rows, labels, mask = made_up_parity(source, people, dimension)
                found = ParityElimination(lab.epsilon).learn(rows, labels, source)
            return float(found == mask)

        return run

    return [
        lab.point("curator, linear equations", dimension, people, trial(dimension, people))
        for dimension, people in sizes
    ]


def masked_parity_separation(
    lab: Lab, people: Iterable[int] = (30_000, 100_000, 200_000), dimension: int = 16
) -> Separation:
    """How often a masked parity is found, with two rounds and with one; so many people in each round."""
    kinds = {
        "two rounds": MaskedParityLearner,
        "one round": OneRoundMaskedParityLearner,
        "one round, the constant guessed": GuessingMaskedParityLearner,
    }
    points = [
        lab.point(series, each, each * (1 + (series == "two rounds")), _masked(lab, kind, each, dimension))
        for each in people
        for series, kind in kinds.items()
    ]
    return Separation(
        "masked-parity",
        "Masked parity: two rounds succeed, one round fails",
        "people asked in each round",
        "fraction of trials in which mask and constant were found",
        lab.epsilon,
        tuple(points),
        (f"dimension {dimension}, local model, fresh people in every round",),
    )


def conjunction_separation(
    lab: Lab, people: int = 100_000, dimensions: Iterable[int] = (6, 8, 10, 12, 14)
) -> Separation:
    """The mean error of all conjunctions of three literals, from all parities of three bits, as the dimension grows."""
    points = []
    for dimension in dimensions:
        for series, make in (("local", lab.local), ("curator", lab.curator)):
            points.append(lab.point(series, dimension, people, _conjunctions(make, people, dimension)))
    return Separation(
        "conjunctions",
        "Releasing all conjunctions of three literals",
        "dimension",
        "mean absolute error of a conjunction's frequency",
        lab.epsilon,
        tuple(points),
        (f"{people} people",),
    )


def bit_records(columns: dict[str, Bits]) -> Records:
    """A table of bits."""
    return Records(Schema(dict.fromkeys(columns, BitDomain())), columns)


def made_up_parity(source: RandomSource, people: int, dimension: int) -> tuple[Bits, Bits, int]:
    """Uniform rows, the labels of a uniform parity, and its mask."""
    rows = coins(source, people * dimension).reshape(people, dimension)
    mask = sum(1 << place for place, one in enumerate(coins(source, dimension)) if one)
    return rows, parity_of(rows, mask), mask


def coins(source: RandomSource, count: int) -> Bits:
    """Fair coins, eight from a byte."""
    return np.unpackbits(source.raw(np.uint8, -(-count // 8)), count=count).view(np.bool_)


def _named(rows: Bits, labels: Bits) -> Records:
    return bit_records(
        {**{f"x{place}": rows[:, place] for place in range(rows.shape[1])}, "target": labels}
    )


def _local_parity(lab: Lab, people: int, dimension: int) -> Callable[[RandomSource, str], float]:
    def run(source: RandomSource, purpose: str) -> float:
        rows, labels, mask = made_up_parity(source, people, dimension)
        learner = ParityLearner(check_signal=False).fit(lab.local(_named(rows, labels), purpose))
        return float(learner.mask_ == mask)

    return run


def _curator_parity(lab: Lab, people: int, dimension: int) -> Callable[[RandomSource, str], float]:
    def run(source: RandomSource, _: str) -> float:
        rows, labels, mask = made_up_parity(source, people, dimension)
        return float(ParityExponential(lab.epsilon).learn(rows, labels, source) == mask)

    return run


def _masked(
    lab: Lab, kind: type[MaskedParityLearner], each: int, dimension: int
) -> Callable[[RandomSource, str], float]:
    index = [f"i{place}" for place in range(dimension.bit_length() - 1)]
    bits = [f"x{place}" for place in range(dimension)]
    people = each * (2 if kind is MaskedParityLearner else 1)

    def run(source: RandomSource, purpose: str) -> float:
        records, mask, constant = made_up_masked_parity(source, people, dimension)
        learner = kind(bits, index, "b", check_signal=False).fit(lab.local(records, purpose))
        return float((learner.mask_, learner.constant_) == (mask, constant))

    return run


def made_up_masked_parity(source: RandomSource, people: int, dimension: int) -> tuple[Records, int, int]:
    """Uniform (x, i, b) with the labels of a uniform masked parity, its mask and its constant."""
    rows, hidden, mask = made_up_parity(source, people, dimension)
    constant, switch = int(coins(source, 1)[0]), coins(source, people)
    index = source.below(dimension, people).astype(np.int64)
    of_mask = (mask >> index & 1).astype(np.bool_)
    labels = np.where(switch, of_mask, hidden ^ bool(constant))
    places = range(dimension.bit_length() - 1)
    columns = {f"x{place}": rows[:, place] for place in range(dimension)}
    columns |= {f"i{place}": (index >> place & 1).astype(np.bool_) for place in places}
    return bit_records({**columns, "b": switch, "target": labels}), mask, constant


def _conjunctions(
    make: Callable[[Records, str], StatisticalQueryOracle], people: int, dimension: int
) -> Callable[[RandomSource, str], float]:
    query = f"parities(3, {', '.join(f'x{place}' for place in range(dimension))})"

    def run(source: RandomSource, purpose: str) -> float:
        biased = coins(source, people * dimension) & coins(source, people * dimension)
        rows = biased.reshape(people, dimension)
        records = bit_records({f"x{place}": rows[:, place] for place in range(dimension)})
        told = make(records, purpose).answer_vectors([query])[0].values
        truth = ExactOracle(records).answer_vectors([query])[0].values
        return float(np.mean(list(cell_errors(told - truth, dimension))))

    return run


def cell_errors(errors: NDArray[np.float64], dimension: int) -> Iterator[float]:
    """The mean absolute error of the 8 cells of every triple of bits, from the errors of all parities up to three."""
    place = {int(mask): number for number, mask in enumerate(parity_masks(dimension, 3))}
    signs = np.array([[(-1) ** (cell & subset).bit_count() for subset in range(1, 8)] for cell in range(8)])
    for triple in combinations(range(dimension), 3):
        masks = [sum(1 << triple[bit] for bit in range(3) if subset >> bit & 1) for subset in range(1, 8)]
        of_triple = errors[[place[mask] for mask in masks]]
        yield float(np.abs(signs @ of_triple).mean() / 8)
