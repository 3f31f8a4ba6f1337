"""Expressions with one of several values, or with several values, for each record.

    Categorical ::=  Condition | Which | Cells | Nearest | Road    a number below a static size
    Cube        ::=  Vector                                        components in [0, 1]
    BallVector  ::=  Ball | Sphere | Signed | Moments | Gradient | At     of Euclidean norm at most 1
    Parities                                                       the signs of many parities at once

None of them stands inside an expression with one value.  With v the value of a `vector` and t that of a
`target`, d the length of v and k the size of a category:

| node | value | length |
|---|---|---|
| Ball f | f / max(1, norm of f) | number of forms |
| Sphere f | f / norm of f; zero stays zero | number of forms |
| Signed c v | v if c holds, else -v | d |
| Moments v | v_i v_j for i <= j row by row, times sqrt(2) where i < j | d (d + 1) / 2 |
| Moments v t | (Moments v, t v) / sqrt(2) | d (d + 1) / 2 + d |
| Gradient | the gradient in w of a loss at the public point w (`losses`) | d |
| At c v | v in block number c, zero in the other blocks | k d |

Claim.  The norm of a BallVector is at most 1 for every record: that of Moments v is the square of v's, and
that of Moments v t squared is (|v|**4 + t**2 |v|**2) / 2.  Checked in tests/unit/queries/test_vector_query.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from typing import Literal, TypeAlias, get_args

from localdp.queries.nodes import Node, Point, bound, require, require_number
from localdp.queries.roads import Road
from localdp.queries.scalars import Component, Condition, Scalar, require_conditions

Loss: TypeAlias = Literal["logistic", "hinge", "squared", "madaboost"]
LOSSES: tuple[Loss, ...] = get_args(Loss)
MOST_CONDITIONS = 61  # of parities: with a label they are the bits of one signed word
MOST_PARITIES = 1 << 22


@dataclass(frozen=True, slots=True)
class Vector(Node):
    """Several values of one record at once, each a condition or a number in [0, 1]."""

    components: tuple[Component, ...]

    def __post_init__(self) -> None:
        require(
            isinstance(self.components, tuple) and len(self.components) >= 1, "a vector has a component"
        )
        for component in self.components:
            require(isinstance(component, Component), COMPONENTS)
        bound(self, self.components)


@dataclass(frozen=True, slots=True)
class Which(Node):
    """The number of the first condition that holds, from 0; the number of conditions if none does."""

    conditions: tuple[Condition, ...]

    def __post_init__(self) -> None:
        require_conditions(self.conditions, "`which`", least=1)
        bound(self, self.conditions)


@dataclass(frozen=True, slots=True)
class Cells(Node):
    """Several categories as one, numbered with the first one most significant."""

    parts: tuple[Categorical, ...]

    def __post_init__(self) -> None:
        require(isinstance(self.parts, tuple) and len(self.parts) >= 1, "`cells` takes a category")
        for part in self.parts:
            require(isinstance(part, Categorical), CATEGORIES)
        bound(self, self.parts)


@dataclass(frozen=True, slots=True)
class Nearest(Node):
    """The number of the nearest of some public centres, the lowest one among equals."""

    vector: BallVector
    centres: tuple[Point, ...]

    def __post_init__(self) -> None:
        require(isinstance(self.vector, BallVector), f"`nearest` {VECTORS}")
        require(isinstance(self.centres, tuple) and len(self.centres) >= 1, "`nearest` takes a centre")
        bound(self, (self.vector,), leaves=sum(_require_point(centre) for centre in self.centres))


@dataclass(frozen=True, slots=True)
class Ball(Node):
    """The vector of these numbers, shortened to norm 1 if it is longer."""

    forms: tuple[Scalar, ...]

    def __post_init__(self) -> None:
        _require_forms(self.forms)
        bound(self, self.forms)


@dataclass(frozen=True, slots=True)
class Sphere(Node):
    """The vector of these numbers, brought to norm 1 unless it is zero."""

    forms: tuple[Scalar, ...]

    def __post_init__(self) -> None:
        _require_forms(self.forms)
        bound(self, self.forms)


@dataclass(frozen=True, slots=True)
class Signed(Node):
    """The vector if the condition holds, else its opposite."""

    condition: Condition
    vector: BallVector

    def __post_init__(self) -> None:
        require(isinstance(self.condition, Condition), "`signed` takes a condition, then a vector")
        require(isinstance(self.vector, BallVector), f"`signed` {VECTORS}")
        bound(self, (self.condition, self.vector))


@dataclass(frozen=True, slots=True)
class Moments(Node):
    """All products of two entries, and perhaps those with a target."""

    vector: BallVector
    target: Scalar | None = None

    def __post_init__(self) -> None:
        require(isinstance(self.vector, BallVector), f"`moments` {VECTORS}")
        require(self.target is None or isinstance(self.target, Scalar), TARGETS)
        bound(self, (self.vector,) if self.target is None else (self.vector, self.target))


@dataclass(frozen=True, slots=True)
class Gradient(Node):
    """The gradient of a loss at a public point, for one record of features and a label."""

    loss: Loss
    point: Point
    vector: BallVector
    target: Scalar

    def __post_init__(self) -> None:
        require(self.loss in LOSSES, f"a loss is one of {', '.join(LOSSES)}")
        require(isinstance(self.vector, BallVector), f"`gradient` {VECTORS}")
        require(isinstance(self.target, Scalar), TARGETS)
        if self.loss != "squared":
            require(isinstance(self.target, Condition), f"the label of a {self.loss} loss is a condition")
        bound(self, (self.vector, self.target), leaves=_require_point(self.point))


@dataclass(frozen=True, slots=True)
class At(Node):
    """The vector in the block of a category's number, among as many blocks as it has values."""

    category: Categorical
    vector: BallVector

    def __post_init__(self) -> None:
        require(isinstance(self.category, Categorical), CATEGORIES)
        require(isinstance(self.vector, BallVector), f"`at` {VECTORS}")
        bound(self, (self.category, self.vector))


