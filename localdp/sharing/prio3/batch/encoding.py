"""Measurements of a block as digits: what `Circuit.encode` does, for many measurements at once.

Checked against the circuits, and to refuse what they refuse, in tests/unit/sharing/prio3/test_sharding.py.
"""

from collections.abc import Sequence
from functools import singledispatch

import numpy as np
from numpy.typing import NDArray

from localdp.errors import InvalidParameter, InvalidRecord
from localdp.sharing.prio3 import bits
from localdp.sharing.prio3.flp import AnyCircuit
from localdp.sharing.prio3.scalar_circuits import Count, Sum
from localdp.sharing.prio3.vector_circuits import HistogramCircuit, MultihotCountVec, SumVec

Digits = NDArray[np.uint8]
Measurements = Sequence[int] | Sequence[Sequence[int]] | NDArray[np.integer]
_WIDEST = 63  # Bits of a range that fits in the integers of numpy; wider ones are encoded one by one.


def _whole(measurements: Measurements, *shape: int) -> NDArray[np.int64]:
    """Measurements as integers of that shape; refuses fractions, and what does not fit."""
    try:
        values = np.asarray(measurements)
    except ValueError as error:
        raise InvalidRecord("the measurements of a block are not all of one length") from error
    if not values.size and values.ndim:
        values = np.empty((len(values), *shape), np.int64)  # Nothing has no type of its own.
    if values.ndim != 1 + len(shape) or values.shape[1:] != shape:
        raise InvalidRecord("the measurements of a block are of another shape than their collection")
    wide = values.dtype.kind == "u" and (values > np.iinfo(np.int64).max).any()
    if values.dtype.kind not in "biu" or wide:
        raise InvalidRecord("measurements are integers of 64 bits")
    return values.astype(np.int64)


def _require(good: NDArray[np.bool_]) -> None:
    if not np.all(good):
        raise InvalidRecord("a measurement of the block is outside of the range of its collection")


def digits_of(circuit: AnyCircuit, measurements: Measurements) -> Digits:
    """One row of zeros and ones for each measurement."""
    wide = isinstance(circuit, Sum | SumVec) and circuit.largest.bit_length() > _WIDEST
    if wide:
        encoded = [circuit.encode(measurement) for measurement in measurements]
        return np.array(encoded, np.uint8).reshape(len(encoded), circuit.encoded_length)
    return _digits(circuit, measurements)


@singledispatch
def _digits(circuit: AnyCircuit, measurements: Measurements) -> Digits:
    raise InvalidParameter("this circuit has no batched form")


@_digits.register
def _(circuit: Count, measurements: Measurements) -> Digits:
    values = _whole(measurements)
    _require((values == 0) | (values == 1))
    return values.astype(np.uint8)[:, None]


@_digits.register
def _(circuit: Sum, measurements: Measurements) -> Digits:
    return _in_range(_whole(measurements), circuit.largest)


@_digits.register
def _(circuit: SumVec, measurements: Measurements) -> Digits:
    values = _whole(measurements, circuit.length)
    return _in_range(values, circuit.largest).reshape(len(values), circuit.encoded_length)


@_digits.register
def _(circuit: HistogramCircuit, measurements: Measurements) -> Digits:
    values = _whole(measurements)
    _require((values >= 0) & (values < circuit.length))
    return np.asarray(values[:, None] == np.arange(circuit.length)).view(np.uint8)


@_digits.register
def _(circuit: MultihotCountVec, measurements: Measurements) -> Digits:
    values = _whole(measurements, circuit.length)
    _require((values == 0) | (values == 1))
    weights = _in_range(values.sum(axis=1), circuit.heaviest)
    return np.concatenate([values.astype(np.uint8), weights], axis=1)


def _in_range(values: NDArray[np.int64], largest: int) -> Digits:
    """The digits of integers in 0 .. largest, on a new last axis; see `bits`."""
    _require((values >= 0) & (values <= largest))
    *rest, last = bits.range_weights(largest)
    top = (values > sum(rest)).astype(np.int64)
    remaining = values - top * last
    digits = remaining[..., None] >> np.arange(len(rest)) & 1
    return np.concatenate([digits, top[..., None]], axis=-1).astype(np.uint8)
