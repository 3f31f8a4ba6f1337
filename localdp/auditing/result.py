"""What an audit found: how much privacy loss a randomizer has, against how much it claims.

Checked in tests/unit/auditing/test_exact.py and tests/unit/auditing/test_sampled.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isinf
from typing import Any, Literal

from localdp.accounting.epsilon import Epsilon

Input = int | tuple[int, ...]  # an input by its number, or a vector
Verdict = Literal["holds", "holds where tried", "not refuted", "violated"]


@dataclass(frozen=True, slots=True)
class Audit:
    """One randomizer's claim, and what was found.  All epsilons: one report, in nats, replace-one neighbours."""

    subject: str  # canonical name of the randomizer
    method: Literal["exact", "sampled"]
    claimed: Epsilon
    measured: (
        float  # exact: the logarithm of the largest ratio, maybe infinite; sampled: a lower bound of it
    )
    rounded: Epsilon | None  # exact and finite: `measured`, rounded up to the grid of epsilons
    pair: tuple[Input, Input]  # the two inputs that are told apart best
    complete: bool  # exact: whether all inputs, and all public seeds, were tried
    effort: (
        int  # exact: paths of coins that were followed; sampled: fresh reports about each of the two inputs
    )
    confidence: float | None = None  # sampled: that `measured` is no larger than the true epsilon
    faults: tuple[str, ...] = ()  # what else the randomizer states, and does not keep
    notes: tuple[str, ...] = ()

    @property
    def overspent(self) -> bool:
        """Whether the privacy loss is larger than claimed."""
        if self.method == "exact":
            return self.rounded is None or self.rounded > self.claimed
        return self.measured > float(self.claimed)

    @property
    def violated(self) -> bool:
        """Whether the randomizer is not what it claims to be."""
        return self.overspent or bool(self.faults)

    @property
    def verdict(self) -> Verdict:
        """In words; a sample can refute a claim, and never prove it."""
        if self.violated:
            return "violated"
        if self.method == "sampled":
            return "not refuted"
        return "holds" if self.complete else "holds where tried"

    @property
    def tightness(self) -> float:
        """Measured over claimed: 1 if the claim is not larger than need be."""
        return self.measured / float(self.claimed)

    def to_data(self) -> dict[str, Any]:
        """Everything, as plain data; an infinite epsilon is None."""
        infinite = isinf(self.measured)
        return {
            "randomizer": self.subject,
            "method": self.method,
            "verdict": self.verdict,
            "claimed_epsilon": str(self.claimed),
            "measured_epsilon": None if infinite else self.measured,
            "measured_epsilon_is_infinite": infinite,
            "tightness": None if infinite else self.tightness,
            "inputs": list(self.pair),
            "effort": self.effort,
            "confidence": self.confidence,
            "faults": list(self.faults),
            "notes": list(self.notes),
        }