@dataclass(frozen=True, slots=True)
class Parities(Node):
    """The signs of all parities of at most `order` conditions; with a label, each times the label's sign."""

    order: int
    conditions: tuple[Condition, ...]
    label: Condition | None = None

    def __post_init__(self) -> None:
        require_conditions(self.conditions, "`parities`", least=1)
        bits = len(self.conditions)
        require(bits <= MOST_CONDITIONS, f"`parities` takes at most {MOST_CONDITIONS} conditions")
        whole = isinstance(self.order, int) and not isinstance(self.order, bool)
        require(whole and 1 <= self.order <= bits, "the order of parities is from 1 to their conditions")
        require(self.label is None or isinstance(self.label, Condition), "the label is a condition")
        require(
            self.number <= MOST_PARITIES, f"there are at most {MOST_PARITIES} parities; lower the order"
        )
        bound(self, self.conditions if self.label is None else (*self.conditions, self.label))

    @property
    def number(self) -> int:
        """How many parities there are; the empty one counts only with a label, whose sign it is."""
        least = 1 if self.label is None else 0
        return sum(comb(len(self.conditions), weight) for weight in range(least, self.order + 1))


COMPONENTS = "the components of a vector are conditions or clipped numbers"
CATEGORIES = "a category is a column, a condition, which(...), cells(...), nearest(...) or road(...)"
VECTORS = "takes a vector such as ball(...) or sphere(...)"
FORMS = "the entries of a vector are numbers, linear forms, conditions or clipped numbers"
TARGETS = "a label is a condition, a clipped number, or a linear form within -1 and 1"

Categorical: TypeAlias = Condition | Which | Cells | Nearest | Road
BallVector: TypeAlias = Ball | Sphere | Signed | Moments | Gradient | At


def _require_forms(forms: object) -> None:
    require(isinstance(forms, tuple) and len(forms) >= 1, "a vector has an entry")
    for form in forms if isinstance(forms, tuple) else ():
        require(isinstance(form, Scalar), FORMS)


def _require_point(point: object) -> int:
    """The length of a point."""
    if not isinstance(point, tuple) or not point:
        require(False, "a point is a list of numbers, as in [0, 0.5]")
        return 0
    for value in point:
        require_number(value)
    return len(point)
