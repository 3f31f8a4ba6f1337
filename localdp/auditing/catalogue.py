"""Every randomizer of the library by name, made from an epsilon and a size: what `localdp audit` can be asked for.

The size is the number of inputs, or as near to it as the randomizer allows: a grid of a power of two and one more, the
records of some bits.  For randomizers of open domains it is how many fingerprints are tried; for those of vectors it is
the dimension.
Checked in tests/unit/auditing/test_catalogue.py: every local randomizer of the library is here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from localdp.accounting.epsilon import LARGEST_EPSILON_NATS, Epsilon
from localdp.auditing.result import Input
from localdp.errors import InvalidParameter
from localdp.randomizers.coordinate_sampling import CoordinateSampling
from localdp.randomizers.count_mean_sketch import CountMeanSketch, HadamardCountMeanSketch
from localdp.randomizers.finite_channel import FiniteChannel
from localdp.randomizers.haar import HaarRanges
from localdp.randomizers.hadamard import HadamardResponse
from localdp.randomizers.hierarchy import HierarchicalRanges
from localdp.randomizers.hybrid import HybridRandomizer
from localdp.randomizers.k_ary import KaryRandomizedResponse
from localdp.randomizers.local_hashing import OptimalLocalHashing
from localdp.randomizers.local_laplace import LocalDiscreteLaplace
from localdp.randomizers.marginals import HadamardMarginals
from localdp.randomizers.memoised import memoised_optimized_unary, memoised_symmetric_unary
from localdp.randomizers.memoised_hashing import MemoisedHashing
from localdp.randomizers.one_bit import OneBitRandomizer
from localdp.randomizers.parts.inputs import require_between
from localdp.randomizers.piecewise import PiecewiseRandomizer
from localdp.randomizers.priv_unit import PrivUnit
from localdp.randomizers.projective_geometry import ProjectiveGeometryResponse
from localdp.randomizers.rappor import BasicRappor, BloomRappor, symmetric_rounds
from localdp.randomizers.recursive_hadamard import RecursiveHadamardResponse
from localdp.randomizers.square_wave import SquareWave
from localdp.randomizers.subset_selection import SubsetSelection
from localdp.randomizers.unary import OptimizedUnaryEncoding, SymmetricUnaryEncoding
from localdp.randomness.enclosures import exp_enclosure

MOST_INPUTS = 1 << 32
MOST_FINGERPRINTS = 64
_CHANNEL_BITS = 6  # few, so that the coins of a channel can be followed

Make = Callable[[Epsilon, int], Any]


@dataclass(frozen=True, slots=True)
class Entry:
    """A kind of randomizer: how to make one, how small the usual audit has it, and on which inputs it is tried."""

    name: str
    make: Make
    small: int  # the size at which all coins are followed in a moment
    tried: Callable[[Any, int], Sequence[Input] | None] = lambda _, __: None  # None: the auditor decides

    def made(self, epsilon: Epsilon, size: int) -> Any:
        """The randomizer of this size."""
        require_between("the number of inputs", size, 2, MOST_INPUTS)
        return self.make(epsilon, size)


def _fingerprints(_: Any, size: int) -> Sequence[Input]:
    return range(min(size, MOST_FINGERPRINTS))


def _axes(randomizer: PrivUnit, _: int) -> Sequence[Input]:
    """Both ends of the first axis, and the centre."""
    rest = (0,) * (randomizer.dimension - 1)
    return [(randomizer.resolution, *rest), (-randomizer.resolution, *rest), (0, *rest)]


def _corners(randomizer: CoordinateSampling, size: int) -> Sequence[Input] | None:
    """Of many dimensions, two opposite corners and the next to one of them."""
    if size <= 3:
        return None
    top = randomizer.resolution
    return [(0,) * size, (top,) * size, (top,) + (0,) * (size - 1)]


def _grid(size: int) -> int:
    """The largest power of two below the size: the resolution of a grid of at most so many points."""
    return 1 << ((size - 1).bit_length() - 1 if size & (size - 1) else max(size.bit_length() - 2, 0))


def _channel(epsilon: Epsilon, size: int) -> FiniteChannel:
    """k-ary randomized response as a matrix."""
    kept, other = exp_enclosure(epsilon.exact, _CHANNEL_BITS)[0], 1 << _CHANNEL_BITS
    return FiniteChannel(tuple(tuple(kept if y == x else other for y in range(size)) for x in range(size)))


def _permanent(epsilon: Epsilon) -> Epsilon:
    """The loss of all reports about one remembered value: twice that of one report, within the limits."""
    return min(epsilon * 2, Epsilon.requested(LARGEST_EPSILON_NATS))


def _bloom(epsilon: Epsilon, size: int) -> BloomRappor:
    return BloomRappor(
        symmetric_rounds(_permanent(epsilon), epsilon, 1), width=min(size, 1 << 12), hashes=1
    )


ENTRIES = (
    Entry("one-bit", lambda epsilon, size: OneBitRandomizer(epsilon, _grid(size)), 5),
    Entry("k-ary", KaryRandomizedResponse, 5),
    Entry("subset-selection", SubsetSelection, 6),
    Entry("projective-geometry", ProjectiveGeometryResponse, 7),
    Entry("symmetric-unary", SymmetricUnaryEncoding, 5),
    Entry("optimized-unary", OptimizedUnaryEncoding, 5),
    Entry("hadamard", HadamardResponse, 5),
    Entry("recursive-hadamard", RecursiveHadamardResponse, 6),
    Entry("local-hashing", lambda epsilon, _: OptimalLocalHashing(epsilon), 6, _fingerprints),
    Entry("finite-channel", _channel, 3),
    Entry("count-mean-sketch", lambda epsilon, _: CountMeanSketch(epsilon, 2, 4), 4, _fingerprints),
    Entry(
        "hadamard-count-mean-sketch",
        lambda epsilon, _: HadamardCountMeanSketch(epsilon, 2, 4),
        4,
        _fingerprints,
    ),
    Entry(
        "basic-rappor",
        lambda epsilon, size: BasicRappor(symmetric_rounds(_permanent(epsilon), epsilon), size),
        3,
    ),
    Entry("bloom-rappor", _bloom, 3, _fingerprints),
    Entry(
        "memoised-symmetric-unary",
        lambda epsilon, size: memoised_symmetric_unary(_permanent(epsilon), epsilon, size),
        3,
    ),
    Entry(
        "memoised-optimized-unary",
        lambda epsilon, size: memoised_optimized_unary(_permanent(epsilon), epsilon, size),
        3,
    ),
    Entry(
        "memoised-hashing",
        lambda epsilon, _: MemoisedHashing(epsilon, _permanent(epsilon), 4),
        4,
        _fingerprints,
    ),
    Entry("haar-ranges", HaarRanges, 8),
    Entry("hierarchical-ranges", lambda epsilon, size: HierarchicalRanges(epsilon, size, 2), 4),
    Entry(
        "hadamard-marginals",
        lambda epsilon, size: HadamardMarginals(epsilon, (size - 1).bit_length(), 1),
        8,
    ),
    Entry("local-discrete-laplace", lambda epsilon, size: LocalDiscreteLaplace(epsilon, size - 1), 6),
    Entry("piecewise", lambda epsilon, size: PiecewiseRandomizer(epsilon, size - 1, 4), 5),
    Entry("hybrid", lambda epsilon, size: HybridRandomizer(epsilon, _grid(size), 4), 5),
    Entry("square-wave", SquareWave, 8),
    Entry("coordinate-sampling", lambda epsilon, size: CoordinateSampling(epsilon, size, 2), 2, _corners),
    Entry("priv-unit", lambda epsilon, size: PrivUnit(epsilon, size, 4, 8), 2, _axes),
)
CATALOGUE = {entry.name: entry for entry in ENTRIES}


def entry_of(name: str) -> Entry:
    """The entry of this name; an unknown one is refused, with the nearest that exists."""
    if name in CATALOGUE:
        return CATALOGUE[name]
    near = get_close_matches(name, CATALOGUE, 1) or [", ".join(CATALOGUE)]
    raise InvalidParameter(f"there is no randomizer {name!s:.40}; did you mean {near[0]}?")
