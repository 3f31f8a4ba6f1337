from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Randomizer(_message.Message):
    __slots__ = ("one_bit", "k_ary", "subset_selection", "optimized_unary", "symmetric_unary", "hadamard", "recursive_hadamard", "projective_geometry", "local_hashing", "finite_channel", "piecewise", "hybrid", "local_laplace", "coordinate_sampling", "priv_unit", "square_wave", "haar_ranges", "hierarchical_ranges", "hadamard_marginals", "basic_rappor", "bloom_rappor", "count_mean_sketch", "hadamard_count_mean_sketch", "memoised_unary", "memoised_hashing")
    ONE_BIT_FIELD_NUMBER: _ClassVar[int]
    K_ARY_FIELD_NUMBER: _ClassVar[int]
    SUBSET_SELECTION_FIELD_NUMBER: _ClassVar[int]
    OPTIMIZED_UNARY_FIELD_NUMBER: _ClassVar[int]
    SYMMETRIC_UNARY_FIELD_NUMBER: _ClassVar[int]
    HADAMARD_FIELD_NUMBER: _ClassVar[int]
    RECURSIVE_HADAMARD_FIELD_NUMBER: _ClassVar[int]
    PROJECTIVE_GEOMETRY_FIELD_NUMBER: _ClassVar[int]
    LOCAL_HASHING_FIELD_NUMBER: _ClassVar[int]
    FINITE_CHANNEL_FIELD_NUMBER: _ClassVar[int]
    PIECEWISE_FIELD_NUMBER: _ClassVar[int]
    HYBRID_FIELD_NUMBER: _ClassVar[int]
    LOCAL_LAPLACE_FIELD_NUMBER: _ClassVar[int]
    COORDINATE_SAMPLING_FIELD_NUMBER: _ClassVar[int]
    PRIV_UNIT_FIELD_NUMBER: _ClassVar[int]
    SQUARE_WAVE_FIELD_NUMBER: _ClassVar[int]
    HAAR_RANGES_FIELD_NUMBER: _ClassVar[int]
    HIERARCHICAL_RANGES_FIELD_NUMBER: _ClassVar[int]
    HADAMARD_MARGINALS_FIELD_NUMBER: _ClassVar[int]
    BASIC_RAPPOR_FIELD_NUMBER: _ClassVar[int]
    BLOOM_RAPPOR_FIELD_NUMBER: _ClassVar[int]
    COUNT_MEAN_SKETCH_FIELD_NUMBER: _ClassVar[int]
    HADAMARD_COUNT_MEAN_SKETCH_FIELD_NUMBER: _ClassVar[int]
    MEMOISED_UNARY_FIELD_NUMBER: _ClassVar[int]
    MEMOISED_HASHING_FIELD_NUMBER: _ClassVar[int]
    one_bit: OneBitRandomizer
    k_ary: KaryRandomizedResponse
    subset_selection: SubsetSelection
    optimized_unary: UnaryEncoding
    symmetric_unary: UnaryEncoding
    hadamard: HadamardResponse
    recursive_hadamard: RecursiveHadamardResponse
    projective_geometry: ProjectiveGeometryResponse
    local_hashing: LocalHashing
    finite_channel: FiniteChannel
    piecewise: GridRandomizer
    hybrid: GridRandomizer
    local_laplace: LocalDiscreteLaplace
    coordinate_sampling: CoordinateSampling
    priv_unit: PrivUnit
    square_wave: SquareWave
    haar_ranges: HaarRanges
    hierarchical_ranges: HierarchicalRanges
    hadamard_marginals: HadamardMarginals
    basic_rappor: BasicRappor
    bloom_rappor: BloomRappor
    count_mean_sketch: CountMeanSketch
    hadamard_count_mean_sketch: CountMeanSketch
    memoised_unary: MemoisedUnary
    memoised_hashing: MemoisedHashing
    def __init__(self, one_bit: _Optional[_Union[OneBitRandomizer, _Mapping]] = ..., k_ary: _Optional[_Union[KaryRandomizedResponse, _Mapping]] = ..., subset_selection: _Optional[_Union[SubsetSelection, _Mapping]] = ..., optimized_unary: _Optional[_Union[UnaryEncoding, _Mapping]] = ..., symmetric_unary: _Optional[_Union[UnaryEncoding, _Mapping]] = ..., hadamard: _Optional[_Union[HadamardResponse, _Mapping]] = ..., recursive_hadamard: _Optional[_Union[RecursiveHadamardResponse, _Mapping]] = ..., projective_geometry: _Optional[_Union[ProjectiveGeometryResponse, _Mapping]] = ..., local_hashing: _Optional[_Union[LocalHashing, _Mapping]] = ..., finite_channel: _Optional[_Union[FiniteChannel, _Mapping]] = ..., piecewise: _Optional[_Union[GridRandomizer, _Mapping]] = ..., hybrid: _Optional[_Union[GridRandomizer, _Mapping]] = ..., local_laplace: _Optional[_Union[LocalDiscreteLaplace, _Mapping]] = ..., coordinate_sampling: _Optional[_Union[CoordinateSampling, _Mapping]] = ..., priv_unit: _Optional[_Union[PrivUnit, _Mapping]] = ..., square_wave: _Optional[_Union[SquareWave, _Mapping]] = ..., haar_ranges: _Optional[_Union[HaarRanges, _Mapping]] = ..., hierarchical_ranges: _Optional[_Union[HierarchicalRanges, _Mapping]] = ..., hadamard_marginals: _Optional[_Union[HadamardMarginals, _Mapping]] = ..., basic_rappor: _Optional[_Union[BasicRappor, _Mapping]] = ..., bloom_rappor: _Optional[_Union[BloomRappor, _Mapping]] = ..., count_mean_sketch: _Optional[_Union[CountMeanSketch, _Mapping]] = ..., hadamard_count_mean_sketch: _Optional[_Union[CountMeanSketch, _Mapping]] = ..., memoised_unary: _Optional[_Union[MemoisedUnary, _Mapping]] = ..., memoised_hashing: _Optional[_Union[MemoisedHashing, _Mapping]] = ...) -> None: ...

