"""Estimates from files of reports, on any executor, in constant memory.

Files are of one round and one randomizer, or nothing is estimated.  A file counts once, also when it is there twice or
under two names; two different answers of one party about the same people are refused, since one of them is not the
answer.  A shuffler's file does not say whose reports it has, so it is not added to others unless whoever adds up knows
that nobody is in two of them.  The sums are those of the live round, so the estimates are the same, bit for bit.

Checked in tests/unit/parties/at_rest/test_report_files.py and, against a live round, in
tests/integration/test_aggregate.py.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from localdp.errors import InvalidParameter, MalformedReport, RequestExpired, said_by
from localdp.experiments.crowd_reports import keep_heap
from localdp.randomizers.definition import TalliedRandomizer, Tally, require_tallied, tally_packed
from parties.at_rest.places import found
from parties.at_rest.report_file import (
    REPORTS_PER_ROW,
    ROWS_PER_GROUP,
    Heading,
    read_groups,
    read_heading,
    refusing,
    row_digests,
)
from parties.at_rest.round_file import RoundFile
from parties.executors.chosen import HERE, ChosenExecutor
from parties.executors.running import merged

_GROUPS_OF_TASK = (1 << 24) // (REPORTS_PER_ROW * ROWS_PER_GROUP)


@dataclass(frozen=True, slots=True)
class ReportFile:
    """A file that counts."""

    place: str
    heading: Heading
    groups: int


@dataclass(frozen=True, slots=True)
class FilePart:
    """Some groups of rows of a file."""

    file: ReportFile
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Aggregated:
    """The sums of a round, and who is in them."""

    tally: Tally
    query: str
    parties: tuple[str, ...]
    files: int
    repeated: int  # files that were there before, under another name or in another pattern


def aggregate(
    patterns: Sequence[str],
    *,
    asked: RoundFile | None = None,
    disjoint: bool = False,
    chosen: ChosenExecutor = HERE,
    now: Callable[[], float] = time.time,
    done: Callable[[Tally], None] = lambda tally: None,
) -> Aggregated:
    """The sums of all reports of the files that these patterns mean; `done` hears those so far.

    Without a round that was `asked`, it is the first file's.  `disjoint`: nobody is in two of them, also where a shuffler
    mixed.
    """
    places = sorted({place for pattern in patterns for place in found(pattern)})
    if not places:
        raise InvalidParameter(f"there is no file {' or '.join(patterns)}")
    files, repeated = _counting(places, asked, now(), disjoint=disjoint)
    first = files[0].heading
    total = merged(
        partial(_tally, require_tallied(first.randomizer)),
        (part for file in files for part in _parts(file)),
        Tally.merge,
        lambda _, so_far: done(so_far),
        chosen,
    )
    promised = sum(file.heading.reports for file in files)
    if total is None or total.reports != promised:
        raise MalformedReport("the files have other numbers of reports than they say")
    parties = tuple(sorted({file.heading.party for file in files}))
    return Aggregated(total, first.query, parties, len(files), repeated)


def _counting(
    places: Sequence[str], asked: RoundFile | None, now: float, *, disjoint: bool
) -> tuple[list[ReportFile], int]:
    """The files that count, each once; refuses what does not belong together."""
    files: dict[bytes, ReportFile] = {}
    for place in places:
        heading, groups = read_heading(place)
        _require_good(place, heading, asked, now)
        if files:
            _require_same(place, heading, next(iter(files.values())))
        if row_digests(place) != heading.digest:
            raise MalformedReport(f"{place} is damaged")
        if heading.to_json() not in files:
            _require_disjoint(place, heading, files.values())
            if not disjoint:
                _require_known(place, heading, files.values())
        files.setdefault(heading.to_json(), ReportFile(place, heading, groups))
    return list(files.values()), len(places) - len(files)


def _require_good(place: str, heading: Heading, asked: RoundFile | None, now: float) -> None:
    if asked is not None:
        try:
            asked.require_asked(heading.round, heading.query, heading.randomizer)
        except InvalidParameter as error:
            raise said_by(place, error) from error
    if heading.until and now >= heading.until:
        raise RequestExpired(f"{place} has expired: its party does not stand by it any more")
    if not 0 < heading.reports <= heading.stop - heading.start:
        raise MalformedReport(f"{place} has more reports than people, or none")


def _require_same(place: str, heading: Heading, other: ReportFile) -> None:
    if heading.round != other.heading.round:
        raise InvalidParameter(f"{place} answers another round than {other.place}")
    if heading.randomizer != other.heading.randomizer or heading.query != other.heading.query:
        raise InvalidParameter(f"{place} has reports of another randomizer or query than {other.place}")


def _require_disjoint(place: str, heading: Heading, files: Iterable[ReportFile]) -> None:
    for file in files:
        other = file.heading
        if other.party == heading.party and other.start < heading.stop and heading.start < other.stop:
            raise InvalidParameter(
                f"{place} and {file.place} are two different answers of {heading.party} about the same people:"
                " only one counts"
            )


def _require_known(place: str, heading: Heading, files: Iterable[ReportFile]) -> None:
    """Refuse to add to others what nobody knows the parties of: they may have answered by themselves as well."""
    for file in files:
        if heading.mixed or file.heading.mixed:
            mixed = place if heading.mixed else file.place
            raise InvalidParameter(
                f"{mixed} is a shuffler's, and does not say whose reports it has: add it up alone, or say --disjoint if"
                " nobody is in two of the files"
            )


def _parts(file: ReportFile) -> Iterator[FilePart]:
    for first in range(0, file.groups, _GROUPS_OF_TASK):
        yield FilePart(file, first, min(first + _GROUPS_OF_TASK, file.groups))


def _tally(randomizer: TalliedRandomizer, part: FilePart) -> Tally:
    """The sums of a part; runs on a worker."""
    keep_heap()
    total = None
    for packed, count in read_groups(part.file.place, part.file.heading, part.first, part.last):
        with refusing(part.file.place):
            tally = tally_packed(randomizer, packed, count)
        total = tally if total is None else total.merge(tally)
    if total is None:
        raise MalformedReport(f"{part.file.place} is damaged")
    return total
