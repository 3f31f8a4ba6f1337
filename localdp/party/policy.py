"""What a party answers at all, as its owner decided: the last word before the ledger.

A refusal names the rule, so that an honest aggregator can ask for less.  It says nothing about records.

Checked in tests/unit/party/test_policy.py.
"""

from __future__ import annotations

from dataclasses import dataclass

from localdp.accounting.epsilon import Epsilon
from localdp.cohorts import Cohort
from localdp.errors import InvalidParameter, PolicyRefused


@dataclass(frozen=True, slots=True)
class Policy:
    """The owner's rules."""

    largest_epsilon: Epsilon = Epsilon.requested(1)  # of one request, per person
    # Of one request: what costs next to nothing could be asked for ever.
    smallest_epsilon: Epsilon = Epsilon(1)
    shuffler: str | None = None  # whose requests, mixed with other people's, may cost more than others
    largest_epsilon_shuffled: Epsilon | None = None  # of one report there, before it is mixed
    minimum_cohort: int = 1  # people in one request
    minimum_batch: int = 2  # reports in one collection by share servers
    columns: frozenset[str] | None = None  # what may be asked about; None: everything
    aggregators: frozenset[str] | None = None  # who may ask, by the name in the certificate; None: anybody
    # The same question has the same report, whoever asks it and under whatever identifier.
    by_content: bool = False
    colluding_servers: int = 0  # share servers that may work with the collector at no loss; this or more
    private_description: bool = False  # whether only those who may ask are told what may be asked
    most_rows: int = 1  # that a person may own, where each row answers on its own share of the budget

    def require_caller(self, caller: str) -> None:
        """Refuse a caller whom the owner did not name."""
        if self.aggregators is not None and caller not in self.aggregators:
            raise PolicyRefused("the party does not answer this analyst")

    def require_columns(self, columns: frozenset[str]) -> None:
        """Refuse a query that looks at more than the owner allows."""
        hidden = columns - self.columns if self.columns is not None else frozenset[str]()
        if hidden:
            raise PolicyRefused(f"the party does not answer questions about column {min(hidden)!r}")

    @property
    def fewest(self) -> int:
        """How many indices are of as many people as the minimum cohort has, whoever's rows they are."""
        return (self.minimum_cohort - 1) * self.most_rows + 1

    def require_cohort(self, cohort: Cohort) -> None:
        """Refuse a request about too few people."""
        if self.minimum_cohort > 1 and cohort.size() < self.fewest:
            raise PolicyRefused(f"the party answers for at least {self.minimum_cohort} people at once")

    def require_rows(self, most: int) -> None:
        """Refuse records of which somebody owns more rows than the budget was divided by."""
        if most > self.most_rows:
            raise InvalidParameter(
                f"nobody may own more than {self.most_rows} rows, where each row answers"
            )

    def require_cost(self, cost: Epsilon, caller: str = "", *, mixed: bool = False) -> None:
        """Refuse a request that costs each person too much, or next to nothing."""
        if cost < self.smallest_epsilon:
            raise PolicyRefused(
                f"this report would cost epsilon {cost}; the party wants at least {self.smallest_epsilon} a request"
            )
        most = self._largest(caller, mixed)
        if cost > most:
            told = f"this report would cost epsilon {cost}; the party allows {most} a request"
            raise PolicyRefused(told + (self._hint() if mixed else ""))

    def _largest(self, caller: str, mixed: bool) -> Epsilon:
        """On loopback a caller has no name, and a shuffler is believed to be the one that the owner named."""
        named = mixed and self.shuffler is not None and caller in ("", self.shuffler)
        if named and self.largest_epsilon_shuffled is not None:
            return self.largest_epsilon_shuffled
        return self.largest_epsilon

    def _hint(self) -> str:
        if self.shuffler is not None:
            return " before it is mixed, and that only to the shuffler that its owner named"
        return " before it is mixed; its owner can allow a shuffler more (policy.shuffler, policy.largest_epsilon_shuffled)"

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
