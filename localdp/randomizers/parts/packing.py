"""Integers of any fixed width as one run of bits, without gaps: the wire form of short reports.

Layout.  Value i occupies the bits i * width .. (i + 1) * width - 1 of the run, its highest bit first; the bits fill
bytes from their highest bit on (the order of `numpy.packbits`), and the last byte is padded with zeros.  So widths 8,
16, 32 and 64 are big-endian words.

Claim.  `count` values of a width always take ceil(count * width / 8) bytes, whatever they are, and there is exactly one
byte string for each array: `unpack_integers` refuses every other length, dirty padding, and values out of range.
Checked, against Python's own integers as the reference, in tests/unit/randomizers/parts/test_packing.py.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from localdp.errors import InvalidParameter, MalformedReport
from localdp.randomizers.parts.unpacking import can_spread, spread_fields

Unsigned = NDArray[np.unsignedinteger]

LARGEST_WIDTH = 64
_NARROW_BITS = 7
_WORD_BYTES = 8
_GROUP = 8  # eight values of any width fill whole bytes
_WORDS = {8: ">u1", 16: ">u2", 32: ">u4", 64: ">u8"}


def unsigned_type(bits: int) -> np.dtype[np.unsignedinteger]:
    """The smallest unsigned integer type that holds this many bits."""
    _require_width(bits)
    return np.dtype(f"u{next(size for size in (1, 2, 4, 8) if bits <= 8 * size)}")


def bits_below(bound: int) -> int:
    """How many bits the integers 0 .. bound - 1 need; at least one."""
    return max(1, (bound - 1).bit_length())


def packed_size(count: int, bits: int) -> int:
    """How many bytes `count` values of this width take."""
    return -(-count * bits // 8)


def pack_integers(values: NDArray[np.bool_ | np.integer], bits: int) -> bytes:
    """The values, each as `bits` bits."""
    unsigned = _as_unsigned(values, bits)
    if bits == 1:
        return np.packbits(unsigned).tobytes()
    if bits in _WORDS:
        return unsigned.astype(_WORDS[bits]).tobytes()
    columns = _in_columns(unsigned, _GROUP)
    packed = np.zeros((bits, columns.shape[1]), np.uint8)
    for value, byte, shift in _overlaps(bits):
        packed[byte] |= _shifted(columns[value], -shift).astype(np.uint8)
    return packed.T.tobytes()[: packed_size(len(values), bits)]


def unpack_integers(data: bytes, count: int, bits: int, below: int) -> Unsigned:
    """The values again, of type `unsigned_type(bits)`; raises `MalformedReport` unless they are valid."""
    _require_run(data, count, bits)
    values = _unpacked(np.frombuffer(data, np.uint8), count, bits)
    if count and int(values.max()) >= below:
        raise MalformedReport(f"a report is not below {below}")
    return values


def count_integers(data: bytes, count: int, bits: int, below: int) -> NDArray[np.int64]:
    """How many of the values are each of 0 .. below - 1, without unpacking all of them; raises like `unpack_integers`.

    Two neighbours are one value of twice the width: half as many to unpack and to count, while a table of them is small.
    """
    if bits > _NARROW_BITS:
        values = unpack_integers(data, count, bits, below).astype(np.int64)
        return np.bincount(values, minlength=below).astype(np.int64, copy=False)
    _require_run(data, count, bits)
    pairs = _pairs(np.frombuffer(data, np.uint8), count, bits)
    table = np.bincount(pairs, minlength=1 << 2 * bits).reshape(1 << bits, 1 << bits)
    counts: NDArray[np.int64] = (table.sum(axis=0) + table.sum(axis=1)).astype(np.int64)
    counts[0] -= 2 * len(pairs) - count  # the last group is filled up with zeros
    if counts[below:].any():
        raise MalformedReport(f"a report is not below {below}")
    return counts[:below]


def _pairs(data: NDArray[np.uint8], count: int, bits: int) -> NDArray[np.int64]:
    """Every two neighbours as one value, in no particular order: the eight values of a group are the head of one word."""
    groups = -(-count // _GROUP)
    # The words of others reach beyond the data.
    within = max(0, min(groups, (len(data) - _WORD_BYTES) // bits + 1))
    rest = np.zeros((groups - within) * bits + _WORD_BYTES, np.uint8)
    rest[: len(data) - within * bits] = data[within * bits :]
    words = np.empty(groups, np.uint64)
    words[:within] = np.ndarray((within,), ">u8", data, 0, (bits,))
    words[within:] = np.ndarray((groups - within,), ">u8", rest, 0, (bits,))
    pairs = np.empty((_GROUP // 2, groups), np.int64)
    for number, place in enumerate(pairs.view(np.uint64)):
        np.right_shift(words, np.uint64(64 - 2 * bits * (number + 1)), out=place)
        np.bitwise_and(place, np.uint64((1 << 2 * bits) - 1), out=place)
    return pairs.reshape(-1)


def _unpacked(data: NDArray[np.uint8], count: int, bits: int) -> Unsigned:
    if bits == 1:
        return np.unpackbits(data, count=count)
    if bits in _WORDS:
        return data.view(_WORDS[bits]).astype(unsigned_type(bits))
    if can_spread(bits):
        return spread_fields(data, count, bits)
    columns = _in_columns(data, bits)
    values = np.zeros((_GROUP, columns.shape[1]), unsigned_type(bits))
    for value, byte, shift in _overlaps(bits):
        values[value] |= _shifted(columns[byte].astype(values.dtype), shift)
    values &= values.dtype.type((1 << bits) - 1)  # the byte that two values share brings bits of both
    return values.T.ravel()[:count]


def _overlaps(bits: int) -> Iterator[tuple[int, int, int]]:
    """Which value of a group shares bits with which byte, and how far left the byte stands in the value."""
    for value in range(_GROUP):
        end = (value + 1) * bits
        for byte in range(value * bits // 8, packed_size(1, end)):
            yield value, byte, end - (byte + 1) * 8


def _shifted(words: Unsigned, left: int) -> Unsigned:
    amount = words.dtype.type(abs(left))
    return np.left_shift(words, amount) if left >= 0 else np.right_shift(words, amount)


def _in_columns(values: Unsigned, size: int) -> Unsigned:
    """Groups of `size` values, padded with zeros, one row for each place in the group."""
    padded = np.zeros(-(-len(values) // size) * size, values.dtype)
    padded[: len(values)] = values
    return np.ascontiguousarray(padded.reshape(-1, size).T)


def _as_unsigned(values: NDArray[np.bool_ | np.integer], bits: int) -> Unsigned:
    kind = unsigned_type(bits)
    if values.ndim != 1 or values.dtype.kind not in "bui":
        raise InvalidParameter("what is packed is a list of integers")
    if values.size and (int(values.min()) < 0 or int(values.max()) >> bits):
        raise InvalidParameter(f"a value to pack does not fit into {bits} bits")
    return values.astype(kind, copy=False)


def _require_width(bits: int) -> None:
    if not 1 <= bits <= LARGEST_WIDTH:
        raise InvalidParameter(f"packed integers have between 1 and {LARGEST_WIDTH} bits")


def _require_run(data: bytes, count: int, bits: int) -> None:
    """Refuse what cannot be so many values of this width."""
    _require_width(bits)
    if len(data) != packed_size(count, bits):
        raise MalformedReport(
            f"{count} reports of {bits} bits take {packed_size(count, bits)} bytes, not {len(data)}"
        )
    _require_clean_padding(data, count * bits)


def _require_clean_padding(data: bytes, used_bits: int) -> None:
    padding = 8 * len(data) - used_bits
    if padding and data[-1] & ((1 << padding) - 1):
        raise MalformedReport("the padding after the last report is not zero")
