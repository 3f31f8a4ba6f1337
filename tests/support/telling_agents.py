"""Agents that are broken in one way each, and tell whether a record changed: what the test of two histories must catch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

import numpy as np

from localdp.accounting.ledger import Charge, Ledger, Receipt
from localdp.cohorts import Cohort
from localdp.errors import BudgetExhausted, PolicyRefused, RequestExpired
from localdp.framing import digest
from localdp.party.charging import Bill
from localdp.party.party import Party, Request
from localdp.party.question import Question
from parties.agent.config import AgentConfig
from parties.agent.data import load_table
from parties.agent.ledger import SqliteLedger
from parties.agent.state import AgentState, publish


class _OtherParty(AgentState):
    """An agent whose party is of another class."""

    party_kind: type[Party] = Party

    def __init__(self, config: AgentConfig) -> None:
        super().__init__(config)
        self.party.__class__ = self.party_kind


class _Refusing:
    """A ledger that has a word of its own about every charge, before or after the true one."""

    def __init__(self, ledger: Ledger) -> None:
        self.true = cast(SqliteLedger, ledger)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.true, name)

    def charge(self, charge: Charge) -> Receipt:
        return cast(Receipt, self.decided(charge, self.true.charge))

    def require(self, charge: Charge) -> None:
        self.decided(charge, self.true.require)

    def decided(self, charge: Charge, true: Callable[[Charge], Receipt | None]) -> Receipt | None:
        """What the true ledger says, or something else."""
        return true(charge)


class _RecordsChanged(_Refusing):
    def decided(self, charge: Charge, true: Callable[[Charge], Receipt | None]) -> Receipt | None:
        for earlier in self.true._charges_of(charge.request):
            if earlier.records != charge.records:
                raise RequestExpired("the records changed since this request was answered")
        return true(charge)


class RecordsChanged(AgentState):
    """Refuses a request that was answered from other records, as agents did before there were epochs."""

    def __init__(self, config: AgentConfig) -> None:
        super().__init__(config, lambda ledger: cast(Ledger, _RecordsChanged(ledger)))


class _CountsChanges(_Refusing):
    def decided(self, charge: Charge, true: Callable[[Charge], Receipt | None]) -> Receipt | None:
        try:
            return true(charge)
        except RequestExpired as error:
            pins = {earlier.records for earlier in self.true._charges_of(charge.request)} - {charge.records}
            raise RequestExpired(f"{error} ({len(pins)} rows changed)") from None


class CountsChanges(AgentState):
    """An error text says how much changed."""

    def __init__(self, config: AgentConfig) -> None:
        super().__init__(config, lambda ledger: cast(Ledger, _CountsChanges(ledger)))


class BudgetByOwner(AgentState):
    """Where each row answers, what the rows of one owner have spent is added up."""

    def __init__(self, config: AgentConfig) -> None:
        super().__init__(config, self._summed)

    def _summed(self, ledger: Ledger) -> Ledger:
        agent = self

        class Summed(_Refusing):
            def decided(self, charge: Charge, true: Callable[[Charge], Receipt | None]) -> Receipt | None:
                ownership, cohort = agent.party.epoch.ownership, charge.cohort
                if ownership is not None and cohort.stop <= len(ownership.owners):
                    spent = np.bincount(ownership.owners, self.true.spent())
                    asked = spent[np.unique(ownership.owners[cohort.selection()])]
                    short = int((asked + charge.cost.nanonats > self.true.limit.nanonats).sum())
                    if short:
                        raise BudgetExhausted(
                            f"there is not enough left for {short} of {asked.size} people"
                        )
                return true(charge)

        return cast(Ledger, Summed(ledger))


class _ContentOfRecords(Party):
    def _billed(self, request: Request, caller: str) -> tuple[Question, Bill]:
        question, bill = super()._billed(request, caller)
        if self.policy.by_content and not request.randomizer.memoised:
            bill = replace(bill, name=digest(request.content_digest(question.text), self.state()))
        return question, bill


class ContentOfRecords(_OtherParty):
    """Answers by content have the state of the records in their names."""

    party_kind = _ContentOfRecords


class _MemoOfRecords(Party):
    def _billed(self, request: Request, caller: str) -> tuple[Question, Bill]:
        question, bill = super()._billed(request, caller)
        if request.randomizer.memoised:
            bill = replace(bill, name=digest(b"memo", request.content_digest(question.text), self.state()))
        return question, bill


class MemoOfRecords(_OtherParty):
    """Permanent answers have the state of the records in their names."""

    party_kind = _MemoOfRecords


class _CohortOfOwners(Party):
    def _checked(self, bill: Bill, cohort: Cohort) -> Charge:
        policy, ownership = self.policy, bill.epoch.ownership
        self.policy = replace(policy, minimum_cohort=1)
        try:
            charge = super()._checked(bill, cohort)
        finally:
            self.policy = policy
        assert ownership is not None
        if len(np.unique(ownership.owners[cohort.selection()])) < policy.minimum_cohort:
            raise PolicyRefused(f"the party answers for at least {policy.minimum_cohort} people at once")
        return charge


class CohortOfOwners(_OtherParty):
    """Where each row answers, the least cohort is one of so many owners."""

    party_kind = _CohortOfOwners


class OpensOnChange(AgentState):
    """Opens an epoch whenever the owner's file has changed."""

    def __init__(self, config: AgentConfig) -> None:
        super().__init__(config)
        self._read = config.data.read_bytes()

    def refresh(self) -> None:
        if self._read != self.config.data.read_bytes():
            self._read = self.config.data.read_bytes()
            publish(self.config)
        super().refresh()


class ReadsTheTable(AgentState):
    """Answers from the owner's table as it is at every request."""

    def refresh(self) -> None:
        super().refresh()
        config = self.config
        records, ownership = load_table(config.data, config.declared, config.person, config.rows)
        self.party.epoch = replace(self.party.epoch, records=records, ownership=ownership)


TWINS: dict[type[AgentState], str] = {  # and the shape of agent on which it tells
    RecordsChanged: "by person",
    CountsChanges: "by place",
    ContentOfRecords: "by content",
    MemoOfRecords: "by person",
    OpensOnChange: "one of two rows",
    ReadsTheTable: "one of one row",
    BudgetByOwner: "each row",
    CohortOfOwners: "each row",
}
