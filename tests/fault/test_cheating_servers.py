"""One dishonest server of three, at any of its messages: the release is the honest one, or there is none.

What is a failure: a release that all three servers and the analyst accept and that is not the honest one; a changed
message that neither an honest server nor the analyst notices; suspects who are all honest.  What is not: no release;
and a server that reshares another input than it holds, which nobody can tell (and which moves the sums by a number
of its choice, the same in every attempt).  Schedules are random, from a fixed seed; each has one deviation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.computing import attempts, gates
from localdp.computing.attempts import (
    ReleasedComponents,
    combined_release,
    computation_name,
    in_attempt,
    released_sums,
)
from localdp.computing.dialogue import Dialogue, outcomes
from localdp.computing.noisy_maximum import noisy_maximum
from localdp.computing.seat import Seat, SharedElements
from localdp.errors import ComputationAborted
from localdp.sharing.digit_coins import LaplaceCoins
from localdp.sharing.prio3.batch.words import Words
from localdp.sharing.prio3.fields import FIELD64
from localdp.sharing.selection_law import SelectionLaw
from tests.support.computing import FIELD64_KERNEL, keys_of

LAW = LaplaceCoins.of(Epsilon.requested(1), 1)
COUNT = 3
NAME = computation_name(b"collection", b"sealed", LAW, COUNT)
SELECTION = SelectionLaw.of(Epsilon.requested(1), 1)
SHARES = [np.array([[10 * server, 5, 1000]], np.uint64) for server in range(3)]
NOTHING = "no release"
T = TypeVar("T")


@dataclass
class Schedule:
    """One deviation of one server: what it does to the message of a round to one neighbour."""

    cheat: int
    receiver: int
    number: int
    deviation: str
    bit: int
    met: bool = False
    before: dict[tuple[int, int], bytes] = field(default_factory=dict)

    def carry(self, number: int, sender: int, receiver: int, octets: bytes) -> bytes:
        """What arrives."""
        last = self.before.get((sender, receiver), b"")
        self.before[sender, receiver] = octets
        if (number, sender, receiver) != (self.number, self.cheat, self.receiver) or not octets:
            return octets
        changed = DEVIATIONS[self.deviation](octets, last, self.bit)
        self.met = changed != octets
        return changed


def flipped(octets: bytes, _last: bytes, bit: int) -> bytes:
    place, mask = bit // 8 % len(octets), 1 << bit % 8
    return octets[:place] + bytes([octets[place] ^ mask]) + octets[place + 1 :]


def without_header(change: Callable[[bytes, bytes, int], bytes]) -> Callable[[bytes, bytes, int], bytes]:
    """A liar that knows the protocol leaves tag and round as they are."""
    return lambda octets, last, bit: octets[:36] + change(octets[36:], last[36:], bit)


DEVIATIONS: dict[str, Callable[[bytes, bytes, int], bytes]] = {
    "flips a bit": flipped,
    "flips a bit behind the header": without_header(flipped),
    "repeats": lambda _octets, last, _bit: last,
    "repeats under a new header": without_header(lambda octets, last, _bit: (last + octets)[: len(octets)]),
    "withholds": lambda _octets, _last, _bit: b"",
    "sends zeros": without_header(lambda octets, _last, _bit: bytes(len(octets))),
}


End = ReleasedComponents | int | ComputationAborted
Outcome = list[int] | int | str


def attempts_of(part: Callable[[Seat, SharedElements], Dialogue[T]]) -> list[Dialogue[T]]:
    return [
        in_attempt(
            server,
            keys,
            NAME,
            bytes([server]) * 16,
            FIELD64_KERNEL,
            SHARES[server],
            lambda inputs: None,
            part,
        )
        for server, keys in enumerate(keys_of(8))
    ]


def honest_sums() -> list[Dialogue[ReleasedComponents]]:
    return attempts_of(lambda seat, shared: released_sums(seat, shared, LAW))


def honest_selection() -> list[Dialogue[int]]:
    return attempts_of(lambda seat, shared: noisy_maximum(seat, shared, SELECTION))


def outcome_of(ends: Sequence[End]) -> Outcome:
    """What the analyst reads in the end; of a selection, what the servers agree on."""
    indices = {end for end in ends if isinstance(end, int)}
    if indices:
        return indices.pop() if len(indices) == 1 else "two indices"
    try:
        return combined_release(FIELD64, [end for end in ends if isinstance(end, ReleasedComponents)])
    except ComputationAborted:
        return NOTHING


HONEST = outcome_of(outcomes(honest_sums()))
HONEST_INDEX = outcome_of(outcomes(honest_selection()))
ROUNDS, ROUNDS_OF_SELECTION = 18, 56


def random_schedule(generator: np.random.Generator, rounds: int) -> Schedule:
    cheat = int(generator.integers(3))
    step = int(generator.integers(1, 3))
    return Schedule(
        cheat,
        (cheat + step) % 3,
        int(generator.integers(rounds)),
        list(DEVIATIONS)[int(generator.integers(len(DEVIATIONS)))],
        int(generator.integers(1 << 20)),
    )


def run_schedules(seed: int, runs: int, *, selecting: bool = False) -> None:
    """Every message that was changed is noticed, and what others end with is the honest outcome."""
    generator = np.random.default_rng(seed)
    honest, rounds = (HONEST_INDEX, ROUNDS_OF_SELECTION) if selecting else (HONEST, ROUNDS)
    done = 0
    while done < runs:
        schedule = random_schedule(generator, rounds)
        ends: Sequence[End] = (
            outcomes(honest_selection(), schedule.carry)
            if selecting
            else outcomes(honest_sums(), schedule.carry)
        )
        if schedule.met:
            done += 1
            assert outcome_of(ends) in ((NOTHING, honest) if selecting else (NOTHING,)), schedule
            assert_blame(schedule, ends)


def assert_blame(schedule: Schedule, ends: Sequence[End]) -> None:
    """Honest servers that stopped, or else the analyst, have the cheat among their suspects."""
    stopped = {
        server: end
        for server, end in enumerate(ends)
        if server != schedule.cheat and isinstance(end, ComputationAborted)
    }
    if not stopped:
        with pytest.raises(ComputationAborted) as refused:
            combined_release(FIELD64, [end for end in ends if isinstance(end, ReleasedComponents)])
        assert schedule.cheat in refused.value.suspects, schedule
    for server, end in stopped.items():
        assert schedule.cheat in end.suspects, (schedule, end)
        assert server not in end.suspects


class Dishonest:
    """A server that changes what it sends in its own memory, too: one bit of one message of gates."""

    def __init__(self, message: int, bit: int) -> None:
        self._message, self._bit = message, bit
        self.is_running, self.sent, self.was_input = False, 0, False

    def changed(self, words: Words) -> None:
        """Called with what is about to be sent."""
        if self.is_running:
            if self.sent == self._message:
                flat = words.reshape(-1)
                flat[self._bit % flat.size] ^= np.uint64(1 << self._bit % 32)  # stays below the prime
                self.was_input = self.sent == 0
            self.sent += 1

    def part(self, dialogue: Dialogue[T]) -> Dialogue[T]:
        received = None
        while True:
            self.is_running = True
            try:
                asked = next(dialogue) if received is None else dialogue.send(received)
            except StopIteration as stop:
                result: T = stop.value
                return result
            finally:
                self.is_running = False
            received = yield asked


@contextmanager
def dishonest(monkeypatch: pytest.MonkeyPatch, cheat: Dishonest) -> Iterator[None]:
    """Messages of gates pass by the cheat; it changes arrays in place, so that it goes on with what it sent."""
    octets_of = gates.octets_of

    def words(array: Words) -> bytes:
        cheat.changed(array)
        return octets_of(array)

    def elements(array: Words) -> bytes:
        cheat.changed(array)
        return octets_of(np.ascontiguousarray(array.T))

    with monkeypatch.context() as patched:
        patched.setattr(gates, "octets_of", words)
        patched.setattr(gates, "pack_elements", elements)
        patched.setattr(attempts, "pack_elements", elements)
        yield


def run_dishonest(monkeypatch: pytest.MonkeyPatch, seed: int, runs: int) -> Counter[str]:
    """Messages 0 (the input) to 9 of gates; how often each outcome was met."""
    generator = np.random.default_rng(seed)
    found: Counter[str] = Counter()
    for _ in range(runs):
        cheat = Dishonest(int(generator.integers(10)), int(generator.integers(1 << 20)))
        server = int(generator.integers(3))
        with dishonest(monkeypatch, cheat):
            parts = honest_sums()
            parts[server] = cheat.part(parts[server])
            outcome = outcome_of(outcomes(parts))
        assert (outcome == NOTHING) != cheat.was_input, (server, vars(cheat))
        assert outcome != HONEST
        found["own input" if cheat.was_input else "abort"] += 1
    return found


def test_whatever_one_message_is_changed_to_there_is_no_release() -> None:
    run_schedules(1, 100)


def test_a_selection_is_the_honest_one_or_there_is_none() -> None:
    run_schedules(5, 40, selecting=True)


def test_a_server_that_goes_on_with_what_it_lied_about_moves_nothing_but_its_own_input(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = run_dishonest(monkeypatch, 2, 80)
    assert found["abort"] > 50
    assert found["own input"] > 0


@pytest.mark.nightly
def test_ten_thousand_schedules(monkeypatch: pytest.MonkeyPatch) -> None:
    run_schedules(3, 5_000)
    run_schedules(6, 2_000, selecting=True)
    assert run_dishonest(monkeypatch, 4, 3_000)["abort"] > 2_000
