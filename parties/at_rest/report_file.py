"""Reports at rest: the answer of one party to one round, as a Parquet file.

| column | type | what it is |
|---|---|---|
| `round` | 32 bytes | what names the round |
| `randomizer` | text | its name and parameters |
| `reports` | int64 | how many reports the row has: at most 2**16, and about 4 MB |
| `packed` | bytes | the reports, packed as they are sent in calls |
| `digest` | 32 bytes | SHA-256 of `packed` |

In the metadata of the file, under `localdp`, there is JSON: round, query, randomizer as it travels, the party's name,
its epoch, which of its people, until when the party repeats the answer, and a digest over those of all rows.  Nothing
about a person but the report is in it, in the order of the party's people, as in a call.  Nothing is compressed and no
statistics are kept: the length is a function of the number of reports.  Whoever reads looks first at what the file says of
its layout: what is longer when it is read than on file, or has more or longer rows than are written here, is refused
(`footer`: a file may say of a group what does not hold of its columns).

Checked in tests/unit/parties/at_rest/test_report_files.py.
"""

from __future__ import annotations

import hashlib
import json
import os
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from localdp.errors import InvalidParameter, LocalDpError, MalformedReport
from localdp.randomizers.definition import LocalRandomizer, Reports
from parties.at_rest.footer import require_plain_columns
from parties.at_rest.places import opened
from parties.codec import query_text, randomizer_from_bytes, randomizer_to_bytes

if TYPE_CHECKING:
    import pyarrow
    import pyarrow.parquet

REPORTS_PER_ROW = 1 << 16
ROWS_PER_GROUP = 16
_KEY, _VERSION = b"localdp", 1
_ROW_BYTES = 1 << 22  # of reports, packed
_LONGEST_HEADING = 1 << 20
_MOST_GROUPS = 1 << 20  # 10**12 reports
_LARGEST = 1 << 63
_FRAME_BYTES = 64  # about a value
_PAGE_BYTES = 1 << 12  # about a page

Packed = tuple[bytes, int]  # reports, and how many


@dataclass(frozen=True, slots=True)
class Heading:
    """What a file says of itself."""

    round: bytes
    query: str
    randomizer: LocalRandomizer
    party: str
    epoch: int
    start: int  # the party's people start .. stop - 1
    stop: int
    until: int  # seconds since 1970; 0: nobody says
    mixed: bool = False  # a shuffler's, and nobody knows of which parties
    reports: int = 0
    digest: bytes = b""

    def to_json(self) -> bytes:
        """Always the same for the same heading."""
        told = {
            "version": _VERSION,
            "round": self.round.hex(),
            "query": self.query,
            "randomizer": b64encode(randomizer_to_bytes(self.randomizer)).decode(),
            "party": self.party,
            "epoch": self.epoch,
            "start": self.start,
            "stop": self.stop,
            "until": self.until,
            "mixed": self.mixed,
            "reports": self.reports,
            "digest": self.digest.hex(),
        }
        return json.dumps(told, sort_keys=True).encode()

    @classmethod
    def of_json(cls, text: bytes) -> Heading:
        """The heading, checked."""
        told = json.loads(text) if len(text) <= _LONGEST_HEADING else {}
        if told["version"] != _VERSION:
            raise ValueError
        numbers = [told[name] for name in ("epoch", "start", "stop", "until", "reports")]
        if not all(type(number) is int and 0 <= number < _LARGEST for number in numbers):
            raise ValueError
        epoch, start, stop, until, reports = numbers
        if type(told["mixed"]) is not bool:
            raise ValueError
        randomizer = randomizer_from_bytes(b64decode(told["randomizer"], validate=True))
        names = query_text(told["query"]), randomizer, str(told["party"])
        sums = bytes.fromhex(told["round"]), bytes.fromhex(told["digest"])
        return cls(sums[0], *names, epoch, start, stop, until, told["mixed"], reports, sums[1])


def write_reports(file: BinaryIO, heading: Heading, blocks: Iterable[Packed]) -> int:
    """Write packed reports, block by block; returns how many they are."""
    pa, parquet = _require_pyarrow()
    total, reports, schema = hashlib.sha256(), 0, _schema(pa)
    options = {"compression": "NONE", "use_dictionary": False, "write_statistics": False}
    with parquet.ParquetWriter(file, schema, store_schema=False, **options) as writer:
        for group in _groups(blocks):
            digests = [hashlib.sha256(packed).digest() for packed, _ in group]
            total.update(b"".join(digests))
            counts = [count for _, count in group]
            reports += sum(counts)
            rows = len(group)
            columns = (
                [heading.round] * rows,
                [heading.randomizer.canonical] * rows,
                counts,
                [packed for packed, _ in group],
                digests,
            )
            writer.write_table(pa.table([*columns], schema=schema))
        whole = replace(heading, reports=reports, digest=total.digest())
        writer.add_key_value_metadata({_KEY: whole.to_json()})
    return reports


def _groups(blocks: Iterable[Packed]) -> Iterator[list[Packed]]:
    group: list[Packed] = []
    for block in blocks:
        group.append(block)
        if len(group) == ROWS_PER_GROUP:
            yield group
            group = []
    if group:
        yield group


def in_rows(randomizer: LocalRandomizer, parts: Iterable[Reports]) -> Iterator[Packed]:
    """Reports that come in parts of any size, as rows."""
    most, waiting = reports_per_row(randomizer), list[Reports]()
    for part in parts:
        waiting.append(part)
        if sum(map(len, waiting)) >= most:
            every = np.concatenate(waiting)
            whole = len(every) // most * most
            yield from (_row(randomizer, every[start : start + most]) for start in range(0, whole, most))
            waiting = [every[whole:]]
    if any(map(len, waiting)):
        yield _row(randomizer, np.concatenate(waiting))


