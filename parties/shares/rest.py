"""Reports and sums at rest: sealed under the secret of their collection (AES-256-GCM), and lost with it.

The name of what is sealed is bound to it, so nothing can be put in the place of something else.
"""

from __future__ import annotations

import os
from contextlib import suppress

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from localdp.errors import StorageFailed
from localdp.randomness.keys import derive_key

_NONCE_BYTES = 12


class Rest:
    """What one collection's secret opens."""

    def __init__(self, secret: bytes) -> None:
        self._cipher = AESGCM(derive_key(secret, b"rest"))

    def sealed(self, data: bytes, name: bytes) -> bytes:
        """Data as it is stored."""
        nonce = os.urandom(_NONCE_BYTES)
        return nonce + self._cipher.encrypt(nonce, data, name)

    def opened(self, stored: bytes, *names: bytes) -> bytes:
        """The data again, if it was sealed under one of these names: an older version may have had another one."""
        for name in names:
            with suppress(InvalidTag, ValueError):
                return self._cipher.decrypt(stored[:_NONCE_BYTES], stored[_NONCE_BYTES:], name)
        raise StorageFailed("the share server's state does not fit to its secrets, or was changed")
