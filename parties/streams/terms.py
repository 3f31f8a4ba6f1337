"""What a stream is about: fixed when it begins, and the same whenever somebody goes on with it.

Checked in tests/unit/parties/streams/test_stream_journal.py.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from fractions import Fraction
from typing import TypeAlias

from localdp.accounting.epsilon import Epsilon
from localdp.algorithms.streams.running_count import Layout, layouts, predicted_rms, stream_query
from localdp.errors import InvalidParameter, StorageFailed
from localdp.mechanisms.intervals import Intervals, LayoutName
from localdp.oracles.definition import StatisticalQueryOracle
from parties.durable import Data

Setting: TypeAlias = str | int | float | None


@dataclass(frozen=True, slots=True)
class StreamTerms:
    """Query, price, trust model, steps, and whom it is about."""

    query: str
    model: str
    options: tuple[tuple[str, Setting], ...]  # of the model, in order
    epsilon: str | None  # in nats; None where nothing is promised
    steps: int
    layout: LayoutName
    parties: tuple[tuple[str, int], ...]  # who takes part, and how many people each speaks for
    delta: str  # of one interval: the probability, at most, with which its epsilon does not hold

    @property
    def intervals(self) -> Intervals:
        """Which steps are summed together."""
        return Intervals(self.steps, self.layout)

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many people each party speaks for."""
        return tuple(people for _, people in self.parties)

    @property
    def spends(self) -> Epsilon | None:
        """What all counts may cost a person."""
        return None if self.epsilon is None else Epsilon.requested(self.epsilon)

    @property
    def each(self) -> Epsilon:
        """What an interval costs whoever came in it."""
        return Epsilon(0) if self.spends is None else self.spends.divided_by(self.intervals.most)

    @property
    def each_delta(self) -> Fraction:
        """With which probability, at most, the epsilon of an interval does not hold."""
        return Fraction(self.delta)

    def to_text(self) -> str:
        """As the journal has it."""
        return json.dumps(asdict(self))

    @classmethod
    def of_text(cls, text: str) -> StreamTerms:
        """As it was written."""
        try:
            data: Data = json.loads(text)
            for name in ("options", "parties"):
                data[name] = tuple(tuple(pair) for pair in data[name])
            terms = cls(**data)
            if not 0 <= terms.each_delta < 1:
                raise ValueError("a delta lies between 0 and 1")
            return terms
        except (ValueError, TypeError, KeyError, AttributeError, ZeroDivisionError) as error:
            raise StorageFailed("the journal is not one of a stream, or of a later version") from error

    def require(self, other: StreamTerms) -> None:
        """Refuse to go on with something else under the name of this stream."""
        differs = [one.name for one in fields(self) if getattr(self, one.name) != getattr(other, one.name)]
        if differs:
            raise InvalidParameter(
                f"the journal is of a stream with another {' and another '.join(differs)}: go on as it began "
                "(localdp stream show says how), or begin another stream in a journal of its own"
            )


@dataclass(frozen=True, slots=True)
class Wanted:
    """What somebody asks for, who begins a stream."""

    query: str
    model: str
    options: Mapping[str, object]
    epsilon: Epsilon | None
    steps: int
    layout: Layout

    def terms(self, oracle: StatisticalQueryOracle, parties: Mapping[str, int]) -> StreamTerms:
        """Checked: the layout is the one with the smaller error by the plan, unless told."""
        checked, people = stream_query(self.query, oracle), sum(parties.values())
        found = layouts(self.steps, self.layout)
        ends = [people * step // self.steps for step in range(1, self.steps + 1)]
        best = min(found, key=lambda one: predicted_rms(oracle, checked, one, ends))
        named = tuple((name, _plain(self.options[name])) for name in sorted(self.options))
        price = None if self.epsilon is None else str(self.epsilon)
        delta = str(oracle.among((range(people),), best.most).plan([checked]).delta)
        everybody = tuple(parties.items())
        return StreamTerms(
            checked.text, self.model, named, price, self.steps, best.layout, everybody, delta
        )


def _plain(value: object) -> Setting:
    return value if isinstance(value, str | int | float | None) else str(value)
