"""Key derivation: one secret, many independent keys, by HMAC-SHA256 (RFC 2104; the expand step of RFC
5869).

Definition.  derive_key(secret, c_1, .., c_n) is the HMAC-SHA256, under the secret, of
len(secret) || label || n || len(c_1) || c_1 || .. || len(c_n) || c_n, with n and every length as 8 big-endian
bytes.

Claim.  The encoding of the context is injective, so that different contexts are different HMAC messages: as
long as HMAC-SHA256 is a pseudorandom function, their keys are independent.  (b"ab", b"c") and (b"a", b"bc")
differ.
Checked in tests/unit/randomness/test_keys.py, against a value computed by hand as well.
"""

import hmac

from localdp.errors import InvalidParameter
from localdp.framing import framed

_LABEL = b"localdp/derive-key/v1"
_SHORTEST_SECRET = 16
KEY_BYTES = 32


def derive_key(secret: bytes, *context: bytes) -> bytes:
    """A 32-byte key that depends on the secret, on each part of the context and on where it ends."""
    if len(secret) < _SHORTEST_SECRET:
        raise InvalidParameter(f"a secret needs at least {_SHORTEST_SECRET} bytes")
    # HMAC pads its key with zero bytes, so secrets of different lengths are told apart by hashing the
    # length in.
    length, parts = len(secret).to_bytes(8, "big"), len(context).to_bytes(8, "big")
    return hmac.digest(secret, length + _LABEL + parts + framed(context), "sha256")
