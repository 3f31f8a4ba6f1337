"""What a randomizer costs: the reports of a part, drawn and packed, by its parameters.

Checked in tests/unit/party/test_cost.py: every randomizer that has a form on the wire has a price.
"""

from __future__ import annotations

from collections.abc import Callable
from math import log2, sqrt
from typing import Any

from localdp.errors import InvalidParameter
from localdp.party.cost import WORD_SECONDS, Work
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
from localdp.randomizers.rappor import BasicRappor, BloomRappor
from localdp.randomizers.recursive_hadamard import RecursiveHadamardResponse
from localdp.randomizers.square_wave import SquareWave
from localdp.randomizers.subset_selection import SubsetSelection
from localdp.randomizers.unary import OptimizedUnaryEncoding, SymmetricUnaryEncoding


def _work(fixed_us: float, person_ns: float, words: int = 4) -> Work:
    """`words` of 64 coins are drawn for a person."""
    return Work(fixed_us * 1e-6, person_ns * 1e-9, words * WORD_SECONDS)


def _one_bit(randomizer: OneBitRandomizer) -> Work:
    return _work(60, 2, 1) if randomizer.resolution == 1 else _work(70, 14, 1)


def _subset(randomizer: SubsetSelection) -> Work:
    """A table of the law for each part; then keys for all inputs, sorted."""
    inputs = randomizer.inputs
    return _work(300 + 5 * inputs, 60 + inputs * (2 + log2(inputs) / 2.4), 2 * inputs)


def _unary(randomizer: OptimizedUnaryEncoding | SymmetricUnaryEncoding) -> Work:
    """A word for each input."""
    return _work(100 + 0.4 * randomizer.inputs, 30 + 2.8 * randomizer.inputs, randomizer.inputs)


def _recursive(randomizer: RecursiveHadamardResponse) -> Work:
    return _work(200 + 40 * randomizer.private_bits, 20 + 4 * randomizer.private_bits)


def _laplace(randomizer: LocalDiscreteLaplace) -> Work:
    """A table of the law for each part, and a search in it."""
    return _work(250 + 0.2 * randomizer.resolution, 120 + 1.2 * sqrt(randomizer.resolution))


def _coordinate(randomizer: CoordinateSampling) -> Work:
    return _work(200, 40 + 0.8 * randomizer.dimension)


def _priv_unit(randomizer: PrivUnit) -> Work:
    """The normals of half of the candidates, and their scores sorted."""
    pairs = randomizer.candidates // 2
    return _work(500, 12 * pairs * (randomizer.dimension + 1) + 80 * pairs)


def _hierarchy(randomizer: HierarchicalRanges) -> Work:
    return _work(250 + 0.4 * randomizer.inputs, 120 + 4 * randomizer.inputs, 2 * randomizer.inputs)


def _marginals(randomizer: HadamardMarginals) -> Work:
    return _work(200, 22 + 0.6 * randomizer.bits)


def _sketch(randomizer: CountMeanSketch) -> Work:
    return _work(200, 50 + 4.5 * randomizer.width, randomizer.width)


def _channel(randomizer: FiniteChannel) -> Work:
    """A table of the law for each part, and a search in it."""
    rows, outputs = len(randomizer.matrix), len(randomizer.matrix[0])
    return _work(200 + 0.12 * rows * outputs, 60 + 16 * log2(outputs))


def _rappor(randomizer: BasicRappor) -> Work:
    """Two words for each input."""
    return _work(150, 50 + 10 * randomizer.inputs, 2 * randomizer.inputs)


def _bloom(randomizer: BloomRappor) -> Work:
    return _work(400, 100 + 12 * randomizer.width, 2 * randomizer.width)


def _memoised_unary(randomizer: MemoisedUnary) -> Work:
    """Lanes by value: coins of the other values are passed over."""
    inputs = randomizer.inputs
    return _work(200 + inputs, 260 * inputs + 0.25 * inputs**2, 2 * inputs)


PRICES: dict[type[Any], Callable[[Any], Work]] = {
    OneBitRandomizer: _one_bit,
    KaryRandomizedResponse: lambda randomizer: _work(200, 18),
    SubsetSelection: _subset,
    OptimizedUnaryEncoding: _unary,
    SymmetricUnaryEncoding: _unary,
    HadamardResponse: lambda randomizer: _work(250, 15),
    RecursiveHadamardResponse: _recursive,
    ProjectiveGeometryResponse: lambda randomizer: _work(300, 65),
    OptimalLocalHashing: lambda randomizer: _work(250, 42),
    PiecewiseRandomizer: lambda randomizer: _work(250, 26),
    HybridRandomizer: lambda randomizer: _work(600, 40),
    LocalDiscreteLaplace: _laplace,
    CoordinateSampling: _coordinate,
    PrivUnit: _priv_unit,
    SquareWave: lambda randomizer: _work(250, 50),
    HaarRanges: lambda randomizer: _work(250, 52),
    HierarchicalRanges: _hierarchy,
    HadamardMarginals: _marginals,
    CountMeanSketch: _sketch,
    HadamardCountMeanSketch: lambda randomizer: _work(300, 36),
    FiniteChannel: _channel,
    BasicRappor: _rappor,
    BloomRappor: _bloom,
    MemoisedUnary: _memoised_unary,
    MemoisedHashing: lambda randomizer: _work(700, 520, 16),
}


def draw_work(randomizer: LocalRandomizer) -> Work:
    """Drawing and packing the reports of a part."""
    price = PRICES.get(type(randomizer))
    if price is None:
        raise InvalidParameter(f"a {type(randomizer).__name__} has no price, and is not drawn")
    return price(randomizer)
