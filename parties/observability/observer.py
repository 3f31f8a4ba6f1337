"""What is seen of the calls of one role: a line in the log and some counts for each.

    with observer.call("Randomize", caller) as call:
        call.about(digest, people, epsilon, query)
        ...

A call that ends by an exception is told by its status code and its reason, never by the exception's text.

    with observer.admission("Randomize", caller):
        ...

is the same for what is decided before a call begins: it is seen only if the caller is not admitted.

A caller that is refused (`PolicyRefused`, or not admitted) is counted under `localdp_refused_total`, and leaves a line at
the level `warning`, which is the level unless told otherwise; of the same caller and reason one line a second, with the
number of those that were left out (parties/observability/refusals.py).

Checked in tests/unit/parties/observability/test_observability.py and tests/unit/parties/observability/test_refusals.py.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import TracebackType

import numpy as np
from numpy.typing import NDArray

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.ledger import Charge, Ledger, Receipt
from localdp.errors import LocalDpError, PolicyRefused
from parties.observability.logs import Value, log
from parties.observability.metrics import Metric, MetricHistogram, exposition
from parties.observability.refusals import Refusals
from parties.status import CODES, reason

_DIGEST_BYTES = 8  # enough to find the row of the ledger
_LONGEST_QUERY = 500


class Observer:
    """Log and metrics of one role of one process."""

    def __init__(self, role: str, name: str) -> None:
        self.role = role
        self.name = name
        self.calls = Metric(
            "localdp_calls_total", "Calls, by method and by how they ended.", "counter", ("method", "code")
        )
        self.refused = Metric(
            "localdp_refused_total",
            "Calls of callers that were refused, by method and reason.",
            "counter",
            ("method", "reason"),
        )
        self.refusals = Refusals()
        self.reports = Metric("localdp_reports_total", "Randomized reports that were sent.", "counter")
        self.charges = Metric(
            "localdp_charges_total", "Charges that were taken; repetitions are free.", "counter"
        )
        self.epsilon = Metric(
            "localdp_epsilon_charged_nats_total",
            "The epsilons of these charges, added up: nobody has spent more since the start.",
            "counter",
        )
        self.people = Metric("localdp_people", "People whom the party speaks for.", "gauge")
        self.budget = Metric("localdp_budget_nats", "What each of them may spend in total.", "gauge")
        self.late = Metric(
            "localdp_late_steps_total", "Steps of answers that took longer than was predicted.", "counter"
        )
        self.named = Metric(
            "localdp_servers_named_total",
            "Agreements and releases in which another share server stood in the way, or is one of two that may have.",
            "counter",
            ("server",),
        )
        self.seconds = MetricHistogram(
            "localdp_call_seconds", "How long calls took, by method.", ("method",)
        )

    def call(self, method: str, caller: str) -> Call:
        """A call that begins now."""
        return Call(self, method, caller)

    def admission(self, method: str, caller: str) -> Admission:
        """Whether a call may begin, which is decided now."""
        return Admission(self, method, caller)

    def charged(self, cost: Epsilon) -> None:
        """A charge was taken."""
        self.charges.add(1)
        self.epsilon.add(float(cost))

    def names(self, collection: bytes, servers: Mapping[str, str]) -> None:
        """Other share servers stood in the way of reports of a collection: what there is against each."""
        for server, why in servers.items():
            self.named.add(1, server)
            fields: dict[str, Value] = {"role": self.role, "name": self.name, "server": server, "why": why}
            log(logging.WARNING, "named", {**fields, "collection": collection[:_DIGEST_BYTES].hex()})

    def exposition(self) -> str:
        """The metrics as text."""
        metrics = (
            self.calls,
            self.refused,
            self.reports,
            self.charges,
            self.epsilon,
            self.people,
            self.budget,
            self.late,
            self.named,
            self.seconds,
        )
        return exposition(metrics)


@dataclass(slots=True)
class Call:
    """All that is ever written about one call."""

    observer: Observer
    method: str
    caller: str
    reports: int = 0
    _facts: dict[str, Value] = field(default_factory=dict)
    _began: float = field(default_factory=time.monotonic)

    def about(self, request: bytes, people: int, epsilon: Epsilon, query: str) -> None:
        """What was asked: all of it public."""
        self._facts |= {
            "request": request[:_DIGEST_BYTES].hex(),
            "people": people,
            "epsilon": str(epsilon),
            "query": query[:_LONGEST_QUERY],
        }

    def __enter__(self) -> Call:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        outcome = outcome_of(error)
        seconds = time.monotonic() - self._began
        self.observer.calls.add(1, self.method, str(outcome["code"]))
        self.observer.seconds.observe(seconds, self.method)
        self.observer.reports.add(self.reports)
        fields: dict[str, Value] = {
            "role": self.observer.role,
            "name": self.observer.name,
            "method": self.method,
        }
        fields |= {"caller": self.caller, **self._facts, **outcome, "ms": round(seconds * 1000, 3)}
        if self.reports:
            fields["reports"] = self.reports
        if error is not None and self._is_refusal(error):
            self._refused(str(outcome["reason"]), fields)
        else:
            log(logging.ERROR if outcome["code"] == "INTERNAL" else logging.INFO, "call", fields)

    def _is_refusal(self, error: BaseException) -> bool:
        return isinstance(error, PolicyRefused)

    def _refused(self, why: str, fields: dict[str, Value]) -> None:
        self.observer.refused.add(1, self.method, why)
        left_out = self.observer.refusals.left_out(self.caller, why)
        if left_out is not None:
            log(logging.WARNING, "refused", {**fields, "left_out": left_out})


class Admission(Call):
    """A call that is observed only if it does not begin: whatever else becomes of it is its own line."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            super().__exit__(kind, error, trace)

    def _is_refusal(self, error: BaseException) -> bool:
        return isinstance(error, LocalDpError)


def outcome_of(error: BaseException | None) -> dict[str, Value]:
    """Status code and reason of how a call ended; of an unforeseen exception its type alone."""
    if error is None:
        return {"code": "OK"}
    if isinstance(error, LocalDpError):
        kind = next(kind for kind in type(error).__mro__ if kind in CODES)
        return {"code": CODES[kind].name, "reason": reason(kind)}
    if isinstance(error, asyncio.CancelledError | GeneratorExit):
        return {"code": "CANCELLED"}
    return {"code": "INTERNAL", "error": type(error).__name__}


class WatchedLedger:
    """A ledger whose charges are counted."""

    def __init__(self, ledger: Ledger, observer: Observer) -> None:
        self._ledger = ledger
        self._observer = observer

    @property
    def limit(self) -> Epsilon:
        return self._ledger.limit

    def charge(self, charge: Charge) -> Receipt:
        """Take the charge, and count it if it is new."""
        receipt = self._ledger.charge(charge)
        if receipt:
            self._observer.charged(charge.cost)
        return receipt

    def require(self, charge: Charge) -> None:
        """Refuse what `charge` would refuse now."""
        self._ledger.require(charge)

    def was_heard(self, charge: Charge) -> bool:
        """Whether the caller had all of these reports before."""
        return self._ledger.was_heard(charge)

    def spent(self) -> NDArray[np.int64]:
        return self._ledger.spent()

    def __getattr__(self, name: str) -> object:
        return getattr(self._ledger, name)
