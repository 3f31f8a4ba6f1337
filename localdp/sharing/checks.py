"""Blocks of reports between their check and their decision.

What a server computed when it was first asked about a block is used again when it votes and when it counts.  It is a
memory and no more: after a restart, or once too many blocks are on their way, a block is computed again from what is
stored, and comes out the same.

Checked in tests/unit/sharing/test_share_server.py and tests/fault/test_share_operations.py.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from localdp.errors import ShareMismatch
from localdp.sharing.blocks import CheckState, Octets, Positions
from localdp.sharing.task import CollectionTask

_MOST = 16

_Name = tuple[bytes, int, int]


@dataclass(slots=True)
class Checked:
    """A block whose verifier rows were told."""

    positions: Positions
    state: CheckState
    verifiers: Octets


class Checks:
    """The blocks of one server that are on their way."""

    def __init__(self) -> None:
        self._checked: dict[_Name, Checked] = {}

    def begin(self, task: CollectionTask, positions: Positions) -> Checked:
        """Compute a block, and remember it."""
        return self.note(task, self.work(task, positions)())

    def work(self, task: CollectionTask, positions: Positions) -> Callable[[], Checked]:
        """What there is to compute of a block, read now: another thread may do it."""
        checker, rows = task.checker, task.rows_of(positions)
        return lambda: Checked(positions, *checker.init(rows))

    def knows(self, task: CollectionTask, positions: Positions) -> bool:
        """Whether a block was computed, and is remembered."""
        checked = self._checked.get(_name(task, positions))
        return checked is not None and _same(checked.positions, positions)

    def note(self, task: CollectionTask, checked: Checked) -> Checked:
        """Remember a block that was computed."""
        self._remember(task, checked)
        return checked

    def recall(self, task: CollectionTask, positions: Positions) -> Checked:
        """A block as it was computed, now or before."""
        checked = self._checked.get(_name(task, positions))
        if checked is None or not _same(checked.positions, positions):
            if not task.held(positions).all():
                raise ShareMismatch("a vote is asked about reports that are not here")
            checked = self.begin(task, positions)
        return checked

    def drop(self, task: CollectionTask, positions: Positions) -> None:
        """The block is decided."""
        self._checked.pop(_name(task, positions), None)

    def forget(self, collection: bytes) -> None:
        """Nothing of this collection is on its way any more."""
        self._checked = {name: checked for name, checked in self._checked.items() if name[0] != collection}

    def _remember(self, task: CollectionTask, checked: Checked) -> None:
        while len(self._checked) >= _MOST:
            del self._checked[next(iter(self._checked))]
        self._checked[_name(task, checked.positions)] = checked


def _same(one: Positions, other: Positions) -> bool:
    return one is other or np.array_equal(one, other)


def _name(task: CollectionTask, positions: Positions) -> _Name:
    return task.collection.digest, int(positions[0]), len(positions)
