"""Features in public units: how columns of any range become the entries of a vector within the unit ball.

Feature i of a person is u_i = (x_i - c_i) / w_i, where the centre c_i is the middle of what the schema allows.  The width
w_i is `radius` times half of that range (each feature in its own units), or `radius` itself (all features in one unit, so
that distances and angles are kept).  Queries have 1 / w_i, to nine significant digits, as the slope of a linear form, so
that forms of many features stay numbers of few digits.

Without a radius no vector of the schema is longer than 1.  A smaller radius makes everything larger in proportion to the
noise; whoever is further out is brought back to the sphere (`ball`).  Nothing of this may be read off the data.

Checked in tests/unit/algorithms/learners/test_scaling.py.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Self

import numpy as np

from localdp.algorithms.tables import Features, numbers_for_prediction
from localdp.algorithms.texts import DECIMALS, decimal, rounded
from localdp.domains import BitDomain, IntegerDomain, RealDomain, Schema
from localdp.errors import InvalidParameter
from localdp.queries.tokens import number_text
from localdp.randomness.source import Floats

_FINEST = Decimal(1).scaleb(-20)
_LEAST_WIDTH = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class Scaling:
    """The centre and the slope of each feature, as the queries write them."""

    names: tuple[str, ...]
    centres: Floats
    slopes: Floats

    @classmethod
    def each(cls, schema: Schema, names: Sequence[str], radius: float | None) -> Self:
        """Every feature in units of half its own range; the default radius is sqrt(d)."""
        lows, highs = bounds_of(schema, names)
        reach = math.sqrt(len(names)) if radius is None else radius
        return cls._rounded(names, (lows + highs) / 2, reach * (highs - lows) / 2)

    @classmethod
    def common(cls, schema: Schema, names: Sequence[str], radius: float | None) -> Self:
        """All features in the same units; the default radius is half the diagonal of the schema's box."""
        lows, highs = bounds_of(schema, names)
        reach = float(np.linalg.norm(highs - lows)) / 2 if radius is None else radius
        return cls._rounded(names, (lows + highs) / 2, np.full(len(names), reach))

    @classmethod
    def around(cls, names: Sequence[str], centres: Floats, widths: Floats) -> Self:
        """Every feature around its centre, in units of its width."""
        return cls._rounded(names, centres, widths)

    @classmethod
    def _rounded(cls, names: Sequence[str], centres: Floats, widths: Floats) -> Self:
        if (
            not np.isfinite(widths).all()
            or not _LEAST_WIDTH <= min(widths) <= max(widths) <= 1 / _LEAST_WIDTH
        ):
            raise InvalidParameter(
                "a radius is a positive number, and widths are within twelve powers of ten of 1"
            )
        slopes = [float(short(1 / width)) for width in widths]
        return cls(tuple(names), np.array([*map(rounded, centres)]), np.array(slopes))

    def moved(self, means: Floats) -> Self:
        """The same units around this point, which is given in them."""
        return self._rounded(self.names, self.centres + means * self.widths, self.widths)

    def stretched(self, factor: float) -> Self:
        """The same centres in units that are so many times as large."""
        return self._rounded(self.names, self.centres, factor * self.widths)

    @property
    def widths(self) -> Floats:
        """One unit of each feature, in its own column."""
        return 1 / self.slopes

    def forms(self, factor: float = 1.0) -> list[str]:
        """The features times a factor, as numeric expressions."""
        return self.terms(np.full(len(self.names), factor))

    def terms(self, factors: Floats) -> list[str]:
        """Each feature times its factor, as numeric expressions."""
        parts = zip(factors * self.slopes, self.names, self.centres, strict=True)
        return [f"{short(slope)}*({name} - {decimal(centre)})" for slope, name, centre in parts]

    def units(self, X: Features) -> Floats:  # noqa: N803
        """The features of people to predict for, in these units; nobody is shortened."""
        units: Floats = (numbers_for_prediction(X, self.names) - self.centres) * self.slopes
        return units

    def in_columns(self, weights: Floats, constant: float) -> tuple[Floats, float]:
        """A linear form in these units as one in the columns themselves: coefficients and intercept."""
        coefficients = weights * self.slopes
        return coefficients, float(constant - coefficients @ self.centres)


def bounds_of(schema: Schema, names: Sequence[str]) -> tuple[Floats, Floats]:
    """The least and the largest value of each column."""
    ends = []
    for name in names:
        match schema[name]:
            case BitDomain():
                ends.append((0.0, 1.0))
            case IntegerDomain(low, high) | RealDomain(low, high):
                ends.append((float(low), float(high)))
            case _:
                raise InvalidParameter(f"column {name!r:.60} holds no numbers")
    lows, highs = np.array(ends).T
    return lows, highs


def short(value: float) -> str:
    """A public number to nine significant digits, and at most twenty after the point."""
    nine = (
        Decimal(f"{value:.{DECIMALS - 1}e}").quantize(_FINEST)
        if abs(value) < 1
        else Decimal(decimal(value))
    )
    return number_text(Fraction(nine))


def factor_of(part: float) -> float:
    """What entries are multiplied with that take this part of a squared length: nine decimals, rounded down.

    Queries write it exactly, so answers are divided by the same number; rounded down, nobody gets longer than 1.
    """
    unit = 10.0**DECIMALS
    return math.floor(math.sqrt(part) * unit) / unit


def called(function: str, arguments: Sequence[str]) -> str:
    """A call, as in ball(x, y)."""
    return f"{function}({', '.join(arguments)})"
