"""What is promised, about whom, against whom, and on which assumption (Definitions 2.4, 9.4 and 12.3)."""

from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import Any

from localdp.accounting.epsilon import Epsilon

_PERSON = "replacing one person's record"
# What an answer is about where a request looks at one row of each person.
ONE_ROW = "Where somebody has several rows, it is asked about one of them, drawn by chance: a random visit, and no other."


def neighbours(*, by_row: bool = False) -> str:
    """What a promise hides: a person, or a row where a person may own several and each of them answers."""
    return "replacing one row, of which one person may own several," if by_row else _PERSON


def about_rows(*, samples: bool) -> str:
    """What is asked about, where a request looks at one row of each person."""
    return ONE_ROW if samples else ""


class Strength(Enum):
    """Whether the promise holds against everybody or against polynomial-time adversaries only."""

    PURE = "pure"
    COMPUTATIONAL = "computational"  # Definition 9.4
    NONE = "none"


@dataclass(frozen=True, slots=True)
class PrivacyClaim:
    """A promise of (epsilon, delta)-differential privacy, for replace-one neighbours; delta is 0 unless it is given."""

    model: str
    epsilon: Epsilon | None  # total per person over the run, in nats; None: no promise at all
    strength: Strength
    against: str  # whose view the promise is about
    honest: str  # who must follow the protocol for the promise to hold
    delta: Fraction = Fraction(0)
    neighbours: str = _PERSON  # what is hidden
    about: str = ""  # what is asked about, where that is not a person's whole record

    @classmethod
    def of_curator(
        cls,
        epsilon: Epsilon,
        delta: Fraction = Fraction(0),
        honest: str = "The curator holds every record in the clear and must be honest.",
    ) -> "PrivacyClaim":
        """Of whoever is given records and publishes noisy answers."""
        return cls("curator", epsilon, Strength.PURE, "anybody but the curator", honest, delta)

    @classmethod
    def of_local(cls, epsilon: Epsilon, *, by_row: bool = False, samples: bool = False) -> "PrivacyClaim":
        """Of reports that are randomized before they leave."""
        against, honest = "anybody outside the person's own party", "Nobody else has to be honest."
        hidden, about = neighbours(by_row=by_row), about_rows(samples=samples)
        return cls("local", epsilon, Strength.PURE, against, honest, neighbours=hidden, about=about)

    @classmethod
    def of_shares(
        cls,
        epsilon: Epsilon,
        against: str,
        honest: str,
        delta: Fraction = Fraction(0),
        *,
        by_row: bool = False,
        samples: bool = False,
    ) -> "PrivacyClaim":
        """Of shares in a field, each of which is random by itself: whom it holds against depends on the servers."""
        hidden, about = neighbours(by_row=by_row), about_rows(samples=samples)
        return cls("shared", epsilon, Strength.COMPUTATIONAL, against, honest, delta, hidden, about)

    def statement(self) -> str:
        """The claim in plain words."""
        if self.epsilon is None:
            return f"{self.model}: no privacy. {self.honest}"
        kind = (
            "against any adversary"
            if self.strength is Strength.PURE
            else "against polynomial-time adversaries"
        )
        return (
            f"{self.model}: whatever {self.against} can see, {self.neighbours} changes its probability by "
            f"a factor of at most exp({self.epsilon}){self._exception()} over all rounds, {kind}. {self.honest}"
            f"{' ' * bool(self.about)}{self.about}"
        )

    def _exception(self) -> str:
        return f", except with a probability of {float(self.delta):.3g}," if self.delta else ""

    def to_data(self) -> dict[str, Any]:
        """As plain data, for JSON; `words` are the statement."""
        return {
            "model": self.model,
            "epsilon": None if self.epsilon is None else float(self.epsilon),
            "delta": float(self.delta),
            "neighbours": self.neighbours.replace("replacing", "replace", 1).removesuffix(","),
            "strength": self.strength.value,
            "against": self.against,
            "honest": self.honest,
            **({"about": self.about} if self.about else {}),
            "words": self.statement(),
        }
