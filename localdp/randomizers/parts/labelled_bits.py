"""Reports that are a public label (a cohort, the number of a hash function) and a row of private bits.

Layout.  One report is the label, highest bit first, followed by the row; reports follow one another without gaps, and the
last byte is padded with zeros.
Checked through the randomizers that use it, in tests/unit/randomizers/test_rappor.py and test_count_mean_sketch.py.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from localdp.errors import MalformedReport
from localdp.randomizers.definition import Reports
from localdp.randomizers.parts.packing import bits_below, packed_size
from localdp.randomness.source import Bits, Integers, Words

LARGEST_TABLE = 1 << 24


def labelled(labels: Words, rows: Bits) -> Reports:
    """Reports with the given labels and rows."""
    reports = np.empty(len(rows), _kind(rows.shape[1]))
    reports["label"], reports["bits"] = labels, rows
    return reports


def label_bits(labels: int) -> int:
    """Bits that a label takes: none if there is only one."""
    return bits_below(labels) if labels > 1 else 0


def pack_labelled(reports: Reports, labels: int) -> bytes:
    """Label and row of each report, bit by bit."""
    places = np.arange(label_bits(labels), dtype=np.uint32)[::-1]
    heads = (reports["label"][:, None] >> places) & np.uint32(1)
    return np.packbits(np.concatenate([heads.astype(np.bool_), reports["bits"]], axis=1)).tobytes()


def unpack_labelled(data: bytes, count: int, labels: int, width: int) -> Reports:
    """The reports again; raises `MalformedReport` unless the bytes are exactly `count` valid reports."""
    head = label_bits(labels)
    each = head + width
    if len(data) != packed_size(count, each):
        raise MalformedReport(f"{count} reports take {packed_size(count, each)} bytes, not {len(data)}")
    bits = np.unpackbits(np.frombuffer(data, np.uint8))
    if bits[count * each :].any():
        raise MalformedReport("the padding after the last report is not zero")
    table = bits[: count * each].reshape(count, each)
    numbers = table[:, :head].astype(np.int64) @ (1 << np.arange(head)[::-1])
    if count and int(numbers.max()) >= labels:
        raise MalformedReport(f"the label of a report is not below {labels}")
    return labelled(numbers.astype(np.uint64), table[:, head:].astype(np.bool_))


def column_sums(reports: Reports, labels: int) -> Integers:
    """For each label, how many ones stand in each column, and last how many reports there are."""
    width = reports["bits"].shape[1]
    sums = np.zeros((labels, width + 1), np.int64)
    order = np.argsort(reports["label"], kind="stable")
    found, starts = np.unique(reports["label"][order], return_index=True)
    for label, rows in zip(found.tolist(), np.split(order, starts[1:]), strict=False):
        sums[label, :width] = np.count_nonzero(reports["bits"][rows], axis=0)
        sums[label, width] = len(rows)
    return sums


def _kind(width: int) -> np.dtype[np.void]:
    return np.dtype([("label", np.uint32), ("bits", np.bool_, (width,))])


def one_hot(columns: NDArray[np.uint64], width: int) -> Bits:
    """Rows with a single one, in the given columns."""
    rows = np.zeros((len(columns), width), np.bool_)
    rows[np.arange(len(columns)), columns.astype(np.int64)] = True
    return rows
