"""How many requests each caller has made in an epoch: one caller cannot use up what all of them may ask together.

Counted beside the chain, in the same transaction as the charge: it bounds what is kept, and says nothing of budgets.  A
ledger of before begins with 0.

Checked in tests/unit/parties/agent/test_ledger_epochs.py.
"""

from __future__ import annotations

import sqlite3

_LAYOUT = (
    "CREATE TABLE IF NOT EXISTS request_counts"
    " (caller TEXT PRIMARY KEY, epoch INTEGER NOT NULL, requests INTEGER NOT NULL) STRICT"
)
_ONE_MORE = (
    "INSERT INTO request_counts VALUES (?, ?, 1) ON CONFLICT (caller) DO UPDATE"
    " SET requests = CASE epoch WHEN excluded.epoch THEN requests ELSE 0 END + 1, epoch = excluded.epoch"
)


def requests_of(file: sqlite3.Connection, caller: str, epoch: int) -> int:
    """So many requests were first charged for this caller, in this epoch."""
    if not file.execute("SELECT 1 FROM sqlite_master WHERE name = 'request_counts'").fetchall():
        return 0  # looking writes nothing
    found = file.execute(
        "SELECT requests FROM request_counts WHERE caller = ? AND epoch = ?", (caller, epoch)
    ).fetchone()
    return 0 if found is None else int(found[0])


def count_request(file: sqlite3.Connection, caller: str, epoch: int) -> None:
    """One more."""
    file.execute(_LAYOUT)
    file.execute(_ONE_MORE, (caller, epoch))
