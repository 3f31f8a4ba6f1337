"""Everything that an agent is told by its owner, as data; `parties.agent.config` reads it from a file.

Checked in tests/unit/parties/agent/test_agent_config.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.quotas import Quotas
from localdp.domains import Schema
from localdp.party.policy import Policy
from parties.agent.answers import Keeping
from parties.agent.approval import ApprovalRules
from parties.agent.calendar import Calendar
from parties.agent.data import Rows
from parties.agent.declared import Declared
from parties.agent.sources import Source, TableSource
from parties.agent.work import WorkLimits


@dataclass(frozen=True, slots=True)
class Dial:
    """Whom an agent dials, and the name in their certificate."""

    address: str
    name: str | None


@dataclass(frozen=True, slots=True)
class WitnessConfig:
    """Who countersigns the ledger."""

    peer: Dial
    public_key: bytes | None


@dataclass(frozen=True, slots=True)
class AgentConfig:
    """Everything that an agent is told by its owner."""

    name: str
    source: TableSource
    person: str | None
    rows: Rows
    fixed_order: bool
    declared: Declared  # the schema, and how its columns are read from the table
    budget: Epsilon
    budget_per_day: Epsilon | None
    quotas: Quotas | None  # of analysts; None: whoever comes first
    policy: Policy
    storage: Path
    address: str | None  # where to listen
    approval: ApprovalRules = field(default_factory=ApprovalRules)  # what waits for the owner
    calendar: Calendar | None = None  # None: epochs open by hand alone
    keeping: Keeping = field(default_factory=Keeping)
    work: WorkLimits = field(default_factory=WorkLimits)
    most_requests: int = 100_000  # in one epoch
    most_requests_of_caller: int = 25_000
    witness: WitnessConfig | None = None
    dial: Dial | None = None
    share_servers: Mapping[str, str] = field(default_factory=dict)
    tls: Path | None = None
    revoked: Path | None = None
    log: str = "warning"
    metrics: str | None = None  # where metrics are read

    @property
    def schema(self) -> Schema:
        """What may be asked about."""
        return self.declared.schema

    @property
    def data(self) -> Path:
        """The table's file, where it is in one."""
        assert isinstance(self.source, Source)
        return self.source.path


def settings_of(config: AgentConfig) -> str:
    """Budgets and policy in words, for the ledger and its register."""
    rules = {field.name: getattr(config.policy, field.name) for field in fields(config.policy)}
    told = {"budget": config.budget, "budget_per_day": config.budget_per_day, **rules}
    told |= {} if config.quotas is None else {"quotas": config.quotas}
    if config.approval != ApprovalRules():
        waits = ((one.name, getattr(config.approval, one.name)) for one in fields(config.approval))
        told |= {f"approval.{name}": value for name, value in waits}
    return "; ".join(f"{key} = {_in_words(value)}" for key, value in told.items())


def _in_words(value: object) -> str:
    if isinstance(value, frozenset):
        return ", ".join(sorted(map(str, value))) or "nothing"
    return "not given" if value is None else str(value)
