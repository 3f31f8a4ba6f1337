"""A person's exact bit from the time of free repetitions: the attack that worked, with a client that shares only the wire.

One request about each person, of an epsilon next to nothing; then the same request again and again, whose answers cost
nothing, in random order over all people.  The query repeats a private condition a thousand times, so that a remainder of
time for one node is read a thousand times in each answer.  A person's score is a low quantile of their times; no
truth is used.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import grpc
import numpy as np
from numpy.typing import NDArray

from localdp.accounting.epsilon import Epsilon
from localdp.cohorts import Cohort
from localdp.party.party import Request
from localdp.randomizers.k_ary import KaryRandomizedResponse
from parties import codec
from parties.wire.v1 import oracle_pb2, oracle_pb2_grpc

NODES = 1000
_QUANTILE = 0.1
_SECONDS = 60.0


def which_query(condition: str, nodes: int = NODES) -> str:
    """The number of the first of so many equal conditions: 0 or the last."""
    return f"which({', '.join([condition] * nodes)})"


def nearest_query(condition: str, nodes: int = NODES) -> str:
    """The nearest of so many points on a line to a bit."""
    centres = ", ".join(f"[{place}/{nodes}]" for place in range(nodes))
    return f"nearest(ball({condition}), {centres})"


@dataclass(frozen=True)
class Target:
    """What is asked about one person."""

    query: str
    values: int  # of the query
    cohort: Cohort


def of_one(number: int, form: str, nodes: int = NODES) -> Target:
    """A request about one person alone."""
    if form == "which":
        return Target(which_query("smoker", nodes), nodes + 1, Cohort(number, number + 1))
    return Target(nearest_query("smoker", nodes), nodes, Cohort(number, number + 1))


def among(people: int, age: int, form: str, nodes: int = NODES) -> Target:
    """A request about everybody, true of one person at most: whoever is of that age."""
    condition = f"smoker and age == {age}"
    if form == "which":
        return Target(which_query(f"({condition})", nodes // 4), nodes // 4 + 1, Cohort(0, people))
    return Target(nearest_query(condition, nodes), nodes, Cohort(0, people))


def times_of(
    address: str, targets: Sequence[Target], repetitions: int, epsilon: Epsilon, seed: int
) -> NDArray[np.float64]:
    """Seconds of every repetition, a row for each target; the first answers are not counted."""
    random = np.random.default_rng(seed)
    messages = [_message(target, number, epsilon, seed) for number, target in enumerate(targets)]
    taken = np.empty((len(targets), repetitions))
    with grpc.insecure_channel(address) as channel:
        stub = oracle_pb2_grpc.LocalRandomizerOracleServiceStub(channel)
        for message in messages:
            _answered(stub, message)
        for repetition in range(repetitions):
            for place in random.permutation(len(targets)):
                began = time.perf_counter()
                _answered(stub, messages[place])
                taken[place, repetition] = time.perf_counter() - began
    return taken


def _answered(stub: oracle_pb2_grpc.LocalRandomizerOracleServiceStub, message: object) -> None:
    for _ in stub.Randomize(message, timeout=_SECONDS):
        pass


def _message(target: Target, number: int, epsilon: Epsilon, seed: int) -> oracle_pb2.RandomizeRequest:
    identifier = seed.to_bytes(8, "big") + number.to_bytes(8, "big")
    randomizer = KaryRandomizedResponse(epsilon, target.values)
    return codec.request_to_wire(Request(identifier, target.query, randomizer), target.cohort)


def area_under_curve(times: NDArray[np.float64], truth: NDArray[np.bool_]) -> float:
    """How often a person whose bit is true is slower than one whose bit is false, by a low quantile of their times."""
    scores = np.quantile(times, _QUANTILE, axis=1)
    true, false = scores[truth], scores[~truth]
    above = (true[:, None] > false).mean() + 0.5 * (true[:, None] == false).mean()
    return float(above)
