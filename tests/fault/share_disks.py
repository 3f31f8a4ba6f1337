"""Where a share server's state and secrets are, in memory or in files: they outlive the process, and somebody copies them.

process   a `ShareServer`: gone with a crash
state     a `ShareStorage`  } written to through `Failing`: the process dies before or after a write, on demand
secrets   a `Vault`    }
copies    of both, of one moment; put back together, alone, or one from here and one from there
"""

from __future__ import annotations

import copy
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from localdp.errors import StorageFailed
from localdp.sharing.blocks import Rows
from localdp.sharing.storage import (
    NOTHING_RELEASED,
    Job,
    KeptCollection,
    MemoryStorage,
    ShareStorage,
    Upload,
    followed,
)
from localdp.sharing.vault import Vault
from parties.shares.storage import PostgresStorage, SqliteStorage, TableStorage
from parties.shares.vault import FileVault, vault_path
from tests.support.postgres import shared_postgres

STORAGE_WRITES = ("open", "keep_key", "upload", "vote", "commit", "seal", "release", "drop")
VAULT_WRITES = ("make", "destroy", "begin_anew", "keep_keys")
WRITES = frozenset(STORAGE_WRITES + VAULT_WRITES)
TOLD = ("commit", "seal", "release")
STATE, VAULT = "state", "vault"

Draw = Callable[[], bytes]  # 32 random bytes; copies do not bring the same ones back
Told = Callable[..., None]


class Crash(Exception):
    """The process is gone, before or after a write."""


@dataclass(slots=True)
class Fuse:
    """When a process dies: at, or right after, the n-th write from now; None: not soon."""

    writes: int | None = None
    after: bool = False

    def blown(self) -> bool:
        """Whether it is this write."""
        if self.writes is None:
            return False
        self.writes -= 1
        if self.writes >= 0:
            return False
        self.writes = None
        return True


class Failing:
    """A storage or a vault; `told` hears of what was decided, sealed and released."""

    def __init__(self, inner: Any, fuse: Fuse, told: Told) -> None:
        self.inner, self._fuse, self._told = inner, fuse, told

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.inner, name)
        return self._failing(name, found) if name in WRITES else found

    def _failing(self, name: str, method: Callable[..., None]) -> Callable[..., None]:
        def write(*arguments: Any, **more: Any) -> None:
            dies = self._fuse.blown()
            if dies and not self._fuse.after:
                raise Crash
            method(*arguments, **more)
            if name in TOLD:
                self._told(name, *arguments)
            if dies:
                raise Crash

        return write


class CopiedVault:
    """A vault in memory as strict as the file: secrets are drawn once, and gone when they are destroyed."""

    def __init__(self, draw: Draw) -> None:
        self._draw = draw
        self._keys = [draw()]
        self._secrets: dict[bytes, bytes] = {}
        self.witness = draw()
        self.history = NOTHING_RELEASED
        self.releases = 0  # for a twin that goes by their number

    @property
    def keys(self) -> Sequence[bytes]:
        return tuple(self._keys)

    def copied(self) -> CopiedVault:
        """As it is now; what is drawn later is drawn anew."""
        made = copy.copy(self)
        made._keys, made._secrets = list(self._keys), dict(self._secrets)
        return made

    def add_key(self) -> None:
        self._keys.insert(0, self._draw())

    def keep_keys(self, keys: Sequence[bytes]) -> None:
        self._keys = [key for number, key in enumerate(self._keys) if number == 0 or key in keys]

    def collections(self) -> Sequence[bytes]:
        return tuple(self._secrets)

    def secret(self, collection: bytes) -> bytes | None:
        return self._secrets.get(collection)

    def make(self, collection: bytes) -> None:
        self._secrets.setdefault(collection, self._draw())

    def destroy(self, collection: bytes, accepted: bytes | None = None) -> None:
        del self._secrets[collection]
        if accepted is not None:
            self.history, self.releases = followed(self.history, collection, accepted), self.releases + 1

    def begin_anew(self, history: bytes) -> None:
        self.witness, self.history = self._draw(), history
        self._secrets.clear()


class RestingStorage(MemoryStorage):
    """State in memory that rests under secrets, as it does in files: what was written under another one cannot be read."""

    def __init__(self) -> None:
        super().__init__()
        self.vault: Vault | None = None  # of the process that has it open
        self._under: dict[
            tuple[bytes, int], bytes | None
        ] = {}  # by collection and upload; the sums are upload 0

    def copied(self) -> RestingStorage:
        """As it is now."""
        made = copy.copy(self)
        made._kept = {one.collection.digest: one for one in MemoryStorage.kept(self)}
        made._rows, made._released, made._under = dict(self._rows), dict(self._released), dict(self._under)
        return made

    def _secret(self, collection: bytes) -> bytes | None:
        return None if self.vault is None else self.vault.secret(collection)

    def _require_fits(self, collection: bytes, number: int) -> None:
        if self._under.get((collection, number)) != self._secret(collection):
            raise StorageFailed("the share server's state does not fit to its secrets")

    def kept(self) -> list[KeptCollection]:
        kept = super().kept()
        for one in kept:
            if one.sums and self._secret(one.collection.digest) is not None:
                self._require_fits(one.collection.digest, 0)
        return kept

    def upload(self, collection: bytes, uploads: Sequence[Upload]) -> None:
        super().upload(collection, uploads)
        for upload in uploads:
            self._under[collection, upload.number] = self._secret(collection)

    def rows(self, collection: bytes, upload: int) -> Rows:
        self._require_fits(collection, upload)
        return super().rows(collection, upload)

    def commit(self, collection: bytes, job: Job, sums: Sequence[int], finished: Sequence[int]) -> None:
        super().commit(collection, job, sums, finished)
        self._under[collection, 0] = self._secret(collection)


