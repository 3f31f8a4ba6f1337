"""Whether the time of an answer, at its caller, tells which of two values a person has: Welch's t, as in dudect.

People of the two classes are asked in random order, through one connection to one agent, so both classes meet the same
load of the machine.  Who has which value follows the Thue-Morse sequence: whatever depends on a person's index alone, as a
sum of low powers of it, falls out of the difference.  Several agents can be measured at the same time, each by a process
of its own; their times are compared after the median of each agent was taken off.  Where half of the agents have the other
values, whatever depends on the index falls out (a request about the first person is a byte shorter, for one).  The slowest
tenth of a class is cut: it is the scheduler's.
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

import grpc
import numpy as np
from numpy.typing import NDArray

from localdp.accounting.epsilon import Epsilon
from localdp.cohorts import Cohort
from localdp.party.party import Request
from localdp.randomizers.definition import LocalRandomizer
from localdp.randomizers.k_ary import KaryRandomizedResponse
from localdp.randomizers.local_hashing import OptimalLocalHashing
from localdp.randomizers.marginals import HadamardMarginals
from localdp.randomizers.memoised import memoised_symmetric_unary
from localdp.randomizers.one_bit import OneBitRandomizer
from localdp.randomizers.priv_unit import PrivUnit
from parties import codec
from parties.wire.v1 import oracle_pb2_grpc
from tests.support.timing_attack import nearest_query, which_query

Times = NDArray[np.float64]
Bits = NDArray[np.bool_]

LEAST = Epsilon.requested("0.0001")  # what an owner allows, if nothing else is said
NODES = 40
KEPT = 0.9
_SECONDS = 60.0


class Kind(IntEnum):
    """Which of two answers."""

    FIRST = 0
    REPEATED = 1


@dataclass(frozen=True)
class Family:
    """A query and its randomizer, of a kind that is made in its own way."""

    query: str
    randomizer: LocalRandomizer


FAMILIES = {
    "condition": Family("smoker", OneBitRandomizer(LEAST)),
    "which": Family(which_query("smoker", NODES), KaryRandomizedResponse(LEAST, NODES + 1)),
    "nearest": Family(nearest_query("smoker", NODES), KaryRandomizedResponse(LEAST, NODES)),
    "ball": Family("ball(smoker, 0.01*age)", PrivUnit(LEAST, 2, candidates=8)),
    "parities": Family("parities(2, smoker, age >= 50)", HadamardMarginals(LEAST, 2)),
    "fingerprinted": Family("age", OptimalLocalHashing(LEAST)),
    "memoised": Family(
        "smoker", memoised_symmetric_unary(Epsilon.requested("0.02"), Epsilon.requested("0.01"), 2)
    ),
}
LONG = "which of two hundred"
EVERY = FAMILIES | {LONG: Family(which_query("smoker", 200), KaryRandomizedResponse(LEAST, 201))}


def classes(people: int) -> Bits:
    """Who has which value: the Thue-Morse sequence."""
    return np.array([number.bit_count() % 2 == 1 for number in range(people)])


@dataclass(frozen=True)
class Asking:
    """What one client is to do."""

    address: str
    families: tuple[str, ...]
    people: int  # or groups of people who are alike
    rounds: int  # each is a new request, and its repetition
    seed: int
    group: int = 1


@dataclass(frozen=True)
class Measured:
    """Seconds of first answers and of repetitions, and whom and what they are about."""

    seconds: Times  # by round, and first or repeated
    person: NDArray[np.int64]
    family: NDArray[np.int64]


def measured(asking: Asking) -> Measured:
    """The times of new requests, each of which is repeated at once."""
    random = np.random.default_rng(asking.seed)
    person = random.integers(asking.people, size=asking.rounds)
    family = random.integers(len(asking.families), size=asking.rounds)
    seconds = np.empty((asking.rounds, 2))
    with grpc.insecure_channel(asking.address) as channel:
        stub = oracle_pb2_grpc.LocalRandomizerOracleServiceStub(channel)
        for number in range(asking.rounds):
            message = _message(asking, number, EVERY[asking.families[family[number]]], int(person[number]))
            for kind in Kind:
                began = time.perf_counter()
                for _ in stub.Randomize(message, timeout=_SECONDS):
                    pass
                seconds[number, kind] = time.perf_counter() - began
    return Measured(seconds, person, family)


def _message(asking: Asking, number: int, family: Family, person: int) -> object:
    identifier = asking.seed.to_bytes(8, "big") + number.to_bytes(8, "big")
    cohort = Cohort(person * asking.group, (person + 1) * asking.group)
    return codec.request_to_wire(Request(identifier, family.query, family.randomizer), cohort)


def measured_together(askings: Sequence[Asking]) -> list[Measured]:
    """The same by a process for each, at the same time."""
    with multiprocessing.get_context("spawn").Pool(len(askings)) as pool:
        return pool.map(measured, askings, chunksize=1)


def welch(some: Sequence[Measured], family: int, kinds: Sequence[Kind], truths: Sequence[Bits]) -> float:
    """Welch's t of the times of one family, over all agents: the slower class is true, if it is positive."""
    times = (_of_class(some, family, kinds, truths, value) for value in (True, False))
    true, false = (np.sort(one)[: max(2, int(KEPT * len(one)))] for one in times)
    error = np.sqrt(true.var(ddof=1) / len(true) + false.var(ddof=1) / len(false))
    return float((true.mean() - false.mean()) / error)


def mann_whitney(
    some: Sequence[Measured], family: int, kinds: Sequence[Kind], truths: Sequence[Bits]
) -> float:
    """The same by ranks: in standard deviations of what chance does, whatever the law of the times is."""
    true, false = (_of_class(some, family, kinds, truths, value) for value in (True, False))
    area = (true[:, None] > false).mean() + 0.5 * (true[:, None] == false).mean()
    error = np.sqrt((len(true) + len(false) + 1) / (12 * len(true) * len(false)))
    return float((area - 0.5) / error)


def _of_class(
    some: Sequence[Measured], family: int, kinds: Sequence[Kind], truths: Sequence[Bits], value: bool
) -> Times:
    pairs = list(zip(some, truths, strict=True))
    return np.concatenate(
        [_of_people(one, family, kind, truth == value) for one, truth in pairs for kind in kinds]
    )


def _of_people(one: Measured, family: int, kind: Kind, people: Bits) -> Times:
    """The times of these people, around the median of everybody's."""
    asked = one.family == family
    times = one.seconds[:, kind]
    around: Times = times[asked & people[one.person]] - float(np.median(times[asked]))
    return around
