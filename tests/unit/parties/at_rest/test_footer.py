"""What a file says of its columns, as somebody wrote it who means harm."""

import hashlib
import os
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from localdp.accounting.epsilon import Epsilon
from localdp.errors import LocalDpError, MalformedReport
from localdp.randomizers.registry import entry_of
from parties.at_rest import report_file
from parties.at_rest.aggregating import aggregate
from parties.at_rest.footer import require_plain_columns
from parties.at_rest.report_file import Heading, read_groups, read_heading, write_reports

ONE_BIT = entry_of("one-bit").made(Epsilon.requested(1), 2)
NOTHING = hashlib.sha256(b"").digest()
ABOUT = Heading(bytes(32), "smoker", ONE_BIT, "north", 1, 0, 8, 0)
PLAIN = b"\x15\x00\x16\x02"  # codec 0, one value
MOST = 1 << 20


def ours(path: Path) -> bytes:
    with path.open("wb") as file:
        write_reports(file, ABOUT, [(b"\1", 8)])
    return path.read_bytes()


def ends(content: bytes) -> tuple[bytes, bytes, bytes]:
    """What stands before the footer, the footer, and what stands behind it."""
    begin = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    return content[:begin], content[begin:-8], content[-8:]


def number(value: int, length: int = 0) -> bytes:
    """A whole number of Thrift's compact protocol, in so many bytes at least."""
    rest, digits = value << 1, list[int]()
    while rest or len(digits) < max(1, length):
        digits.append(rest & 127)
        rest >>= 7
    return bytes([*(digit | 128 for digit in digits[:-1]), digits[-1]])


def bomb(path: Path, size: int) -> str:
    """A file whose group says that it is short, and whose reports are long when they are read."""
    digest = hashlib.sha256(NOTHING).digest()
    about = Heading(bytes(32), "smoker", ONE_BIT, "north", 1, 0, 8, 0, False, 8, digest)
    schema = report_file._schema(pa)
    columns = [[about.round], [ONE_BIT.canonical], [8], [bytes(size)], [NOTHING]]
    with parquet.ParquetWriter(path, schema, store_schema=False, compression="zstd") as writer:
        writer.write_table(pa.table(columns, schema=schema))
        writer.add_key_value_metadata({b"localdp": about.to_json()})
    said = number(parquet.ParquetFile(path).metadata.row_group(0).total_byte_size)
    before, footer, behind = ends(path.read_bytes())
    (old, new) = (b"\x16" + one + b"\x16" + number(1) for one in (said, number(100, len(said))))
    assert footer.count(old) == 1
    path.write_bytes(before + footer.replace(old, new) + behind)
    return str(path)


def test_a_file_that_says_it_is_short_and_is_long_when_it_is_read_is_refused_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = bomb(tmp_path / "bomb.parquet", 1 << 24)
    assert Path(place).stat().st_size < 1 << 13
    with pytest.raises(MalformedReport, match=place):
        aggregate([place])
    monkeypatch.setattr(report_file, "require_plain_columns", lambda *_: None)  # SumsBelieved, the twin
    heading, groups = read_heading(place)
    before = pa.total_allocated_bytes(), pa.default_memory_pool().max_memory()
    with pytest.raises(MalformedReport):
        list(read_groups(place, heading, 0, groups))
    assert pa.default_memory_pool().max_memory() >= max(before[1], 1 << 24)


@pytest.mark.parametrize(
    "other",
    [
        b"\x15\x0c\x16\x02",  # zstd
        b"\x15\x00\x16\x04",  # two values, and one row
        b"\x15\x00\x16\xfe\xff\xff\xff\x0f",
    ],
)
def test_columns_that_are_packed_or_have_more_values_than_rows_are_refused(
    other: bytes, tmp_path: Path
) -> None:
    path = tmp_path / "one.parquet"
    before, footer, behind = ends(ours(path))
    assert footer.count(PLAIN) == 5
    with path.open("rb") as file:
        require_plain_columns(file, MOST)
    new = footer.replace(PLAIN, other, 1)
    path.write_bytes(before + new + len(new).to_bytes(4, "little") + behind[4:])
    with path.open("rb") as file, pytest.raises(ValueError):  # noqa: PT011
        require_plain_columns(file, MOST)


def test_a_group_that_takes_more_of_the_file_than_ours_do_is_refused(tmp_path: Path) -> None:
    ours(tmp_path / "one.parquet")
    with (tmp_path / "one.parquet").open("rb") as file, pytest.raises(ValueError):  # noqa: PT011
        require_plain_columns(file, 10)


def test_a_field_that_stands_there_twice_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "one.parquet"
    before, footer, behind = ends(ours(path))
    again = footer[:-1] + b"\x05\x02\x02\x00"  # once more the first field, by its number
    path.write_bytes(before + again + len(again).to_bytes(4, "little") + behind[4:])
    with path.open("rb") as file, pytest.raises(ValueError):  # noqa: PT011
        require_plain_columns(file, MOST)


def test_whatever_byte_is_another_a_file_is_good_or_refused(tmp_path: Path) -> None:
    path = tmp_path / "one.parquet"
    content = ours(path)
    begin = len(ends(content)[0])
    told = set()
    for place in range(begin, len(content), 7):
        for other in (0, 1, 0x7F, 0xFF):
            path.write_bytes(content[:place] + bytes([other]) + content[place + 1 :])
            try:
                read_heading(str(path))
            except LocalDpError as error:
                told.add(str(error))
    assert told and all(str(path) in one for one in told)


def test_a_pipe_among_the_files_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.parquet")
    with pytest.raises(MalformedReport, match="pipe"):
        aggregate([str(tmp_path / "*.parquet")])
