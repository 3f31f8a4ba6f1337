"""Around an oracle: what passes on everything that it does not change.

`OracleAround` is for statistical-query oracles that record, count, watch, plan or lie; `ReportsAround` for LR oracles that
mix or watch reports.  Each adds what it is for, and inherits the rest.
Checked through those that use them, in tests/contract/test_vector_queries.py and tests/contract/test_shuffler.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from localdp.accounting.claim import PrivacyClaim
from localdp.domains import Schema
from localdp.oracles.account import Cost
from localdp.oracles.definition import OnRecords, StatisticalQueryOracle
from localdp.oracles.lr import LROracle
from localdp.oracles.plans import Plan
from localdp.queries.asked import Asked, AskedVector
from localdp.queries.scores import LARGEST, Rule

_Told = TypeVar("_Told")


class OracleAround:
    """The questions that every oracle answers without asking anybody, answered by the one behind."""

    def __init__(self, behind: StatisticalQueryOracle) -> None:
        self.behind = behind

    @property
    def schema(self) -> Schema:
        """What queries may be about."""
        return self.behind.schema

    @property
    def people(self) -> int:
        """How many people the answers are about."""
        return self.behind.people

    @property
    def cost(self) -> Cost:
        """What the answers have cost so far."""
        return self.behind.cost

    @property
    def claim(self) -> PrivacyClaim:
        """What is promised to the people about all answers so far."""
        return self.behind.claim

    @property
    def selects(self) -> bool:
        """Whether selecting is cheaper than asking for all answers."""
        return self.behind.selects

    @property
    def sees_records(self) -> bool:
        """Whether somebody has all records in the clear."""
        return self.behind.sees_records

    def on_records(self, mechanism: OnRecords[_Told]) -> _Told:
        """One round: something of the records themselves."""
        return self.behind.on_records(mechanism)

    def plan(self, queries: Sequence[Asked | AskedVector]) -> Plan:
        """What a round of these queries would yield; nobody is asked."""
        return self.behind.plan(queries)

    def plan_select(self, of: Sequence[Asked] | AskedVector, by: Rule = LARGEST) -> Plan:
        """How a selection would be made, and how far it may miss the best; nobody is asked."""
        return self.behind.plan_select(of, by)


class ReportsAround:
    """Who can be asked, and what came so far, as the LR oracle behind says."""

    def __init__(self, behind: LROracle) -> None:
        self.behind = behind

    @property
    def schema(self) -> Schema:
        return self.behind.schema

    @property
    def people(self) -> int:
        return self.behind.people

    @property
    def by_row(self) -> bool:
        return self.behind.by_row

    @property
    def samples(self) -> bool:
        return self.behind.samples

    @property
    def bytes_moved(self) -> int:
        return self.behind.bytes_moved
