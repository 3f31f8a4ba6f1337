"""Parties that are broken in one way each across epochs: what the audit over histories must notice."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from localdp.accounting.ledger import Charge, MemoryLedger, Receipt
from localdp.cohorts import Asked, Cohort
from localdp.domains import Records
from localdp.framing import digest
from localdp.party import party as drawing
from localdp.party.charging import Bill
from localdp.party.epoch import Epoch
from localdp.party.party import Draw, Party, Request
from localdp.party.question import Question
from localdp.randomizers.definition import Reports, Values
from localdp.randomizers.memoised import Memo, is_memoised
from localdp.randomness.keys import derive_key


class WithoutEpochs(MemoryLedger):
    """Broken: a request that was charged in an earlier epoch is a repetition, at no charge."""

    def charge(self, charge: Charge) -> Receipt:
        return super().charge(replace(charge, epoch=1))


class _Forgetful(Epoch):
    """Broken: for some uses, coins are the same in every epoch."""

    forgets: frozenset[bytes] = frozenset()

    def key(self, secret: bytes, use: bytes, *names: bytes) -> bytes:
        if use in self.forgets:
            return derive_key(secret, use, *names)
        return super().key(secret, use, *names)


class _ReportCoins(_Forgetful):
    forgets = frozenset({b"reports"})


class _SecondRound(_Forgetful):
    forgets = frozenset({b"renewed reports"})


class _Rows(_Forgetful):
    forgets = frozenset({b"rows"})

    def rows_of(self, people: Asked, name: bytes, secret: bytes, columns: frozenset[str]) -> Records:
        return super().rows_of(people, b"any name", secret, columns)


def _entering(kind: type[Epoch]) -> type[Party]:
    """A party whose epochs are all of this kind."""

    class Entering(Party):
        def enter(self, epoch: Epoch) -> None:
            super().enter(kind(epoch.number, epoch.identifier, epoch.records, epoch.ownership))

    return Entering


OldReportCoins = _entering(_ReportCoins)  # a request of a later epoch is drawn with the coins of the first
OldSecondRound = _entering(_SecondRound)  # second rounds of two epochs share coins
OldRows = _entering(_Rows)  # of several rows, the same one in every epoch


class PermanentForGood(Party):
    """Broken as parties were before there were epochs: each epoch is paid for, and permanent answers outlive them all."""

    def charged(self, request: Request, cohort: Cohort, caller: str = "") -> Draw:
        honest, randomizer = super().charged(request, cohort, caller), request.randomizer
        if not is_memoised(randomizer):
            return honest
        question, epoch = self._billed(request, caller)[0], self.epoch
        text = question.text
        (secret,) = self._secrets.keys.values()
        memo = Memo(randomizer, secret, request.content_digest(text))
        key = self.epoch.key(secret, b"renewed reports", request.digest(text))

        def values(part: Asked) -> Values:
            return question.inputs(epoch.rows_of(part, honest.name, secret, question.columns))

        def report(part: Asked, values: Values) -> Reports:
            people = np.asarray(part.lanes(), dtype=np.int64)
            return memo.report(people, values, vars(drawing)["LanedSource"](key, part.lanes()))

        return replace(honest, inputs=values, made=report)


class MemoNamedOnce(Party):
    """Broken: permanent answers have one name in all epochs, so a second epoch is not charged, and has the same answers."""

    def _billed(self, request: Request, caller: str) -> tuple[Question, Bill]:
        question, bill = super()._billed(request, caller)
        return question, replace(bill, name=digest(b"memo", bill.purpose.encode()))


class MemoChargedOnce(Party):
    """Broken: a second epoch has permanent answers of its own, and is not charged."""

    def _charge(self, bill: Bill, cohort: Cohort) -> bytes:
        return super()._charge(replace(bill, name=digest(b"memo", bill.purpose.encode())), cohort)
