"""What an audit found: how much privacy loss a randomizer has, against how much it claims.

Checked in tests/unit/auditing/test_exact.py, tests/unit/auditing/test_sampled.py and tests/unit/auditing/test_histories.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isinf
from typing import Literal

from localdp.accounting.epsilon import Epsilon
from localdp.randomizers.input_kinds import Input

Verdict = Literal["holds", "holds where tried", "not refuted", "violated"]


@dataclass(frozen=True, slots=True)
class HistoryAudit:
    """What all answers of a party told of one person over two epochs, in nats, against what its ledger booked."""

    measured: float  # the logarithm of the largest ratio, maybe infinite
    rounded: Epsilon | None  # `measured` if it is finite, rounded up to the grid of epsilons
    booked: Epsilon  # by the ledger, in all
    # That were answered; of memoised randomizers maybe one for each epoch, in place of any number.
    requests: int
    epochs_share_coins: bool  # whether answers of two epochs are not drawn independently
    any_number: bool = False  # whether the figure holds for any number of requests

    @property
    def violated(self) -> bool:
        """Whether more was lost than booked, or epochs are not independent."""
        return self.rounded is None or self.rounded > self.booked or self.epochs_share_coins

    def to_data(self) -> dict[str, object]:
        """Everything, as plain data; an infinite epsilon is None."""
        infinite = isinf(self.measured)
        return {
            "verdict": "violated" if self.violated else "holds where tried",
            "measured_epsilon": None if infinite else self.measured,
            "measured_epsilon_is_infinite": infinite,
            "booked_epsilon": str(self.booked),
            "requests": None if self.any_number else self.requests,
            "any_number_of_requests": self.any_number,
            "epochs_share_coins": self.epochs_share_coins,
        }


@dataclass(frozen=True, slots=True)
class Audit:
    """One randomizer's claim, and what was found.  All epsilons: one report, in nats, replace-one neighbours."""

    subject: str  # canonical name of the randomizer
    claimed: Epsilon
    # Exact: the logarithm of the largest ratio, maybe infinite; sampled: a lower bound of it.
    measured: float
    rounded: Epsilon | None  # exact and finite: `measured`, rounded up to the grid of epsilons
    pair: tuple[Input, Input]  # the two inputs that are told apart best
    complete: bool  # exact: whether all inputs, and all public seeds, were tried
    # Exact: paths of coins that were followed; sampled: fresh reports about each of the two inputs.
    effort: int
    confidence: float | None = None  # sampled: that `measured` is no larger than the true epsilon
    faults: tuple[str, ...] = ()  # what else the randomizer states, and does not keep
    notes: tuple[str, ...] = ()
    change: HistoryAudit | None = None  # over two epochs; None: not audited, or too many coins to follow

    @property
    def method(self) -> Literal["exact", "sampled"]:
        """How it was measured."""
        return "exact" if self.confidence is None else "sampled"

    @property
    def overspent(self) -> bool:
        """Whether the privacy loss is larger than claimed."""
        if self.method == "exact":
            return self.rounded is None or self.rounded > self.claimed
        return self.measured > float(self.claimed)

    @property
    def violated(self) -> bool:
        """Whether the randomizer is not what it claims to be, in one report or over two epochs."""
        return self.overspent or bool(self.faults) or (self.change is not None and self.change.violated)

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

    def to_data(self) -> dict[str, object]:
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
            "two_epochs": None if self.change is None else self.change.to_data(),
        }
