"""Parties and ledgers that each break one clause of the contract, and an honest party.

A broken draw comes from a `shadow`: a second party with the same records and no limits, which is asked something else than
what was charged.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import numpy as np

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.ledger import Charge, Ledger, MemoryLedger, Receipt
from localdp.cohorts import Cohort
from localdp.errors import BudgetExhausted
from localdp.party.party import Draw, Party, Request
from localdp.party.policy import Policy
from localdp.randomizers.one_bit import OneBitRandomizer
from tests.support.federations import KEYRING, people

PEOPLE = 2000
BUDGET = Epsilon.requested(12)
LARGEST = Epsilon.requested(2)
RECORDS = people(PEOPLE)
_POLICY = Policy(largest_epsilon=LARGEST)


def honest_party(kind: type[Party] = Party, ledger: Ledger | None = None) -> Party:
    """A party with a budget that a check of the contract can spend."""
    ledger = ledger or MemoryLedger(PEOPLE, BUDGET)
    return kind("party-0", RECORDS, KEYRING.party(0), ledger, _POLICY)


def shadow() -> Party:
    """A second party with the same records and no limits."""
    lavish = Policy(largest_epsilon=Epsilon.requested(30))
    return Party("shadow", RECORDS, KEYRING.party(0), MemoryLedger(PEOPLE, Epsilon(10**15)), lavish)


class Altered(Party):
    """Charges what was asked, and draws something else."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.shadow = shadow()

    def altered(self, request: Request) -> Request:
        """What is drawn instead."""
        raise NotImplementedError

    def charged(self, request: Request, cohort: Cohort, caller: str = "") -> Draw:
        super().charged(request, cohort, caller)
        return self.shadow.charged(self.altered(request), cohort)


class FreshCoins(Altered):
    """Draws anew on every retry."""

    def altered(self, request: Request) -> Request:
        return replace(request, request_id=os.urandom(16))


class SharedCoins(Altered):
    """Draws all requests with the same coins."""

    def altered(self, request: Request) -> Request:
        return replace(request, request_id=bytes(16))


class OtherNoise(Altered):
    """Randomizes bits with another epsilon than it was asked for."""

    factor = 1.0

    def altered(self, request: Request) -> Request:
        if not isinstance(request.randomizer, OneBitRandomizer):
            return request
        epsilon = Epsilon(int(request.randomizer.requested.nanonats * self.factor))
        return replace(request, randomizer=OneBitRandomizer(epsilon, request.randomizer.resolution))


class NoiseTooLarge(OtherNoise):
    factor = 0.5


class NoiseTooSmall(OtherNoise):
    factor = 2.0


class Truncated(Altered):
    """Rounds numbers between 0 and 1 down to 0."""

    def altered(self, request: Request) -> Request:
        return replace(request, query="clip(0)") if request.query.startswith("clip") else request


class OneCoinForAll(Party):
    """Gives everybody the coins of the first person."""

    def charged(self, request: Request, cohort: Cohort, caller: str = "") -> Draw:
        draw = super().charged(request, cohort, caller)
        if request.query not in ("true", "false"):
            return draw
        first = Cohort(0, 1)
        return replace(
            draw, made=lambda part, values: np.repeat(draw.made(first, draw.inputs(first)), part.size())
        )


class IgnoresRange(Party):
    """Draws the first people, whoever was asked."""

    def charged(self, request: Request, cohort: Cohort, caller: str = "") -> Draw:
        draw = super().charged(request, cohort, caller)
        return replace(draw, made=lambda part, values: draw(Cohort(0, part.size())))


class ChargesQuotes(Party):
    """Takes the question for the request."""

    def granted(self, request: Request, cohort: Cohort, caller: str = "") -> Epsilon:
        self.charged(request, cohort, caller)
        return request.randomizer.epsilon


class QuotesTooLittle(Party):
    """Says half of the price."""

    def granted(self, request: Request, cohort: Cohort, caller: str = "") -> Epsilon:
        return Epsilon(super().granted(request, cohort, caller).nanonats // 2)


class GrantsEverything(Party):
    """Says yes to whatever it can read."""

    def granted(self, request: Request, cohort: Cohort, caller: str = "") -> Epsilon:
        return request.randomizer.epsilon


class ForgetsPayments(MemoryLedger):
    """Quotes a repeated request as if it were new."""

    def require(self, charge: Charge) -> None:
        super().require(replace(charge, request=os.urandom(32)))


class NeverCharges(MemoryLedger):
    """Answers for ever."""

    def charge(self, charge: Charge) -> Receipt:
        return Receipt(True, charge.key)


class ChargesReplays(MemoryLedger):
    """Takes a repeated request for a new one."""

    def charge(self, charge: Charge) -> Receipt:
        return super().charge(replace(charge, request=os.urandom(32)))


class BelievesChannels(MemoryLedger):
    """Charges a channel what its caller says that it costs: next to nothing."""

    def charge(self, charge: Charge) -> Receipt:
        cheap = charge.purpose.startswith("finite-channel")
        return super().charge(replace(charge, cost=Epsilon(1)) if cheap else charge)


class AnswersInPart(MemoryLedger):
    """Refuses a cohort only if the first of its people cannot pay."""

    def charge(self, charge: Charge) -> Receipt:
        try:
            return super().charge(charge)
        except BudgetExhausted:
            start = charge.cohort.start
            return super().charge(replace(charge, cohort=Cohort(start, start + 1)))


class ForgetsUnfinished(MemoryLedger):
    """Remembers a charge only once its answer was sent to the end."""

    finished: bool = True

    def charge(self, charge: Charge) -> Receipt:
        if not self.finished:
            return super().charge(replace(charge, request=os.urandom(32)))
        return super().charge(charge)
