"""Randomizers to and from the wire: parameters only.

Rebuilding one runs its constructor, which checks the parameters and derives the thresholds; the epsilon of what comes
out is that of the law that it has.  What is unknown here, or outside its bounds, is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter
from localdp.randomizers.coordinate_sampling import CoordinateSampling
from localdp.randomizers.count_mean_sketch import CountMeanSketch, HadamardCountMeanSketch
from localdp.randomizers.definition import LocalRandomizer
from localdp.randomizers.finite_channel import FiniteChannel
from localdp.randomizers.haar import HaarRanges
from localdp.randomizers.hadamard import HadamardResponse
from localdp.randomizers.hierarchy import HierarchicalRanges
from localdp.randomizers.hybrid import HybridRandomizer
from localdp.randomizers.k_ary import KaryRandomizedResponse
from localdp.randomizers.local_hashing import OptimalLocalHashing
from localdp.randomizers.local_laplace import LocalDiscreteLaplace
from localdp.randomizers.marginals import HadamardMarginals
from localdp.randomizers.memoised import MemoisedUnary
from localdp.randomizers.memoised_hashing import MemoisedHashing
from localdp.randomizers.one_bit import OneBitRandomizer
from localdp.randomizers.piecewise import PiecewiseRandomizer
from localdp.randomizers.priv_unit import PrivUnit
from localdp.randomizers.projective_geometry import ProjectiveGeometryResponse
from localdp.randomizers.rappor import BasicRappor, BloomRappor, TwoRounds
from localdp.randomizers.recursive_hadamard import RecursiveHadamardResponse
from localdp.randomizers.square_wave import SquareWave
from localdp.randomizers.subset_selection import SubsetSelection
from localdp.randomizers.unary import OptimizedUnaryEncoding, SymmetricUnaryEncoding
from parties.wire.v1 import randomizer_pb2 as pb


@dataclass(frozen=True, slots=True)
class _Parameters:
    """A randomizer whose description is its epsilon and some whole numbers."""

    kind: str  # the name of the field in `Randomizer`
    randomizer: type[Any]
    message: type[Any]
    numbers: tuple[str, ...]

    def to_wire(self, randomizer: Any) -> pb.Randomizer:
        numbers = {name: getattr(randomizer, name) for name in self.numbers}
        message = self.message(epsilon_nanonats=randomizer.requested.nanonats, **numbers)
        return pb.Randomizer(**{self.kind: message})

    def from_wire(self, message: Any) -> LocalRandomizer:
        numbers = {name: getattr(message, name) for name in self.numbers}
        rebuilt: LocalRandomizer = self.randomizer(Epsilon(message.epsilon_nanonats), **numbers)
        return rebuilt


_PLAIN = (
    _Parameters("one_bit", OneBitRandomizer, pb.OneBitRandomizer, ("resolution",)),
    _Parameters("k_ary", KaryRandomizedResponse, pb.KaryRandomizedResponse, ("inputs",)),
    _Parameters("subset_selection", SubsetSelection, pb.SubsetSelection, ("inputs", "size")),
    _Parameters("optimized_unary", OptimizedUnaryEncoding, pb.UnaryEncoding, ("inputs",)),
    _Parameters("symmetric_unary", SymmetricUnaryEncoding, pb.UnaryEncoding, ("inputs",)),
    _Parameters("hadamard", HadamardResponse, pb.HadamardResponse, ("inputs",)),
    _Parameters(
        "recursive_hadamard", RecursiveHadamardResponse, pb.RecursiveHadamardResponse, ("inputs", "bits")
    ),
    _Parameters(
        "projective_geometry",
        ProjectiveGeometryResponse,
        pb.ProjectiveGeometryResponse,
        ("inputs", "field_order", "dimension"),
    ),
    _Parameters("local_hashing", OptimalLocalHashing, pb.LocalHashing, ("buckets",)),
    _Parameters("piecewise", PiecewiseRandomizer, pb.GridRandomizer, ("resolution", "fineness")),
    _Parameters("hybrid", HybridRandomizer, pb.GridRandomizer, ("resolution", "fineness")),
    _Parameters("local_laplace", LocalDiscreteLaplace, pb.LocalDiscreteLaplace, ("resolution",)),
    _Parameters(
        "coordinate_sampling", CoordinateSampling, pb.CoordinateSampling, ("dimension", "resolution")
    ),
    _Parameters("priv_unit", PrivUnit, pb.PrivUnit, ("dimension", "resolution", "candidates", "near")),
    _Parameters("square_wave", SquareWave, pb.SquareWave, ("buckets",)),
    _Parameters("haar_ranges", HaarRanges, pb.HaarRanges, ("inputs",)),
    _Parameters("hierarchical_ranges", HierarchicalRanges, pb.HierarchicalRanges, ("inputs", "branching")),
    _Parameters(
        "hadamard_marginals", HadamardMarginals, pb.HadamardMarginals, ("bits", "order", "labelled")
    ),
    _Parameters("count_mean_sketch", CountMeanSketch, pb.CountMeanSketch, ("hashes", "width", "hash_seed")),
    _Parameters(
        "hadamard_count_mean_sketch",
        HadamardCountMeanSketch,
        pb.CountMeanSketch,
        ("hashes", "width", "hash_seed"),
    ),
)
_BY_CLASS = {entry.randomizer: entry for entry in _PLAIN}
_BY_KIND = {entry.kind: entry for entry in _PLAIN}


def randomizer_to_wire(randomizer: LocalRandomizer) -> pb.Randomizer:
    """The parameters of a randomizer."""
    entry = _BY_CLASS.get(type(randomizer))
    if entry is not None:
        return entry.to_wire(randomizer)
    match randomizer:
        case FiniteChannel():
            rows = [pb.ChannelRow(weights=row) for row in randomizer.matrix]
            return pb.Randomizer(finite_channel=pb.FiniteChannel(rows=rows))
        case BasicRappor():
            rounds = _rounds_to_wire(randomizer.rounds)
            return pb.Randomizer(basic_rappor=pb.BasicRappor(rounds=rounds, inputs=randomizer.inputs))
        case BloomRappor():
            return pb.Randomizer(bloom_rappor=_bloom_to_wire(randomizer))
        case MemoisedUnary():
            return pb.Randomizer(memoised_unary=_memoised_unary_to_wire(randomizer))
        case MemoisedHashing():
            return pb.Randomizer(memoised_hashing=_memoised_hashing_to_wire(randomizer))
    raise InvalidParameter(f"a {type(randomizer).__name__} has no form on the wire")


def randomizer_from_wire(randomizer: pb.Randomizer) -> LocalRandomizer:
    """The randomizer that the parameters describe, with the epsilon that its law has."""
    kind = randomizer.WhichOneof("kind")
    if kind is None:
        raise InvalidParameter("this randomizer is not known here")
    message = getattr(randomizer, kind)
    if kind in _BY_KIND:
        return _BY_KIND[kind].from_wire(message)
    return _SPECIAL[kind](message)


def _rounds_to_wire(rounds: TwoRounds) -> pb.RapporRounds:
    return pb.RapporRounds(flip=rounds.flip, low=rounds.low, high=rounds.high)


def _rounds(message: pb.RapporRounds) -> TwoRounds:
    return TwoRounds(message.flip, message.low, message.high)


def _bloom_to_wire(randomizer: BloomRappor) -> pb.BloomRappor:
    return pb.BloomRappor(
        rounds=_rounds_to_wire(randomizer.rounds),
        width=randomizer.width,
        hashes=randomizer.hashes,
        cohorts=randomizer.cohorts,
        hash_seed=randomizer.hash_seed,
    )


def _memoised_unary_to_wire(randomizer: MemoisedUnary) -> pb.MemoisedUnary:
    return pb.MemoisedUnary(
        epsilon_nanonats=randomizer.requested.nanonats,
        inputs=randomizer.inputs,
        permanent_nanonats=randomizer.permanent.requested.nanonats,
        optimized=isinstance(randomizer.permanent, OptimizedUnaryEncoding),
    )


def _memoised_hashing_to_wire(randomizer: MemoisedHashing) -> pb.MemoisedHashing:
    return pb.MemoisedHashing(
        epsilon_nanonats=randomizer.requested.nanonats,
        permanent_nanonats=randomizer.requested_permanent.nanonats,
        buckets=randomizer.number,
    )


def _finite_channel(message: pb.FiniteChannel) -> FiniteChannel:
    return FiniteChannel(tuple(tuple(row.weights) for row in message.rows))


def _basic_rappor(message: pb.BasicRappor) -> BasicRappor:
    return BasicRappor(_rounds(message.rounds), message.inputs)


def _bloom_rappor(message: pb.BloomRappor) -> BloomRappor:
    return BloomRappor(
        _rounds(message.rounds), message.width, message.hashes, message.cohorts, message.hash_seed
    )


def _memoised_unary(message: pb.MemoisedUnary) -> MemoisedUnary:
    encoding = OptimizedUnaryEncoding if message.optimized else SymmetricUnaryEncoding
    permanent = encoding(Epsilon(message.permanent_nanonats), message.inputs)
    return MemoisedUnary(Epsilon(message.epsilon_nanonats), message.inputs, permanent)


def _memoised_hashing(message: pb.MemoisedHashing) -> MemoisedHashing:
    first, permanent = Epsilon(message.epsilon_nanonats), Epsilon(message.permanent_nanonats)
    return MemoisedHashing(first, permanent, message.buckets)


_SPECIAL: dict[str, Callable[[Any], LocalRandomizer]] = {
    "finite_channel": _finite_channel,
    "basic_rappor": _basic_rappor,
    "bloom_rappor": _bloom_rappor,
    "memoised_unary": _memoised_unary,
    "memoised_hashing": _memoised_hashing,
}
