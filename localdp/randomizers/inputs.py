"""What every randomizer checks: its parameters, the values that it is given, and whose tally it is handed.

No message names a value: what stands in a record stays there.
"""

from typing import Any

import numpy as np

from localdp.errors import InvalidParameter
from localdp.randomizers.definition import Tally, Values
from localdp.randomness.source import Integers


def checked_inputs(values: Values, inputs: int) -> Integers:
    """The values, if they are a list of integers from 0 to inputs - 1."""
    if values.ndim != 1 or values.dtype.kind not in "bui":
        raise InvalidParameter("the values to randomize are a list of integers")
    if values.size and (int(values.min()) < 0 or int(values.max()) >= inputs):
        raise InvalidParameter(f"inputs of this randomizer are integers from 0 to {inputs - 1}")
    return values.astype(np.int64, copy=False)


def require_between(what: str, value: int | None, least: int, most: int) -> None:
    """Refuse a parameter that is no integer from `least` to `most`."""
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise InvalidParameter(f"{what} lies between {least} and {most}")


def require_own(tally: Tally, randomizer: Any) -> None:
    """Refuse a tally of another randomizer, and one without reports."""
    if tally.randomizer != randomizer or tally.reports < 1:
        raise InvalidParameter("an estimate needs at least one report of the same randomizer")
