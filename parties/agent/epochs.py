"""Epochs on disk: what an agent answers from is copied when the owner publishes it, and dropped when the next epoch opens.

The copy stands in the state directory, for its owner alone: `epoch-IDENTIFIER.npz`, the columns as numpy arrays, the
schema, and whose rows they are.  The ledger says which epoch is open, by its identifier and by a keyed digest of the
records.  So a table that changes, a restart or a crash changes nothing that a caller can see, and a copy that was changed
is refused.

To publish: the copy is written and synced (`Prepared`), then the ledger opens the epoch (from here on it is open), then
other copies go.  A crash in between leaves a copy too many, which goes with the next publication or start.

Checked in tests/unit/parties/agent/test_publishing.py, and under load and kill -9 in
tests/fault/test_refresh_under_load.py.
"""

from __future__ import annotations

import fcntl
import json
import os
import zipfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import numpy as np

from localdp.domains import Ownership, Records, Schema
from localdp.errors import Busy, LocalDpError, StorageFailed
from localdp.party.epoch import IDENTIFIER_BYTES, Epoch
from parties.agent.chain import VERSION, OpenedEpoch, entry_of, ledger_errors, open_read_only, version_of
from parties.agent.entries import EpochEnded, EpochOpened
from parties.agent.people import Numbers
from parties.durable import storage_errors, written_whole

_FORMAT = "localdp epoch v1"
_GONE = (
    "the records of the open epoch are gone or were changed; open a new epoch with `localdp agent publish`"
)


@dataclass(frozen=True, slots=True)
class Prepared:
    """An epoch that has still to be opened: its records were read, and their copy is on the disk."""

    identifier: bytes = field(repr=False)
    pin: bytes = field(repr=False)
    people: int
    numbers: Numbers | None  # of people, if the table was read


def new_identifier() -> bytes:
    """What the coins of a new epoch are keyed by."""
    return os.urandom(IDENTIFIER_BYTES)


@contextmanager
def publishing(storage: Path) -> Iterator[None]:
    """One publication at a time, whoever begins it."""
    handle = os.open(storage / "publish.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        raise Busy("another publication of this agent is under way; wait a minute") from None
    try:
        yield
    finally:
        os.close(handle)


def copied(
    directory: Path,
    key: bytes,
    records: Records,
    ownership: Ownership | None,
    numbers: Numbers | None = None,
) -> Prepared:
    """Copy the records, for an epoch that is keyed anew; `key` is what records are pinned with."""
    epoch = Epoch(1, new_identifier(), records, ownership)
    save_epoch(directory, epoch.identifier, records, ownership)
    return Prepared(epoch.identifier, epoch.pinned(key), epoch.people, numbers)


def opened_epoch(ledger: Path) -> OpenedEpoch | None:
    """The epoch that a ledger says is open, found without booking its charges; None if there is none."""
    with ledger_errors(ledger), closing(open_read_only(ledger)) as file:
        if version_of(file) != VERSION:
            return None
        row = file.execute(
            "SELECT number, kind, stamp, request, body, link FROM entries WHERE kind IN (?, ?)"
            " ORDER BY number DESC LIMIT 1",
            (EpochOpened.kind, EpochEnded.kind),
        ).fetchone()
    entry = None if row is None else entry_of(row)
    if entry is None or not isinstance(entry.content, EpochOpened):
        return None
    return OpenedEpoch.by(entry)


def identifier_of(opened: OpenedEpoch | None) -> bytes:
    """Of the epoch that is open; nothing, if there is none."""
    return b"" if opened is None else opened.identifier


def save_epoch(directory: Path, identifier: bytes, records: Records, ownership: Ownership | None) -> None:
    """Write a copy of the records, whole or not at all, and on the disk when this returns."""
    path = _path(directory, identifier)
    with (
        storage_errors("the copy of the records", path),
        written_whole(path, part=path.with_suffix(".part")) as file,
    ):
        _write(file, records, ownership)


def load_epoch(directory: Path, opened: OpenedEpoch, pin: bytes) -> Epoch:
    """The epoch that the ledger says is open, if its copy is what was published."""
    path = _path(directory, opened.identifier)
    try:
        with zipfile.ZipFile(path) as archive:
            records, ownership = _read(archive)
        epoch = Epoch(opened.number, opened.identifier, records, ownership)
    except (OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile, LocalDpError) as error:
        raise StorageFailed(f"{_GONE} ({type(error).__name__})") from None  # the text could quote a record
    if epoch.pinned(pin) != opened.records:
        raise StorageFailed(_GONE)
    return epoch


def drop_epochs(directory: Path, *kept: bytes) -> None:
    """Remove all copies but these, while nobody publishes."""
    paths = [_path(directory, one) for one in kept]
    for path in [*directory.glob("epoch-*.npz"), *directory.glob("epoch-*.part")]:
        if path not in paths:
            path.unlink(missing_ok=True)


def _path(directory: Path, identifier: bytes) -> Path:
    return directory / f"epoch-{identifier.hex()}.npz"


def _write(file: BinaryIO, records: Records, ownership: Ownership | None) -> None:
    about = {
        "format": _FORMAT,
        "schema": records.schema.to_data(),
        "rows": None if ownership is None else ownership.rows,
    }
    columns = [records.column(name) for name in records.schema.names]
    arrays = [*columns, *([] if ownership is None else [ownership.owners])]
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("about.json", json.dumps(about))
        for number, array in enumerate(arrays):
            with archive.open(f"{number}.npy", "w", force_zip64=True) as entry:
                np.lib.format.write_array(entry, np.ascontiguousarray(array), allow_pickle=False)


def _read(archive: zipfile.ZipFile) -> tuple[Records, Ownership | None]:
    about = json.loads(archive.read("about.json"))
    if about["format"] != _FORMAT:
        raise StorageFailed("the copy of the records is of another version")
    schema = Schema.from_data(about["schema"])
    columns = {name: _array(archive, number) for number, name in enumerate(schema.names)}
    records = Records.from_columns(schema, columns)
    if about["rows"] is None:
        return records, None
    return records, Ownership(_array(archive, len(columns)).astype(np.int64), about["rows"])


def _array(archive: zipfile.ZipFile, number: int) -> np.ndarray[tuple[int, ...], np.dtype[np.generic]]:
    with archive.open(f"{number}.npy") as entry:
        array: np.ndarray[tuple[int, ...], np.dtype[np.generic]] = np.lib.format.read_array(
            entry, allow_pickle=False
        )
    return array
