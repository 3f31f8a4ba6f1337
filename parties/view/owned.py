"""What the owner of simulated parties can see of them: whether a process runs, and what its ledger says.

Ledgers are read, never written, row by row as rows come (`parties.federated.ledgers`), and only the least and the most that
anybody has left is told: never what one person has.  A ledger that cannot be read is told as unknown.  However many parties
there are, one look takes bounded time: at most `MOST_AT_A_LOOK` of them, in turn.

Checked in tests/unit/parties/view/test_view_owned.py.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from localdp.accounting.epsilon import NANONATS_PER_NAT, Epsilon
from localdp.errors import LocalDpError
from parties.federated.ledgers import LedgerFile
from parties.view.rounds import PartyView

MOST_AT_A_LOOK = 200
_ENDED = ("Z", "X")  # states of processes that have ended, and that nobody has asked about yet


@dataclass(frozen=True, slots=True)
class Owned:
    """A process of the owner's, and of an agent its ledger."""

    name: str
    role: str
    people: int = 0
    limit: Epsilon = Epsilon(0)
    ledger: Path | None = None
    process_id: int = 0


def is_alive(process_id: int) -> bool:
    """Whether a process runs; one that was killed does not, although its parent may not have noticed yet."""
    try:
        os.kill(process_id, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    try:
        about = Path(f"/proc/{process_id}/stat").read_text()
    except OSError:
        return not Path("/proc/self").exists()  # ended in between; elsewhere there is no /proc
    return about.rpartition(")")[2].split()[0] not in _ENDED


class LedgerReader(LedgerFile):
    """The sums of one ledger, read again when it has changed."""

    def __init__(self, path: Path, people: int, limit: Epsilon) -> None:
        super().__init__(path, people, limit)
        self._seen: tuple[int, int] | None = None
        self._left = limit.nanonats, limit.nanonats

    def look(self) -> tuple[int, float, float]:
        """Requests that were answered, and the least and the most that anybody has left, in nats."""
        stamp = self._stamp()
        if stamp != self._seen:
            left = self._accounts.limit.nanonats - self.spent()
            self._seen, self._left = stamp, (int(left.min()), int(left.max()))
        return self._charges, self._left[0] / NANONATS_PER_NAT, self._left[1] / NANONATS_PER_NAT

    def _stamp(self) -> tuple[int, int]:
        """Changes with every row: rows go to the companion file first."""
        log = self.path.with_name(f"{self.path.name}-wal")
        about = os.stat(log if log.exists() else self.path)
        return about.st_size, about.st_mtime_ns


class Watch:
    """Processes and their ledgers, looked at in turn."""

    def __init__(self, owned: Sequence[Owned], alive: Callable[[int], bool] = is_alive) -> None:
        self._owned, self._alive = list(owned), alive
        self._next = 0
        self._readers = {
            one.name: LedgerReader(one.ledger, one.people, one.limit) for one in owned if one.ledger
        }

    def look(self) -> Iterator[PartyView]:
        """What is known of the next ones."""
        count = min(MOST_AT_A_LOOK, len(self._owned))
        turn = [self._owned[(self._next + step) % len(self._owned)] for step in range(count)]
        self._next = (self._next + count) % max(1, len(self._owned))
        for one in turn:
            yield self._view(one)

    def _view(self, one: Owned) -> PartyView:
        seen = PartyView(one.name, one.role, self._alive(one.process_id), one.people)
        reader = self._readers.get(one.name)
        if reader is None:
            return seen
        try:
            uses, lowest, highest = reader.look()
        except (LocalDpError, OSError):
            return seen
        return replace(seen, uses=uses, lowest=lowest, highest=highest)
