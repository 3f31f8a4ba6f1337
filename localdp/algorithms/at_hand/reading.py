"""How a learner reads arrays: the records that X and y become at a fit, and rows to predict for, read the same way.

Features become columns x0, x1, ... or keep the names of a data frame, unless queries cannot write such a name; y becomes
the target column.  What kind a column is depends on the type of the array and on what is public, never on its values:

| given | column |
|---|---|
| truth values | a bit |
| numbers | a number within its bounds; of a learner over bits, whether it is above the middle of them |
| a categorical (pandas) or an Enum (polars) | a category |
| y of a classifier | a bit for two classes, a category for more |
| y of a regression | a number within `target_bounds` |

Checked in tests/unit/algorithms/at_hand/test_reading.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from numpy.typing import ArrayLike

from localdp.algorithms.at_hand.bounds import Bounds, Pair, bounds_by_column, domain_of, pair_of
from localdp.algorithms.at_hand.columns import ReadColumns, names_in, read_columns, require_same_names
from localdp.algorithms.at_hand.labels import (
    MOST_CLASSES,
    Classes,
    classes_at_hand,
    encoded,
    numbers_of,
    read_target,
    require_number_of_classes,
)
from localdp.algorithms.scikit_learn import Nature
from localdp.algorithms.tables import Features
from localdp.domains import BitDomain, CategoryDomain, Domain, RealDomain, Records, Schema, is_column_name
from localdp.domains.columns import ColumnArray
from localdp.domains.spelling import suggestion
from localdp.errors import InvalidParameter


@dataclass(frozen=True, slots=True)
class Rules:
    """What a learner says about arrays before it sees them."""

    who: str  # the learner, for messages
    own: bool = False  # what is not said may be read off the data: in the exact model alone
    bounds: Bounds | None = None
    wanted: Sequence[str] | None = (
        None  # the columns that are learned from; None: all, and the others need no bounds
    )
    target: str | None = None  # the name that y gets; None: y is ignored
    classes: Classes | None = None
    target_bounds: Pair | None = None
    nature: Nature = Nature()


@dataclass(frozen=True, slots=True, eq=False)
class ArrayReading:
    """How columns of arrays are called, and what they may hold."""

    who: str
    names: tuple[str, ...]  # of the features, as queries write them
    shown: tuple[str, ...] | None  # as the data frame wrote them
    middles: Mapping[str, float]  # of the numbers that are read as bits
    classes: ColumnArray | None  # the labels of y, in rising order

    def columns(self, X: Features) -> Features:  # noqa: N803
        """Rows to predict for, by the names that queries know; the checks are those of a fit."""
        if isinstance(X, Records):
            return X
        names = names_in(X)
        if names is not None and self.shown is not None:
            require_same_names(names, self.shown)
        read = read_columns(X)
        if len(read.columns) != len(self.names):
            raise InvalidParameter(
                f"X has {len(read.columns)} features, but {self.who} is expecting {len(self.names)} features as input"
            )
        return self.named(read)

    def named(self, read: ReadColumns) -> dict[str, ColumnArray]:
        """Columns under the names that queries know, numbers as bits where bits are learned from."""
        pairs = zip(self.names, read.columns, strict=True)
        return {name: self._bits(name, values) for name, values in pairs}

    def _bits(self, name: str, values: ColumnArray) -> ColumnArray:
        return values > self.middles[name] if name in self.middles and values.dtype.kind != "b" else values


def read_arrays(X: Features, y: ArrayLike | None, rules: Rules) -> tuple[ArrayReading, Records]:  # noqa: N803
    """How these arrays are read, and the people that they are about."""
    read = read_columns(X)
    names = _names(read, rules.target)
    domains = _domains(read, names, rules)
    middles = _middles(domains) if rules.nature.over_bits else {}
    classes, target = _target(y, read.people, rules)
    reading = ArrayReading(rules.who, names, read.names, middles, classes)
    columns = {name: values for name, values in reading.named(read).items() if name in domains}
    schema = {name: BitDomain() if name in middles else domain for name, domain in domains.items()}
    if target is not None and rules.target is not None:
        schema[rules.target], columns[rules.target] = target
    return reading, Records(Schema(schema), columns)


def records_of_arrays(
    X: Features,  # noqa: N803
    y: ArrayLike | None = None,
    bounds: Bounds | None = None,
    target: str = "target",
) -> Records:
    """A table at hand as records, y as the bit `target`; numbers need bounds, as for a learner."""
    named = None if y is None else target
    nature = Nature("classifier", categories=True)
    return read_arrays(X, y, Rules("a table", bounds=bounds, target=named, nature=nature))[1]


def _names(read: ReadColumns, target: str | None) -> tuple[str, ...]:
    """A different name for each feature that queries can write: its own, if that is one."""
    shown: Sequence[str] = read.names or [f"x{place}" for place in range(len(read.columns))]
    taken = {name for name in shown if is_column_name(name) and name != target}
    if len(set(shown)) < len(shown):
        raise InvalidParameter("X has two columns of the same name")
    names = []
    for place, name in enumerate(shown):
        free = name if name in taken else f"x{place}"
        while name not in taken and (free in taken or free == target):
            free += "_"
        names.append(free)
        taken.add(free)
    return tuple(names)


def _domains(read: ReadColumns, names: Sequence[str], rules: Rules) -> dict[str, Domain]:
    """What each column may hold that is learned from."""
    pairs, wanted = (
        bounds_by_column(rules.bounds, read, names),
        names if rules.wanted is None else rules.wanted,
    )
    unknown = [name for name in wanted if name not in names]
    if unknown:
        raise InvalidParameter(f"X has no column {unknown[0]!r:.60}{suggestion(unknown[0], names)}")
    places = [place for place, name in enumerate(names) if name in wanted]
    return {names[place]: _domain(read, place, pairs[place], rules) for place in places}


def _domain(read: ReadColumns, place: int, pair: Pair | None, rules: Rules) -> Domain:
    values, labels, title = read.columns[place], read.labels[place], read.title(place)
    if labels is not None and not rules.nature.categories:
        raise InvalidParameter(
            f"{rules.who} cannot learn from {title}, a category: leave it out, or make a column of truth values for a label"
        )
    if labels is not None:
        return CategoryDomain(labels)
    if values.dtype.kind == "b":
        return BitDomain()
    return domain_of(values, pair, title, "bounds", own=rules.own)


def _middles(domains: Mapping[str, Domain]) -> dict[str, float]:
    return {
        name: (domain.low + domain.high) / 2
        for name, domain in domains.items()
        if isinstance(domain, RealDomain)
    }


def _target(
    y: ArrayLike | None, people: int, rules: Rules
) -> tuple[ColumnArray | None, tuple[Domain, ColumnArray] | None]:
    """The classes of y, if it has some, and the column that it becomes."""
    if rules.target is None:
        return None, None
    if not is_column_name(rules.target):
        raise InvalidParameter(f"the target {rules.target!r:.60} cannot be the name of a column")
    told = read_target(y, people, rules.who)
    if rules.nature.kind != "classifier":
        numbers = numbers_of(told)
        pair = None if rules.target_bounds is None else pair_of(rules.target_bounds)
        return None, (domain_of(numbers, pair, "y", "target_bounds", own=rules.own), numbers)
    labels = classes_at_hand(told, rules.classes, own=rules.own)
    require_number_of_classes(labels, MOST_CLASSES if rules.nature.many_classes else 2, rules.who)
    return labels, encoded(told, labels)
