from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class EncodingKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ENCODING_KIND_UNSPECIFIED: _ClassVar[EncodingKind]
    ENCODING_KIND_COUNT: _ClassVar[EncodingKind]
    ENCODING_KIND_SUM: _ClassVar[EncodingKind]
    ENCODING_KIND_HISTOGRAM: _ClassVar[EncodingKind]
    ENCODING_KIND_MULTIHOT: _ClassVar[EncodingKind]
    ENCODING_KIND_VECTOR: _ClassVar[EncodingKind]

class Tier(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TIER_UNSPECIFIED: _ClassVar[Tier]
    TIER_PRIO3: _ClassVar[Tier]
    TIER_ADDITIVE: _ClassVar[Tier]

class NoisePlan(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    NOISE_PLAN_UNSPECIFIED: _ClassVar[NoisePlan]
    NOISE_PLAN_EACH_SERVER: _ClassVar[NoisePlan]
    NOISE_PLAN_DIVIDED: _ClassVar[NoisePlan]
    NOISE_PLAN_JOINT: _ClassVar[NoisePlan]
    NOISE_PLAN_PROVED: _ClassVar[NoisePlan]
ENCODING_KIND_UNSPECIFIED: EncodingKind
ENCODING_KIND_COUNT: EncodingKind
ENCODING_KIND_SUM: EncodingKind
ENCODING_KIND_HISTOGRAM: EncodingKind
ENCODING_KIND_MULTIHOT: EncodingKind
ENCODING_KIND_VECTOR: EncodingKind
TIER_UNSPECIFIED: Tier
TIER_PRIO3: Tier
TIER_ADDITIVE: Tier
NOISE_PLAN_UNSPECIFIED: NoisePlan
NOISE_PLAN_EACH_SERVER: NoisePlan
NOISE_PLAN_DIVIDED: NoisePlan
NOISE_PLAN_JOINT: NoisePlan
NOISE_PLAN_PROVED: NoisePlan

class Collection(_message.Message):
    __slots__ = ("collection_id", "resolution", "epsilon_nanonats", "noise_plan", "servers", "parties", "minimum_batch", "encoding", "tier", "keys", "tolerated", "witnesses", "commitment", "ends", "relayed", "query", "selection", "blocks")
    COLLECTION_ID_FIELD_NUMBER: _ClassVar[int]
    RESOLUTION_FIELD_NUMBER: _ClassVar[int]
    EPSILON_NANONATS_FIELD_NUMBER: _ClassVar[int]
    NOISE_PLAN_FIELD_NUMBER: _ClassVar[int]
    SERVERS_FIELD_NUMBER: _ClassVar[int]
    PARTIES_FIELD_NUMBER: _ClassVar[int]
    MINIMUM_BATCH_FIELD_NUMBER: _ClassVar[int]
    ENCODING_FIELD_NUMBER: _ClassVar[int]
    TIER_FIELD_NUMBER: _ClassVar[int]
    KEYS_FIELD_NUMBER: _ClassVar[int]
    TOLERATED_FIELD_NUMBER: _ClassVar[int]
    WITNESSES_FIELD_NUMBER: _ClassVar[int]
    COMMITMENT_FIELD_NUMBER: _ClassVar[int]
    ENDS_FIELD_NUMBER: _ClassVar[int]
    RELAYED_FIELD_NUMBER: _ClassVar[int]
    QUERY_FIELD_NUMBER: _ClassVar[int]
    SELECTION_FIELD_NUMBER: _ClassVar[int]
    BLOCKS_FIELD_NUMBER: _ClassVar[int]
    collection_id: bytes
    resolution: int
    epsilon_nanonats: int
    noise_plan: NoisePlan
    servers: _containers.RepeatedScalarFieldContainer[str]
    parties: _containers.RepeatedCompositeFieldContainer[Contributor]
    minimum_batch: int
    encoding: Encoding
    tier: Tier
    keys: _containers.RepeatedScalarFieldContainer[bytes]
    tolerated: int
    witnesses: _containers.RepeatedScalarFieldContainer[bytes]
    commitment: bytes
    ends: int
    relayed: bool
    query: str
    selection: Selection
    blocks: str
    def __init__(self, collection_id: _Optional[bytes] = ..., resolution: _Optional[int] = ..., epsilon_nanonats: _Optional[int] = ..., noise_plan: _Optional[_Union[NoisePlan, str]] = ..., servers: _Optional[_Iterable[str]] = ..., parties: _Optional[_Iterable[_Union[Contributor, _Mapping]]] = ..., minimum_batch: _Optional[int] = ..., encoding: _Optional[_Union[Encoding, _Mapping]] = ..., tier: _Optional[_Union[Tier, str]] = ..., keys: _Optional[_Iterable[bytes]] = ..., tolerated: _Optional[int] = ..., witnesses: _Optional[_Iterable[bytes]] = ..., commitment: _Optional[bytes] = ..., ends: _Optional[int] = ..., relayed: bool = ..., query: _Optional[str] = ..., selection: _Optional[_Union[Selection, _Mapping]] = ..., blocks: _Optional[str] = ...) -> None: ...

class Selection(_message.Message):
    __slots__ = ("rule", "candidates", "offsets", "weights")
    class Rule(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        RULE_UNSPECIFIED: _ClassVar[Selection.Rule]
        RULE_LARGEST: _ClassVar[Selection.Rule]
        RULE_FURTHEST: _ClassVar[Selection.Rule]
        RULE_QUANTILE: _ClassVar[Selection.Rule]
    RULE_UNSPECIFIED: Selection.Rule
    RULE_LARGEST: Selection.Rule
    RULE_FURTHEST: Selection.Rule
    RULE_QUANTILE: Selection.Rule
    RULE_FIELD_NUMBER: _ClassVar[int]
    CANDIDATES_FIELD_NUMBER: _ClassVar[int]
    OFFSETS_FIELD_NUMBER: _ClassVar[int]
    WEIGHTS_FIELD_NUMBER: _ClassVar[int]
    rule: Selection.Rule
    candidates: int
    offsets: _containers.RepeatedScalarFieldContainer[int]
    weights: bytes
    def __init__(self, rule: _Optional[_Union[Selection.Rule, str]] = ..., candidates: _Optional[int] = ..., offsets: _Optional[_Iterable[int]] = ..., weights: _Optional[bytes] = ...) -> None: ...

class Encoding(_message.Message):
    __slots__ = ("kind", "length", "bound", "sensitivity", "weight")
    KIND_FIELD_NUMBER: _ClassVar[int]
    LENGTH_FIELD_NUMBER: _ClassVar[int]
    BOUND_FIELD_NUMBER: _ClassVar[int]
    SENSITIVITY_FIELD_NUMBER: _ClassVar[int]
    WEIGHT_FIELD_NUMBER: _ClassVar[int]
    kind: EncodingKind
    length: int
    bound: int
    sensitivity: int
    weight: int
    def __init__(self, kind: _Optional[_Union[EncodingKind, str]] = ..., length: _Optional[int] = ..., bound: _Optional[int] = ..., sensitivity: _Optional[int] = ..., weight: _Optional[int] = ...) -> None: ...

class Contributor(_message.Message):
    __slots__ = ("name", "people")
    NAME_FIELD_NUMBER: _ClassVar[int]
    PEOPLE_FIELD_NUMBER: _ClassVar[int]
    name: str
    people: int
    def __init__(self, name: _Optional[str] = ..., people: _Optional[int] = ...) -> None: ...