class OneBitRandomizer(_message.Message):
    __slots__ = ("epsilon_nanonats", "resolution")
    EPSILON_NANONATS_FIELD_NUMBER: _ClassVar[int]
    RESOLUTION_FIELD_NUMBER: _ClassVar[int]
    epsilon_nanonats: int
    resolution: int
    def __init__(self, epsilon_nanonats: _Optional[int] = ..., resolution: _Optional[int] = ...) -> None: ...

class KaryRandomizedResponse(_message.Message):
    __slots__ = ("epsilon_nanonats", "inputs")
    EPSILON_NANONATS_FIELD_NUMBER: _ClassVar[int]
    INPUTS_FIELD_NUMBER: _ClassVar[int]
    epsilon_nanonats: int
    inputs: int
    def __init__(self, epsilon_nanonats: _Optional[int] = ..., inputs: _Optional[int] = ...) -> None: ...

class SubsetSelection(_message.Message):
    __slots__ = ("epsilon_nanonats", "inputs", "size")
    EPSILON_NANONATS_FIELD_NUMBER: _ClassVar[int]
    INPUTS_FIELD_NUMBER: _ClassVar[int]
    SIZE_FIELD_NUMBER: _ClassVar[int]
    epsilon_nanonats: int
    inputs: int
    size: int
    def __init__(self, epsilon_nanonats: _Optional[int] = ..., inputs: _Optional[int] = ..., size: _Optional[int] = ...) -> None: ...

class UnaryEncoding(_message.Message):
    __slots__ = ("epsilon_nanonats", "inputs")
    EPSILON_NANONATS_FIELD_NUMBER: _ClassVar[int]
    INPUTS_FIELD_NUMBER: _ClassVar[int]
    epsilon_nanonats: int
    inputs: int
    def __init__(self, epsilon_nanonats: _Optional[int] = ..., inputs: _Optional[int] = ...) -> None: ...

class HadamardResponse(_message.Message):
    __slots__ = ("epsilon_nanonats", "inputs")
    EPSILON_NANONATS_FIELD_NUMBER: _ClassVar[int]
    INPUTS_FIELD_NUMBER: _ClassVar[int]
    epsilon_nanonats: int
    inputs: int
    def __init__(self, epsilon_nanonats: _Optional[int] = ..., inputs: _Optional[int] = ...) -> None: ...

class RecursiveHadamardResponse(_message.Message):
    __slots__ = ("epsilon_nanonats", "inputs", "bits")
    EPSILON_NANONATS_FIELD_NUMBER: _ClassVar[int]
    INPUTS_FIELD_NUMBER: _ClassVar[int]
    BITS_FIELD_NUMBER: _ClassVar[int]
    epsilon_nanonats: int
    inputs: int
    bits: int
    def __init__(self, epsilon_nanonats: _Optional[int] = ..., inputs: _Optional[int] = ..., bits: _Optional[int] = ...) -> None: ...

class ProjectiveGeometryResponse(_message.Message):
    __slots__ = ("epsilon_nanonats", "inputs", "field_order", "dimension")
    EPSILON_NANONATS_FIELD_NUMBER: _ClassVar[int]
    INPUTS_FIELD_NUMBER: _ClassVar[int]
    FIELD_ORDER_FIELD_NUMBER: _ClassVar[int]
    DIMENSION_FIELD_NUMBER: _ClassVar[int]
    epsilon_nanonats: int
    inputs: int
    field_order: int
    dimension: int
    def __init__(self, epsilon_nanonats: _Optional[int] = ..., inputs: _Optional[int] = ..., field_order: _Optional[int] = ..., dimension: _Optional[int] = ...) -> None: ...

