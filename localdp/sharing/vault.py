"""What a share server keeps apart from its state: its keys, and a secret for each collection that is open.

Reports and sums rest under a collection's secret, and its noise is a function of it; the secret is destroyed when the
collection is released or ends.  So a copy of the state, however old, can neither be read nor released from, and the
server's own key gives nothing back.

The vault also knows the history of releases (`history`).  A state with another one is an old copy, or a copy of a server
that went another way, or lacks some of its pages, or all: the server has forgotten what it released.  Then it begins a new
memory, with a new witness key (`binding`): everything about the collections of before is refused.

    the state's history is          what it means
    the vault's                     as it should be
    one release longer              a crash between the two: the secret of that collection is destroyed at the start
    another                         the state is another, or lost: a new memory
    some, and the vault is new      new keys: no collection of before names them
    the vault's, and both are old   cannot be known here: there is no second release of a collection while one other honest
                                    server remembers it (`signatures`); servers that lie do not remember

It is never two releases longer: before a server releases, it destroys what is left of the secrets of others.

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
    def history(self) -> bytes | None:
        """What was released, as far as it was told to; None in a simulation, which is never put back."""
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
        """Destroy the secret of a collection; with `accepted`, because these reports of it were released just now."""
        ...

    def keep_keys(self, keys: Sequence[bytes]) -> None:
        """Destroy the older keys of the server but these."""
        ...

    def begin_anew(self, history: bytes) -> None:
        """Destroy all secrets and begin a new memory, of a server that has released this."""
        ...


class MemoryVault:
    """For simulations and tests: every secret follows from one key, so that a run can be repeated."""

    def __init__(self, key: bytes) -> None:
        self.keys: Sequence[bytes] = (key,)
        self.witness = derive_key(key, b"witness")
        self.history: bytes | None = None
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

    def begin_anew(self, history: bytes) -> None:
        """A new memory, which follows from the old one."""
        self.witness = derive_key(self.witness, b"anew")
