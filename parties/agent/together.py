"""The rows of a person as one record: padded to the declared bound, or brought down to one value, when an epoch opens.

Of somebody who has more rows than `most_rows`, so many are drawn by fresh coins, each set of them as likely as another;
the others are left out, and never refused, since a refusal would tell of one person.  Which rows are drawn depends on
coins and on nobody else.  From here on everybody has as many places, and questions take the same time for everybody.

Checked in tests/unit/parties/agent/test_together.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from localdp.domains import Domain, IntegerDomain, RealDomain, Records, RowsDomain, Schema
from localdp.domains.columns import ColumnArray
from localdp.queries.evaluate import term_value
from localdp.queries.scalars import Column, OfRows
from localdp.randomness.source import RandomSource
from parties.agent.declared import Declared, Together
from parties.agent.reading import Reading
from parties.agent.verdicts import Complaint, Decision, Verdict, brought_down, decisions_of
from parties.agent.within_domain import bounded

Owners = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Gathered:
    """The records of people, and what was decided or does not fit."""

    columns: dict[str, ColumnArray]
    decisions: list[Decision]
    complaints: list[Complaint]


def gathered(
    columns: Mapping[str, ColumnArray], owners: Owners, declared: Declared, coins: RandomSource
) -> Gathered:
    """People's records of columns with a value for each row of the table, whose owners are numbered from 0."""
    assert declared.together is not None
    together = declared.together
    order = owners if together.order is None else columns[together.order]
    places = _places(owners, order, together.most, coins)
    left_out = len(owners) - int(places.taken.sum())
    decisions = [
        Decision(together.name, left_out, f"left out by coins: most_rows = {together.most}", "row")
    ]
    found = Gathered({}, decisions if left_out else [], [])
    rows = _by_row(columns, places, declared, together)
    for name, domain in declared.schema.columns.items():
        if isinstance(domain, RowsDomain):
            found.columns[name] = rows.column(name)
    for name, _, reading in declared:
        if reading.per_person is not None:
            found.columns[name] = _of_person(name, declared.schema[name], reading, rows, together, found)
    return found


@dataclass(frozen=True, slots=True)
class _Places:
    """Which row of the table stands in each place of each person; in free places the first one."""

    rows: NDArray[np.int64]
    taken: NDArray[np.bool_]


def _places(owners: Owners, order: ColumnArray, most: int, coins: RandomSource) -> _Places:
    keys = coins.raw(np.uint64, len(owners))
    drawn = np.lexsort((keys, owners))
    kept = np.sort(drawn[_ranks(owners[drawn]) < most])
    kept = kept[
        np.lexsort((order[kept], owners[kept]))
    ]  # stable: as the table has them, where nothing is said
    whose = owners[kept]
    ranks = _ranks(whose)
    rows = np.repeat(kept[ranks == 0][:, None], most, axis=1)
    taken = np.zeros(rows.shape, np.bool_)
    rows[whose, ranks], taken[whose, ranks] = kept, True
    return _Places(rows, taken)


def _ranks(owners: Owners) -> NDArray[np.int64]:
    """Of rows that are sorted by owner, how many of the same owner come before."""
    starts = np.flatnonzero(np.diff(owners, prepend=-1))
    return np.arange(len(owners)) - np.repeat(starts, np.diff(np.append(starts, len(owners))))


def _by_row(
    columns: Mapping[str, ColumnArray], places: _Places, declared: Declared, together: Together
) -> Records:
    """All that is read of the rows, with a place for each."""
    domains: dict[str, Domain] = {together.name: RowsDomain(together.most)}
    values: dict[str, ColumnArray] = {together.name: places.taken}
    for name, domain, reading in declared:
        if not reading.counts_rows:
            domains[name] = RowsDomain(together.most, domain)
            values[name] = columns[name][places.rows]
    return Records(Schema(domains), values)


def _of_person(
    name: str, domain: Domain, reading: Reading, rows: Records, together: Together, found: Gathered
) -> ColumnArray:
    """What a person's rows are brought down to, within the declared bounds."""
    assert reading.per_person is not None
    of = None if reading.counts_rows else Column(name)
    values = term_value(OfRows(reading.per_person, together.name, of), rows)
    if not isinstance(domain, IntegerDomain | RealDomain):
        return values
    read = bounded(values, np.zeros(len(values), np.uint8), domain, reading)
    counts = read.counts()
    found.complaints.extend(
        brought_down(name, verdict, int(counts[verdict]), domain)
        for verdict in (Verdict.BELOW, Verdict.ABOVE)
        if counts[verdict]
    )
    found.decisions.extend(decisions_of(name, reading, counts, "person"))
    return read.values
