"""A party's secret keys: one that new requests draw their coins from, and older ones for requests answered before.

Rotation puts a new key in front.  A request that was first answered under an older key is answered again under that
key, so its report stays the same; if that key was destroyed, the request is refused, because another report for the same
charge would be a second look.

The ledger also pins the records that a request was charged for, by a digest of them, and its owner shows the ledger to
others.  So that digest has a key of its own, the same through all rotations: without it, whoever knows all records but one
could try values for the last until the digest is right.

The ledger knows a key by its label: its name and a digest of it.  A file of keys that was lost and made anew uses the old
names again; by the digest its keys are told from the old ones, and do not answer for them.

Checked in tests/unit/party/test_secrets.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from localdp.errors import InvalidParameter, KeyRetired
from localdp.randomness.keys import derive_key

SECRET_BYTES = 32
_DIGEST_BYTES = 8


@dataclass(frozen=True, slots=True)
class Secrets:
    """Keys by name, the current one named."""

    current: str
    keys: Mapping[str, bytes] = field(repr=False)
    pin: bytes = field(repr=False)  # the key that records are pinned with
    _labelled: Mapping[str, bytes] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.current not in self.keys:
            raise InvalidParameter("the current key is one of the keys")
        if any(len(key) != SECRET_BYTES for key in self.keys.values()):
            raise InvalidParameter(f"a party's secret key has {SECRET_BYTES} bytes")
        labelled = {_label(name, key): key for name, key in self.keys.items()}
        object.__setattr__(self, "_labelled", labelled)

    @classmethod
    def of(cls, key: bytes) -> Secrets:
        """The secrets of a party that has one key, and never another."""
        return cls("", {"": key}, derive_key(key, b"pin of records"))

    @property
    def label(self) -> str:
        """What the ledger calls the current key."""
        return _label(self.current, self.keys[self.current])

    @property
    def labels(self) -> frozenset[str]:
        """What the ledger calls the keys that there are."""
        return frozenset(self._labelled)

    def key(self, label: str) -> bytes:
        """The key that the ledger calls so, if it still exists."""
        if label not in self._labelled:
            raise KeyRetired(
                "the key that this request was first answered with is gone; make a new request"
            )
        return self._labelled[label]


def _label(name: str, key: bytes) -> str:
    return f"{name}:{derive_key(key, b'label of a key')[:_DIGEST_BYTES].hex()}"
