"""A second shuffler behind the first, so that no single one knows who sent what.

Agents seal each message to the analyst, and once more to the second shuffler.  The first sees who sent what, under two
seals, and mixes.  The second takes the outer seal away, from messages whose senders it never saw, and mixes again.  So

- the second, also together with the analyst, has what the analyst has: mixed messages;
- the first, also together with the analyst, cannot tell which of the messages that come out is which that went in, as
  long as it passes on what it was sent.  One that leaves everybody out but one, or adds its own, is not noticed here.

Of a message that comes twice the second counts for nothing: whoever sends somebody's again would find it by that.  That,
and what does not open, becomes zeros, which the analyst takes for a dummy.  Its key pair is its identity, and owners
write it down: a first shuffler that gave agents another key would be refused (`Policy.second_key`).

Claim.  What is released is what the first has mixed, less the outer seals, in an order that follows from the key and
the messages alone: the same round has the same bytes, also after a restart.
Checked in tests/unit/oracles/test_second_shuffler.py.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from localdp.cohorts import Cohort
from localdp.errors import InvalidParameter, MalformedReport, PolicyRefused
from localdp.oracles.flood_mixing import MixedFlood
from localdp.oracles.mixing import mixed
from localdp.oracles.promise import Promise
from localdp.oracles.shuffler import Mixer
from localdp.oracles.wrapping import ReportsAround
from localdp.party.party import Request
from localdp.randomizers.definition import Reports
from localdp.randomness.keys import derive_key
from localdp.randomness.keystream import KeystreamSource
from localdp.sharing.flooded_batch import TWICE_BYTES, Messages, opened_once
from localdp.sharing.flooded_round import FloodedQuestion, round_digest
from localdp.sharing.hpke import public_of

Ask = Callable[[FloodedQuestion, Sequence[Cohort]], MixedFlood]
Open = Callable[[bytes, bytes, Messages], Messages]


class SecondShuffler(ReportsAround):
    """Mixes once more what another shuffler has mixed, and could not read."""

    def __init__(self, first: Mixer, ask: Ask, secret: bytes, opened: Open = opened_once) -> None:
        """`ask` has the first shuffler's messages as they are; `secret`: the X25519 key that agents seal to."""
        super().__init__(first)
        if first.second_key:
            raise InvalidParameter("behind a second shuffler there is the first, and no third")
        self._first, self._ask, self._secret, self._opened = first, ask, secret, opened
        self.second_key = public_of(secret)

    @property
    def promise(self) -> Promise | None:
        """That of the first, which keeps the account."""
        return self._first.promise

    @property
    def hiding(self) -> int:
        return self._first.hiding

    def reports(self, request: Request, cohort: Cohort) -> Iterator[Reports]:
        """None: single messages are not sealed, and a second shuffler would see what the first does."""
        raise PolicyRefused("a second shuffler mixes flooded rounds; ask the first for single messages")

    def flooded(self, question: FloodedQuestion, cohorts: Sequence[Cohort]) -> MixedFlood:
        """The messages of a flooded round, mixed twice, still sealed to the analyst."""
        if question.second_key != self.second_key:
            raise InvalidParameter(
                "the messages of this flooded round are sealed to another second shuffler"
            )
        twice = self._ask(question, cohorts)
        if twice.messages.shape[1:] != (TWICE_BYTES,):
            raise MalformedReport("the first shuffler sent messages that have no outer seal")
        once = _each_once(self._opened(self._secret, round_digest(question, twice.roster), twice.messages))
        told = hashlib.sha256(np.sort(_as_words(once)).tobytes()).digest()
        coins = KeystreamSource(derive_key(self._secret, b"flooded order", told))
        return replace(twice, messages=np.ascontiguousarray(once[mixed(len(once), coins)]))


def _each_once(messages: Messages) -> Messages:
    """Zeros for those that were there already."""
    _, first = np.unique(_as_words(messages), return_index=True)
    told = np.zeros_like(messages)
    told[first] = messages[first]
    return told


def _as_words(messages: Messages) -> NDArray[np.void]:
    """Each as one value that can be sorted."""
    rows: Messages = np.ascontiguousarray(messages)
    words: NDArray[np.void] = rows.view(np.dtype((np.void, rows.shape[1]))).reshape(-1)
    return words
