"""What a party answers at all, as its owner decided: the last word before the ledger.

A refusal names the rule, so that an honest aggregator can ask for less.  It says nothing about records.

Checked in tests/unit/oracles/test_policy.py.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from localdp.accounting.epsilon import Epsilon
from localdp.cohorts import Cohort
from localdp.errors import PolicyRefused


@dataclass(frozen=True, slots=True)
class Policy:
    """The owner's rules."""

    largest_epsilon: Epsilon = Epsilon.requested(10)  # of one request, per person
    minimum_cohort: int = 1  # people in one request
    minimum_batch: int = 2  # reports in one collection by share servers
    columns: frozenset[str] | None = None  # what may be asked about; None: everything
    aggregators: frozenset[str] | None = None  # who may ask, by the name in the certificate; None: anybody
    by_content: bool = (
        False  # the same question has the same report, whoever asks it and under whatever identifier
    )
    colluding_servers: int = 0  # share servers that may work with the collector at no loss; this or more
    most_rows: int = 1  # that a person may own, where each row answers on its own share of the budget

    def require_caller(self, caller: str) -> None:
        """Refuse a caller whom the owner did not name."""
        if self.aggregators is not None and caller not in self.aggregators:
            raise PolicyRefused("the party does not answer this aggregator")

    def require_columns(self, columns: frozenset[str]) -> None:
        """Refuse a query that looks at more than the owner allows."""
        hidden = columns - self.columns if self.columns is not None else frozenset[str]()
        if hidden:
            raise PolicyRefused(f"the party does not answer questions about column {min(hidden)!r}")

    def require_cohort(self, cohort: Cohort, owners: NDArray[np.int64] | None = None) -> None:
        """Refuse a request about too few people; `owners` says whose each index is, where people have several.

        With `most_rows` the answer must not depend on whose they are: so many people there are at least.
        """
        if self.minimum_cohort == 1:
            return
        if owners is None or self.most_rows > 1:
            people = -(-cohort.size() // self.most_rows)
        else:
            people = len(np.unique(owners[cohort.selection()]))
        if people < self.minimum_cohort:
            raise PolicyRefused(f"the party answers for at least {self.minimum_cohort} people at once")

    def require_cost(self, cost: Epsilon) -> None:
        """Refuse a request that costs each person too much."""
        if cost > self.largest_epsilon:
            raise PolicyRefused(
                f"this report would cost epsilon {cost}; the party allows {self.largest_epsilon} a request"
            )

    def require_batch(self, minimum_batch: int) -> None:
        """Refuse a collection that could be released too early."""
        if minimum_batch < self.minimum_batch:
            raise PolicyRefused(f"the minimum batch must be at least {self.minimum_batch}")

    def require_withstanding(self, servers: int) -> None:
        """Refuse a noise plan that keeps its promise against fewer colluding servers than the owner wants."""
        if servers < self.colluding_servers:
            raise PolicyRefused(
                f"the noise plan must withstand {self.colluding_servers} colluding servers, not {servers}"
            )
