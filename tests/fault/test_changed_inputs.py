"""A dishonest server of three that enters other inputs in every attempt: it would ask many selections of one noise.

Nobody can tell what a server's share of the sums is, so it may shift it.  It learns the index when the three open it,
may keep back its last words, and be asked again.  If it could then enter other shares, it would learn a second index of
the same scores and noises, a third, and with them every noisy score: the price would grow with the number of scores.

So what each server enters in the first attempt is on record at both others before anything depends on it.  Twin that
must be caught: servers that keep no record of it.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest

from localdp.computing.dialogue import SERVERS, Dialogue, outcomes
from localdp.computing.joint_release import joint_release
from localdp.computing.keyed_streams import NONCE_BYTES
from localdp.errors import ComputationAborted
from localdp.oracles.collecting import combined
from localdp.sharing.joint_terms import JointRecord
from localdp.sharing.storage import Published
from tests.fault.test_dishonest_lives import shielded
from tests.support.joint import Three, selection

CANDIDATES = 4
BELOW = 1_000  # more than any noise: what is moved down by as much loses


@dataclass
class Asker:
    """The dishonest server: it enters what it likes, and says nothing more once it knows the index."""

    three: Three
    server: int
    stopped: list[ComputationAborted] = field(default_factory=list)  # the others, for a reason of their own
    lives: int = 0

    def asks(self, shifts: Sequence[int]) -> int | None:
        """The index that it learns of one attempt, if it learns one."""
        self.lives += 1
        self._known: int | None = None
        parts = [shielded(part) for part in self.three.parts(self.lives)]
        parts[self.server] = self._part(shifts)
        ends = outcomes(parts)
        self.stopped = [
            end
            for server, end in enumerate(ends)
            if server != self.server and isinstance(end, ComputationAborted)
        ]
        return self._known

    def _part(self, shifts: Sequence[int]) -> Dialogue[Published]:
        """Its part, with its shares of the scores moved by these."""
        name, accepted, signed = self.three.agreed
        terms = self.three.servers[self.server].joint_terms(name, accepted, signed)
        modulus = self.three.collection.field.modulus
        moved = [(share + shift) % modulus for share, shift in zip(terms.sums, shifts, strict=True)]
        nonce = bytes([self.lives, self.server] * (NONCE_BYTES // 2))
        return joint_release(replace(terms, sums=moved, record=JointRecord()), nonce, self._heard)

    def _heard(self, record: JointRecord) -> None:
        """It keeps nothing; and where everything is verified, it goes away."""
        if record.tag:
            self._known = self.three.collection.field.unpack(record.sums)[0]
            raise ComputationAborted("enough")


def learned(three: Three, server: int) -> list[int]:
    """The indexes that it learns one after the other, each time without those that it knows: the order of all scores."""
    asker, found = Asker(three, server), list[int]()
    for _ in range(CANDIDATES):
        index = asker.asks([-BELOW * (place in found) for place in range(CANDIDATES)])
        if index is None:
            assert all(server in end.suspects for end in asker.stopped), asker.stopped
            assert len(asker.stopped) == SERVERS - 1
            break
        found.append(index)
        asker.three = asker.three.again()  # all of them may be killed in between
    return found


@pytest.mark.parametrize("server", range(SERVERS))
def test_a_server_that_enters_other_inputs_learns_no_second_index(server: int) -> None:
    three = Three(selection()).ready()
    assert len(learned(three, server)) == 1
    whole = [end for end in three.again().ends(99) if isinstance(end, Published)]
    assert combined(three.collection, whole) == combined(three.collection, undisturbed())


def undisturbed() -> list[Published]:
    return [end for end in Three(selection()).ready().ends(99) if isinstance(end, Published)]


@pytest.mark.parametrize("forgetful", [1, 2])
def test_one_honest_server_that_was_put_back_is_held_to_it_by_the_other(forgetful: int) -> None:
    three = Three(selection()).ready()
    before = copy.deepcopy(three.storages[forgetful])
    asker = Asker(three, 0)
    first = asker.asks([0] * CANDIDATES)
    assert first is not None
    three.storages[forgetful] = before
    asker.three = three.again()
    assert asker.asks([-BELOW * (place == first) for place in range(CANDIDATES)]) is None


@pytest.mark.parametrize("liar", range(SERVERS))
def test_a_server_that_was_told_another_key_by_the_liar_is_not_accused_alone(liar: int) -> None:
    """It had nothing on record yet, where the other honest one had; what it enters is hidden with that key."""
    fooled = (liar - 1) % SERVERS
    three = Three(selection()).ready()

    def withheld(number: int, sender: int, receiver: int, octets: bytes) -> bytes:
        return b"" if (number, sender, receiver) == (1, liar, fooled) else octets

    def another_key(number: int, sender: int, receiver: int, octets: bytes) -> bytes:
        if (number, sender, receiver) != (0, liar, fooled):
            return octets
        return octets[:-1] + bytes([octets[-1] ^ 1])

    for life, carry in enumerate((withheld, another_key)):
        ends = outcomes([shielded(part) for part in three.again().parts(life)], carry)
        for server in {0, 1, 2} - {liar}:
            stopped = ends[server]
            assert isinstance(stopped, ComputationAborted) and liar in stopped.suspects
    assert any("another input" in end.check for end in ends if isinstance(end, ComputationAborted))


def test_the_twin_that_keeps_no_record_of_inputs_is_seen_through(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(JointRecord, "entered", lambda record, inputs, others: record)
    assert sorted(learned(Three(selection()).ready(), 0)) == list(range(CANDIDATES))
