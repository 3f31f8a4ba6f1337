"""What a share server has released, in order, as one digest.

State and vault each have it (`storage`, `vault`): the state from the releases on record, the vault from what it was told.
Where the two agree, every release of this memory is on record, in the order in which they were; a state that lacks some,
first, last or in between, has another history.

Checked in tests/unit/sharing/test_vault.py and tests/contract/test_share_storage.py.
"""

from __future__ import annotations

from localdp.framing import digest

NOTHING_RELEASED = bytes(32)


def followed(history: bytes, collection: bytes, accepted: bytes) -> bytes:
    """A history, and then the release of this set of reports of a collection."""
    return digest(b"released", history, collection, accepted)
