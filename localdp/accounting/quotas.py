"""Quotas: how much of everybody's budget each analyst may use, so that one who asks until refused leaves the others theirs.

Every person's budget is kept once more for each account: an analyst with a quota of its own, and all others together.  What
a person loses is bounded by the budget, whoever asks and however analysts work together or choose questions by answers; a
quota is fairness between analysts within it, and promises people nothing.  If all quotas together are at most the budget,
what one account uses is never another one's (`leaves_theirs`).

A refusal is a function of what was charged before and of the quota, never of a record.

Checked in tests/unit/accounting/test_quotas.py and, after kill -9, in tests/fault/test_quota_kill_nine.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from localdp.accounting.epsilon import Epsilon

OTHERS = ""  # the account of everybody who has none of its own; no certificate has this name


@dataclass(frozen=True, slots=True)
class Quotas:
    """Nats of each person's budget, by analyst."""

    of: Mapping[str, Epsilon] = field(default_factory=dict)
    others: Epsilon = Epsilon(0)  # of all who are not named, together

    def account(self, caller: str) -> str:
        """Whose quota a caller uses."""
        return caller if caller in self.of else OTHERS

    def limit(self, account: str) -> Epsilon:
        """How much that is, of each person."""
        return self.of.get(account, self.others)

    @property
    def accounts(self) -> tuple[str, ...]:
        """All of them, in order."""
        return tuple(sorted({*self.of, OTHERS}))

    def divided_by(self, parts: int) -> Quotas:
        """Of each row, where every row has its share of a budget."""
        shares = {name: limit.divided_by(parts) for name, limit in self.of.items()}
        return Quotas(shares, self.others.divided_by(parts))

    def leaves_theirs(self, budget: Epsilon) -> bool:
        """Whether nobody can use what is another one's."""
        return sum(limit.nanonats for limit in (*self.of.values(), self.others)) <= budget.nanonats

    def __str__(self) -> str:
        named = [f"{name} {limit}" for name, limit in sorted(self.of.items())]
        return ", ".join([*named, f"others {self.others}"])
