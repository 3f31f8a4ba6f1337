"""What waits for the owner: questions about some columns, by some analysts, or all, until the owner has decided on each.

A decision is an entry of the ledger (`Decided`): chained, countersigned and exported like all that bears on what people
are asked, and known to a running agent at once.  It is about one analyst's question at up to some epsilon, and holds until
another decision; what it allows is still bounded by budgets, quotas and policy.  Of several the last one that speaks of a
price counts: an approval speaks of its price and less, a refusal of its price and more.  A game is decided on once: loads
that no game can have had (`queries/roads.py`) are not part of it.  A question is another one in a flooded round, whose
messages hide nobody by themselves.

What waits is kept beside the ledger (`waiting.sqlite`), for the owner to see.  It is no promise: if it is lost, questions
wait anew.  So many wait at most; whether one does is a function of the request and of decisions, never of a record.

Checked in tests/unit/parties/agent/test_approval.py.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from localdp.accounting.epsilon import Epsilon
from localdp.errors import ApprovalNeeded, PolicyRefused
from localdp.framing import digest
from localdp.party.charging import FLOODED, Bill
from localdp.queries.expressions import Road
from localdp.queries.parser import parse
from localdp.queries.text import to_text
from parties.agent.entries import Decided
from parties.durable import storage_errors

WAITING_NAME = "waiting.sqlite"
MOST_WAITING = 10_000
MOST_OF_CALLER = 100
_NUMBER_BYTES = 6
_LAYOUT = (
    "CREATE TABLE IF NOT EXISTS waiting (number TEXT PRIMARY KEY, caller TEXT NOT NULL, question TEXT NOT NULL,"
    " nanonats INTEGER NOT NULL, rule TEXT NOT NULL) STRICT"
)


@dataclass(frozen=True, slots=True)
class ApprovalRules:
    """What has to be approved."""

    columns: frozenset[str] = frozenset()
    analysts: frozenset[str] = frozenset()
    questions: bool = False  # all of them

    def rule(self, bill: Bill) -> str | None:
        """The key of the rule under which a question has to be approved; None if it need not be."""
        if self.questions:
            return "approval.questions"
        if bill.caller in self.analysts:
            return "approval.analysts"
        return "approval.columns" if self.columns & bill.columns else None


@dataclass(frozen=True, slots=True)
class Waiting:
    """A question that waits."""

    caller: str
    question: str
    cost: Epsilon
    rule: str

    @property
    def number(self) -> str:
        """What the owner calls it: it stands for this question at this price, and for nothing else."""
        about = (self.caller.encode(), self.question.encode(), b"%d" % self.cost.nanonats)
        return digest(b"localdp waiting v1", *about)[:_NUMBER_BYTES].hex()

    def decided(self, *, allowed: bool) -> Decided:
        """The decision about it."""
        return Decided(self.caller, self.question, self.cost, allowed)


class Approvals:
    """Refuses what was not approved, and has it wait."""

    def __init__(
        self, rules: ApprovalRules, decisions: Callable[[], tuple[Decided, ...]], directory: Path
    ) -> None:
        self._rules, self._decisions, self._directory = rules, decisions, directory

    def require(self, bill: Bill) -> None:
        """Refuse a question that its owner has not approved at this price."""
        rule = self._rules.rule(bill)
        if rule is None:
            return
        one = Waiting(bill.caller, approved_as(bill.question), bill.cost, rule)
        decided = decision_about(one, self._decisions())
        if decided is None:
            put(self._directory, one)
            told = f"this question waits for the owner's approval ({rule}), as number {one.number}; ask again later"
            raise ApprovalNeeded(told)
        if not decided.allowed:
            raise PolicyRefused(f"the owner has refused this question at this epsilon ({rule})")


def approved_as(question: str) -> str:
    """What is decided on: a question, or all moves of a game, whose loads nobody knows before they are published."""
    asked = question.removeprefix(FLOODED)
    move = parse(asked) if asked.startswith("road(") else None
    if not isinstance(move, Road) or not move.possible:
        return question
    return f"{question[: -len(asked)]}any move of {to_text(move.opening)}"


def decision_about(one: Waiting, decisions: tuple[Decided, ...]) -> Decided | None:
    """The last decision that speaks of this question at this price."""
    for decided in reversed(decisions):
        about = (decided.caller, decided.question) == (one.caller, one.question)
        if about and (one.cost <= decided.price if decided.allowed else decided.price <= one.cost):
            return decided
    return None


def put(directory: Path, one: Waiting) -> None:
    """Have it wait, if there is room."""
    with _opened(directory) as file:
        if file.execute("SELECT 1 FROM waiting WHERE number = ?", (one.number,)).fetchone():
            return
        (all_of_them,) = file.execute("SELECT count(*) FROM waiting").fetchone()
        (theirs,) = file.execute("SELECT count(*) FROM waiting WHERE caller = ?", (one.caller,)).fetchone()
        if all_of_them >= MOST_WAITING or theirs >= MOST_OF_CALLER:
            raise ApprovalNeeded(
                f"this question needs the owner's approval ({one.rule}), and too many wait already; ask again later"
            )
        row = (one.number, one.caller, one.question, one.cost.nanonats, one.rule)
        file.execute("INSERT INTO waiting VALUES (?, ?, ?, ?, ?)", row)


def waiting(directory: Path) -> list[Waiting]:
    """What waits, or has waited and is not taken away yet, in the order in which it came."""
    with _opened(directory) as file:
        rows = file.execute(
            "SELECT caller, question, nanonats, rule FROM waiting ORDER BY rowid"
        ).fetchall()
    return [Waiting(caller, question, Epsilon(nanonats), rule) for caller, question, nanonats, rule in rows]


def take(directory: Path, number: str) -> None:
    """It waits no longer."""
    with _opened(directory) as file:
        file.execute("DELETE FROM waiting WHERE number = ?", (number,))


@contextmanager
def _opened(directory: Path) -> Iterator[sqlite3.Connection]:
    path = directory / WAITING_NAME
    with storage_errors("the questions that wait", path), closing(sqlite3.connect(path, timeout=5)) as file:
        path.chmod(0o600)
        file.execute("PRAGMA synchronous = OFF")  # what is lost is asked again
        file.execute(_LAYOUT)
        with file:
            yield file