class LocalHashing(_message.Message):
    __slots__ = ("epsilon_nanonats", "buckets")
    EPSILON_NANONATS_FIELD_NUMBER: _ClassVar[int]
    BUCKETS_FIELD_NUMBER: _ClassVar[int]
    epsilon_nanonats: int
    buckets: int
    def __init__(self, epsilon_nanonats: _Optional[int] = ..., buckets: _Optional[int] = ...) -> None: ...

class FiniteChannel(_message.Message):
    __slots__ = ("rows",)
    ROWS_FIELD_NUMBER: _ClassVar[int]
    rows: _containers.RepeatedCompositeFieldContainer[ChannelRow]
    def __init__(self, rows: _Optional[_Iterable[_Union[ChannelRow, _Mapping]]] = ...) -> None: ...

class ChannelRow(_message.Message):
    __slots__ = ("weights",)
    WEIGHTS_FIELD_NUMBER: _ClassVar[int]
    weights: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, weights: _Optional[_Iterable[int]] = ...) -> None: ...

class GridRandomizer(_message.Message):
    __slots__ = ("epsilon_nanonats", "resolution", "fineness")
    EPSILON_NANONATS_FIELD_NUMBER: _ClassVar[int]
    RESOLUTION_FIELD_NUMBER: _ClassVar[int]
    FINENESS_FIELD_NUMBER: _ClassVar[int]
    epsilon_nanonats: int
    resolution: int
    fineness: int
    def __init__(self, epsilon_nanonats: _Optional[int] = ..., resolution: _Optional[int] = ..., fineness: _Optional[int] = ...) -> None: ...

class LocalDiscreteLaplace(_message.Message):
    __slots__ = ("epsilon_nanonats", "resolution")
    EPSILON_NANONATS_FIELD_NUMBER: _ClassVar[int]
    RESOLUTION_FIELD_NUMBER: _ClassVar[int]
    epsilon_nanonats: int
    resolution: int
    def __init__(self, epsilon_nanonats: _Optional[int] = ..., resolution: _Optional[int] = ...) -> None: ...

class CoordinateSampling(_message.Message):
    __slots__ = ("epsilon_nanonats", "dimension", "resolution")
    EPSILON_NANONATS_FIELD_NUMBER: _ClassVar[int]
    DIMENSION_FIELD_NUMBER: _ClassVar[int]
    RESOLUTION_FIELD_NUMBER: _ClassVar[int]
    epsilon_nanonats: int
    dimension: int
    resolution: int
    def __init__(self, epsilon_nanonats: _Optional[int] = ..., dimension: _Optional[int] = ..., resolution: _Optional[int] = ...) -> None: ...

class PrivUnit(_message.Message):
    __slots__ = ("epsilon_nanonats", "dimension", "resolution", "candidates", "near")
    EPSILON_NANONATS_FIELD_NUMBER: _ClassVar[int]
    DIMENSION_FIELD_NUMBER: _ClassVar[int]
    RESOLUTION_FIELD_NUMBER: _ClassVar[int]
    CANDIDATES_FIELD_NUMBER: _ClassVar[int]
    NEAR_FIELD_NUMBER: _ClassVar[int]
    epsilon_nanonats: int
    dimension: int
    resolution: int
    candidates: int
    near: int
    def __init__(self, epsilon_nanonats: _Optional[int] = ..., dimension: _Optional[int] = ..., resolution: _Optional[int] = ..., candidates: _Optional[int] = ..., near: _Optional[int] = ...) -> None: ...

class SquareWave(_message.Message):
    __slots__ = ("epsilon_nanonats", "buckets")
    EPSILON_NANONATS_FIELD_NUMBER: _ClassVar[int]
    BUCKETS_FIELD_NUMBER: _ClassVar[int]
    epsilon_nanonats: int
    buckets: int
    def __init__(self, epsilon_nanonats: _Optional[int] = ..., buckets: _Optional[int] = ...) -> None: ...

class HaarRanges(_message.Message):
    __slots__ = ("epsilon_nanonats", "inputs")
    EPSILON_NANONATS_FIELD_NUMBER: _ClassVar[int]
    INPUTS_FIELD_NUMBER: _ClassVar[int]
    epsilon_nanonats: int
    inputs: int
    def __init__(self, epsilon_nanonats: _Optional[int] = ..., inputs: _Optional[int] = ...) -> None: ...

class HierarchicalRanges(_message.Message):
    __slots__ = ("epsilon_nanonats", "inputs", "branching")
    EPSILON_NANONATS_FIELD_NUMBER: _ClassVar[int]
    INPUTS_FIELD_NUMBER: _ClassVar[int]
    BRANCHING_FIELD_NUMBER: _ClassVar[int]
    epsilon_nanonats: int
    inputs: int
    branching: int
    def __init__(self, epsilon_nanonats: _Optional[int] = ..., inputs: _Optional[int] = ..., branching: _Optional[int] = ...) -> None: ...

