"""What is known of requests, read from the ledger's file when it is asked for, and kept in memory within a bound.

However many requests there were, an agent keeps what it knows of the latest, by bytes; of any other it reads the charges
again, by an index.  What is read is what is booked: entries after the last one that was booked do not count yet.

Checked in tests/unit/parties/agent/test_ledger_memory.py.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable

from localdp.accounting.ledger import Charge, Taken

Load = Callable[[bytes], Iterable[Charge]]


class Remembered:
    """Requests by their digest: the latest in memory, all of them through `load`."""

    def __init__(self, load: Load, most_bytes: int) -> None:
        """`load` has the charges of a request in order, as far as they are booked."""
        self._load, self._most = load, most_bytes
        self._kept: OrderedDict[bytes, tuple[Taken, int]] = OrderedDict()
        self._bytes = 0
        self._absent: bytes | None = None  # looked for last, and never charged

    def get(self, request: bytes, /) -> Taken | None:
        kept = self._kept.get(request)
        if kept is not None:
            self._kept.move_to_end(request)
            return kept[0]
        if request == self._absent:
            return None
        taken: Taken | None = None
        for charge in self._load(request):
            taken = taken or Taken(charge.key, charge.epoch)
            taken.add(charge)
        if taken is None:
            self._absent = request
        else:
            self[request] = taken
        return taken

    def __setitem__(self, request: bytes, taken: Taken, /) -> None:
        """Keep it as the latest, and drop the oldest beyond the bound."""
        self._absent = None
        _, before = self._kept.pop(request, (taken, 0))
        size = taken.nbytes()
        self._kept[request] = taken, size
        self._bytes += size - before
        while self._bytes > self._most and len(self._kept) > 1:
            self._bytes -= self._kept.popitem(last=False)[1][1]
