from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Comparison(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    COMPARISON_UNSPECIFIED: _ClassVar[Comparison]
    COMPARISON_EQUAL: _ClassVar[Comparison]
    COMPARISON_NOT_EQUAL: _ClassVar[Comparison]
    COMPARISON_LESS: _ClassVar[Comparison]
    COMPARISON_AT_MOST: _ClassVar[Comparison]
    COMPARISON_GREATER: _ClassVar[Comparison]
    COMPARISON_AT_LEAST: _ClassVar[Comparison]

class Loss(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    LOSS_UNSPECIFIED: _ClassVar[Loss]
    LOSS_LOGISTIC: _ClassVar[Loss]
    LOSS_HINGE: _ClassVar[Loss]
    LOSS_SQUARED: _ClassVar[Loss]
    LOSS_MADABOOST: _ClassVar[Loss]
COMPARISON_UNSPECIFIED: Comparison
COMPARISON_EQUAL: Comparison
COMPARISON_NOT_EQUAL: Comparison
COMPARISON_LESS: Comparison
COMPARISON_AT_MOST: Comparison
COMPARISON_GREATER: Comparison
COMPARISON_AT_LEAST: Comparison
LOSS_UNSPECIFIED: Loss
LOSS_LOGISTIC: Loss
LOSS_HINGE: Loss
LOSS_SQUARED: Loss
LOSS_MADABOOST: Loss

class Query(_message.Message):
    __slots__ = ("root",)
    ROOT_FIELD_NUMBER: _ClassVar[int]
    root: Expression
    def __init__(self, root: _Optional[_Union[Expression, _Mapping]] = ...) -> None: ...

class Expression(_message.Message):
    __slots__ = ("column", "number", "label", "truth", "compare", "member", "all", "any", "negation", "linear", "clip", "vector", "parity", "decision_list", "which", "cells", "nearest", "ball", "sphere", "signed", "moments", "gradient", "at", "parities")
    COLUMN_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    LABEL_FIELD_NUMBER: _ClassVar[int]
    TRUTH_FIELD_NUMBER: _ClassVar[int]
    COMPARE_FIELD_NUMBER: _ClassVar[int]
    MEMBER_FIELD_NUMBER: _ClassVar[int]
    ALL_FIELD_NUMBER: _ClassVar[int]
    ANY_FIELD_NUMBER: _ClassVar[int]
    NEGATION_FIELD_NUMBER: _ClassVar[int]
    LINEAR_FIELD_NUMBER: _ClassVar[int]
    CLIP_FIELD_NUMBER: _ClassVar[int]
    VECTOR_FIELD_NUMBER: _ClassVar[int]
    PARITY_FIELD_NUMBER: _ClassVar[int]
    DECISION_LIST_FIELD_NUMBER: _ClassVar[int]
    WHICH_FIELD_NUMBER: _ClassVar[int]
    CELLS_FIELD_NUMBER: _ClassVar[int]
    NEAREST_FIELD_NUMBER: _ClassVar[int]
    BALL_FIELD_NUMBER: _ClassVar[int]
    SPHERE_FIELD_NUMBER: _ClassVar[int]
    SIGNED_FIELD_NUMBER: _ClassVar[int]
    MOMENTS_FIELD_NUMBER: _ClassVar[int]
    GRADIENT_FIELD_NUMBER: _ClassVar[int]
    AT_FIELD_NUMBER: _ClassVar[int]
    PARITIES_FIELD_NUMBER: _ClassVar[int]
    column: str
    number: Rational
    label: str
    truth: bool
    compare: Compare
    member: Member
    all: Operands
    any: Operands
    negation: Expression
    linear: Linear
    clip: Expression
    vector: Operands
    parity: Operands
    decision_list: DecisionList
    which: Operands
    cells: Operands
    nearest: Nearest
    ball: Operands
    sphere: Operands
    signed: Signed
    moments: Moments
    gradient: Gradient
    at: At
    parities: Parities
    def __init__(self, column: _Optional[str] = ..., number: _Optional[_Union[Rational, _Mapping]] = ..., label: _Optional[str] = ..., truth: _Optional[bool] = ..., compare: _Optional[_Union[Compare, _Mapping]] = ..., member: _Optional[_Union[Member, _Mapping]] = ..., all: _Optional[_Union[Operands, _Mapping]] = ..., any: _Optional[_Union[Operands, _Mapping]] = ..., negation: _Optional[_Union[Expression, _Mapping]] = ..., linear: _Optional[_Union[Linear, _Mapping]] = ..., clip: _Optional[_Union[Expression, _Mapping]] = ..., vector: _Optional[_Union[Operands, _Mapping]] = ..., parity: _Optional[_Union[Operands, _Mapping]] = ..., decision_list: _Optional[_Union[DecisionList, _Mapping]] = ..., which: _Optional[_Union[Operands, _Mapping]] = ..., cells: _Optional[_Union[Operands, _Mapping]] = ..., nearest: _Optional[_Union[Nearest, _Mapping]] = ..., ball: _Optional[_Union[Operands, _Mapping]] = ..., sphere: _Optional[_Union[Operands, _Mapping]] = ..., signed: _Optional[_Union[Signed, _Mapping]] = ..., moments: _Optional[_Union[Moments, _Mapping]] = ..., gradient: _Optional[_Union[Gradient, _Mapping]] = ..., at: _Optional[_Union[At, _Mapping]] = ..., parities: _Optional[_Union[Parities, _Mapping]] = ...) -> None: ...

class Rational(_message.Message):
    __slots__ = ("numerator", "denominator")
    NUMERATOR_FIELD_NUMBER: _ClassVar[int]
    DENOMINATOR_FIELD_NUMBER: _ClassVar[int]
    numerator: str
    denominator: str
    def __init__(self, numerator: _Optional[str] = ..., denominator: _Optional[str] = ...) -> None: ...

class Compare(_message.Message):
    __slots__ = ("comparison", "left", "right")
    COMPARISON_FIELD_NUMBER: _ClassVar[int]
    LEFT_FIELD_NUMBER: _ClassVar[int]
    RIGHT_FIELD_NUMBER: _ClassVar[int]
    comparison: Comparison
    left: Expression
    right: Expression
    def __init__(self, comparison: _Optional[_Union[Comparison, str]] = ..., left: _Optional[_Union[Expression, _Mapping]] = ..., right: _Optional[_Union[Expression, _Mapping]] = ...) -> None: ...

class Member(_message.Message):
    __slots__ = ("column", "labels")
    COLUMN_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    column: str
    labels: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, column: _Optional[str] = ..., labels: _Optional[_Iterable[str]] = ...) -> None: ...

class Operands(_message.Message):
    __slots__ = ("operands",)
    OPERANDS_FIELD_NUMBER: _ClassVar[int]
    operands: _containers.RepeatedCompositeFieldContainer[Expression]
    def __init__(self, operands: _Optional[_Iterable[_Union[Expression, _Mapping]]] = ...) -> None: ...

class Linear(_message.Message):
    __slots__ = ("constant", "terms")
    CONSTANT_FIELD_NUMBER: _ClassVar[int]
    TERMS_FIELD_NUMBER: _ClassVar[int]
    constant: Rational
    terms: _containers.RepeatedCompositeFieldContainer[Term]
    def __init__(self, constant: _Optional[_Union[Rational, _Mapping]] = ..., terms: _Optional[_Iterable[_Union[Term, _Mapping]]] = ...) -> None: ...

class Term(_message.Message):
    __slots__ = ("coefficient", "column")
    COEFFICIENT_FIELD_NUMBER: _ClassVar[int]
    COLUMN_FIELD_NUMBER: _ClassVar[int]
    coefficient: Rational
    column: str
    def __init__(self, coefficient: _Optional[_Union[Rational, _Mapping]] = ..., column: _Optional[str] = ...) -> None: ...

class DecisionList(_message.Message):
    __slots__ = ("conditions", "values", "otherwise")
    CONDITIONS_FIELD_NUMBER: _ClassVar[int]
    VALUES_FIELD_NUMBER: _ClassVar[int]
    OTHERWISE_FIELD_NUMBER: _ClassVar[int]
    conditions: _containers.RepeatedCompositeFieldContainer[Expression]
    values: _containers.RepeatedCompositeFieldContainer[Expression]
    otherwise: Expression
    def __init__(self, conditions: _Optional[_Iterable[_Union[Expression, _Mapping]]] = ..., values: _Optional[_Iterable[_Union[Expression, _Mapping]]] = ..., otherwise: _Optional[_Union[Expression, _Mapping]] = ...) -> None: ...

class Point(_message.Message):
    __slots__ = ("coordinates",)
    COORDINATES_FIELD_NUMBER: _ClassVar[int]
    coordinates: _containers.RepeatedCompositeFieldContainer[Rational]
    def __init__(self, coordinates: _Optional[_Iterable[_Union[Rational, _Mapping]]] = ...) -> None: ...

class Nearest(_message.Message):
    __slots__ = ("vector", "centres")
    VECTOR_FIELD_NUMBER: _ClassVar[int]
    CENTRES_FIELD_NUMBER: _ClassVar[int]
    vector: Expression
    centres: _containers.RepeatedCompositeFieldContainer[Point]
    def __init__(self, vector: _Optional[_Union[Expression, _Mapping]] = ..., centres: _Optional[_Iterable[_Union[Point, _Mapping]]] = ...) -> None: ...

class Signed(_message.Message):
    __slots__ = ("condition", "vector")
    CONDITION_FIELD_NUMBER: _ClassVar[int]
    VECTOR_FIELD_NUMBER: _ClassVar[int]
    condition: Expression
    vector: Expression
    def __init__(self, condition: _Optional[_Union[Expression, _Mapping]] = ..., vector: _Optional[_Union[Expression, _Mapping]] = ...) -> None: ...

class Moments(_message.Message):
    __slots__ = ("vector", "target")
    VECTOR_FIELD_NUMBER: _ClassVar[int]
    TARGET_FIELD_NUMBER: _ClassVar[int]
    vector: Expression
    target: Expression
    def __init__(self, vector: _Optional[_Union[Expression, _Mapping]] = ..., target: _Optional[_Union[Expression, _Mapping]] = ...) -> None: ...

class Gradient(_message.Message):
    __slots__ = ("loss", "point", "vector", "target")
    LOSS_FIELD_NUMBER: _ClassVar[int]
    POINT_FIELD_NUMBER: _ClassVar[int]
    VECTOR_FIELD_NUMBER: _ClassVar[int]
    TARGET_FIELD_NUMBER: _ClassVar[int]
    loss: Loss
    point: Point
    vector: Expression
    target: Expression
    def __init__(self, loss: _Optional[_Union[Loss, str]] = ..., point: _Optional[_Union[Point, _Mapping]] = ..., vector: _Optional[_Union[Expression, _Mapping]] = ..., target: _Optional[_Union[Expression, _Mapping]] = ...) -> None: ...

class At(_message.Message):
    __slots__ = ("category", "vector")
    CATEGORY_FIELD_NUMBER: _ClassVar[int]
    VECTOR_FIELD_NUMBER: _ClassVar[int]
    category: Expression
    vector: Expression
    def __init__(self, category: _Optional[_Union[Expression, _Mapping]] = ..., vector: _Optional[_Union[Expression, _Mapping]] = ...) -> None: ...

class Parities(_message.Message):
    __slots__ = ("order", "conditions", "label")
    ORDER_FIELD_NUMBER: _ClassVar[int]
    CONDITIONS_FIELD_NUMBER: _ClassVar[int]
    LABEL_FIELD_NUMBER: _ClassVar[int]
    order: int
    conditions: _containers.RepeatedCompositeFieldContainer[Expression]
    label: Expression
    def __init__(self, order: _Optional[int] = ..., conditions: _Optional[_Iterable[_Union[Expression, _Mapping]]] = ..., label: _Optional[_Union[Expression, _Mapping]] = ...) -> None: ...
