"""Parties that are broken in one way each: what the suites of tests/fault must notice."""

from __future__ import annotations

import os
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.ledger import Charge, Ledger, MemoryLedger, Receipt
from localdp.cohorts import Cohort
from localdp.party.charging import Bill
from localdp.party.party import Party
from localdp.party.secrets import Secrets
from parties.agent.entries import Content, LedgerEntry
from parties.agent.ledger import SECONDS_PER_DAY
from tests.fault.operations import PEOPLE
from tests.fault.world import BUDGET, DiskLedger, Owner, epoch_of, sound


class FreshSecrets(Secrets):
    """Broken: takes the key of this run for every key that there ever was."""

    @property
    def label(self) -> str:
        return "the key"

    @property
    def labels(self) -> frozenset[str]:
        return frozenset({self.label})

    def key(self, label: str) -> bytes:
        return self.keys[self.current]


class OwedLedger:
    """Broken: notes what is owed, and charges when the next request comes in."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._owed: list[Charge] = []

    @property
    def limit(self) -> Epsilon:
        return self._ledger.limit

    def charge(self, charge: Charge) -> Receipt:
        self.settle()
        self._owed.append(charge)
        return Receipt(True, charge.key)

    def require(self, charge: Charge) -> None:
        self._ledger.require(charge)

    def was_heard(self, charge: Charge) -> bool:
        return self._ledger.was_heard(charge)

    def settle(self) -> None:
        """Take what is owed."""
        while self._owed:
            self._ledger.charge(self._owed.pop())

    def spent(self) -> NDArray[np.int64]:
        return self._ledger.spent()


def _with(owner: Owner, ledger: Ledger) -> Party:
    whole = sound(owner)
    assert isinstance(whole.ledger, DiskLedger)
    whole.ledger.close()
    return _entered(Party(whole.name, whole.records, owner.secrets, ledger, whole.policy), owner)


def _entered(party: Party, owner: Owner) -> Party:
    party.enter(epoch_of(owner))
    return party


def forgets(owner: Owner) -> Party:
    """The ledger is in memory."""
    return _with(owner, MemoryLedger(PEOPLE, BUDGET))


def fresh_coins(owner: Owner) -> Party:
    """The coins come from a fresh seed at every start."""
    whole = sound(owner)
    secrets = FreshSecrets("", {"": os.urandom(32)}, bytes(32))
    return _entered(Party(whole.name, whole.records, secrets, whole.ledger, whole.policy), owner)


def charges_after_reply(owner: Owner) -> Party:
    """Answers first."""
    return _with(owner, OwedLedger(DiskLedger(owner)))


class _Unsynced(DiskLedger):
    def __init__(self, owner: Owner) -> None:
        super().__init__(owner)
        self._file.execute("PRAGMA synchronous = OFF")

    def _settle(self) -> None:
        """The mark is not on the disk either."""


def does_not_sync(owner: Owner) -> Party:
    """A commit is on its way to the disk, some time."""
    return _with(owner, _Unsynced(owner))


class _ByWallClock(DiskLedger):
    def charge(self, charge: Charge) -> Receipt:
        today = int(self._clock() // SECONDS_PER_DAY)
        self._catch_up()
        self._standing = replace(self._standing, stamp=0)
        if today != self._accounts._day:
            self._accounts._day = today - 1
        return super().charge(charge)


def day_by_wall_clock(owner: Owner) -> Party:
    """Every time that the date changes, in whatever direction, is a new day."""
    return _with(owner, _ByWallClock(owner))


class _ChargesTheFirstOnly(DiskLedger):
    def _written(self, content: Content, stamp: int) -> LedgerEntry:
        if isinstance(content, Charge):
            first = content.cohort.start
            content = replace(content, cohort=Cohort(first, first + 1))
        return super()._written(content, stamp)


def charges_one(owner: Owner) -> Party:
    """Writes down the first person of the cohort alone."""
    return _with(owner, _ChargesTheFirstOnly(owner))


class _IgnoresEpochs(DiskLedger):
    def _require_open(self, epoch: int) -> None:
        pass

    def charge(self, charge: Charge) -> Receipt:
        return super().charge(replace(charge, epoch=1))


def ignores_epochs(owner: Owner) -> Party:
    """Answers a repeated request from other records."""
    return _with(owner, _IgnoresEpochs(owner))


class FreeForMemory(Party):
    """Broken: takes a permanent answer for the price of one report."""

    def _charge(self, bill: Bill, cohort: Cohort) -> bytes:
        cheap = Epsilon(bill.cost.nanonats // 2) if "memoised" in bill.purpose else bill.cost
        return super()._charge(replace(bill, cost=cheap), cohort)


def cheap_memory(owner: Owner) -> Party:
    """Charges for one report what any number of them may reveal."""
    whole = sound(owner)
    cheap = FreeForMemory(whole.name, whole.records, owner.secrets, whole.ledger, whole.policy)
    return _entered(cheap, owner)
