"""Additive secret sharing: m shares that add up to the value, any m - 1 of which are uniform.

The first m - 1 shares are uniform in the field and independent of the value; the last is what is missing.  So the
view of any m - 1 servers has the same law for every value (perfect secrecy, no assumption), and the servers can add
up what they hold without seeing any of it: the linear part of the multiparty computation of section 9.3.

Checked exactly, over every coin of a small field, in tests/unit/sharing/test_additive.py.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from localdp.errors import InvalidParameter
from localdp.randomness.source import RandomSource
from localdp.sharing import field
from localdp.sharing.field import PRIME, Elements

FEWEST_SERVERS = 2
MOST_SERVERS = 255
_BLOCK = 1 << 14


def split(values: NDArray[np.int64], servers: int, source: RandomSource) -> list[Elements]:
    """One array of shares per server."""
    if not FEWEST_SERVERS <= servers <= MOST_SERVERS:
        raise InvalidParameter(f"values are shared among {FEWEST_SERVERS} to {MOST_SERVERS} servers")
    shares = [source.below(PRIME, len(values)) for _ in range(servers - 1)]
    last = np.empty(len(values), np.uint64)
    for start in range(0, len(values), _BLOCK):  # blocks that stay in the cache
        block = slice(start, start + _BLOCK)
        rest = values[block].astype(np.uint64)
        for share in shares:
            rest = field.subtract(rest, share[block], out=last[block])
    return [*shares, last]


def split_signed(values: NDArray[np.int64], servers: int, source: RandomSource) -> list[Elements]:
    """The same for numbers of either sign."""
    words = values.view(np.uint64)
    return split(np.where(values < 0, words + np.uint64(PRIME), words).view(np.int64), servers, source)


def combine(sums: Sequence[int]) -> int:
    """The integer that the servers' sums add up to, read as the representative of least absolute value."""
    return field.centred(sum(sums))


def combined(sums: Sequence[Sequence[int]], modulus: int = PRIME) -> list[int]:
    """The same for every entry of the servers' sums, in any prime field."""
    added = (sum(entries) % modulus for entries in zip(*sums, strict=True))
    return [entry - modulus if entry > modulus // 2 else entry for entry in added]
