"""A party's secret keys: one that new requests draw their coins from, and older ones for requests answered before.

Rotation puts a new key in front.  A request that was first answered under an older key is answered again under that
key, so its report stays the same; if that key was destroyed, the request is refused, because another report for the same
charge would be a second look.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from localdp.errors import InvalidParameter, KeyRetired

SECRET_BYTES = 32


@dataclass(frozen=True, slots=True)
class Secrets:
    """Keys by name, the current one named."""

    current: str
    keys: Mapping[str, bytes] = field(repr=False)

    def __post_init__(self) -> None:
        if self.current not in self.keys:
            raise InvalidParameter("the current key is one of the keys")
        if any(len(key) != SECRET_BYTES for key in self.keys.values()):
            raise InvalidParameter(f"a party's secret key has {SECRET_BYTES} bytes")

    def key(self, name: str) -> bytes:
        """The key of that name, if it still exists."""
        if name not in self.keys:
            raise KeyRetired(
                "the key that this request was first answered with is gone; make a new request"
            )
        return self.keys[name]
