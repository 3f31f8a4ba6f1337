"""Backups of an agent's state in one file, and what it takes to go back to one.

A backup has the keys, the ledger and the mark.  The ledger is copied through SQLite, with what stands in its log, so it
can be made while the agent runs.

A restore goes back in time, and budgets must not: everybody is charged what may have been lost (`parties.agent.lost`).
The epoch that was open has ended: what was asked before is answered neither with other coins nor from other records.

A restore puts keys, ledger and mark in place in this order, each whole.  Cut off in between, it leaves a ledger that
its mark refuses, and can be done again.

Checked in tests/unit/parties/agent/test_backup.py and tests/fault/test_ledger_accidents.py.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import tempfile
import time
import zipfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter, RolledBack
from parties.agent.chain import (
    VERSION,
    Chain,
    Standing,
    ledger_errors,
    link_at,
    open_read_only,
    version_of,
)
from parties.agent.entries import Content, EpochEnded, Lineage, Loss
from parties.agent.lost import loss_of, lost_charges
from parties.agent.mark import Mark, MarkFile, mark_path
from parties.agent.opening import (
    missing_mark,
    no_ledger,
    open_to_read,
    require_mark,
    require_pinned,
    require_witnessed,
)
from parties.agent.same_file import COMPANIONS, Lock
from parties.agent.secret_file import FILE_NAME, SecretFile, load_secrets
from parties.durable import make_private_directory, open_synced, sync_directory, transaction, written_whole
from parties.witness.heads import Head, Witness

FORMAT = "localdp backup v1"
MOST_LOSS = Epsilon.requested(1) * 10**6
_ABOUT, _LEDGER = "backup.json", "ledger.sqlite"
_MARK = mark_path(Path(_LEDGER)).name


@dataclass(frozen=True, slots=True)
class Restored:
    """What a restore came to."""

    entries: int
    loss: Epsilon  # that everybody was charged
    unwitnessed: bool = False  # the witness has to be told to forget what it knew


def make_backup(ledger: Path, party: str, out: Path, *, witness: Witness | None = None) -> int:
    """Write a backup of the state that the ledger is in; returns how many entries it has."""
    secrets = load_secrets(ledger.parent)
    seen = witness.latest() if witness is not None else None
    _require_marked(ledger)
    with ledger_errors(ledger), tempfile.TemporaryDirectory(dir=out.absolute().parent) as place:
        copy, mark = Path(place) / _LEDGER, Path(place) / _MARK
        shutil.copyfile(mark_path(ledger), mark)  # first: the ledger is never below the mark of before
        with closing(open_read_only(ledger)) as file, closing(sqlite3.connect(copy)) as copied:
            file.backup(copied)
        entries = _require_good(copy, mark, secrets, seen, party)
        _require_its_witness(copy, witness)
        shutil.copyfile(ledger.parent / FILE_NAME, Path(place) / FILE_NAME)
        about = {"format": FORMAT, "party": party, "made_at": int(time.time()), "entries": entries}
        (Path(place) / _ABOUT).write_text(json.dumps(about))
        _pack(Path(place), out)
    return entries


def _require_marked(ledger: Path) -> None:
    if not ledger.is_file():
        raise no_ledger(ledger)
    with ledger_errors(ledger), closing(open_read_only(ledger)) as file:
        if version_of(file) != VERSION:
            raise InvalidParameter(
                "the ledger was written by an older version of localdp, or is empty: start the agent once first"
            )
    if not mark_path(ledger).exists():
        raise missing_mark()


def _require_good(copy: Path, mark: Path, secrets: SecretFile, seen: Head | None, party: str) -> int:
    """Refuse to keep a ledger that would not be opened."""
    chain = Chain(secrets.chain_key)
    with open_to_read(copy, chain, MarkFile(mark, secrets.chain_key)) as file:
        require_witnessed(file, seen, party)
        return _standing(file, chain).entries


def _require_its_witness(ledger: Path, witness: Witness | None) -> None:
    if witness is not None:
        with closing(open_read_only(ledger)) as file:
            require_pinned(_standing(file, Chain(None)).witness, witness)


def _standing(file: sqlite3.Connection, chain: Chain) -> Standing:
    standing = Standing()
    for entry in chain.read(file):
        standing = standing.after(entry)
    return standing


def _pack(place: Path, out: Path) -> None:
    """One file, for its owner's eyes, whole or not at all."""
    with written_whole(out) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(place.iterdir()):
            if not path.name.endswith(COMPANIONS):
                archive.write(path, path.name)


