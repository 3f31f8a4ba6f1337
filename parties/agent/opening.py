"""How a ledger's file is opened: to be charged or only to be read, in whatever version it is, and never below its mark.

A ledger is made only where neither it nor a mark is.  A ledger whose mark is missing is refused, also one without
entries: they may have stood in a log that was not copied.  The mark is made before the ledger is, so a crash in between
leaves nothing to explain.

Checked in tests/unit/parties/agent/test_ledger_mark.py, test_ledger_upgrade.py and test_ledger_witness.py there.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from localdp.errors import InvalidParameter, RolledBack, StorageFailed
from parties.agent.chain import (
    FIRST_LINK,
    VERSION,
    Chain,
    ledger_errors,
    link_at,
    open_read_only,
    require_whole,
    version_of,
)
from parties.agent.mark import Mark, MarkFile, mark_path
from parties.agent.upgrade import prepare
from parties.durable import open_synced
from parties.witness.heads import Head, Witness

_WHAT_TO_DO = (
    "Put the newest ledger back, with the files -wal and -shm beside it, or run `localdp agent restore`"
)


@contextmanager
def open_to_write(path: Path, chain: Chain, mark: MarkFile) -> Iterator[sqlite3.Connection]:
    """The ledger in this version's layout, made if there has never been one."""
    known = mark.read()
    if known is not None and known.entries and not path.exists():
        raise RolledBack(f"there is a mark of {known.entries} entries and no ledger. {_WHAT_TO_DO}")
    with closing(open_synced(path)) as file:
        if known is None:
            if version_of(file) == VERSION:
                raise missing_mark()
            mark.make(Mark(0, FIRST_LINK, 0))
        elif known.entries:
            _require_this_version(file)
        if prepare(file, chain):
            # A copy without the log is a ledger as well, then.
            file.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        require_whole(file)
        yield file


@contextmanager
def open_to_read(path: Path, chain: Chain, mark: MarkFile) -> Iterator[sqlite3.Connection]:
    """The ledger to look at, beside whoever writes it; one of an older version is brought over in memory."""
    with closing(open_read_only(path)) as file:
        version, known = version_of(file), mark.read()
        if known is not None and known.entries:
            _require_this_version(file)
        if version == VERSION:
            require_whole(file)
            require_mark(file, mark)
            yield file
            return
        if version == 0:
            raise _empty()
        with closing(sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)) as copy:
            file.backup(copy)
            prepare(copy, chain)
            yield copy


def no_ledger(path: Path) -> StorageFailed:
    """What is said where the ledger is missing."""
    if mark_path(path).exists():
        return RolledBack(f"there is a mark and no ledger at {path}. {_WHAT_TO_DO}")
    return StorageFailed(f"there is no ledger at {path}; a new agent gets one by `localdp agent init`")


def require_something(path: Path) -> None:
    """Refuse a file that is no ledger, or was emptied, before anything is written into it."""
    with ledger_errors(path), closing(open_read_only(path)) as file:
        if version_of(file) == 0:
            raise _empty()


def _empty() -> StorageFailed:
    return StorageFailed("there is nothing in the ledger; it was emptied, or its making was cut off")


def _require_this_version(file: sqlite3.Connection) -> None:
    if version_of(file) != VERSION:
        raise RolledBack(f"the ledger is of an older version than its mark. {_WHAT_TO_DO}")


def missing_mark() -> RolledBack:
    """What is said of a ledger without its mark."""
    return RolledBack(
        "the ledger's mark is missing, so nobody can tell whether the ledger is the newest. Put the file back, or "
        "restore a backup with a declared loss (`localdp agent restore --loss`)"
    )


def require_mark(file: sqlite3.Connection, mark: MarkFile) -> None:
    """Refuse a ledger that lacks what its mark knows of."""
    known = mark.read()
    (entries,) = file.execute("SELECT count(*) FROM entries").fetchone()
    if known is None:
        raise missing_mark()
    if link_at(file, known.entries) != known.link:
        raise RolledBack(
            f"the ledger has {entries} entries, and not those {known.entries} that its mark knows of: it is an old copy, "
            f"or a copy without its log, and forgets what was answered. {_WHAT_TO_DO}"
        )


def require_witnessed(file: sqlite3.Connection, seen: Head | None, party: str) -> None:
    """Refuse a ledger that lacks what its witness has countersigned."""
    if seen is not None and link_at(file, seen.entries) != seen.link:
        raise RolledBack(
            f"the witness has countersigned {seen.entries} entries that are not in the ledger: the state is an old copy, "
            "or another copy of this agent runs. Go on with the newest copy alone. If it is lost and this state was "
            f"restored at a loss, the witness's operator lets it in with `{forget_command(party)}`"
        )


def require_pinned(pinned: bytes | None, witness: Witness) -> None:
    """Refuse a witness with another key than the ledger's, unless the owner named it: a new one knows no ledger."""
    if pinned is not None and witness.key != pinned and not witness.named:
        raise InvalidParameter(
            "the witness has another key than the one that this ledger has had: it is another one, or was begun anew, and "
            "knows nothing of this ledger. Bring the witness back; or, if the owner has chosen this one, write its key "
            "into the configuration (witness.public_key)"
        )


def forget_command(party: str) -> str:
    """What the operator of a witness runs to let a restored ledger in."""
    return f"localdp witness forget --state DIR {party or 'NAME'}"
