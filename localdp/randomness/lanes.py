"""The source of an agent: every person has a lane, and draws the same coins whoever else is asked.

Definition.  Call number c = 0, 1, 2, ... of a primitive has its own AES-CTR keystream, under a key derived
from (key, c, retry).  With `width` draws for each lane, the draws of lane i stand at positions i * width ..
(i + 1) * width - 1 of it.  Counter mode is seekable, so a lane is reached without making those before it.

Claims.
- A person's draws depend on (key, call number, index) alone: not on who else is asked, nor on order or
  chunking.  So a retried request, cut up differently, returns the same reports.
- Different keys, calls, retries and lanes share no bit of keystream.
- Constant work: a Bernoulli draw is one 64-bit word and one compare, in numpy, whatever its outcome.  A law is
  searched in as many steps for every outcome (`fixed_search.py`).
- `below` and `categorical` repeat a draw only with probability (2**64 mod bound) / 2**64.  Whether one is repeated is
  independent of what is drawn at last, so that its time tells nothing of the outcome, also where bounds are wide.
- The lanes themselves are public: whether they are consecutive shows in the time.  Lanes that private values choose are
  made by `of_choices`.  There the blocks of each lane are encrypted one by one, as many for every lane, in the order
  asked: the work depends on their number and the width alone.
- Draws are ordered lane by lane: [lane 0's width draws, lane 1's, ...].  A count that is no multiple of the
  number of lanes is refused.  The lazy samplers ask for such counts, as their coins fall: do not use them
  here.  (One lane alone would not be refused, but its work would depend on its coins.)
Checked in tests/unit/randomness/test_lanes.py and tests/contract/test_random_source.py; the time, in
tests/unit/randomizers/test_quiet_randomizers.py.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from math import gcd

import numpy as np
from cryptography.hazmat.primitives.ciphers import CipherContext
from numpy.typing import NDArray

from localdp.errors import InvalidParameter
from localdp.randomness.fixed_search import law_search
from localdp.randomness.keys import derive_key
from localdp.randomness.keystream import BLOCK_BYTES, CHUNK_BYTES, encrypted, fill, keystream, room_for
from localdp.randomness.source import (
    Bits,
    IntegerLaw,
    Integers,
    RawWord,
    Width,
    Words,
    require_bound,
    require_count,
)
from localdp.randomness.stream import checked_thresholds, raw_dtype
from localdp.randomness.uniform import fold_words

LARGEST_LANE = (1 << 48) - 1
_BATCH_BYTES = 1 << 18  # of keystream that is made at a time for single lanes


def _as_lanes(lanes: range | Integers) -> range | Integers:
    """The lanes as a range if they are consecutive, else as an array; no lane twice.  The time tells of them."""
    if isinstance(lanes, range) and lanes.step == 1:
        _require_between(lanes[:1], lanes[-1:])
        return lanes
    indices = _as_indices(lanes)
    steps = np.diff(indices)
    if len(indices) == 0 or (steps == 1).all():
        return range(int(indices[0]), int(indices[-1]) + 1) if len(indices) else range(0)
    if not (steps > 0).all() and not np.diff(np.sort(indices)).all():
        raise InvalidParameter("a lane is listed twice, and would draw the same coins twice")
    return indices


def _as_indices(lanes: range | Integers) -> Integers:
    """The lanes as an array, in the same work whatever they are."""
    # An array is made of a range by numpy: through Python's own integers it takes longer than all draws.
    indices = np.arange(lanes.start, lanes.stop, lanes.step) if isinstance(lanes, range) else lanes
    indices = np.asarray(indices, np.int64)
    if indices.ndim != 1:
        raise InvalidParameter("lanes are a list of indices")
    _require_between(indices, indices)
    return indices


def _require_between(lowest: range | Integers, highest: range | Integers) -> None:
    if len(lowest) and (np.min(lowest) < 0 or np.max(highest) > LARGEST_LANE):
        raise InvalidParameter(f"a lane lies between 0 and {LARGEST_LANE}")


class LanedSource:
    """A `RandomSource` for one request: lane i of it belongs to person i."""

    def __init__(self, key: bytes, lanes: range | Integers) -> None:
        self._key = derive_key(key, b"laned source")
        self._lanes = _as_lanes(lanes)
        self._calls = 0

    @classmethod
    def of_choices(
        cls, key: bytes, owners: range | Integers, choices: Integers, number: int
    ) -> LanedSource:
        """A source with the lane owner * number + choice for each owner: its time tells owners, and no choice."""
        source = cls(key, owners)
        if number == 1:  # nothing is chosen
            return source
        if len(choices) and not 0 <= int(choices.min()) <= int(choices.max()) < number:
            raise InvalidParameter(f"a choice lies between 0 and {number - 1}")
        source._lanes = _as_indices(_as_indices(owners) * number + choices)
        return source

    def raw(self, dtype: Width[RawWord], count: int) -> NDArray[RawWord]:
        kind = raw_dtype(dtype)
        call, width = self._next_call(count)
        return self._draw(kind, call, 0, width, self._lanes)

    def bernoulli(self, threshold: int | Words, count: int) -> Bits:
        """True with probability exactly threshold / 2**64, in constant work."""
        checked = checked_thresholds(threshold, count)
        call, width = self._next_call(count)
        drawn = np.empty(count, np.bool_)
        for part, words in self._blocks(np.dtype(np.uint64), call, 0, width, self._lanes):
            limit = np.uint64(checked) if isinstance(checked, int) else checked[part]
            drawn[part] = words < limit
        return drawn

    def below(self, bound: int, count: int) -> Words:
        require_bound(bound)
        call, width = self._next_call(count)
        kind = np.dtype(np.uint64)
        drawn, rejected = fold_words(self._draw(kind, call, 0, width, self._lanes), bound)
        retry = 0
        while rejected.size:
            retry += 1
            drawn[rejected], again = fold_words(self._redraw(call, retry, width, rejected), bound)
            rejected = rejected[again]
        return drawn

    def categorical(self, law: IntegerLaw, count: int) -> Integers:
        return law_search(law).steps(self.below(law.total, count))

    def _next_call(self, count: int) -> tuple[int, int]:
        """The number of this call, and the draws that each lane gets."""
        require_count(count)
        if count and (not len(self._lanes) or count % len(self._lanes)):
            raise InvalidParameter("the number of draws must be a multiple of the number of lanes")
        self._calls += 1
        return self._calls - 1, count // max(1, len(self._lanes))

    def _redraw(self, call: int, retry: int, width: int, positions: Integers) -> Words:
        """The words of a retry stream at the given positions of the output."""
        rows, inverse = np.unique(positions // width, return_inverse=True)
        lanes = np.array([self._lanes[row] for row in rows], np.int64)
        words = self._draw(np.dtype(np.uint64), call, retry, width, lanes)
        return words.reshape(len(rows), width)[inverse, positions % width]

    def _draw(
        self, kind: np.dtype[RawWord], call: int, retry: int, width: int, lanes: range | Integers
    ) -> NDArray[RawWord]:
        drawn = np.empty(len(lanes) * width, kind)
        if isinstance(lanes, range) and drawn.size:
            self._stream(call, retry).read(lanes.start * width, drawn)
            return drawn
        for part, words in self._blocks(kind, call, retry, width, lanes):
            drawn[part] = words
        return drawn

    def _stream(self, call: int, retry: int) -> _Stream:
        return _Stream(derive_key(self._key, call.to_bytes(8, "big"), retry.to_bytes(8, "big")))

    def _blocks(
        self, kind: np.dtype[RawWord], call: int, retry: int, width: int, lanes: range | Integers
    ) -> Iterator[tuple[slice, NDArray[RawWord]]]:
        """Pieces of the output: where they stand in it, and their words.  Valid until the next."""
        stream = self._stream(call, retry)
        if not width or not len(lanes):
            return iter(())
        if isinstance(lanes, range):
            return stream.run(kind, lanes.start * width, len(lanes) * width)
        return stream.scattered(kind, width, lanes)


class _Stream:
    """One sub-keystream, read at any place."""

    def __init__(self, key: bytes) -> None:
        self._key = key[:16]

    def read(self, first: int, out: NDArray[np.unsignedinteger]) -> None:
        """The words from number `first` on, as many as there is room for."""
        fill(self._cipher_at(first * out.itemsize), out.view(np.uint8))

    def _cipher_at(self, byte: int) -> CipherContext:
        """The keystream from a byte on."""
        first_block, skipped = divmod(byte, BLOCK_BYTES)
        cipher = keystream(self._key, first_block)
        if skipped:
            fill(cipher, np.empty(skipped, np.uint8))
        return cipher

    def run(
        self, kind: np.dtype[RawWord], first: int, count: int
    ) -> Iterator[tuple[slice, NDArray[RawWord]]]:
        """The words first .. first + count - 1, in pieces of one chunk."""
        cipher = self._cipher_at(first * kind.itemsize)
        step = CHUNK_BYTES // kind.itemsize
        buffer = np.empty(min(count, step), kind)
        for start in range(0, count, step):
            words = buffer[: min(step, count - start)]
            fill(cipher, words.view(np.uint8))
            yield slice(start, start + len(words)), words

    def scattered(
        self, kind: np.dtype[RawWord], width: int, lanes: Integers
    ) -> Iterator[tuple[slice, NDArray[RawWord]]]:
        """The words of single lanes, in their order: just the blocks that hold them, as many for every lane."""
        size = width * kind.itemsize
        blocks, lead = divmod(size, BLOCK_BYTES)
        # A lane may begin inside of a block, at any multiple of what its size and a block have in common.
        blocks += -(-(lead + BLOCK_BYTES - gcd(size, BLOCK_BYTES)) // BLOCK_BYTES)
        step = max(1, _BATCH_BYTES // (blocks * BLOCK_BYTES))
        for start in range(0, len(lanes), step):
            some = lanes[start : start + step].view(np.uint64)
            rows = self._rows(some, size, blocks).view(kind)
            if lead:
                rows = _shifted(rows, some * np.uint64(width), width)
            yield slice(start * width, (start + len(some)) * width), rows.reshape(-1)

    def _rows(self, lanes: Words, size: int, blocks: int) -> NDArray[np.uint8]:
        """For each lane of so many bytes, the blocks of keystream from the one in which it begins."""
        # Lane i begins in block i * size // 16; in two steps, so that no product leaves 64 bits.
        first = (lanes >> np.uint64(4)) * np.uint64(size)
        first += (lanes & np.uint64(15)) * np.uint64(size) >> np.uint64(4)
        counters = np.zeros((len(lanes), blocks, 2), np.uint64)
        numbers: Words = np.add.outer(first, np.arange(blocks, dtype=np.uint64))
        counters[..., 1] = _big_endian(numbers)
        return encrypted(self._key, counters, room_for(counters.nbytes)).reshape(len(lanes), -1)


def _shifted(rows: NDArray[RawWord], first: Words, width: int) -> NDArray[RawWord]:
    """From each row of whole blocks the words of its lane, which is at the number `first` of the keystream."""
    within = first & np.uint64(BLOCK_BYTES // rows.itemsize - 1)
    places = np.arange(len(rows)) * rows.shape[1] + within.view(np.int64)
    words: NDArray[RawWord] = rows.reshape(-1).take(np.add.outer(places, np.arange(width)), mode="clip")
    return words


def _big_endian(words: Words) -> Words:
    return words.byteswap(inplace=True) if sys.byteorder == "little" else words