class Disk(Protocol):
    """A machine's disk, while no process runs or while one does."""

    def opened(self) -> tuple[ShareStorage, Vault]:
        """For a process that starts."""
        ...

    def close(self) -> None:
        """The process is gone."""
        ...

    def add_key(self) -> None:
        """As the operator's command does, while no process runs."""
        ...

    def copied(self) -> Any:
        """A copy of both parts, while no process runs."""
        ...

    def put_back(self, old: Any, *parts: str) -> None:
        """Some parts of a copy, while no process runs."""
        ...

    def lose(self, *parts: str) -> None:
        """Begin with empty parts, while no process runs."""
        ...


class MemoryDisk:
    """Both in memory."""

    def __init__(self, draw: Draw, make_storage: Callable[[], RestingStorage] = RestingStorage) -> None:
        self._draw, self._make_storage = draw, make_storage
        self.lose(STATE, VAULT)

    def opened(self) -> tuple[ShareStorage, Vault]:
        self._state.vault = self._vault
        return self._state, self._vault

    def close(self) -> None:
        pass

    def add_key(self) -> None:
        self._vault.add_key()

    def copied(self) -> tuple[RestingStorage, CopiedVault]:
        return self._state.copied(), self._vault.copied()

    def put_back(self, old: tuple[RestingStorage, CopiedVault], *parts: str) -> None:
        if STATE in parts:
            self._state = old[0].copied()
        if VAULT in parts:
            self._vault = old[1].copied()

    def lose(self, *parts: str) -> None:
        if STATE in parts:
            self._state = self._make_storage()
        if VAULT in parts:
            self._vault = CopiedVault(self._draw)


class FileDisk:
    """The files of a real server, in a directory of its own."""

    def __init__(self, directory: Path, name: str) -> None:
        self._directory, self._name, self._copies = directory, name, 0
        self._files: tuple[TableStorage, FileVault] | None = None
        directory.mkdir()

    @property
    def _state(self) -> Path:
        return self._directory / STATE

    def opened(self) -> tuple[ShareStorage, Vault]:
        vault = FileVault(vault_path(self._state))
        try:
            storage = self._storage(vault)
        except BaseException:
            vault.close()
            raise
        self._files = storage, vault
        return storage, vault

    def _storage(self, vault: Vault) -> TableStorage:
        return SqliteStorage(self._state, self._name, vault, synced=False)

    def close(self) -> None:
        for file in self._files or ():
            file.close()
        self._files = None

    def add_key(self) -> None:
        vault = FileVault(vault_path(self._state))
        vault.add_key()
        vault.close()

    def copied(self) -> Path:
        self._copies += 1
        made = self._directory / f"copy-{self._copies}"
        made.mkdir()
        for path in self._parts(STATE, VAULT):
            if path.exists():
                shutil.copy(path, made / path.name)
        return made

    def put_back(self, old: Path, *parts: str) -> None:
        self.lose(*parts)
        for path in self._parts(*parts):
            if (old / path.name).exists():
                shutil.copy(old / path.name, path)

    def lose(self, *parts: str) -> None:
        for path in self._parts(*parts):
            path.unlink(missing_ok=True)

    def _parts(self, *parts: str) -> list[Path]:
        paths = {STATE: self._state, VAULT: vault_path(self._state)}
        return [paths[part] for part in parts]


class DatabaseDisk(FileDisk):
    """The same with the state in PostgreSQL; its copies are schemas."""

    def __init__(self, directory: Path, name: str) -> None:
        super().__init__(directory, name)
        self._address = shared_postgres().new()
        self._kept: dict[Path, str] = {}

    def _storage(self, vault: Vault) -> TableStorage:
        return PostgresStorage(self._address, self._name, vault)

    def copied(self) -> Path:
        made = super().copied()
        self._kept[made] = shared_postgres().copied(self._address)
        return made

    def put_back(self, old: Path, *parts: str) -> None:
        super().put_back(old, *parts)
        if STATE in parts:
            shared_postgres().put_back(self._address, self._kept[old])

    def lose(self, *parts: str) -> None:
        super().lose(*parts)
        if STATE in parts:
            shared_postgres().lose(self._address)
