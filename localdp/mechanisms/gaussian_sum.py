"""Sums with Gaussian noise, for a delta (Theorem A.1), from whoever adds up.

The noise is a rounded Gaussian on each sum, of the least whole variance that suffices (`accounting/gaussian.py`): 18 for
one count at (1, 1e-6), where Theorem A.1 asks for 29.  Sums are whole, so rounding is done to what was released.

Claim.  Rows of which replacing one moves the sums by at most the square root of `squared_sensitivity`, in L2, are released
with (epsilon, delta)-privacy.  Over share servers each server adds all of the noise.
Checked in tests/unit/mechanisms/test_gaussian_sum.py (exact).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import sqrt

from localdp.accounting.claim import PrivacyClaim
from localdp.accounting.epsilon import Epsilon
from localdp.accounting.gaussian import gaussian_variance
from localdp.mechanisms.adder import Adder, Rows
from localdp.randomness.source import Integers


@dataclass(frozen=True, slots=True)
class GaussianSum:
    """Adds up rows, with as little Gaussian noise as suffices."""

    epsilon: Epsilon  # of one release, in nats
    delta: Fraction
    squared_sensitivity: int  # how far replacing one row moves the sums, in L2, squared
    adder: Adder

    def __post_init__(self) -> None:
        self.adder.gaussian_noise(self.variance)  # refuses what cannot be drawn

    @property
    def variance(self) -> int:
        """Of the Gaussian, before it is rounded."""
        return gaussian_variance(self.epsilon, self.delta, self.squared_sensitivity)

    @property
    def standard_error(self) -> float:
        """Of each sum, with the noise of all who add some."""
        return sqrt(self.adder.gaussian_noise(self.variance))

    @property
    def claim(self) -> PrivacyClaim:
        """Of one release."""
        return self.adder.claim(self.epsilon, self.delta)

    def release(self, rows: Rows) -> Integers:
        """The sums of the columns."""
        return self.adder.gaussian_sums(rows, self.variance)
