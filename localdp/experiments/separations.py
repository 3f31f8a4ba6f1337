"""What one trust model can do and another cannot, as experiments (section 12.1).

- parity: a local learner needs 2**d people, a curator 500;
- masked parity: two rounds learn mask and constant, one round the mask, and guesses the constant;
- conjunctions: the error of releasing all conjunctions of three literals, as there are more of them;
- packing: how many people k counts within n/2 take, with and without a delta (section 8.2; `packing.py`).

Each is a definition: series, parameters, and what is tried there on made-up people.  A trial brings 0 or 1 (whether a
learner was right) or an error.  Whoever runs them, in whatever order, gets the same numbers from the same keyring.
Checked in tests/statistical/test_separations.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from localdp.accounting.claim import PrivacyClaim
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
from localdp.experiments.panels import Demonstration, Panel, Point
from localdp.oracles.curator import CuratorOracle
from localdp.oracles.definition import StatisticalQueryOracle
from localdp.oracles.exact import ExactOracle
from localdp.oracles.local import LocalOracle
from localdp.oracles.lr import InProcessLROracle
from localdp.party.party import Party
from localdp.randomizers.marginals import parity_masks
from localdp.randomness.keyring import Keyring
from localdp.randomness.source import RandomSource, uniform_bytes

Bits = NDArray[np.bool_]
Trial = Callable[["Lab", RandomSource, str], float]  # a source of coins, and what they are for
_COUNTED = "fraction of trials"


@dataclass(frozen=True, slots=True)
class Tried:
    """One series at one parameter: how many people, and what is tried on them."""

    series: str  # its first word is the trust model, unless all is local
    parameter: int  # the dimension, or the number of people
    people: int
    trial: Trial
    predicted: Callable[[Epsilon], float] | None = None  # what a trial brings on average


@dataclass(frozen=True, slots=True)
class Lab:
    """What all trials share: epsilon, and where randomness comes from."""

    epsilon: Epsilon
    keyring: Keyring

    def outcome(self, tried: Tried, number: int) -> float:
        """Of one trial, which has coins of its own."""
        purpose = f"{tried.series} {tried.parameter} {tried.people} {number}"
        return tried.trial(self, self.keyring.source("separation", purpose), purpose)

    def local(self, records: Records, purpose: str) -> LocalOracle:
        """The records' people in the local model, in this process."""
        secret = uniform_bytes(self.keyring.source("separation party", purpose), 32)
        party = Party("people", records, secret, MemoryLedger(records.people, self.epsilon))
        return LocalOracle(
            InProcessLROracle([party]), self.epsilon, self.keyring.source("analyst", purpose)
        )

    def curator(self, records: Records, purpose: str) -> CuratorOracle:
        """The records in the hands of a curator."""
        return CuratorOracle(records, self.epsilon, self.keyring.source(CuratorOracle.model, purpose))


@dataclass(frozen=True, slots=True)
class Separation:
    """An experiment, before it is run."""

    name: str
    title: str
    parameter: str  # what the horizontal axis is
    measure: str  # what the vertical axis is
    tried: tuple[Tried, ...]
    notes: tuple[str, ...]

    def shown(self, epsilon: Epsilon, outcomes: Mapping[Tried, Sequence[float]]) -> Demonstration:
        """What the trials brought."""
        points = tuple(self._point(tried, outcomes[tried], epsilon) for tried in self.tried)
        panel = Panel(f"epsilon = {epsilon}", self.parameter, self.measure, points)
        curator = any(tried.series.startswith(CuratorOracle.model) for tried in self.tried)
        claims = [PrivacyClaim.of_local(epsilon), *([PrivacyClaim.of_curator(epsilon)] if curator else [])]
        return Demonstration(self.name, self.title, (panel,), self.notes, epsilon, tuple(claims))

    def _point(self, tried: Tried, outcomes: Sequence[float], epsilon: Epsilon) -> Point:
        value, trials = float(np.mean(outcomes)), len(outcomes)
        smooth = (value * trials + 1) / (trials + 2)  # a fraction of 0 or 1 has an error bar, too
        error = (smooth * (1 - smooth) / (trials + 2)) ** 0.5 if self.measure.startswith(_COUNTED) else None
        foretold = None if tried.predicted is None else tried.predicted(epsilon)
        return Point(
            tried.series, tried.parameter, value, trials, error, predicted=foretold, people=tried.people
        )


