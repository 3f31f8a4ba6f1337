"""Every randomizer that the contract suite runs on: one line for each.

A line names the module, and makes an instance that is small enough for its coins to be enumerated.  A module that does
not exist is left out.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from localdp.accounting.epsilon import Epsilon

ONE, TWO = Epsilon.requested("1"), Epsilon.requested("2")


@dataclass(frozen=True)
class Entry:
    """How to make one randomizer of a module at an epsilon."""

    module: str
    make: Callable[[Any, Epsilon], Any]
    enumerable: bool = True  # its coins can all be followed, for one person
    estimates_inputs: bool = (
        True  # one report estimates the indicator of its input, or its place on the grid
    )

    def at(self, epsilon: Epsilon) -> Any:
        """The randomizer at this epsilon."""
        return self.make(import_module(f"localdp.randomizers.{self.module}"), epsilon)


def _channel(module: Any, epsilon: Epsilon) -> Any:
    weights = (9, 3) if epsilon == ONE else (81, 9)
    return module.FiniteChannel((weights, weights[::-1]))


LINES = [
    Entry("one_bit", lambda module, epsilon: module.OneBitRandomizer(epsilon)),
    Entry("one_bit", lambda module, epsilon: module.OneBitRandomizer(epsilon, 4)),
    Entry("k_ary", lambda module, epsilon: module.KaryRandomizedResponse(epsilon, 2)),
    Entry("k_ary", lambda module, epsilon: module.KaryRandomizedResponse(epsilon, 5)),
    Entry("unary", lambda module, epsilon: module.OptimizedUnaryEncoding(epsilon, 3)),
    Entry("unary", lambda module, epsilon: module.SymmetricUnaryEncoding(epsilon, 3)),
    Entry("unary", lambda module, epsilon: module.OptimizedUnaryEncoding(epsilon, 130), enumerable=False),
    Entry("subset_selection", lambda module, epsilon: module.SubsetSelection(epsilon, 4)),
    Entry(
        "subset_selection", lambda module, epsilon: module.SubsetSelection(epsilon, 70), enumerable=False
    ),
    Entry("finite_channel", _channel),
    Entry("hadamard", lambda module, epsilon: module.HadamardResponse(epsilon, 3)),
    Entry("recursive_hadamard", lambda module, epsilon: module.RecursiveHadamardResponse(epsilon, 5, 2)),
    Entry("projective_geometry", lambda module, epsilon: module.ProjectiveGeometryResponse(epsilon, 5)),
    Entry("piecewise", lambda module, epsilon: module.PiecewiseRandomizer(epsilon, 4, 4)),
    Entry("hybrid", lambda module, epsilon: module.HybridRandomizer(epsilon, 4, 4)),
    Entry("haar", lambda module, epsilon: module.HaarRanges(epsilon, 4), estimates_inputs=False),
    Entry(
        "marginals", lambda module, epsilon: module.HadamardMarginals(epsilon, 3), estimates_inputs=False
    ),
    Entry(
        "marginals",
        lambda module, epsilon: module.HadamardMarginals(epsilon, 3, 2, labelled=True),
        estimates_inputs=False,
    ),
]

ENTRIES = [entry for entry in LINES if find_spec(f"localdp.randomizers.{entry.module}")]
