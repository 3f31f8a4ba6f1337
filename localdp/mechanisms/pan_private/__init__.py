"""Mechanisms whose state may be seen once: density, cropped mean, heavy hitters, and a counter (section 12.2)."""

from localdp.mechanisms.pan_private.appearances import (
    PanPrivateCroppedMean,
    PanPrivateDensity,
    PanPrivateHeavyHitters,
)
from localdp.mechanisms.pan_private.counter import PanPrivateCounter
from localdp.mechanisms.pan_private.keepers import OneKeeper, ShareKeepers

__all__ = [
    "OneKeeper",
    "PanPrivateCounter",
    "PanPrivateCroppedMean",
    "PanPrivateDensity",
    "PanPrivateHeavyHitters",
    "ShareKeepers",
]
