"""People dealt out to parties, and gathered again; in order, so that everybody keeps their place.

Checked in tests/unit/test_domains.py.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from localdp.domains.records import Records
from localdp.errors import InvalidParameter

MOST_PARTIES = 2000  # of a simulation


def dealt(records: Records, parties: int) -> list[Records]:
    """The people dealt out to parties, in order, as evenly as possible."""
    if not 1 <= parties <= records.people:
        raise InvalidParameter("there must be at least one party, and one person for each")
    bounds = [records.people * number // parties for number in range(parties + 1)]
    return [records.slice(start, stop) for start, stop in pairwise(bounds)]


def dealt_out(records: Records, parties: int | Sequence[int]) -> tuple[Records, ...]:
    """The people dealt out to so many parties, or to parties of these sizes."""
    if isinstance(parties, int):
        if not 1 <= parties <= min(MOST_PARTIES, records.people):
            raise InvalidParameter(
                f"{records.people} people are dealt to 1 to {min(MOST_PARTIES, records.people)} parties"
            )
        return tuple(dealt(records, parties))
    if not 1 <= len(parties) <= MOST_PARTIES or any(size < 1 for size in parties):
        raise InvalidParameter(f"there are 1 to {MOST_PARTIES} parties, each with at least one person")
    if sum(parties) != records.people:
        raise InvalidParameter(
            f"the sizes of the parties add up to {sum(parties)}, but there are {records.people} people"
        )
    ends = [sum(parties[: number + 1]) for number in range(len(parties))]
    return tuple(records.slice(end - size, end) for size, end in zip(parties, ends, strict=True))


def joined(parts: Sequence[Records]) -> Records:
    """The people of all parts, in order."""
    schema = parts[0].schema
    columns = {name: np.concatenate([part.column(name) for part in parts]) for name in schema.names}
    return Records.from_columns(schema, columns)
