"""Predicted work against the time that it takes, for every kind of node and every randomizer: ratios of at most 1.

A part of one person, the largest part that an agent makes in one piece, and one of a split, on a table of random
values, made and kept, and what was kept sent again.  The time is the best of some runs, in units of what the cost model
predicts for this machine (`localdp.party.cost`).  A ratio above 1 makes answers late, and one far below 1 makes them
wait for nothing.  Time on the core counts, so that a busy machine does not; a charge waits for the disk as well, and
reading a message is not waited for, so these may be far below.  Run with `python -m benchmarks.work`.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, thread_time
from typing import TypeVar

from benchmarks.work_cases import PEOPLE, SCHEMA, collections, draws, queries, table
from localdp.accounting.epsilon import Epsilon
from localdp.cohorts import Cohort, Split
from localdp.party.charging import Charged
from localdp.party.cost import decode_seconds
from localdp.party.party import Draw, Party, Request, Shares
from localdp.queries.parser import _parsed
from localdp.queries.statistical import StatisticalQuery
from localdp.queries.vector_query import VectorQuery
from localdp.randomizers.definition import LocalRandomizer
from localdp.randomness.keystream import KeystreamSource
from localdp.sharing.collection import Collection
from localdp.sharing.prio3.batch.engine import warm_up
from localdp.sharing.prio3_tier import Prio3Tier
from parties import codec
from parties.agent.answers import Keeping, KeptAnswers
from parties.agent.ledger import SqliteLedger
from parties.agent.plan import WorkPlan, randomize_plan, share_plan
from parties.agent.work import WorkLimits
from parties.agent.yardstick import slowness

LEAST, MOST = 0.25, 1.0
_PLENTY = Epsilon(10**15)
_SPLIT = Split(bytes(16), 10, 3)
_TURN_SECONDS = 0.12

Made = TypeVar("Made")
Line = tuple[str, float, float]  # what, seconds taken, seconds predicted


def best(call: Callable[[], object]) -> float:
    """The best time of a call on its core, which is made for a while, and three times at least."""
    least, until, turns = float("inf"), perf_counter() + _TURN_SECONDS, 0
    while turns < 3 or (perf_counter() < until and turns < 50):
        begin = thread_time()
        call()
        least, turns = min(least, thread_time() - begin), turns + 1
    return least


class Bench:
    """A party with a durable ledger, and how fast this machine is."""

    def __init__(self, directory: str) -> None:
        self.source = KeystreamSource.from_system()
        ledger = SqliteLedger(Path(directory) / "ledger", PEOPLE, _PLENTY, chain_key=bytes(32))
        self.party = Party("party", table(), bytes(32), ledger)
        self.kept = KeptAnswers(Path(directory) / "answers", Keeping(most_bytes=1 << 26))
        self.limits = WorkLimits()
        self.party.state()  # the table's fingerprint is made once

    def randomized(self, query: str, randomizer: LocalRandomizer) -> Iterator[Line]:
        """One request: read, charged, and parts of it."""
        everybody, split = Cohort(0, PEOPLE), Cohort(0, PEOPLE, _SPLIT)
        request = Request.fresh(query, randomizer, self.source)
        message = codec.request_to_wire(request, everybody)
        name = f"{type(randomizer).__name__} {randomizer.report_bits} bits of {query[:24]} ({len(query)})"
        yield f"read: {name}", best(lambda: self._read(message)), decode_seconds(message.ByteSize())
        for cohort in (everybody, split):
            plan = randomize_plan(request, cohort, SCHEMA, self.limits)
            charged = thread_time()
            draw = self.party.charged(Request.fresh(query, randomizer, self.source), cohort)
            yield f"charge: {name}", thread_time() - charged, plan.charge
            for part in self._parts(plan):
                taken = best(functools.partial(self._reported, randomizer, draw, part))
                yield f"{_told(part)}: {name}", taken, plan.work.of(part)
                again = best(functools.partial(self.kept.reports, draw, randomizer, part, ""))
                yield f"again {_told(part)}: {name}", again, plan.work.of(part)

    def _read(self, message: object) -> object:
        request, cohort = codec.request_from_wire(message)  # type: ignore[arg-type]
        for remembered in (_parsed, StatisticalQuery.parse, VectorQuery.parse):
            remembered.cache_clear()
        return randomize_plan(request, cohort, SCHEMA, self.limits)

    def shared(self) -> Iterator[Line]:
        """Shares in both tiers; with proofs, one alone, and then as compiled code makes them."""
        for collection in collections():
            plan = share_plan(collection, Cohort(0, 1), 1, SCHEMA, self.limits)
            shares = self.party.shared(collection, Cohort(0, 1))
            taken = best(functools.partial(self._shared, shares, Cohort(0, 1)))
            yield f"1 people, alone: {_named(collection)}", taken, plan.work.of(Cohort(0, 1))
        for collection in collections():
            if collection.tier == "prio3":
                warm_up(Prio3Tier(collection).prio3, sharding=True)
            plan = share_plan(collection, Cohort(0, PEOPLE), PEOPLE, SCHEMA, self.limits)
            shares = self.party.shared(collection, Cohort(0, PEOPLE))
            name = _named(collection)
            for part in self._parts(plan):
                taken = best(functools.partial(self._shared, shares, part))
                yield f"{_told(part)}: {name}", taken, plan.work.of(part)

    def _reported(self, randomizer: LocalRandomizer, draw: Draw, part: Cohort) -> bytes:
        return self.kept.reports(_new(draw), randomizer, part, "")

    def _shared(self, shares: Shares, part: Cohort) -> object:
        return self.kept.shares(_new(shares), part, "")

    def _parts(self, plan: WorkPlan) -> Iterator[Cohort]:
        yield Cohort(0, 1, plan.cohort.split)
        if plan.people > 1:
            yield Cohort(0, plan.people, plan.cohort.split)


def _new(charged: Charged[Made]) -> Charged[Made]:
    """The same under another name, of which nothing is kept yet."""
    return replace(charged, name=os.urandom(32))


def _named(collection: Collection) -> str:
    return f"{collection.tier} {collection.encoding.kind} {len(collection.servers)} servers"


def _told(part: Cohort) -> str:
    return f"{part.stop} people" if part.split is None else f"{part.stop} split"


def lines() -> Iterator[Line]:
    """Every comparison."""
    with TemporaryDirectory() as directory:
        bench = Bench(directory)
        for query, randomizer in (*queries(), *draws()):
            yield from bench.randomized(query, randomizer)
        yield from bench.shared()


def main() -> None:
    """Print all of them, and how many are out of bounds."""
    factor, outside, number = slowness(thread_time), 0, 0
    print(f"this machine is {factor:.2f} times as slow as the one that prices were measured on")
    for name, taken, predicted in lines():
        ratio = taken / (predicted * factor)
        verdict = "LATE" if ratio > MOST else "loose" if ratio < LEAST and " people" in name[:16] else ""
        outside, number = outside + bool(verdict), number + 1
        print(f"{name:90} {taken * 1e3:9.3f} ms  x{ratio:<6.2f} {verdict}", flush=True)
    print(f"{outside} of {number} outside of {LEAST} to {MOST}")


if __name__ == "__main__":
    main()
