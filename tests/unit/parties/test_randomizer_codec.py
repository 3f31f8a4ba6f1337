"""Descriptions of randomizers: the same object at both ends, and nothing that is out of bounds."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter, LocalDpError
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
from localdp.randomizers.memoised import memoised_optimized_unary, memoised_symmetric_unary
from localdp.randomizers.memoised_hashing import MemoisedHashing
from localdp.randomizers.one_bit import OneBitRandomizer
from localdp.randomizers.piecewise import PiecewiseRandomizer
from localdp.randomizers.priv_unit import PrivUnit
from localdp.randomizers.projective_geometry import ProjectiveGeometryResponse
from localdp.randomizers.rappor import BasicRappor, BloomRappor, published_rounds
from localdp.randomizers.recursive_hadamard import RecursiveHadamardResponse
from localdp.randomizers.square_wave import SquareWave
from localdp.randomizers.subset_selection import SubsetSelection
from localdp.randomizers.unary import OptimizedUnaryEncoding, SymmetricUnaryEncoding
from parties.randomizer_codec import randomizer_from_wire, randomizer_to_wire
from parties.wire.v1 import randomizer_pb2 as pb

ONE, TWO = Epsilon.requested(1), Epsilon.requested(2)
ROUNDS = published_rounds("0.5", "0.5", "0.75")
EVERY_KIND: list[LocalRandomizer] = [
    OneBitRandomizer(ONE, 1 << 16),
    KaryRandomizedResponse(ONE, 16),
    SubsetSelection(ONE, 64),
    OptimizedUnaryEncoding(ONE, 100),
    SymmetricUnaryEncoding(ONE, 100),
    HadamardResponse(ONE, 100),
    RecursiveHadamardResponse(TWO, 100, 2),
    ProjectiveGeometryResponse(ONE, 100),
    OptimalLocalHashing(ONE),
    FiniteChannel(((3, 1), (1, 3))),
    PiecewiseRandomizer(ONE, 64, 8),
    HybridRandomizer(ONE, 64, 8),
    LocalDiscreteLaplace(ONE, 16),
    CoordinateSampling(ONE, 10, 64),
    PrivUnit(ONE, 5),
    SquareWave(ONE, 64),
    HaarRanges(ONE, 64),
    HierarchicalRanges(ONE, 64, 4),
    HadamardMarginals(ONE, 8, 2),
    HadamardMarginals(ONE, 8, 2, labelled=True),
    BasicRappor(ROUNDS, 10),
    BloomRappor(ROUNDS, 32, 2, 4, 7),
    CountMeanSketch(ONE, 8, 64, 3),
    HadamardCountMeanSketch(ONE, 8, 64, 3),
    memoised_optimized_unary(TWO, ONE, 10),
    memoised_symmetric_unary(TWO, ONE, 10),
    MemoisedHashing(ONE, TWO),
]


@pytest.mark.parametrize("randomizer", EVERY_KIND, ids=lambda randomizer: randomizer.canonical)
def test_both_ends_have_the_same_randomizer(randomizer: LocalRandomizer) -> None:
    described = randomizer_to_wire(randomizer).SerializeToString()
    rebuilt = randomizer_from_wire(pb.Randomizer.FromString(described))
    assert rebuilt == randomizer
    assert rebuilt.canonical == randomizer.canonical
    assert rebuilt.epsilon == randomizer.epsilon
    assert rebuilt.report_bits == randomizer.report_bits


def test_every_kind_of_the_contract_is_covered() -> None:
    kinds = {randomizer_to_wire(randomizer).WhichOneof("kind") for randomizer in EVERY_KIND}
    assert kinds == {field.name for field in pb.Randomizer.DESCRIPTOR.oneofs_by_name["kind"].fields}


@pytest.mark.parametrize(
    "kind", [field.name for field in pb.Randomizer.DESCRIPTOR.oneofs_by_name["kind"].fields]
)
def test_an_empty_description_is_refused(kind: str) -> None:
    empty = pb.Randomizer()
    getattr(empty, kind).SetInParent()
    with pytest.raises(InvalidParameter):
        randomizer_from_wire(empty)


def test_an_unknown_randomizer_is_refused() -> None:
    unknown = pb.Randomizer.FromString(b"\xfa\x7f\x02\x08\x01")  # field 2047, which nobody has
    with pytest.raises(InvalidParameter, match="not known"):
        randomizer_from_wire(unknown)


def test_a_channel_whose_true_epsilon_is_infinite_is_refused() -> None:
    rows = [pb.ChannelRow(weights=(1, 0)), pb.ChannelRow(weights=(0, 1))]
    with pytest.raises(InvalidParameter):
        randomizer_from_wire(pb.Randomizer(finite_channel=pb.FiniteChannel(rows=rows)))


def test_the_epsilon_of_a_channel_is_what_its_matrix_has() -> None:
    rows = [pb.ChannelRow(weights=(3, 1)), pb.ChannelRow(weights=(1, 3))]
    channel = randomizer_from_wire(pb.Randomizer(finite_channel=pb.FiniteChannel(rows=rows)))
    assert str(channel.epsilon) == "1.098612289"  # log 3, rounded up


@given(st.sampled_from(EVERY_KIND), st.data())
@settings(max_examples=300, deadline=None)
def test_hostile_numbers_are_refused_or_harmless(randomizer: LocalRandomizer, data: st.DataObject) -> None:
    message = randomizer_to_wire(randomizer)
    kind = message.WhichOneof("kind")
    assert kind is not None
    inner = getattr(message, kind)
    numbers = [
        field for field in inner.DESCRIPTOR.fields if field.type in (field.TYPE_UINT32, field.TYPE_UINT64)
    ]
    for field in numbers:
        most = (1 << 32) - 1 if field.type == field.TYPE_UINT32 else (1 << 64) - 1
        kept = getattr(inner, field.name)
        setattr(inner, field.name, data.draw(st.sampled_from([kept, kept, 0, 1, 2, 3, most // 2, most])))
    try:
        rebuilt = randomizer_from_wire(message)
    except LocalDpError:
        return
    assert rebuilt.epsilon <= Epsilon.requested(30) or kind in (
        "basic_rappor",
        "bloom_rappor",
        "finite_channel",
    )