class HadamardMarginals(_message.Message):
    __slots__ = ("epsilon_nanonats", "bits", "order", "labelled")
    EPSILON_NANONATS_FIELD_NUMBER: _ClassVar[int]
    BITS_FIELD_NUMBER: _ClassVar[int]
    ORDER_FIELD_NUMBER: _ClassVar[int]
    LABELLED_FIELD_NUMBER: _ClassVar[int]
    epsilon_nanonats: int
    bits: int
    order: int
    labelled: bool
    def __init__(self, epsilon_nanonats: _Optional[int] = ..., bits: _Optional[int] = ..., order: _Optional[int] = ..., labelled: bool = ...) -> None: ...

class RapporRounds(_message.Message):
    __slots__ = ("flip", "low", "high")
    FLIP_FIELD_NUMBER: _ClassVar[int]
    LOW_FIELD_NUMBER: _ClassVar[int]
    HIGH_FIELD_NUMBER: _ClassVar[int]
    flip: int
    low: int
    high: int
    def __init__(self, flip: _Optional[int] = ..., low: _Optional[int] = ..., high: _Optional[int] = ...) -> None: ...

class BasicRappor(_message.Message):
    __slots__ = ("rounds", "inputs")
    ROUNDS_FIELD_NUMBER: _ClassVar[int]
    INPUTS_FIELD_NUMBER: _ClassVar[int]
    rounds: RapporRounds
    inputs: int
    def __init__(self, rounds: _Optional[_Union[RapporRounds, _Mapping]] = ..., inputs: _Optional[int] = ...) -> None: ...

class BloomRappor(_message.Message):
    __slots__ = ("rounds", "width", "hashes", "cohorts", "hash_seed")
    ROUNDS_FIELD_NUMBER: _ClassVar[int]
    WIDTH_FIELD_NUMBER: _ClassVar[int]
    HASHES_FIELD_NUMBER: _ClassVar[int]
    COHORTS_FIELD_NUMBER: _ClassVar[int]
    HASH_SEED_FIELD_NUMBER: _ClassVar[int]
    rounds: RapporRounds
    width: int
    hashes: int
    cohorts: int
    hash_seed: int
    def __init__(self, rounds: _Optional[_Union[RapporRounds, _Mapping]] = ..., width: _Optional[int] = ..., hashes: _Optional[int] = ..., cohorts: _Optional[int] = ..., hash_seed: _Optional[int] = ...) -> None: ...

class CountMeanSketch(_message.Message):
    __slots__ = ("epsilon_nanonats", "hashes", "width", "hash_seed")
    EPSILON_NANONATS_FIELD_NUMBER: _ClassVar[int]
    HASHES_FIELD_NUMBER: _ClassVar[int]
    WIDTH_FIELD_NUMBER: _ClassVar[int]
    HASH_SEED_FIELD_NUMBER: _ClassVar[int]
    epsilon_nanonats: int
    hashes: int
    width: int
    hash_seed: int
    def __init__(self, epsilon_nanonats: _Optional[int] = ..., hashes: _Optional[int] = ..., width: _Optional[int] = ..., hash_seed: _Optional[int] = ...) -> None: ...

class MemoisedUnary(_message.Message):
    __slots__ = ("epsilon_nanonats", "inputs", "permanent_nanonats", "optimized")
    EPSILON_NANONATS_FIELD_NUMBER: _ClassVar[int]
    INPUTS_FIELD_NUMBER: _ClassVar[int]
    PERMANENT_NANONATS_FIELD_NUMBER: _ClassVar[int]
    OPTIMIZED_FIELD_NUMBER: _ClassVar[int]
    epsilon_nanonats: int
    inputs: int
    permanent_nanonats: int
    optimized: bool
    def __init__(self, epsilon_nanonats: _Optional[int] = ..., inputs: _Optional[int] = ..., permanent_nanonats: _Optional[int] = ..., optimized: bool = ...) -> None: ...

class MemoisedHashing(_message.Message):
    __slots__ = ("epsilon_nanonats", "permanent_nanonats", "buckets")
    EPSILON_NANONATS_FIELD_NUMBER: _ClassVar[int]
    PERMANENT_NANONATS_FIELD_NUMBER: _ClassVar[int]
    BUCKETS_FIELD_NUMBER: _ClassVar[int]
    epsilon_nanonats: int
    permanent_nanonats: int
    buckets: int
    def __init__(self, epsilon_nanonats: _Optional[int] = ..., permanent_nanonats: _Optional[int] = ..., buckets: _Optional[int] = ...) -> None: ...
