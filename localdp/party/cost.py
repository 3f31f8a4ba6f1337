"""What answering costs: seconds of one core, predicted from public things alone.

    seconds of a part  =  fixed + people * person

The two numbers follow from the query's nodes (`cost_of_queries`), from what the randomizer draws (which it says itself,
`LocalRandomizer.draw_cost`) or from how shares are made (`cost_of_shares`), from what is kept of it, and
never from a record.  They are for one kind of machine; whoever has a clock multiplies them by how much slower its own is
(`parties.agent.work`).

Claim.  The prediction is an upper bound that is not silly: the time that was taken lies between a quarter of it and
all of it, on the machine that it was measured on. Measured by `python -m benchmarks.work`; checked in
tests/unit/party/test_cost.py, where a randomizer or a node without a price is found.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace

from localdp.cohorts import Cohort
from localdp.randomizers.definition import LocalRandomizer
from localdp.sharing.encoding import Encoding

# Who is in a split is found out for all indices of a stretch, once for each part that is made.
_SPLIT_SECONDS = 0.05e-3
_SPLIT_PART_SECONDS = 10e-9
_SPLIT_INDEX_SECONDS = 18e-9
_WORD_SECONDS = 6e-9  # of coins of those who are left out, which are made as well and thrown away ...
_SKIPPED_SECONDS = 60e-6  # ... unless there are so many between two people that a new key is faster

_CHARGE_SECONDS = 6e-3  # a transaction, synced
_CHARGE_KILOBYTE_SECONDS = 20e-6  # a query that was read is known, and written down
_CHARGE_INDEX_SECONDS = 3e-9
_CHARGE_SPLIT_SECONDS = 40e-9
_DECODE_SECONDS = 0.15e-3
_DECODE_BYTE_SECONDS = 12e-6
_LARGEST_DECODED = 1 << 15  # bytes; a longer text has no more words that are allowed, or is no text
_SKIMMED_BYTE_SECONDS = 0.1e-6

CHUNK_BYTES = 1 << 15  # of a chunk's people, as arrays
CHUNK_PEOPLE = 1 << 13
_KEEP_SECONDS = 0.2e-3  # a transaction
_KEEP_AGAIN_SECONDS = 0.25e-3  # of a chunk that is there: read, and written with more people in it
_KEEP_CHUNK_SECONDS = 25e-6
_KEEP_ROW_SECONDS = 3e-9
_KEEP_BIT_SECONDS = 1.25e-9  # written, and as much that was dropped overwritten


@dataclass(frozen=True, slots=True)
class Work:
    """Seconds of one core for one part of a cohort: so many at first, and so many for each person."""

    fixed: float = 0.0
    person: float = 0.0
    skipped: float = 0.0  # for each person who is left out by a split
    kept: float = 0.0  # for each person of a range, in whole chunks of them
    chunk: float = 0.0  # for each person of a split instead, if that is less

    def __add__(self, other: Work) -> Work:
        return Work(*(getattr(self, one.name) + getattr(other, one.name) for one in fields(self)))

    def times(self, rows: int) -> Work:
        """The same of so many rows of each person, all at once."""
        return replace(self, fixed=self.fixed + 4e-6 * rows, person=self.person * rows)

    def of(self, part: Cohort) -> float:
        """The seconds of a part that is made in one piece."""
        people = part.stop - part.start
        if part.split is None:
            return self.fixed + people * (self.person + self.kept)
        chosen = _most_chosen(people, part.split.parts)
        skipped = min(people * self.skipped, chosen * _SKIPPED_SECONDS)
        finding = _SPLIT_SECONDS + people * _SPLIT_INDEX_SECONDS + part.split.parts * _SPLIT_PART_SECONDS
        kept = min(people * self.kept, chosen * self.chunk)
        return self.fixed + finding + skipped + kept + chosen * self.person

    def people_within(self, seconds: float, cohort: Cohort, most: int) -> int:
        """How many consecutive indices of a cohort a part of so many seconds has.

        One at least; and where one person takes about as long, as many as take half as long again.
        """
        seconds = max(seconds, 1.5 * self.of(Cohort(0, 1, cohort.split)))
        fits, too_many = 1, most + 1
        while too_many - fits > 1:
            middle = (fits + too_many) // 2
            if self.of(Cohort(0, middle, cohort.split)) <= seconds:
                fits = middle
            else:
                too_many = middle
        return fits if fits < 8 or fits == most else fits // 8 * 8  # whole bytes of one-bit reports


def _most_chosen(people: int, parts: int) -> float:
    """More than a split by public coins takes of so many people, whoever chose its seed among 2**40."""
    mean = people / parts
    return min(people, mean + 8 * math.sqrt(mean) + 30)


def charge_seconds(query: str, cohort: Cohort) -> float:
    """A charge or a quote of a whole cohort, for a query that was checked."""
    index = _CHARGE_INDEX_SECONDS if cohort.split is None else _CHARGE_SPLIT_SECONDS
    length = (
        1 + len(query) // 1024
    ) * _CHARGE_KILOBYTE_SECONDS  # not by single characters: a value's are no shape
    return _CHARGE_SECONDS + length + (cohort.stop - cohort.start) * index


def draw_work(randomizer: LocalRandomizer) -> Work:
    """Drawing and packing the reports of a part."""
    cost = randomizer.draw_cost
    return Work(cost.fixed_us * 1e-6, cost.person_ns * 1e-9, cost.words * _WORD_SECONDS)


def sampling_work(columns: int) -> Work:
    """Choosing a row of each person, and looking at these columns of it."""
    return Work(0.15e-3, 20e-9 + 3e-9 * columns)


def decode_seconds(message_bytes: int) -> float:
    """Reading a message of so many bytes, and predicting what it costs."""
    text = min(message_bytes, _LARGEST_DECODED) * _DECODE_BYTE_SECONDS
    return _DECODE_SECONDS + text + message_bytes * _SKIMMED_BYTE_SECONDS


def reports_work(randomizer: LocalRandomizer) -> Work:
    """Keeping the reports of a part, or sending what was kept."""
    # As an array, some take a byte for each bit.
    return _kept(randomizer.report_bits, randomizer.report_bits)


def inputs_work(encoding: Encoding) -> Work:
    """Keeping what the shares of a part are made of."""
    return _kept(8 * encoding.narrow_bytes, encoding.narrow_bytes)


def _kept(bits: int, array_bytes: int) -> Work:
    """Written in chunks of people, and read again.

    A chunk is read and written as one.  The people of a range fill their chunks, but for the first and the last, where
    others may have been kept before.  Those of a split may each be in a chunk of their own; but all of them are in no
    more chunks than a range of their length has.
    """
    row = _KEEP_ROW_SECONDS + bits * _KEEP_BIT_SECONDS
    people = min(CHUNK_PEOPLE, max(1, CHUNK_BYTES // array_bytes))
    fixed = _KEEP_SECONDS + 2 * _KEEP_AGAIN_SECONDS
    return Work(fixed, kept=row + _KEEP_CHUNK_SECONDS / people, chunk=row + _KEEP_AGAIN_SECONDS)
