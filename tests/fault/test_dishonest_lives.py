"""One dishonest server of three over many attempts: restarts, old states, messages of earlier attempts, false proofs.

A schedule is a few lives of three servers over one collection.  In each the dishonest one deviates at one of its messages
(the greeting, the nonces, gates, proofs, openings, the last words), may have been put back to any earlier state, and any of
the others may have been killed and started again.  Or it changes a message of a gate in its own memory, too, and goes on
with that.  In the end everybody goes on honestly.

What is a failure: two results, or one that is not that of an undisturbed run; an honest server that has kept two; an honest
server that stopped and suspects honest ones alone.  What is not: no result.  Twins that must be caught: noise that every
attempt draws anew, and servers that verify nothing.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import get_args

import numpy as np
import pytest

from localdp.computing import attempts, noisy_maximum
from localdp.computing.dialogue import SERVERS, Dialogue, Exchange, outcomes
from localdp.computing.keyed_streams import KeyedAttempt, StreamPair
from localdp.computing.seat import Seat
from localdp.errors import ComputationAborted, LocalDpError
from localdp.oracles.collecting import combined
from localdp.sharing.collection import Collection
from localdp.sharing.selection import SelectionRule
from localdp.sharing.storage import MemoryStorage, Published
from tests.fault.test_cheating_servers import Dishonest, dishonest
from tests.support.joint import Three, histogram, selection

HEADER = 36
Said = dict[tuple[int, int, int], bytes]  # by round, sender and receiver
Change = Callable[
    [bytes, bytes, bytes, int], bytes
]  # what is said, was said before, was said in an earlier life; a number


def behind(change: Change) -> Change:
    """A liar that knows the protocol leaves tag and round as they are."""
    return lambda said, last, earlier, n: (
        said[:HEADER] + change(said[HEADER:], last[HEADER:], earlier[HEADER:], n)
    )


def flipped(said: bytes, _last: bytes, _earlier: bytes, n: int) -> bytes:
    if not said:
        return said
    place = n // 8 % len(said)
    return said[:place] + bytes([said[place] ^ 1 << n % 8]) + said[place + 1 :]


DEVIATIONS: dict[str, Change] = {
    "flips a bit": flipped,
    "flips a bit behind the header": behind(flipped),
    "repeats": lambda _said, last, _earlier, _n: last,
    "repeats under a new header": behind(lambda said, last, _earlier, _n: (last + said)[: len(said)]),
    "says what it said in an earlier life": lambda said, _last, earlier, _n: earlier or said,
    "says so under a new header": behind(lambda said, _last, earlier, _n: (earlier + said)[: len(said)]),
    "withholds": lambda _said, _last, _earlier, _n: b"",
    "sends zeros": behind(lambda said, _last, _earlier, _n: bytes(len(said))),
    "is honest": lambda said, _last, _earlier, _n: said,
}


@dataclass
class Liar:
    """What a dishonest server makes of one of its messages in a life."""

    server: int
    receiver: int
    number: int
    deviation: str
    bit: int
    earlier: Said
    said: Said = field(default_factory=dict)
    met: bool = False

    def carry(self, number: int, sender: int, receiver: int, octets: bytes) -> bytes:
        place = number, sender, receiver
        self.said[place] = octets
        if place != (self.number, self.server, self.receiver) or not octets:
            return octets
        last = self.said.get((number - 1, sender, receiver), b"")
        changed = DEVIATIONS[self.deviation](octets, last, self.earlier.get(place, b""), self.bit)
        self.met = self.met or changed != octets
        return changed


def shielded(part: Dialogue[Published]) -> Dialogue[Published]:
    """A refusal at one server ends its part, as it ends a stream."""
    try:
        return (yield from part)
    except ComputationAborted:
        raise
    except LocalDpError as refused:
        raise ComputationAborted(str(refused), "refused", tuple(range(SERVERS))) from None


@dataclass
class Lives:
    """One schedule, and what came of it."""

    collection: Collection
    cheat: int
    generator: np.random.Generator
    patch: pytest.MonkeyPatch
    earlier: Said = field(default_factory=dict)
    states: list[MemoryStorage] = field(default_factory=list)  # of the cheat, as it was at times
    results: set[tuple[int, ...]] = field(default_factory=set)
    stopped: Counter[str] = field(default_factory=Counter)

    def live(self, rounds: int) -> None:
        three = Three(self.collection).ready()
        for life in range(int(self.generator.integers(2, 5))):
            if self.generator.integers(4):
                self._attempt(three, life, self._liar(rounds))
            else:
                self._attempt(three, life, None, self._forger())
            self.states.append(copy.deepcopy(three.storages[self.cheat]))
            if self.generator.integers(2):
                old = self.states[int(self.generator.integers(len(self.states)))]
                three.storages[self.cheat] = copy.deepcopy(old)
            if self.generator.integers(2):
                three = three.again()
        self._attempt(three.again(), 99, None)

    def _forger(self) -> Dishonest:
        """Any message of gates but the first, which is the server's own input."""
        return Dishonest(int(self.generator.integers(1, 10)), int(self.generator.integers(1 << 20)))

    def _liar(self, rounds: int) -> Liar:
        number = int(self.generator.integers(rounds))
        receiver = (self.cheat + int(self.generator.integers(1, SERVERS))) % SERVERS
        deviation = list(DEVIATIONS)[int(self.generator.integers(len(DEVIATIONS)))]
        bit = int(self.generator.integers(1 << 20))
        return Liar(self.cheat, receiver, number, deviation, bit, dict(self.earlier))

    def _attempt(self, three: Three, life: int, liar: Liar | None, forger: Dishonest | None = None) -> None:
        parts = [shielded(part) for part in three.parts(life)]
        if forger is None:
            ends = outcomes(parts, None if liar is None else liar.carry)
        else:
            parts[self.cheat] = forger.part(parts[self.cheat])
            with dishonest(self.patch, forger):
                ends = outcomes(parts)
        self._judge(ends, liar)
        if liar is not None:
            self.earlier |= liar.said
        if all(isinstance(end, Published) for end in ends):
            self._combine([end for end in ends if isinstance(end, Published)])

    def _combine(self, published: Sequence[Published]) -> None:
        """What the analyst reads, who names the dishonest server among others where it reads nothing."""
        suspects: tuple[int, ...] | None = None
        try:
            self.results.add(tuple(combined(self.collection, published)))
        except ComputationAborted as refused:
            suspects = refused.suspects
        assert suspects is None or self.cheat in suspects

    def _judge(self, ends: Sequence[Published | ComputationAborted], liar: Liar | None) -> None:
        honest = [(server, end) for server, end in enumerate(ends) if server != self.cheat]
        for server, end in honest:
            if isinstance(end, ComputationAborted):
                self.stopped[end.check] += 1
                assert self.cheat in end.suspects, (liar, end)
                assert len(end.suspects) in (1, 2, 3)
                assert end.check == "refused" or server not in end.suspects
        tags = {end.attempt for _, end in honest if isinstance(end, Published)}
        assert len(tags) <= 1


