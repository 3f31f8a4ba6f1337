"""A flooded round at the shuffler: it asks the parties, checks what came, and releases it mixed, once.

The shuffler adds whom it asks, and under which numbers; that is part of the round's digest, so that every party knows
the n among whom the noise is divided, and no two can be told different ones in the same round.  It cannot read a
message.  What it can do, it must do honestly, because nothing holds against it: mix, and keep to itself who sent what.

- Of each part it takes as many messages as the plan says, of the length that all have, or none: a liar moves the sums by no
  more than the messages of its people and their room.
- Parties may be away or refuse, as long as those that are there, without the largest that may collude, are as many
  people as the plan calls honest.  If they are fewer nothing is released, and if that is known before anybody has paid,
  nobody pays.
- A round is released once.  With its name stands a digest of the messages: the same ones go out again, in the order of the
  shuffler's secret, and any others, with a party more or less, are refused: their difference would be that party's.

Checked in tests/unit/oracles/test_flood_mixing.py, tests/contract/test_flooded.py and
tests/fault/test_flooded_kill_nine.py.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from localdp.accounting.promise_ledger import Outlay, PromiseLedger, trillionths_above
from localdp.cohorts import Cohort
from localdp.errors import InvalidParameter, LocalDpError, PolicyRefused, TooFewReports
from localdp.framing import digest
from localdp.oracles.lr import cohorts_by_party
from localdp.oracles.mixing import mixed
from localdp.oracles.promise import Promise
from localdp.randomness.source import RandomSource
from localdp.sharing.collection import Contributor
from localdp.sharing.flooded_batch import Messages, message_bytes
from localdp.sharing.flooded_round import FloodedPart, FloodedQuestion, FloodedRound

MOST_FLOODED_BYTES = 1 << 30  # of messages that one shuffler holds at a time
_MISSING = "too few people are there for what this flooded round promises, so nothing was released"


@runtime_checkable
class FloodedParties(Protocol):
    """Parties that can be asked for flooded messages, each for its parts."""

    @property
    def contributors(self) -> tuple[Contributor, ...]:
        """The parties, in order, and how many people each speaks for."""
        ...

    @property
    def seals(self) -> bool:
        """Whether their messages travel, and so are sealed to an analyst who is not the shuffler."""
        ...

    def granted_flooded(self, asked: FloodedRound) -> Sequence[LocalDpError | None]:
        """Of each part, why its party would not answer now; nobody is charged."""
        ...

    def flooded(
        self, asked: FloodedRound, parts: Sequence[int]
    ) -> Iterator[tuple[int, Messages | LocalDpError]]:
        """The messages of the parts of these numbers, in order, or why there are none."""
        ...


@dataclass(frozen=True, slots=True)
class MixedFlood:
    """What a shuffler releases of a round, or an analyst opened of it."""

    messages: Messages
    people: int  # whose messages these are
    roster: bytes  # a digest of who was asked


def round_of(
    question: FloodedQuestion, cohorts: Sequence[Cohort], parties: Sequence[Contributor]
) -> FloodedRound:
    """The question, put to these people: each range of a party's people is a part."""
    if any(cohort.split is not None for cohort in cohorts):
        raise InvalidParameter("a flooded round is about ranges of people")
    sizes = [party.people for party in parties]
    pieces = [piece for cohort in cohorts for piece in cohorts_by_party(cohort, sizes)]
    parts = tuple(FloodedPart(parties[number].name, part.start, part.stop) for number, part in pieces)
    return FloodedRound(question, parts)


@dataclass(frozen=True, slots=True)
class FloodMixing:
    """What a shuffler does about one round."""

    asked: FloodedRound
    parties: FloodedParties
    promise: Promise | None
    ledger: PromiseLedger | None

    def released(self, coins: Callable[[bytes], RandomSource]) -> MixedFlood:
        """All messages, mixed by the coins that belong to them; or nothing."""
        plan, parts = self.asked.plan, self.asked.parts
        self._require_admissible()
        granted = self.parties.granted_flooded(self.asked)
        willing = [number for number, refusal in enumerate(granted) if refusal is None]
        self._require_enough(willing, [one for one in granted if one is not None])
        batches, refusals = dict[int, Messages](), list[LocalDpError]()
        for number, batch in self.parties.flooded(self.asked, willing):
            if isinstance(batch, LocalDpError):
                refusals.append(batch)
            elif self._fits(batch, plan.size(parts[number].people)):
                batches[number] = batch
        self._require_enough(batches, refusals)
        told = self._digest(batches)
        if self.ledger is not None:
            self.ledger.charge(
                self._outlay(batches, told)
            )  # nothing was promised as long as nothing could leave
        return MixedFlood(
            _mixed(np.concatenate(list(batches.values())), coins(told)),
            self._people(batches),
            self.asked.roster,
        )

    def _require_admissible(self) -> None:
        """Refuse, before anybody is asked, what would never be released."""
        plan, parts = self.asked.plan, self.asked.parts
        size = sum(plan.size(part.people) for part in parts)
        if size * message_bytes(self.asked.question.second_key) > MOST_FLOODED_BYTES:
            raise PolicyRefused(
                f"a shuffler holds at most {MOST_FLOODED_BYTES} bytes of messages at a time"
            )
        if self.promise is not None:
            if plan.epsilon > self.promise.epsilon or plan.delta > self.promise.delta:
                raise PolicyRefused(
                    "this shuffler promises more than the flooded round does, and mixes none such"
                )
            if plan.honest < self.promise.minimum_cohort:
                raise TooFewReports(
                    f"a flooded round counts on at least {self.promise.minimum_cohort} honest people here"
                )
        everybody = range(len(parts))
        self._require_enough(everybody, [])
        if self.ledger is not None:
            self.ledger.require(self._outlay(everybody))

    def _require_enough(self, numbers: Iterable[int], refusals: Sequence[LocalDpError]) -> None:
        """Refuse if those who are there are not as many as have to be honest; by the kind of a party's own refusal."""
        there = [(self.asked.parts[number].name, self.asked.parts[number].people) for number in numbers]
        hiding = sum(people for _, people in there) if self.promise is None else self.promise.hiding(there)
        if hiding < self.asked.plan.honest:
            raise type(refusals[0])(_MISSING) if refusals else TooFewReports(_MISSING)

    def _fits(self, batch: Messages, size: int) -> bool:
        question = self.asked.question
        return batch.shape == ((size, message_bytes(question.second_key)) if question.key else (size,))

    def _people(self, numbers: Iterable[int]) -> int:
        return sum(self.asked.parts[number].people for number in numbers)

    def _outlay(self, numbers: Iterable[int], told: bytes = b"") -> Outlay:
        parts = tuple(
            (self.asked.parts[number].name, self.asked.parts[number].cohort) for number in numbers
        )
        plan = self.asked.plan
        return Outlay(self.asked.digest, parts, plan.epsilon, trillionths_above(plan.delta), told)

    def _digest(self, batches: dict[int, Messages]) -> bytes:
        """What tells these messages from others; of ciphertexts it says nothing."""
        plain = [hashlib.sha256(np.ascontiguousarray(batch).data).digest() for batch in batches.values()]
        return digest(self.asked.digest, b" ".join(b"%d" % number for number in batches), *plain)


def _mixed(messages: Messages, coins: RandomSource) -> Messages:
    """An order that says no more than which messages there are: drawn for sealed ones, that of their codes for others."""
    if messages.ndim == 1:
        counts = np.bincount(messages)
        return np.repeat(np.arange(len(counts), dtype=np.uint32), counts)
    return messages[mixed(len(messages), coins)]
