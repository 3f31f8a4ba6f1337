"""A share server's secrets in a small file beside its state: its keys, and a secret for each collection in progress.

The file is never copied by a backup of the state, and a copy of it is worth nothing: when a collection is released or ends,
its secret is overwritten where it stands (`localdp.sharing.vault` says what follows from that).  A file system that writes
elsewhere than it was told, or takes snapshots, may keep the old bytes for a while: put the file on one that does not.

    0      header: whose, sequence, witness, history, keys, checksum    two copies, written in turn, so that
    4096   header                                                       no write tears both
    8192   slots of 64 bytes: digest of a collection, its secret        zero: free

The file is locked while a server runs.

Checked in tests/unit/parties/shares/test_share_vault.py, and with kill -9 in tests/fault/test_share_kill_nine.py.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import struct
from collections.abc import Sequence
from pathlib import Path

from localdp.errors import InvalidParameter, StorageFailed
from localdp.randomness.keys import KEY_BYTES
from localdp.sharing.storage import NOTHING_RELEASED, followed
from parties.durable import make_private, require_private, storage_errors, sync_directory

SUFFIX = ".secrets"
MOST_KEYS = 8
_NAME = b"localdp vault 1\0"
_HEADER = struct.Struct(f"<16s32sQ32s32s32sB{MOST_KEYS * KEY_BYTES}s")
_CHECKSUM_BYTES = 32
_COPIES = (0, 4096)
_FIRST_SLOT, _SLOT_BYTES = 8192, 64
_WHAT = "the share server's secrets"


def vault_path(state: Path) -> Path:
    """Where the secrets of a state are."""
    return state.with_name(state.name + SUFFIX)


class FileVault:
    """Secrets in a file; one process at a time has it open."""

    def __init__(self, path: Path, key: bytes | None = None, *, server: str = "") -> None:
        """Open the file of a server, or make it, with this key if one is given."""
        self._server = hashlib.sha256(server.encode()).digest()
        with storage_errors(_WHAT, path):
            is_new = not path.exists()
            make_private(path)
            require_private(path)
            self._file = os.open(path, os.O_RDWR)
            try:
                self._lock(path)
                self._slots: dict[bytes, tuple[int, bytes]] = {}
                self._free: list[int] = []
                if is_new or os.fstat(self._file).st_size == 0:
                    self._begin(path, key)
                else:
                    self._read(path)
            except BaseException:
                os.close(self._file)
                raise

    def _lock(self, path: Path) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StorageFailed(f"another process uses {path}: stop it first") from None

    def _begin(self, path: Path, key: bytes | None) -> None:
        self._sequence, self.history, self._last = 0, NOTHING_RELEASED, bytes(KEY_BYTES)
        self.witness = os.urandom(KEY_BYTES)
        self._keys = [key or os.urandom(KEY_BYTES)]
        self._write_header(both=True)
        sync_directory(path.parent)

    def _read(self, path: Path) -> None:
        headers = [header for at in _COPIES if (header := self._header(at)) is not None]
        if not headers:
            raise StorageFailed(f"{path} is no file of a share server's secrets, or is damaged")
        server, self._sequence, self.witness, self.history, self._last, self._keys = max(
            headers, key=lambda header: header[1]
        )
        if server != self._server:
            raise InvalidParameter(
                f"{path} has the secrets of another share server: put the right file back"
            )
        data = os.pread(self._file, os.fstat(self._file).st_size, _FIRST_SLOT)
        for slot in range(len(data) // _SLOT_BYTES):
            held = data[slot * _SLOT_BYTES : (slot + 1) * _SLOT_BYTES]
            if any(held):
                self._slots[held[:KEY_BYTES]] = slot, held[KEY_BYTES:]
            else:
                self._free.append(slot)

    def _header(self, at: int) -> tuple[bytes, int, bytes, bytes, bytes, list[bytes]] | None:
        data = os.pread(self._file, _HEADER.size + _CHECKSUM_BYTES, at)
        body, checksum = data[: _HEADER.size], data[_HEADER.size :]
        if len(body) != _HEADER.size or hashlib.sha256(body).digest() != checksum:
            return None
        name, server, sequence, witness, history, last, count, keys = _HEADER.unpack(body)
        if name != _NAME:
            return None
        return server, sequence, witness, history, last, [keys[i * 32 : i * 32 + 32] for i in range(count)]

    def _write_header(self, *, both: bool = False) -> None:
        """Durable when it returns, with everything that was written before."""
        for _ in range(2 if both else 1):
            sequence = self._sequence + 1
            keys = b"".join(self._keys)
            body = _HEADER.pack(
                _NAME,
                self._server,
                sequence,
                self.witness,
                self.history,
                self._last,
                len(self._keys),
                keys,
            )
            os.pwrite(self._file, body + hashlib.sha256(body).digest(), _COPIES[sequence % 2])
            os.fdatasync(self._file)
            self._sequence = sequence  # not before: after a failure the copy that is whole must stay

    def close(self) -> None:
        """Let go of the file."""
        os.close(self._file)

    @property
    def keys(self) -> Sequence[bytes]:
        """The server's own keys, the newest first."""
        return tuple(self._keys)

    def add_key(self) -> None:
        """A new key for the collections to come; the others stay while a collection is open under them."""
        if len(self._keys) >= MOST_KEYS:
            raise InvalidParameter(
                "collections are open under all of the server's keys: wait for their end"
            )
        self._keys.insert(0, os.urandom(KEY_BYTES))
        with storage_errors(_WHAT):
            self._write_header(both=True)

    def keep_keys(self, keys: Sequence[bytes]) -> None:
        """Destroy the older keys but these."""
        kept = [key for number, key in enumerate(self._keys) if number == 0 or key in keys]
        if kept == self._keys:
            return
        before, self._keys = self._keys, kept
        with storage_errors(_WHAT):
            try:
                self._write_header(both=True)
            except BaseException:
                self._keys = before  # they are in the file: to be tried again
                raise

    def collections(self) -> Sequence[bytes]:
        return tuple(self._slots)

    def secret(self, collection: bytes) -> bytes | None:
        held = self._slots.get(collection)
        return None if held is None else held[1]

    def make(self, collection: bytes) -> None:
        if collection in self._slots:
            return
        slot = self._free[-1] if self._free else len(self._slots)
        secret = os.urandom(KEY_BYTES)
        with storage_errors(_WHAT):
            os.pwrite(self._file, collection + secret, _FIRST_SLOT + slot * _SLOT_BYTES)
            os.fdatasync(self._file)
        self._slots[collection] = slot, secret
        if self._free:
            self._free.pop()

    def destroy(self, collection: bytes, accepted: bytes | None = None) -> None:
        """Overwrite the secret of a collection."""
        slot, _ = self._slots[collection]
        with storage_errors(_WHAT):
            if accepted is not None:  # on the disk first: what is gone without a trace would be made anew
                self._follow(collection, accepted)
            os.pwrite(self._file, bytes(_SLOT_BYTES), _FIRST_SLOT + slot * _SLOT_BYTES)
            os.fdatasync(self._file)
        del self._slots[collection]
        self._free.append(slot)

    def _follow(self, collection: bytes, accepted: bytes) -> None:
        """Know of a release, once: also if the disk fails after that, and the secret is destroyed at another time."""
        if self._last != collection:
            before = self.history, self._last
            self.history, self._last = followed(self.history, collection, accepted), collection
            try:
                self._write_header()
            except OSError:
                self.history, self._last = before
                raise

    def begin_anew(self, history: bytes) -> None:
        """Overwrite all secrets, and begin a new memory."""
        self.witness, self.history, self._last = os.urandom(KEY_BYTES), history, bytes(KEY_BYTES)
        with storage_errors(_WHAT):
            for slot, _ in self._slots.values():
                os.pwrite(self._file, bytes(_SLOT_BYTES), _FIRST_SLOT + slot * _SLOT_BYTES)
            self._write_header(both=True)
        self._free.extend(slot for slot, _ in self._slots.values())
        self._slots.clear()
