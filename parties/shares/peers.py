"""Where a party uploads its shares: the address of a share server, and perhaps the key that shares for it are sealed to.

Written HOST:PORT or HOST:PORT#KEY, with the key in hexadecimal as `localdp share-server run` prints it.  A key that a
collection brings along is believed only if it is the one written here: otherwise whoever relays sealed shares could
name keys of its own, and read them all.

Checked in tests/unit/parties/shares/test_share_peers.py.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from localdp.errors import InvalidParameter, PolicyRefused
from localdp.sharing.binding import KEY_BYTES
from localdp.sharing.collection import Collection

_KEY = re.compile(rf"[0-9a-f]{{{2 * KEY_BYTES}}}")


@dataclass(frozen=True, slots=True)
class SharePeer:
    """A share server, as a party knows it."""

    address: str
    key: bytes | None = None

    @classmethod
    def parse(cls, text: str) -> SharePeer:
        """HOST:PORT or HOST:PORT#KEY."""
        address, mark, key = text.partition("#")
        if mark and not _KEY.fullmatch(key):
            raise InvalidParameter(f"a key behind '#' is {2 * KEY_BYTES} hexadecimal digits")
        return cls(address, bytes.fromhex(key) if mark else None)


def require_known(peers: Mapping[str, SharePeer], collection: Collection, *, sealed: bool = False) -> None:
    """Refuse other servers than the party chose, keys that are not theirs, and sealing to keys that it does not know.

    `sealed`: somebody is to carry the shares, which the collection must say.

    All of them take part: who chose five, because of five one will be honest, did not choose any two of them.
    """
    collection.require_way(relayed=sealed)
    if any(server not in peers for server in collection.servers):
        raise InvalidParameter("the collection names a share server that this party does not upload to")
    if len(collection.servers) < len(peers):
        raise PolicyRefused(f"this party splits its answers over all of its {len(peers)} share servers")
    known = [peers[server].key for server in collection.servers]
    if any(own not in (None, key) for own, key in zip(known, collection.keys, strict=True)):
        raise InvalidParameter("the collection has another key for a share server than this party knows")
    if sealed and None in known:
        raise PolicyRefused("this party seals shares only to servers whose keys it knows")
