"""Ledgers of the first layout, brought over with every charge: a table `charges`, whose rows an unkeyed digest chains.

The old chain is checked by its own rule first.  Then its charges become the first entries of the new chain, as of epoch
0, under the party's key; an entry `upgrade` says how many they were and what the head of the old chain was.  All of it is
one transaction: a crash leaves the old ledger.

Checked on files that the old version wrote in tests/unit/parties/agent/test_ledger_upgrade.py.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import replace

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.ledger import Charge
from localdp.cohorts import Cohort, Split
from localdp.errors import InvalidParameter, StorageFailed
from localdp.framing import digest
from parties.agent.chain import FIRST_LINK, LAYOUT, VERSION, Chain, Standing, version_of
from parties.agent.entries import Content, Upgrade
from parties.durable import transaction

_COLUMNS = "request, records, start, stop, seed, parts, part, cost_nanonats, purpose, caller, key_name, charged_at, chain"
BEFORE_EPOCHS = 0


def prepare(file: sqlite3.Connection, chain: Chain) -> bool:
    """Bring a file to the layout of this version, whatever was in it, in one transaction; says whether it had another."""
    with transaction(file):
        version = version_of(file)
        if version in (0, 1):
            for statement in LAYOUT:
                file.execute(statement)
        if version == 1:
            _bring_over(file, chain)
    return version != VERSION


def _bring_over(file: sqlite3.Connection, chain: Chain) -> None:
    _require_all(file)
    standing, head = Standing(), FIRST_LINK
    for charge, stamp, link in _old_charges(file):
        standing, head = _append(file, chain, standing, charge, stamp), link
    upgrade = Upgrade(1, standing.entries, head)
    _append(file, chain, standing, upgrade, standing.stamp)
    file.execute("DROP TABLE charges")


def _append(
    file: sqlite3.Connection, chain: Chain, standing: Standing, content: Content, stamp: int
) -> Standing:
    return standing.after(chain.write(file, standing, content, stamp))


def _require_all(file: sqlite3.Connection) -> None:
    """Refuse an old ledger whose last rows were deleted: SQLite remembers the last number that it gave out."""
    given, first, last = file.execute(
        "SELECT (SELECT seq FROM sqlite_sequence WHERE name = 'charges'), min(number), max(number) FROM charges"
    ).fetchone()
    if given != last or first not in (None, 1):
        raise StorageFailed("rows at an end of the ledger, which an older version wrote, are missing")


def _old_charges(file: sqlite3.Connection) -> Iterator[tuple[Charge, int, bytes]]:
    """The old rows with stamp and link, each checked against the row before it."""
    link = FIRST_LINK
    rows = file.execute(f"SELECT number, {_COLUMNS} FROM charges ORDER BY number")  # noqa: S608
    for expected, (number, *row) in enumerate(rows, 1):
        charge, stamp = _charge(number, tuple(row[:-1]))
        link = old_link(link, charge, stamp)
        if number != expected or row[-1] != link:
            raise StorageFailed(f"row {number} of the ledger does not follow from the row before it")
        yield replace(charge, epoch=BEFORE_EPOCHS), stamp, link


def _charge(number: int, row: tuple[object, ...]) -> tuple[Charge, int]:
    request, records, start, stop, seed, parts, part, cost, purpose, caller, key, stamp = row
    try:
        split = None if seed is None else Split(seed, parts, part)  # type: ignore[arg-type]
        cohort = Cohort(start, stop, split)  # type: ignore[arg-type]
        charge = Charge(request, records, cohort, Epsilon(cost), purpose, caller, key)  # type: ignore[arg-type]
    except (InvalidParameter, TypeError) as error:
        raise StorageFailed(f"row {number} of the ledger is not a charge") from error
    return charge, stamp  # type: ignore[return-value]


def old_link(before: bytes, charge: Charge, stamp: int) -> bytes:
    """The digest that a row of the first layout carries: of the one before it, and of all that it says."""
    cohort, split = charge.cohort, charge.cohort.split
    return digest(
        b"localdp ledger v1",
        before,
        charge.request,
        charge.records,
        b"%d %d" % (cohort.start, cohort.stop),
        b"" if split is None else b"%d %d " % (split.parts, split.part) + split.seed,
        b"%d %d" % (charge.cost.nanonats, stamp),
        charge.purpose.encode(),
        charge.caller.encode(),
        charge.key.encode(),
    )
