"""Reports that a share server has just stored, kept in memory too: most are verified soon, and need not be read again.

At most so many bytes of all collections together.  Reports are verified in the order in which they came, so the first ones
stay and those that find no room are read from the file.

Checked in tests/unit/parties/shares/test_recent_rows.py.
"""

from __future__ import annotations

from collections.abc import Iterable

from localdp.sharing.blocks import Rows

MOST_BYTES = 64 << 20
UPLOAD_BYTES = 1 << 10  # what an upload takes in memory, however little is in it


class RecentRows:
    """The rows of some uploads."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._left = most_bytes
        self._rows: dict[bytes, dict[int, Rows]] = {}

    def keep(self, collection: bytes, upload: int, rows: Rows) -> None:
        """Remember the rows of an upload, if there is room."""
        if _size(rows) <= self._left:
            self._left -= _size(rows)
            self._rows.setdefault(collection, {})[upload] = rows

    def get(self, collection: bytes, upload: int) -> Rows | None:
        """The rows of an upload, if they are remembered."""
        return self._rows.get(collection, {}).get(upload)

    def drop(self, collection: bytes, uploads: Iterable[int]) -> None:
        """Forget some uploads."""
        kept = self._rows.get(collection, {})
        self._left += sum(_size(kept.pop(upload)) for upload in uploads if upload in kept)

    def drop_all(self, collection: bytes) -> None:
        """Forget a collection."""
        self._left += sum(map(_size, self._rows.pop(collection, {}).values()))


def _size(rows: Rows) -> int:
    return UPLOAD_BYTES + rows.public.nbytes + rows.inputs.nbytes
