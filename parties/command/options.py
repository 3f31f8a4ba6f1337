"""Values from the command line: numbers of people, lists, and what goes with them."""

from __future__ import annotations

import errno
import os
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from pathlib import Path

from localdp.errors import InvalidParameter

_LONGEST_NUMBER = 24


def whole_number(text: str) -> int:
    """10000, 10_000 or 1e4."""
    try:
        number = Decimal(text.strip().replace("_", "")) if len(text) <= _LONGEST_NUMBER else Decimal("nan")
    except InvalidOperation:
        number = Decimal("nan")
    if not number.is_finite() or abs(number.adjusted()) > _LONGEST_NUMBER or number != int(number):
        raise InvalidParameter(f"{text!s:.40} is not a whole number; write 10000 or 1e4")
    return int(number)


def number_of_people(text: str) -> int:
    """A whole number of made-up people that fit into this machine."""
    from localdp.experiments.population import MOST_PEOPLE

    people = whole_number(text)
    if not 1 <= people <= MOST_PEOPLE:
        raise InvalidParameter(f"the number of people lies between 1 and {MOST_PEOPLE}")
    return people


def probability(text: str) -> Fraction:
    """0.001 or 1e-6: strictly between 0 and 1, and not closer to 0 than 1e-24."""
    try:
        number = Decimal(text.strip()) if len(text) <= _LONGEST_NUMBER else Decimal("nan")
    except InvalidOperation:
        number = Decimal("nan")
    if not number.is_finite() or not 0 < number < 1 or number.adjusted() < -_LONGEST_NUMBER:
        raise InvalidParameter(f"{text!s:.40} is not a probability; write 0.001 or 1e-6")
    return Fraction(number)


def whole_numbers(text: str) -> tuple[int, ...]:
    """Whole numbers separated by commas."""
    return tuple(whole_number(part) for part in text.split(","))


def names(text: str) -> tuple[str, ...]:
    """Names separated by commas."""
    return tuple(part.strip() for part in text.split(","))


def named_address(text: str, what: str) -> tuple[str, str]:
    """NAME=HOST:PORT of somebody."""
    name, _, address = text.partition("=")
    if not name or not address.rpartition(":")[2].isdecimal():
        raise InvalidParameter(f"{what} is given as NAME=HOST:PORT")
    return name, address


def require_writable(directory: Path) -> None:
    """Find out that nothing can be written there now, and not after all the work."""
    directory.mkdir(parents=True, exist_ok=True)
    if not os.access(directory, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(directory))