def undisturbed(collection: Collection) -> tuple[int, ...]:
    ends = Three(collection).ready().ends(1)
    return tuple(combined(collection, [end for end in ends if isinstance(end, Published)]))


def schedules(
    patch: pytest.MonkeyPatch, collection: Collection, rounds: int, seed: int, runs: int
) -> Counter[str]:
    """So many schedules; raises AssertionError where one ends otherwise than it may."""
    generator, honest = np.random.default_rng(seed), undisturbed(collection)
    found: Counter[str] = Counter()
    for _ in range(runs):
        lives = Lives(collection, int(generator.integers(SERVERS)), generator, patch)
        lives.live(rounds)
        assert lives.results <= {honest}, (lives.results, honest)
        found["a result" if lives.results else "no result"] += 1
        found += lives.stopped
    return found


ROUNDS, ROUNDS_OF_SELECTION = 20, 60


def test_noise_is_the_honest_one_or_there_is_none_over_many_lives(monkeypatch: pytest.MonkeyPatch) -> None:
    found = schedules(monkeypatch, histogram(), ROUNDS, 1, 25)
    assert found["a result"] > 5
    assert len(found) > 6  # checks that stopped somebody


def test_a_selection_is_the_honest_one_or_there_is_none_over_many_lives(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = schedules(monkeypatch, selection("quantile"), ROUNDS_OF_SELECTION, 2, 8)
    assert found["a result"] > 1


@pytest.mark.nightly
def test_ten_thousand_schedules_of_many_lives(monkeypatch: pytest.MonkeyPatch) -> None:
    for number, rule in enumerate(get_args(SelectionRule)):
        schedules(monkeypatch, selection(rule), ROUNDS_OF_SELECTION, 10 + number, 1_000)
    schedules(monkeypatch, histogram(), ROUNDS, 3, 7_000)


class NoiseAnew(KeyedAttempt):
    """Streams that should last are of one attempt."""

    def lasting(self, purpose: bytes) -> StreamPair:
        return self.fresh(purpose)


def test_the_twin_that_draws_its_noise_anew_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attempts, "KeyedAttempt", NoiseAnew)
    with pytest.raises(AssertionError):
        schedules(monkeypatch, histogram(), ROUNDS, 4, 40)


def test_the_twin_that_verifies_nothing_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def unverified(seat: Seat) -> Dialogue[None]:
        seat.transcript.taken()
        yield Exchange()

    monkeypatch.setattr(attempts, "verified", unverified)
    monkeypatch.setattr(noisy_maximum, "verified", unverified)
    with pytest.raises(AssertionError):
        schedules(monkeypatch, histogram(), ROUNDS, 5, 60)
