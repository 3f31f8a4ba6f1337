"""What a share server keeps apart from its state: its keys, and a secret for each collection that is open.

Reports and sums rest under a collection's secret, and its noise is a function of it; the secret is destroyed when the
collection is released or ends.  So a copy of the state, however old, can neither be read nor released from, and the
server's own key gives nothing back.

The vault also knows what was released last: the collection, and the set of reports.  A state that has it not on record is
an old copy, or a copy of a server that went another way, or none: the server has forgotten what it released.  Then it
begins a new memory, with a new witness key (`binding`): everything about the collections of before is refused.

    the last release is             what it means
    on record                       as it should be
    on record, with a later one     a crash between the two: the secret of what is on record is destroyed at the start
    not on record                   the state is another, or lost: a new memory
    not known, the vault is new     new keys: no collection of before names them

A state that has the last release on record has all of this memory, since a server that released one had those before it on
record when it started.  A number of releases would not do: two states of one number need not be one.

Checked in tests/unit/sharing/test_vault.py and tests/contract/test_share_storage.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from localdp.randomness.keys import derive_key


class Vault(Protocol):
    """Where a share server's secrets are.  What a method changes is on the disk when it returns."""

    @property
    def keys(self) -> Sequence[bytes]:
        """The server's own keys, the newest first; older ones while a collection is open under them."""
        ...

    @property
    def witness(self) -> bytes:
        """What its witness key follows from."""
        ...

    @property
    def last(self) -> tuple[bytes, bytes] | None:
        """The collection that was released last in this memory, and the digest of its reports."""
        ...

    def collections(self) -> Sequence[bytes]:
        """Of which collections there is a secret."""
        ...

    def secret(self, collection: bytes) -> bytes | None:
        """The secret of a collection, if it was made and not destroyed."""
        ...

    def make(self, collection: bytes) -> None:
        """Make a secret for a collection."""
        ...

    def destroy(self, collection: bytes, accepted: bytes | None = None) -> None:
        """Destroy the secret of a collection; with `accepted`, because these reports of it were released."""
        ...

    def keep_keys(self, keys: Sequence[bytes]) -> None:
        """Destroy the older keys of the server but these."""
        ...

    def begin_anew(self) -> None:
        """Destroy all secrets and begin a new memory, in which nothing was released."""
        ...


class MemoryVault:
    """For simulations and tests: every secret follows from one key, so that a run can be repeated."""

    def __init__(self, key: bytes) -> None:
        self.keys: Sequence[bytes] = (key,)
        self.witness = derive_key(key, b"witness")
        self.last: tuple[bytes, bytes] | None = None  # a simulation is never put back
        self._destroyed: set[bytes] = set()

    def collections(self) -> Sequence[bytes]:
        """Nobody needs to be told: a simulation does not outlive its process."""
        return ()

    def secret(self, collection: bytes) -> bytes | None:
        """The secret of a collection, unless it was destroyed."""
        return (
            None if collection in self._destroyed else derive_key(self.keys[0], b"collection", collection)
        )

    def make(self, collection: bytes) -> None:
        """It follows from the key."""

    def destroy(self, collection: bytes, accepted: bytes | None = None) -> None:
        """Have none any more."""
        self._destroyed.add(collection)

    def keep_keys(self, keys: Sequence[bytes]) -> None:
        """There is one."""

    def begin_anew(self) -> None:
        """A new memory, which follows from the old one."""
        self.witness = derive_key(self.witness, b"anew")
