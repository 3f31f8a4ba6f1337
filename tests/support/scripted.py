"""A source whose bytes are written down beforehand, so that a test can force every path.

It runs the primitives of `StreamSource`, the same code as the production keystream: only the bytes differ.
When the script ends it raises `CoinsExhausted`; it never starts over.
Checked in tests/unit/randomness/test_stream.py and tests/contract/test_random_source.py.
"""

import numpy as np
from numpy.typing import NDArray

from localdp.errors import CoinsExhausted
from localdp.randomness.stream import StreamSource


class ScriptedSource(StreamSource):
    """Draws from the given bytes, in their order; words are little-endian, as numpy reads them here."""

    def __init__(self, data: bytes) -> None:
        self._data = np.frombuffer(data, np.uint8)
        self._used = 0

    @property
    def remaining(self) -> int:
        """How many bytes of the script are left."""
        return len(self._data) - self._used

    def _take(self, size: int) -> NDArray[np.uint8]:
        if size > self.remaining:
            raise CoinsExhausted(f"the script has {self.remaining} bytes left, {size} were asked for")
        self._used += size
        return self._data[self._used - size : self._used].copy()
