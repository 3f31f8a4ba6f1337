"""What is asked of a frequency oracle: the domain, the epsilon, the people, and what the reports must be good for.

Checked in tests/unit/selection/test_choose.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter
from localdp.randomizers.parts.inputs import require_between
from localdp.randomness.source import WORD_RANGE

Target = Literal["distribution", "heavy"]
MOST_PEOPLE = 10**12


@dataclass(frozen=True, slots=True)
class Wishes:
    """The requirements; see `localdp.selection.choose` for what each of them does."""

    epsilon: Epsilon  # privacy loss of one report, in nats, replace-one neighbours
    inputs: int  # d: size of a closed domain, or of the list of candidates of an open one
    people: int  # n
    bits: int | None = None
    additive: bool = False
    open_domain: bool = False
    linear_post: bool = False
    decode_seconds: float | None = None
    target: Target = "distribution"

    def __post_init__(self) -> None:
        Epsilon.requested(self.epsilon)
        require_between("the number of inputs", self.inputs, 2, WORD_RANGE)
        require_between("the number of people", self.people, 1, MOST_PEOPLE)
        if self.bits is not None:
            require_between("the number of private bits", self.bits, 1, WORD_RANGE)
        if self.decode_seconds is not None and not 0 < self.decode_seconds < float("inf"):
            raise InvalidParameter("the time to decode is a positive number of seconds")
        if self.target not in get_args(Target):
            raise InvalidParameter(f"the target is one of {', '.join(get_args(Target))}")

    @property
    def frequency(self) -> float:
        """Where the error is taken: at uniform data, or at an item that nobody has."""
        return 1 / self.inputs if self.target == "distribution" else 0.0
