"""What every randomizer checks: its parameters, the values that it is given, and whose tally it is handed.

No message names a value: what stands in a record stays there.
"""

import numpy as np

from localdp.errors import InvalidParameter
from localdp.randomizers.definition import Tally, Values
from localdp.randomness.source import Integers

_BYTES = 256
_MANY = 1 << 17  # so many values are worth a table of pairs


def checked_inputs(values: Values, inputs: int) -> Integers:
    """The values, if they are a list of integers from 0 to inputs - 1."""
    _require_inputs(values, inputs)
    return values.astype(np.int64, copy=False)


def input_counts(values: Values, inputs: int) -> Integers:
    """How many of the values are each of 0 .. inputs - 1, if that is what they are."""
    _require_inputs(values, inputs)
    if values.dtype != np.uint8 or not values.flags.c_contiguous or len(values) < _MANY:
        return np.bincount(values.astype(np.int64, copy=False), minlength=inputs).astype(np.int64)
    # Two bytes at a time: half of the steps, and a table of their pairs is still small.
    pairs = np.bincount(values[: len(values) // 2 * 2].view(np.uint16), minlength=_BYTES**2)
    table = pairs.reshape(_BYTES, _BYTES)
    counts: Integers = (table.sum(axis=0) + table.sum(axis=1)).astype(np.int64)
    counts[values[len(values) // 2 * 2 :]] += 1
    return counts[:inputs]


def _require_inputs(values: Values, inputs: int) -> None:
    if values.ndim != 1 or values.dtype.kind not in "bui":
        raise InvalidParameter("the values to randomize are a list of integers")
    signed = values.dtype.kind == "i"
    if values.size and (int(values.max()) >= inputs or (signed and int(values.min()) < 0)):
        raise InvalidParameter(f"inputs of this randomizer are integers from 0 to {inputs - 1}")


def require_between(what: str, value: int | None, least: int, most: int) -> None:
    """Refuse a parameter that is no integer from `least` to `most`."""
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise InvalidParameter(f"{what} lies between {least} and {most}")


def require_own(tally: Tally, randomizer: object) -> None:
    """Refuse a tally of another randomizer, and one without reports."""
    if tally.randomizer != randomizer or tally.reports < 1:
        raise InvalidParameter("an estimate needs at least one report of the same randomizer")
