"""A party in a flooded round: refused or charged like any request, and answered by one batch for a whole part.

Checked in tests/unit/party/test_flooded_party.py.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from localdp.accounting.epsilon import Epsilon
from localdp.cohorts import Asked, Cohort
from localdp.party.charging import FLOODED, Bill, Charged
from localdp.party.epoch import Epoch
from localdp.party.flood_drawing import FloodDrawing
from localdp.party.policy import Policy
from localdp.queries.encoded import measured
from localdp.randomizers.definition import Values
from localdp.sharing.flooded_batch import FloodedBatch
from localdp.sharing.flooded_round import FloodedRound

Flooding = Charged[FloodedBatch]  # of a whole part


class FloodedParty(ABC):
    """What of a party has to do with flooded rounds."""

    name: str
    policy: Policy
    epoch: Epoch

    def flooded(self, asked: FloodedRound, cohort: Cohort, caller: str = "") -> Flooding:
        """Charge for a whole part of a flooded round; what is returned makes its messages."""
        drawing, bill = self._billed_flood(asked, cohort, caller)
        secret, epoch, name = self._charge(bill, cohort), bill.epoch, bill.name
        key = epoch.key(secret, b"flooded", name)

        def inputs(part: Asked) -> Values:
            return measured(drawing.query, epoch.rows_of(part, name, secret, drawing.query.columns))

        def made(part: Asked, values: Values) -> FloodedBatch:
            return drawing.batch(key, part, values)

        return Charged(name, epoch.number, inputs, made, "inputs")

    def granted_flooded(self, asked: FloodedRound, cohort: Cohort, caller: str = "") -> Epsilon:
        """The same for a flooded round: its epsilon, if `flooded` would answer now; or its refusal."""
        return self._granted(self._billed_flood(asked, cohort, caller)[1], cohort)

    def _billed_flood(self, asked: FloodedRound, cohort: Cohort, caller: str) -> tuple[FloodDrawing, Bill]:
        """What is sent, and what it is charged as; or a refusal that has nothing to do with any record."""
        self.policy.require_caller(caller)
        self._require_mixable()
        self.policy.require_flooded(asked.plan.delta, caller, asked.question.second_key)
        drawing = FloodDrawing.of(asked, asked.part_of(self.name, cohort), self.epoch.records.schema)
        self.policy.require_query(drawing.query)
        return drawing, Bill(
            drawing.name,
            self.epoch,
            asked.plan.epsilon,
            drawing.purpose,
            caller,
            f"{FLOODED}{drawing.query.text}",
            drawing.query.columns,
        )

    @abstractmethod
    def _require_mixable(self) -> None:
        """Refuse where mixing would not hide a person."""

    @abstractmethod
    def _charge(self, bill: Bill, cohort: Cohort) -> bytes:
        """Charge, and return the secret that the coins of this request are derived from."""

    @abstractmethod
    def _granted(self, bill: Bill, cohort: Cohort) -> Epsilon:
        """The price, unless the charge would be refused now."""
