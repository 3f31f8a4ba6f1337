"""The two experiments of Definition 3.7 as a game: an adversary who chooses everything, against a party's ledger.

A bit b is drawn, 0 or 1.  In each round the adversary, from all that it has seen, chooses two neighbouring databases, a
mechanism and its parameters; the party holds the one of number b, in an epoch of its own, and answers if its ledger lets
it.  At the end the adversary guesses b.

Claim.  A ledger that ends at epsilon lets nobody win with a probability of more than exp(epsilon) / (1 + exp(epsilon)):
the transcripts of both experiments are within a factor of exp(epsilon), whatever was chosen (section 3.5.2), and refusals
depend on nothing but what was charged.  Whoever spends everything on one randomized response wins just as often.  Without a
ledger the same adversary wins always.  `chance` is by every transcript, exactly; `play` is against a real party.
Checked in tests/unit/attacks/test_composition_game.py, and over gRPC in tests/integration/test_game_over_grpc.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Protocol, TypeAlias

import numpy as np

from localdp.accounting.epsilon import Epsilon
from localdp.cohorts import Cohort
from localdp.domains import BitDomain, Records, Schema
from localdp.errors import BudgetExhausted
from localdp.oracles.lr import LROracle
from localdp.party.party import Request
from localdp.randomizers.one_bit import OneBitRandomizer
from localdp.randomness.source import RandomSource

SCHEMA = Schema({"secret": BitDomain()})
QUERY = "secret"
MOST_ROUNDS = 200
OTHERS = 3  # people in the databases beside the one in whom they differ


@dataclass(frozen=True, slots=True)
class Posed:
    """What an adversary wants of a round: the record of the one person in whom the databases differ, under both bits."""

    records: tuple[bool, bool]
    others: tuple[bool, ...]  # the same in both
    randomizer: OneBitRandomizer

    def database(self, bit: int) -> Records:
        """The database of number `bit`."""
        held = np.array([self.records[bit], *self.others])
        return Records(SCHEMA, {"secret": held})


@dataclass(frozen=True, slots=True)
class Heard:
    """A round that is over: what was chosen, and what came back about the one person; None if it was refused."""

    choice: Posed
    report: Hashable | None
    # How much more probable the report is with b = 1, as the logarithm of a ratio.
    evidence: float = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "evidence", self._ratio() if self.report is not None else 0.0)

    def _ratio(self) -> float:
        one, other = (
            self.choice.randomizer.law(int(record))[self.report] for record in self.choice.records
        )
        return math.log(other / one)


Transcript: TypeAlias = tuple[Heard, ...]


class Adversary(Protocol):
    """Chooses each round from what was heard, until it has heard enough."""

    def choose(self, heard: Transcript) -> Posed | None:
        """The next round; None to guess."""
        ...


@dataclass(frozen=True, slots=True)
class AllAtOnce:
    """Spends everything in each round: with a ledger that is one round, and nobody wins more often."""

    epsilon: Epsilon  # that it believes there is
    rounds: int = 1

    def choose(self, heard: Transcript) -> Posed | None:
        refused = bool(heard) and heard[-1].report is None
        if refused or len(heard) == self.rounds:
            return None
        return Posed((False, True), (False,) * OTHERS, OneBitRandomizer(self.epsilon))


@dataclass(frozen=True, slots=True)
class StepByStep:
    """Asks again and again, of other records, with more at stake the less it knows; gives up when refused."""

    epsilon: Epsilon  # that it believes there is
    rounds: int
    enough: float = math.inf  # evidence with which it stops

    def choose(self, heard: Transcript) -> Posed | None:
        known = sum(one.evidence for one in heard)
        refused = bool(heard) and heard[-1].report is None
        if refused or len(heard) == self.rounds or abs(known) > self.enough:
            return None
        parts = 4 if abs(known) > float(self.epsilon) / 4 else 2
        swapped = known > 0
        records = (True, False) if swapped else (False, True)
        return Posed(records, (swapped,) * OTHERS, OneBitRandomizer(self.epsilon.divided_by(parts)))


def guess(heard: Transcript) -> int:
    """The bit that is more probable."""
    return int(sum(one.evidence for one in heard) > 0)


Enter: TypeAlias = Callable[
    [Records], LROracle
]  # the owner opens an epoch; the party as the analyst reaches it


def play(adversary: Adversary, bit: int, enter: Enter, source: RandomSource) -> Transcript:
    """The experiment of number `bit`, against a real party; `source` makes public identifiers."""
    heard: Transcript = ()
    while len(heard) < MOST_ROUNDS and (choice := adversary.choose(heard)) is not None:
        party = enter(choice.database(bit))
        request = Request.fresh(QUERY, choice.randomizer, source)
        heard = (*heard, Heard(choice, _report(party, request)))
    return heard


def _report(party: LROracle, request: Request) -> int | None:
    try:
        (bits, *_) = party.reports(request, Cohort(0, 1))
    except BudgetExhausted:
        return None
    return int(bits[0])


def chance(adversary: Adversary, limit: Epsilon | None) -> Fraction:
    """With which probability the adversary wins against a ledger of this limit, over every transcript; None: no ledger."""
    return _won(adversary, (), limit, (Fraction(1, 2), Fraction(1, 2)))


def _won(
    adversary: Adversary, heard: Transcript, left: Epsilon | None, masses: tuple[Fraction, Fraction]
) -> Fraction:
    choice = adversary.choose(heard)
    if choice is None or len(heard) == MOST_ROUNDS:
        return masses[guess(heard)]
    cost = choice.randomizer.epsilon
    if left is not None and cost > left:
        return _won(adversary, (*heard, Heard(choice, None)), left, masses)
    after = None if left is None else Epsilon(left.nanonats - cost.nanonats)
    laws = [choice.randomizer.law(int(record)) for record in choice.records]
    return sum(
        (
            _won(
                adversary,
                (*heard, Heard(choice, report)),
                after,
                (masses[0] * laws[0][report], masses[1] * laws[1][report]),
            )
            for report in laws[0]
        ),
        Fraction(0),
    )
