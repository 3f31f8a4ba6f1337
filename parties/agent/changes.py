"""What a new extract changed, for its owner, by counts: people, rows, whose records are others now, and what was decided.

It is found by the process that prepares an epoch, and kept in the state directory for its owner alone (`changes.json`): the
counts are of private things, and are neither logged nor sent.

Checked in tests/unit/parties/agent/test_changes.py.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np

from localdp.errors import InvalidParameter
from localdp.party.epoch import Epoch
from parties.agent.data import Loaded
from parties.agent.verdicts import counted
from parties.durable import write_atomically

FILE_NAME = "changes.json"


@dataclass(frozen=True, slots=True)
class Changes:
    """Counts, beside those of the epoch before; of the first epoch nothing is new."""

    rows: int
    people: int
    newcomers: int = 0
    changed: dict[str, int] = field(default_factory=dict)  # people whose value is another one, by column
    decisions: list[str] = field(default_factory=list)

    def lines(self) -> list[str]:
        """In words."""
        told = [f"{self.people:,} people, of whom {self.newcomers:,} are new; {counted(self.rows, 'row')}"]
        told += [
            f"{name}: {counted(count, 'person')} with another value" for name, count in self.changed.items()
        ]
        return told + self.decisions


def changes_since(before: Epoch | None, loaded: Loaded) -> Changes:
    """What a table changes; of people with several rows each, only how many they are."""
    decisions = [str(one) for one in loaded.decisions]
    if before is None:
        return Changes(loaded.rows, loaded.people, 0, {}, decisions)
    both = loaded.ownership is None and before.ownership is None
    changed = _changed(before, loaded) if both else {}
    newcomers = max(0, loaded.people - before.people) if both else 0
    return Changes(loaded.rows, loaded.people, newcomers, changed, decisions)


def _changed(before: Epoch, loaded: Loaded) -> dict[str, int]:
    """People keep their numbers, and newcomers come last."""
    found = {}
    for name in loaded.records.schema.names:
        if before.records.schema.columns.get(name) != loaded.records.schema.columns[name]:
            continue
        old, new = before.records.column(name), loaded.records.column(name)[: before.records.people]
        if old.shape == new.shape:
            other = (old != new).reshape(len(old), -1).any(axis=1)
            found[name] = int(np.count_nonzero(other))
    return {name: count for name, count in found.items() if count}


def write_changes(directory: Path, changes: Changes) -> None:
    """For the owner alone, until the next one."""
    write_atomically(directory / FILE_NAME, json.dumps(asdict(changes)), confidential=True)


def read_changes(directory: Path) -> Changes:
    """What the last preparation found."""
    try:
        return Changes(**json.loads((directory / FILE_NAME).read_text()))
    except FileNotFoundError:
        raise InvalidParameter(
            "no table was read by this version yet; `localdp agent publish` reads it"
        ) from None
