"""People dealt out to parties, and gathered again; in order, so that everybody keeps their place.

Checked in tests/unit/test_domains.py.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from localdp.domains.records import Records
from localdp.errors import InvalidParameter


def dealt(records: Records, parties: int) -> list[Records]:
    """The people dealt out to parties, in order, as evenly as possible."""
    if not 1 <= parties <= records.people:
        raise InvalidParameter("there must be at least one party, and one person for each")
    bounds = [records.people * number // parties for number in range(parties + 1)]
    return [records.slice(start, stop) for start, stop in pairwise(bounds)]


def joined(parts: Sequence[Records]) -> Records:
    """The people of all parts, in order."""
    schema = parts[0].schema
    columns = {name: np.concatenate([part.column(name) for part in parts]) for name in schema.names}
    return Records.from_columns(schema, columns)