def restore(
    ledger: Path,
    party: str,
    backup: Path,
    *,
    charge_loss: bool = False,
    loss: Epsilon | None = None,
    witness: Witness | None = None,
) -> Restored:
    """Put the state of a backup in place of what is there, at a loss that nobody's budget gains by.

    Where there is a witness, a mark that is not what it countersigned last may be an old copy as well, and counts as lost.
    """
    if loss is not None and loss > MOST_LOSS:
        raise InvalidParameter(f"a loss is at most {MOST_LOSS} nats; nobody has a budget of more")
    seen = witness.latest() if witness is not None else None
    make_private_directory(ledger.parent)
    lock = Lock(ledger, alone=True)
    try:
        with ledger_errors(ledger), _unpacked(backup, party, ledger.parent) as place:
            secrets = _keys(place, ledger.parent)
            _require_its_witness(place / _LEDGER, witness)
            mark = MarkFile(mark_path(ledger), secrets.chain_key)
            reached, charged = _aged(place, ledger, secrets, _known(mark, seen), charge_loss, loss)
            unwitnessed = seen is not None and not _has(place / _LEDGER, seen)
            _install(place, ledger)
            mark.make(reached, replace=True)
            return Restored(reached.entries, charged, unwitnessed)
    finally:
        lock.release()


def keys_in(backup: Path, party: str, beside: Path) -> SecretFile:
    """The keys of a backup, for a machine that has none yet."""
    make_private_directory(beside)
    with ledger_errors(backup), _unpacked(backup, party, beside) as place:
        return load_secrets(place)


@contextmanager
def _unpacked(backup: Path, party: str, beside: Path) -> Iterator[Path]:
    """The parts of a backup, in a directory that goes again."""
    with tempfile.TemporaryDirectory(dir=beside, prefix=".restore.") as place:
        try:
            with zipfile.ZipFile(backup) as archive:
                about = json.loads(archive.read(_ABOUT))
                for name in (_LEDGER, FILE_NAME, _MARK):
                    with archive.open(name) as packed, _private(Path(place) / name) as file:
                        shutil.copyfileobj(packed, file)
        except (zipfile.BadZipFile, KeyError, ValueError, EOFError) as error:
            raise InvalidParameter(f"{backup} is not a backup of an agent") from error
        if about.get("format") != FORMAT:
            raise InvalidParameter(f"{backup} is a backup of another version of localdp")
        if about.get("party") != party:
            raise InvalidParameter(f"{backup} is a backup of another party than {party}")
        yield Path(place)


@contextmanager
def _private(path: Path) -> Iterator[BinaryIO]:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())


def _keys(place: Path, storage: Path) -> SecretFile:
    """The keys of the backup.  Those that are still there stay, for keys may have been rotated or destroyed since."""
    secrets = load_secrets(place)
    if (storage / FILE_NAME).exists():
        if load_secrets(storage).signing != secrets.signing:
            raise InvalidParameter(
                f"{storage} has the keys of another agent than the backup; move it away, or name its own backup"
            )
        (place / FILE_NAME).unlink()
    return secrets


def _known(mark: MarkFile, seen: Head | None) -> Mark | None:
    """The mark that is still there; one that cannot be read, or that the witness does not know, is lost."""
    try:
        known = mark.read()
    except RolledBack:
        return None
    if seen is not None and known is not None and (known.entries, known.link) != (seen.entries, seen.link):
        return None
    return known


def _aged(
    place: Path,
    ledger: Path,
    secrets: SecretFile,
    known: Mark | None,
    charge_loss: bool,
    declared: Epsilon | None,
) -> tuple[Mark, Epsilon]:
    """Charge the loss in the unpacked ledger, end its epoch, and say how far it has come then."""
    chain = Chain(secrets.chain_key)
    with closing(open_synced(place / _LEDGER)) as file:
        marked = _marked(file, MarkFile(place / _MARK, secrets.chain_key))
        standing = _standing(file, chain)
        lost = lost_charges(ledger, chain, file, marked, known)
        loss = loss_of(lost, charge_loss, declared)
        begun = None if lost.goes_on else _lineage_from(marked)
        contents: list[Content] = [EpochEnded(standing.epochs)] if standing.epoch else []
        if loss.nanonats or declared is not None or begun is not None:
            contents.append(Loss(loss, "charges that a restore of a backup has lost", begun))
        with transaction(file):
            for content in contents:
                stamp = max(int(time.time()), standing.stamp)
                standing = standing.after(chain.write(file, standing, content, stamp))
        file.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return Mark(standing.entries, standing.link, standing.total, standing.lineage), loss


def _marked(file: sqlite3.Connection, mark: MarkFile) -> Mark:
    """The mark of a backup, which is in its ledger."""
    require_mark(file, mark)
    found = mark.read()
    assert found is not None
    return found


def _lineage_from(marked: Mark) -> Lineage:
    return Lineage(os.urandom(16), marked.entries, marked.link, marked.total)


def _has(ledger: Path, head: Head) -> bool:
    with closing(open_read_only(ledger)) as file:
        return link_at(file, head.entries) == head.link


def _install(place: Path, ledger: Path) -> None:
    """Keys first, then the ledger, without what the log of the old one says."""
    if (place / FILE_NAME).exists():
        (place / FILE_NAME).replace(ledger.parent / FILE_NAME)
    for suffix in COMPANIONS:
        ledger.with_name(ledger.name + suffix).unlink(missing_ok=True)
    sync_directory(ledger.parent)
    (place / _LEDGER).replace(ledger)
    sync_directory(ledger.parent)