def parity(
    people: int = 100_000, dimensions: Iterable[int] = (6, 8, 10, 12, 14), curator_people: int = 500
) -> Separation:
    """How often a parity is found, as the dimension grows: local reports against a curator with far fewer people."""
    curator = "curator, exponential mechanism"
    tried = []
    for dimension in dimensions:
        tried.append(Tried(LocalOracle.model, dimension, people, _local_parity(people, dimension)))
        tried.append(Tried(curator, dimension, curator_people, _curator_parity(curator_people, dimension)))
    return Separation(
        "parity",
        "Learning a parity: what statistical queries cannot do",
        "dimension",
        f"{_COUNTED} in which the parity was found",
        tuple(tried),
        (f"local: {people} people; curator: {curator_people} people",),
    )


def elimination(sizes: Iterable[tuple[int, int]] = ((64, 2000), (256, 6000))) -> list[Tried]:
    """How often solving equations finds the parity when the curator does not stop, for (dimension, people)."""

    def trial(dimension: int, people: int) -> Trial:
        def run(lab: Lab, source: RandomSource, _: str) -> float:
            rows, labels, mask = made_up_parity(source, people, dimension)
            found = None
            while found is None:  # each attempt on fresh people, until the curator does not stop
                rows, labels, mask = made_up_parity(source, people, dimension)
                found = ParityElimination(lab.epsilon).learn(rows, labels, source)
            return float(found == mask)

        return run

    return [
        Tried("curator, linear equations", dimension, people, trial(dimension, people))
        for dimension, people in sizes
    ]


def masked_parity(people: Iterable[int] = (30_000, 100_000, 200_000), dimension: int = 16) -> Separation:
    """How often a masked parity is found, with two rounds and with one; so many people in each round."""
    kinds = {
        "two rounds": MaskedParityLearner,
        "one round": OneRoundMaskedParityLearner,
        "one round, the constant guessed": GuessingMaskedParityLearner,
    }
    tried = [
        Tried(series, each, each * (1 + (series == "two rounds")), _masked(kind, each, dimension))
        for each in people
        for series, kind in kinds.items()
    ]
    return Separation(
        "masked-parity",
        "Masked parity: two rounds find it, one round has to guess a bit",
        "people asked in each round",
        f"{_COUNTED} in which mask and constant were found",
        tuple(tried),
        (
            f"dimension {dimension}, local model, fresh people in every round",
            "one round: from all parities, for mask and constant at once",
            "one round, the constant guessed: half of the people give the mask; the constant is right about half of the "
            "time, until there are some 2^dimension people",
        ),
    )


def conjunctions(people: int = 100_000, dimensions: Iterable[int] = (6, 8, 10, 12, 14)) -> Separation:
    """The mean error of all conjunctions of three literals, from all parities of three bits, as the dimension grows."""
    tried = [
        Tried(series, dimension, people, _conjunctions(make, people, dimension))
        for dimension in dimensions
        for series, make in ((LocalOracle.model, Lab.local), (CuratorOracle.model, Lab.curator))
    ]
    return Separation(
        "conjunctions",
        "Releasing all conjunctions of three literals",
        "dimension",
        "mean absolute error of a conjunction's frequency",
        tuple(tried),
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


def _local_parity(people: int, dimension: int) -> Trial:
    def run(lab: Lab, source: RandomSource, purpose: str) -> float:
        rows, labels, mask = made_up_parity(source, people, dimension)
        learner = ParityLearner(check_signal=False).fit(lab.local(_named(rows, labels), purpose))
        return float(learner.mask_ == mask)

    return run


def _curator_parity(people: int, dimension: int) -> Trial:
    def run(lab: Lab, source: RandomSource, _: str) -> float:
        rows, labels, mask = made_up_parity(source, people, dimension)
        return float(ParityExponential(lab.epsilon).learn(rows, labels, source) == mask)

    return run


def _masked(kind: type[MaskedParityLearner], each: int, dimension: int) -> Trial:
    index = [f"i{place}" for place in range(dimension.bit_length() - 1)]
    bits = [f"x{place}" for place in range(dimension)]
    people = each * (2 if kind is MaskedParityLearner else 1)

    def run(lab: Lab, source: RandomSource, purpose: str) -> float:
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
    make: Callable[[Lab, Records, str], StatisticalQueryOracle], people: int, dimension: int
) -> Trial:
    query = f"parities(3, {', '.join(f'x{place}' for place in range(dimension))})"

    def run(lab: Lab, source: RandomSource, purpose: str) -> float:
        biased = coins(source, people * dimension) & coins(source, people * dimension)
        rows = biased.reshape(people, dimension)
        records = bit_records({f"x{place}": rows[:, place] for place in range(dimension)})
        told = make(lab, records, purpose).answer_vectors([query])[0].values
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
