"""The least number of few digits that is enough for something: people, or an epsilon.

Checked in tests/unit/oracles/test_least_numbers.py, and through what searches with it.
"""

from __future__ import annotations

import math
from collections.abc import Callable

MOST_PEOPLE = 10**10


def least(low: float, high: float, enough: Callable[[float], bool], digits: int = 3) -> float | None:
    """The first number of so many digits in this range that is enough, if a larger one is whenever a smaller one is."""
    first, last = math.floor(_place(low, digits)), math.ceil(_place(high, digits))
    if not enough(high):
        return None
    while first < last:
        middle = (first + last) // 2
        tried = max(low, min(_number(middle, digits), high))
        first, last = (first, middle) if enough(tried) else (middle + 1, last)
    return max(low, min(_number(first, digits), high))


def _number(place: int, digits: int) -> float:
    """The numbers of three digits in order: 1.00, 1.01, ..., 9.99, 10.0, 10.1, ..."""
    step = int(10 ** (digits - 1))
    tens, rest = divmod(place, 9 * step)
    return float(f"{step + rest}e{tens - digits + 1}")


def _place(number: float, digits: int) -> float:
    step, tens = float(10 ** (digits - 1)), math.floor(math.log10(number))
    return 9 * step * tens + step * number / 10.0**tens - step
