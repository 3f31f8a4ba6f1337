"""Epsilon as an exact number: a whole number of nanonats.

The privacy loss of Definition 2.4 is a natural logarithm, so its unit is the nat.  Budgets kept in floats drift
(0.1 + 0.2 > 0.3 refuses the last question, or grants one too many); here every epsilon that is asked for, derived
or charged is an integer multiple of 10**-9 nat.  What a user asks for is rounded *down* to that grid, what a law
has is rounded *up*: both against us.

Checked in tests/unit/accounting/test_epsilon.py.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction

from localdp.errors import InvalidParameter
from localdp.randomness.enclosures import log_enclosure

NANONATS_PER_NAT = 10**9
LARGEST_EPSILON_NATS = 30
_LOG_BITS = 96
_LARGEST_POWER_OF_TEN = 30  # beyond this an exact rational would be a denial of service


@dataclass(frozen=True, slots=True, order=True, repr=False)
class Epsilon:
    """An amount of privacy loss in nanonats; zero is allowed as an amount, not as a request."""

    nanonats: int

    def __post_init__(self) -> None:
        if not isinstance(self.nanonats, int) or isinstance(self.nanonats, bool) or self.nanonats < 0:
            raise InvalidParameter("an epsilon is a whole number of nanonats, and not negative")

    @classmethod
    def requested(cls, value: Epsilon | Fraction | Decimal | float | str) -> Epsilon:
        """What a user asks for: positive, at most 30 nats, rounded down to the grid."""
        epsilon = value if isinstance(value, Epsilon) else cls(_nanonats_below(value))
        if not 0 < epsilon.nanonats <= LARGEST_EPSILON_NATS * NANONATS_PER_NAT:
            raise InvalidParameter(
                f"epsilon must be at least 1e-9 and at most {LARGEST_EPSILON_NATS}; got {value!s:.40}"
            )
        return epsilon

    @classmethod
    def of_ratio(cls, ratio: Fraction) -> Epsilon:
        """The smallest epsilon on the grid with exp(epsilon) >= ratio: what a law with that ratio costs."""
        return cls(_nanonats_above_log(ratio))

    @property
    def exact(self) -> Fraction:
        """The amount in nats, as a rational."""
        return Fraction(self.nanonats, NANONATS_PER_NAT)

    def divided_by(self, parts: int) -> Epsilon:
        """The largest amount on the grid that can be spent `parts` times."""
        return Epsilon(self.nanonats // parts)

    def __float__(self) -> float:
        return self.nanonats / NANONATS_PER_NAT

    def __add__(self, other: Epsilon) -> Epsilon:
        return Epsilon(self.nanonats + other.nanonats)

    def __mul__(self, times: int) -> Epsilon:
        return Epsilon(self.nanonats * times)

    def __str__(self) -> str:
        return f"{Decimal(self.nanonats).scaleb(-9).normalize():f}"

    def __repr__(self) -> str:
        """In nats, as people write it; with the unit, for `Epsilon(2)` would be two nanonats."""
        return f"Epsilon({self} nats)"


@functools.lru_cache(maxsize=1024)
def _nanonats_above_log(ratio: Fraction) -> int:
    if ratio <= 1:
        return 0
    _, upper = log_enclosure(ratio, _LOG_BITS)
    return -(-upper * NANONATS_PER_NAT >> _LOG_BITS)


def _nanonats_below(value: Fraction | Decimal | float | str) -> int:
    if isinstance(value, Fraction):
        return max(0, math.floor(value * NANONATS_PER_NAT))
    try:
        # str() first: the float 0.1 means the decimal 0.1 that was typed, not the binary fraction above it.
        decimal = Decimal(str(value))
    except InvalidOperation as error:
        raise InvalidParameter(f"epsilon must be a number; got {value!s:.40}") from error
    if not decimal.is_finite() or abs(decimal.adjusted()) > _LARGEST_POWER_OF_TEN:
        raise InvalidParameter(f"epsilon must be a finite number of reasonable size; got {value!s:.40}")
    return max(0, math.floor(Fraction(decimal) * NANONATS_PER_NAT))
