"""What all results have in common: the terms under which something was asked, and the forms that others can read.

Checked in tests/unit/asking/test_results.py.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

from localdp.accounting.claim import PrivacyClaim
from localdp.accounting.epsilon import Epsilon
from localdp.asking.frames import Columns, arrow_table, html_table, pandas_frame, polars_frame
from localdp.asking.writing import percent, price
from localdp.oracles.definition import LEVEL, StatisticalQueryOracle
from localdp.oracles.models import model_named

# What the data of every result say beside its numbers.
SAID = ("name", "people", "answered", "level", "model", "epsilon_promised", "epsilon_charged", "privacy")

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow
    from matplotlib.axes import Axes


@dataclass(frozen=True, slots=True)
class Terms:
    """Of whom something was asked, at which price, and how sure an interval is."""

    people: int  # whom the result is about
    answered: int  # how many of them answered
    level: float  # of every interval by itself
    claim: PrivacyClaim  # what is promised about all that the oracle has answered
    charged: Epsilon  # what a person's ledger was charged for it, at most

    @classmethod
    def of(cls, oracle: StatisticalQueryOracle, answered: int, level: float = LEVEL) -> Terms:
        """The terms after a round of an oracle."""
        return cls(oracle.people, answered, level, oracle.claim, oracle.cost.epsilon_charged)


class Result(ABC):
    """Numbers about people, with their terms."""

    __slots__ = ()
    name: str  # what it is: mean of stay
    terms: Terms

    @property
    def people(self) -> int:
        """How many people it is about."""
        return self.terms.people

    @property
    def answered(self) -> int:
        """How many of them answered."""
        return self.terms.answered

    @property
    def level(self) -> float:
        """How sure each interval is, by itself."""
        return self.terms.level

    @property
    def model(self) -> str:
        """The trust model."""
        return self.terms.claim.model

    @property
    def epsilon_promised(self) -> float:
        """What each person has lost at most to those whom the claim names, in nats; 0 under the exact model."""
        return float(self.terms.claim.epsilon or 0)

    @property
    def epsilon_charged(self) -> float:
        """What each person's ledger was charged at most, in nats: more than is promised where a shuffler mixes."""
        return float(self.terms.charged)

    @property
    def price(self) -> str:
        """What is promised, and what was charged if that is more."""
        if self.claim.epsilon is None:
            return "no privacy"
        return f"{price(self.epsilon_promised, self.epsilon_charged)} each"

    @property
    def claim(self) -> PrivacyClaim:
        """What is promised to the people."""
        return self.terms.claim

    @property
    def caption(self) -> str:
        """What it is, about whom, and at which price, in one line."""
        answered = f", of whom {self.answered:,} answered" if self.answered < self.people else ""
        sure = f"intervals at {percent(self.level)}"
        return f"{self.name}: {self.people:,} people{answered}; {self.model} model, {self.price}; {sure}"

    @property
    def _colour(self) -> str:
        return model_named(self.model).colour

    @abstractmethod
    def _columns(self) -> Columns:
        """The numbers, by name."""

    @abstractmethod
    def _shown(self) -> dict[str, list[str]]:
        """The numbers as they are read."""

    @abstractmethod
    def plot(self, ax: Axes | None = None) -> Axes:
        """A picture, on axes of matplotlib."""

    def to_dict(self) -> dict[str, object]:
        """As plain data, for JSON."""
        numbers = {name: list(values) for name, values in self._columns().items()}
        price = (self.epsilon_promised, self.epsilon_charged, self.claim.statement())
        terms = (self.name, self.people, self.answered, self.level, self.model)
        return {
            "name": self.name,
            **numbers,
            **dict(zip(SAID, (*terms, *price), strict=True)),
        }

    def to_pandas(self) -> pandas.DataFrame:
        """A data frame of pandas."""
        return pandas_frame(self._columns())

    def to_polars(self) -> polars.DataFrame:
        """A data frame of polars."""
        return polars_frame(self._columns())

    def to_arrow(self) -> pyarrow.Table:
        """A table of Arrow."""
        return arrow_table(self._columns())

    def _repr_html_(self) -> str:
        return html_table(self._shown(), self.caption)
