"""What keeping costs: reports, or what shares are made of, are written in chunks of people, and read again.

A chunk is read and written as one.  The people of a range fill their chunks, but for the first and the last, where others
may have been kept before.  Those of a split may each be in a chunk of their own; but all of them are in no more chunks
than a range of their length has.

Checked in tests/unit/party/test_cost.py; `parties.agent.pieces` keeps in such chunks.
"""

from __future__ import annotations

from localdp.party.cost import Work
from localdp.randomizers.definition import LocalRandomizer
from localdp.sharing.encoding import Encoding

CHUNK_BYTES = 1 << 15  # of a chunk's people, as arrays
CHUNK_PEOPLE = 1 << 13
_FIXED_SECONDS = 0.2e-3  # a transaction
_AGAIN_SECONDS = 0.25e-3  # of a chunk that is there: read, and written with more people in it
_CHUNK_SECONDS = 25e-6
_ROW_SECONDS = 3e-9
_BIT_SECONDS = 1.25e-9  # written, and as much that was dropped overwritten


def reports_work(randomizer: LocalRandomizer) -> Work:
    """Keeping the reports of a part, or sending what was kept."""
    # As an array, some take a byte for each bit.
    return _work(randomizer.report_bits, randomizer.report_bits)


def inputs_work(encoding: Encoding) -> Work:
    """Keeping what the shares of a part are made of."""
    return _work(8 * encoding.narrow_bytes, encoding.narrow_bytes)


def _work(bits: int, array_bytes: int) -> Work:
    row = _ROW_SECONDS + bits * _BIT_SECONDS
    people = min(CHUNK_PEOPLE, max(1, CHUNK_BYTES // array_bytes))
    fixed = _FIXED_SECONDS + 2 * _AGAIN_SECONDS
    return Work(fixed, kept=row + _CHUNK_SECONDS / people, chunk=row + _AGAIN_SECONDS)
