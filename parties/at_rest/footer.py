"""What a Parquet file says of its columns: nothing of it is compressed, and each has as many values as its group has rows.

What pyarrow sums up for a group is whatever a file says, and its view of a damaged column ends the process.  So the end of
the file is read here, as Thrift's compact protocol has it: a group at a time, by what each field is, and no page is opened.
A field that stands there twice is refused, since readers differ over which of the two counts.

Checked in tests/unit/parties/at_rest/test_footer.py.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import BinaryIO

_MAGIC = b"PAR1"
_GROUPS = 4  # fields of the file
_COLUMNS, _ROWS = 1, 3  # of a group
_PATH, _COLUMN = 1, 3  # of a column
_CODEC, _VALUES, _ON_FILE = 4, 5, 7  # of what is said about it
_PLAIN = 0
_BOOLEANS, _BYTE, _WHOLE, _DOUBLE, _BYTES, _LISTS, _STRUCT = (1, 2), 3, (4, 5, 6), 7, 8, (9, 10), 12
_LONGEST_NUMBER = 10  # bytes
_DEEPEST = 16

Fields = dict[int, object]


def require_plain_columns(file: BinaryIO, most_bytes: int) -> None:
    """Refuse columns that are packed, have other values than rows, or take more than so many bytes of a group."""
    for group in _groups(_footer(file)):
        columns = group[_COLUMNS]
        on_file = [_on_file(column, group[_ROWS]) for column in columns]  # type: ignore[attr-defined]
        if sum(on_file) > most_bytes:
            raise ValueError


def _on_file(column: object, rows: object) -> int:
    assert isinstance(column, dict)
    about = column[_COLUMN]
    if _PATH in column or about[_CODEC] != _PLAIN or about[_VALUES] != rows or about[_ON_FILE] < 0:
        raise ValueError
    return int(about[_ON_FILE])


def _footer(file: BinaryIO) -> bytes:
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - 8))
    end = file.read(8)
    length = int.from_bytes(end[:4], "little")
    if end[4:] != _MAGIC or not 0 < length <= size - 12:
        raise ValueError
    file.seek(size - 8 - length)
    return file.read(length)


def _groups(footer: bytes) -> Iterator[Fields]:
    """The groups of rows, one after the other: a large file has many."""
    thrift = _Thrift(footer)
    for number, kind in thrift.fields():
        if number == _GROUPS and kind in _LISTS:
            for _, of in thrift.elements():
                value = thrift.value(of, 0)
                if not isinstance(value, dict):
                    raise ValueError
                yield value
        else:
            thrift.value(kind, 0)


class _Thrift:
    """Reads one value after the other."""

    def __init__(self, content: bytes) -> None:
        self._content, self._at = content, 0

    def fields(self) -> Iterator[tuple[int, int]]:
        """Number and kind of each field; its value is read before the next one is asked for."""
        number, seen = 0, set[int]()
        while (head := self._byte()) != 0:
            number = number + (head >> 4) if head >> 4 else self._whole()
            number = (number + (1 << 15)) % (1 << 16) - (1 << 15)  # two bytes, as readers keep it
            if number in seen:
                raise ValueError
            seen.add(number)
            yield number, head & 15

    def elements(self) -> Iterator[tuple[int, int]]:
        """Place and kind of each element of a list."""
        head = self._byte()
        size = self._number() if head >> 4 == 15 else head >> 4
        for place in range(size):
            yield place, head & 15

    def value(self, kind: int, depth: int) -> object:
        """A value of this kind; of what nobody asks for, nothing is kept."""
        if depth > _DEEPEST:
            raise ValueError
        if kind in _WHOLE:
            return self._whole()
        if kind == _BYTES:
            return self._pass(self._number())
        if kind == _STRUCT:
            return {number: self.value(one, depth + 1) for number, one in self.fields()}
        if kind in _LISTS:
            return [
                self._pass(1) if one in (*_BOOLEANS, _BYTE) else self.value(one, depth + 1)
                for _, one in self.elements()
            ]
        if kind in (*_BOOLEANS, _BYTE, _DOUBLE):
            return self._pass({_BYTE: 1, _DOUBLE: 8}.get(kind, 0))
        raise ValueError  # a map: no Parquet file has one here

    def _byte(self) -> int:
        self._at += 1
        return self._content[self._at - 1]

    def _pass(self, length: int) -> int:
        """What is not kept, by its length."""
        self._at += length
        if self._at > len(self._content):
            raise ValueError
        return length

    def _number(self) -> int:
        total = 0
        for place in range(_LONGEST_NUMBER):
            byte = self._byte()
            total |= (byte & 127) << 7 * place
            if byte < 128:
                return total
        raise ValueError

    def _whole(self) -> int:
        number = self._number()
        return (number >> 1) ^ -(number & 1)