def reports_per_row(randomizer: LocalRandomizer) -> int:
    """How many reports a row has, but the last: few enough that rows take bounded memory, whatever a report takes."""
    return min(REPORTS_PER_ROW, max(8, _ROW_BYTES * 8 // randomizer.report_bits // 8 * 8))


def _row(randomizer: LocalRandomizer, reports: Reports) -> Packed:
    return randomizer.pack(reports), len(reports)


def read_heading(place: str) -> tuple[Heading, int]:
    """What a file says of itself, and how many groups of rows it has; or a refusal of what is no such file."""
    why = "is no file of reports, or of another version"
    with _reading(place, why) as reader:
        groups = int(reader.metadata.num_row_groups)
        heading = _require_ours(reader, range(groups))
    with refusing(place, why), opened(place) as file:  # before a column is read
        require_plain_columns(file, _longest_group(heading.randomizer))
    return heading, groups


def read_groups(place: str, heading: Heading, first: int, last: int) -> Iterator[Packed]:
    """The packed reports of some groups of rows, each row checked against its digest."""
    with _reading(place) as reader:
        if _require_ours(reader, range(first, last)) != heading:
            raise ValueError
        for number in range(first, last):
            yield from _rows(place, heading, reader.read_row_group(number))


def _rows(place: str, heading: Heading, table: pyarrow.Table) -> Iterator[Packed]:
    columns = (table.column(name).to_pylist() for name in ("round", "randomizer", "reports", "digest"))
    most = reports_per_row(heading.randomizer)
    for name, words, count, digest, packed in zip(*columns, table.column("packed"), strict=True):
        content = packed.as_buffer()
        if hashlib.sha256(content).digest() != digest or not 0 < count <= most:
            raise ValueError
        if name != heading.round or words != heading.randomizer.canonical:
            raise MalformedReport(f"{place} has rows of another round or randomizer")
        yield content, count


def row_digests(place: str) -> bytes:
    """The digest over those of all rows, as they are on file: without reading the reports, a group at a time."""
    total = hashlib.sha256()
    with _reading(place) as reader:
        groups = range(reader.metadata.num_row_groups)
        _require_ours(reader, groups)
        for number in groups:
            column = reader.read_row_group(number, columns=["digest"]).column("digest")
            total.update(b"".join(column.to_pylist()))
    return total.digest()


@contextmanager
def refusing(place: str, why: str = "is damaged") -> Iterator[None]:
    """Whatever goes wrong with a file that somebody else wrote is a refusal of that file, by its name."""
    pa, _ = _require_pyarrow()
    try:
        yield
    except LocalDpError as error:
        raise error if place in str(error) else MalformedReport(f"{place} {why}: {error}") from error
    except OSError as error:
        known = f": {os.strerror(error.errno)}" if error.errno else ""
        raise MalformedReport(f"{place} cannot be read, or {why}{known}") from error
    except (
        pa.ArrowException,
        ArithmeticError,
        AttributeError,
        LookupError,
        RecursionError,
        TypeError,
        ValueError,  # of Unicode, too
    ) as error:
        raise MalformedReport(f"{place} {why}") from error


@contextmanager
def _reading(place: str, why: str = "is damaged") -> Iterator[pyarrow.parquet.ParquetFile]:
    _, parquet = _require_pyarrow()
    bounds = {"thrift_string_size_limit": _LONGEST_HEADING, "thrift_container_size_limit": _MOST_GROUPS}
    with refusing(place, why), opened(place) as file:
        size = file.seek(0, os.SEEK_END)
        reader = parquet.ParquetFile(file, **bounds)
        groups = range(reader.metadata.num_row_groups)
        if sum(reader.metadata.row_group(number).total_byte_size for number in groups) > size:
            raise ValueError  # something is packed
        yield reader


def _require_ours(reader: pyarrow.parquet.ParquetFile, groups: range) -> Heading:
    """The heading of a file whose groups are laid out as `write_reports` does: nothing is longer when it is read."""
    pa, _ = _require_pyarrow()
    about = reader.metadata
    told = about.metadata or {}
    if set(told) != {_KEY} or not reader.schema_arrow.equals(_schema(pa)):
        raise ValueError
    heading = Heading.of_json(told[_KEY])
    for number in groups:
        _require_plain(about.row_group(number), heading.randomizer)
    return heading


def _require_plain(group: pyarrow.parquet.RowGroupMetaData, randomizer: LocalRandomizer) -> None:
    """Refuse more rows than ours have, and longer ones.  Columns are not looked at here: a damaged one ends the process."""
    if not 0 < group.num_rows <= ROWS_PER_GROUP or group.num_columns != 5:
        raise ValueError
    if group.total_byte_size > _longest_group(randomizer):
        raise ValueError


def _longest_group(randomizer: LocalRandomizer) -> int:
    """Bytes of a group of rows at most."""
    packed = reports_per_row(randomizer) * randomizer.report_bits // 8
    row = packed + len(randomizer.canonical) + 5 * _FRAME_BYTES
    return row * ROWS_PER_GROUP + 5 * _PAGE_BYTES


def _schema(pa: pyarrow) -> pyarrow.Schema:
    fields = [
        ("round", pa.binary(32)),
        ("randomizer", pa.string()),
        ("reports", pa.int64()),
        ("packed", pa.binary()),
        ("digest", pa.binary(32)),
    ]
    return pa.schema([pa.field(name, kind, nullable=False) for name, kind in fields])


def _require_pyarrow() -> tuple[pyarrow, pyarrow.parquet]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise InvalidParameter(
            "reports in files need pyarrow: pip install 'localdp[agent]', or 'localdp[scale]' for files elsewhere"
        ) from error
    return pyarrow, parquet
