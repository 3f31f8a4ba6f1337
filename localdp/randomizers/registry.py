"""Every randomizer of the library: one row for each, which the codec, the audit, the choice and the contract suite read.

A row names the class, the field of `Randomizer` in randomizer.proto that it travels as, and how to make one from an
epsilon and a size.  The size is the number of inputs, or as near to it as the randomizer allows: a grid of a power of two
and one more, the records of some bits.  For randomizers of open domains it is how many fingerprints are tried; for those
of vectors it is the dimension.

Checked in tests/unit/randomizers/test_registry.py: a construction that is in no row is found.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from localdp.accounting.epsilon import LARGEST_EPSILON_NATS, Epsilon
from localdp.errors import InvalidParameter
from localdp.randomizers.coordinate_sampling import CoordinateSampling
from localdp.randomizers.count_mean_sketch import CountMeanSketch, HadamardCountMeanSketch
from localdp.randomizers.definition import LocalRandomizer
from localdp.randomizers.finite_channel import FiniteChannel
from localdp.randomizers.haar import HaarRanges
from localdp.randomizers.hadamard import HadamardResponse
from localdp.randomizers.hierarchy import HierarchicalRanges
from localdp.randomizers.hybrid import HybridRandomizer
from localdp.randomizers.input_kinds import Input
from localdp.randomizers.k_ary import KaryRandomizedResponse
from localdp.randomizers.local_hashing import OptimalLocalHashing
from localdp.randomizers.local_laplace import LocalDiscreteLaplace
from localdp.randomizers.marginals import HadamardMarginals
from localdp.randomizers.memoised import MemoisedUnary, memoised_optimized_unary, memoised_symmetric_unary
from localdp.randomizers.memoised_hashing import MemoisedHashing
from localdp.randomizers.one_bit import OneBitRandomizer
from localdp.randomizers.parts.construction import Construction
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
    """A kind of randomizer: its name and its class, how to make one, and on what it is tried."""

    name: str  # as in its canonical text
    construction: type[Construction]
    small: int  # the size at which all coins are followed in a moment
    make: Make | None = None  # None: from the epsilon and the size
    tried: Callable[[Any, int], Sequence[Input] | None] = lambda _, __: None  # None: the auditor decides
    others: tuple[Callable[[Epsilon], Any], ...] = ()  # that the contract suite tries besides the small one
    field: str = ""  # of `Randomizer` on the wire, if it is not the name

    @property
    def wire(self) -> str:
        """The field of `Randomizer` in randomizer.proto that it travels as."""
        return self.field or self.name.replace("-", "_")

    def made(self, epsilon: Epsilon, size: int) -> Any:
        """The randomizer of this size."""
        require_between("the number of inputs", size, 2, MOST_INPUTS)
        make: Make = self.make or self.construction
        return make(epsilon, size)

    def examples(self, epsilon: Epsilon) -> list[Any]:
        """What the contract suite runs on."""
        return [self.made(epsilon, self.small), *(other(epsilon) for other in self.others)]


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
    Entry(
        "one-bit",
        OneBitRandomizer,
        5,
        lambda e, size: OneBitRandomizer(e, _grid(size)),
        others=(OneBitRandomizer,),
    ),
    Entry("k-ary", KaryRandomizedResponse, 5, others=(lambda e: KaryRandomizedResponse(e, 2),)),
    Entry("subset-selection", SubsetSelection, 6, others=(lambda e: SubsetSelection(e, 70),)),
    Entry("projective-geometry", ProjectiveGeometryResponse, 7),
    Entry("symmetric-unary", SymmetricUnaryEncoding, 5),
    Entry("optimized-unary", OptimizedUnaryEncoding, 5, others=(lambda e: OptimizedUnaryEncoding(e, 130),)),
    Entry("hadamard", HadamardResponse, 5),
    Entry(
        "recursive-hadamard",
        RecursiveHadamardResponse,
        6,
        others=(lambda e: RecursiveHadamardResponse(e, 5, 2),),
    ),
    Entry("local-hashing", OptimalLocalHashing, 6, lambda e, _: OptimalLocalHashing(e), _fingerprints),
    Entry("finite-channel", FiniteChannel, 3, _channel),
    Entry(
        "count-mean-sketch",
        CountMeanSketch,
        4,
        lambda e, _: CountMeanSketch(e, 2, 4),
        _fingerprints,
        others=(lambda e: CountMeanSketch(e, 2, 4, hash_seed=7),),
    ),
    Entry(
        "hadamard-count-mean-sketch",
        HadamardCountMeanSketch,
        4,
        lambda e, _: HadamardCountMeanSketch(e, 2, 4),
        _fingerprints,
        others=(lambda e: HadamardCountMeanSketch(e, 2, 4, hash_seed=7),),
    ),
    Entry(
        "basic-rappor",
        BasicRappor,
        3,
        lambda e, size: BasicRappor(symmetric_rounds(_permanent(e), e), size),
    ),
    Entry(
        "bloom-rappor",
        BloomRappor,
        3,
        _bloom,
        _fingerprints,
        others=(lambda e: BloomRappor(symmetric_rounds(_permanent(e), e), 3, 1, cohorts=2, hash_seed=7),),
    ),
    Entry(
        "memoised-symmetric-unary",
        MemoisedUnary,
        3,
        lambda e, size: memoised_symmetric_unary(_permanent(e), e, size),
        field="memoised_unary",
    ),
    Entry(
        "memoised-optimized-unary",
        MemoisedUnary,
        3,
        lambda e, size: memoised_optimized_unary(_permanent(e), e, size),
        field="memoised_unary",
    ),
    Entry(
        "memoised-hashing",
        MemoisedHashing,
        4,
        lambda e, _: MemoisedHashing(e, _permanent(e), 4),
        _fingerprints,
    ),
    Entry("haar-ranges", HaarRanges, 8),
    Entry("hierarchical-ranges", HierarchicalRanges, 4, lambda e, size: HierarchicalRanges(e, size, 2)),
    Entry(
        "hadamard-marginals",
        HadamardMarginals,
        8,
        lambda e, size: HadamardMarginals(e, (size - 1).bit_length(), 1),
        others=(lambda e: HadamardMarginals(e, 3), lambda e: HadamardMarginals(e, 3, 2, labelled=True)),
    ),
    Entry(
        "local-discrete-laplace",
        LocalDiscreteLaplace,
        6,
        lambda e, size: LocalDiscreteLaplace(e, size - 1),
        field="local_laplace",
    ),
    Entry("piecewise", PiecewiseRandomizer, 5, lambda e, size: PiecewiseRandomizer(e, size - 1, 4)),
    Entry("hybrid", HybridRandomizer, 5, lambda e, size: HybridRandomizer(e, _grid(size), 4)),
    Entry("square-wave", SquareWave, 8),
    Entry(
        "coordinate-sampling",
        CoordinateSampling,
        2,
        lambda e, size: CoordinateSampling(e, size, 2),
        _corners,
    ),
    Entry("priv-unit", PrivUnit, 2, lambda e, size: PrivUnit(e, size, 4, 8), _axes),
)
REGISTRY = {entry.name: entry for entry in ENTRIES}


_CLASSES = {entry.wire: entry.construction for entry in ENTRIES}
_WIRE_NAMES = {entry.construction: entry.wire for entry in ENTRIES}


def class_of(wire: str) -> Any:
    """The class of what travels under this name."""
    if wire not in _CLASSES:
        raise InvalidParameter("this randomizer is not known here")
    return _CLASSES[wire]


def wire_name_of(randomizer: LocalRandomizer) -> str:
    """The name that a randomizer travels under; a class of which there is no row, a subclass too, has none."""
    kind: Any = type(randomizer)
    if kind not in _WIRE_NAMES:
        raise InvalidParameter(f"a {kind.__name__} has no form on the wire")
    return _WIRE_NAMES[kind]


def entry_of(name: str) -> Entry:
    """The entry of this name; an unknown one is refused, with the nearest that exists."""
    if name in REGISTRY:
        return REGISTRY[name]
    near = get_close_matches(name, REGISTRY, 1) or [", ".join(REGISTRY)]
    raise InvalidParameter(f"there is no randomizer {name!s:.40}; did you mean {near[0]}?")
