"""What a party answers at all, as its owner decided: the last word before the ledger.

A refusal names the rule, so that an honest aggregator can ask for less.  It says nothing about records.

Checked in tests/unit/party/test_policy.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from localdp.accounting.epsilon import Epsilon
from localdp.cohorts import Cohort
from localdp.errors import InvalidParameter, PolicyRefused
from localdp.queries.encoded import Query
from localdp.queries.expressions import Road
from localdp.queries.parser import parse
from localdp.queries.text import to_text


def operator_of(name: str) -> str:
    """Who speaks for a party: whoever has the certificate of the part of its name before "/"."""
    return name.partition("/")[0]


def opening_text(text: str) -> str:
    """The opening move of a game in its one spelling, as `Policy.games` has it."""
    move = parse(text)
    if not isinstance(move, Road) or move != move.opening:
        raise InvalidParameter(
            "a game is allowed by its opening move: road(...) with 0 rounds seen, and loads of 0"
        )
    return to_text(move)


ANY_DELTA = Fraction(1)  # for simulations: whatever a flooded round has


@dataclass(frozen=True, slots=True)
class Policy:
    """The owner's rules."""

    largest_epsilon: Epsilon = Epsilon.requested(1)  # of one request, per person
    # Of one request: what costs next to nothing could be asked for ever.
    smallest_epsilon: Epsilon = Epsilon(1)
    shuffler: str | None = None  # whose requests, mixed with other people's, may cost more than others
    largest_epsilon_shuffled: Epsilon | None = None  # of one report there, before it is mixed
    # Of one flooded round, in which nothing holds against the shuffler; None: the owner accepts none.
    largest_delta_flooded: Fraction | None = None
    second_key: bytes | None = (
        None  # of a second shuffler, without which the owner accepts no flooded round
    )
    minimum_cohort: int = 1  # people in one request
    minimum_batch: int = 2  # reports in one collection by share servers
    columns: frozenset[str] | None = None  # what may be asked about; None: everything
    # Games, each as its opening move, whose moves may look at further columns (`queries/roads.py`).
    games: frozenset[str] = frozenset()
    estimators: frozenset[str] | None = (
        None  # what may be computed of blocks of people; None: whatever is known
    )
    aggregators: frozenset[str] | None = None  # who may ask, by the name in the certificate; None: anybody
    # The same question has the same report, whoever asks it and under whatever identifier.
    by_content: bool = False
    colluding_servers: int = 0  # share servers that may work with the collector at no loss; this or more
    private_description: bool = False  # whether only those who may ask are told what may be asked
    most_rows: int = 1  # that a person may own, where each row answers on its own share of the budget

    def require_caller(self, caller: str) -> None:
        """Refuse a caller whom the owner did not name."""
        if self.aggregators is not None and caller not in self.aggregators:
            raise PolicyRefused("the party does not answer this analyst (policy.aggregators)")

    def require_query(self, query: Query) -> None:
        """Refuse a query that looks at more than the owner allows, unless it is a move of a game that is allowed."""
        hidden = query.columns - self.columns if self.columns is not None else frozenset[str]()
        if not hidden:
            return
        move = query.expression
        if not isinstance(move, Road) or to_text(move.opening) not in self.games:
            raise PolicyRefused(
                f"the party does not answer questions about column {min(hidden)!r} (policy.columns)"
            )
        if not move.possible:
            raise PolicyRefused(
                "the game is over, or its rounds cannot have had such loads: a sum is that of the loads of the rounds"
                " that were seen, 0 before the first (policy.games)"
            )

    def require_estimator(self, name: str) -> None:
        """Refuse to compute of blocks of people what the owner does not allow."""
        if self.estimators is not None and name not in self.estimators:
            raise PolicyRefused(f"the party does not compute {name} of blocks of its people")

    @property
    def fewest(self) -> int:
        """How many indices are of as many people as the minimum cohort has, whoever's rows they are."""
        return (self.minimum_cohort - 1) * self.most_rows + 1

    def require_cohort(self, cohort: Cohort, people_each: int = 1) -> None:
        """Refuse a request about too few people, of so many for each report."""
        if self.minimum_cohort > 1 and cohort.size() * people_each < self.fewest:
            raise PolicyRefused(
                f"the party answers for at least {self.minimum_cohort} people at once (policy.minimum_cohort)"
            )

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
                " (policy.smallest_epsilon)"
            )
        most = self._largest(caller, mixed)
        if cost > most:
            told = f"this report would cost epsilon {cost}; the party allows {most} a request"
            key = "largest_epsilon" if most == self.largest_epsilon else "largest_epsilon_shuffled"
            raise PolicyRefused(told + (self._hint() if mixed else "") + f" (policy.{key})")

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

    def require_flooded(self, delta: Fraction, caller: str = "", second_key: bytes = b"") -> None:
        """Refuse a flooded round unless the owner accepts such rounds, and the shuffler asks that the owner named."""
        if self.largest_delta_flooded is None:
            raise PolicyRefused(
                "the party takes part in no flooded round: its messages hide nobody from a dishonest shuffler; its owner "
                "can allow it (policy.shuffler, policy.largest_delta_flooded), or ask for the shuffled model"
            )
        if caller not in ("", self.shuffler):  # on loopback a caller has no name
            raise PolicyRefused(
                "only the shuffler that its owner named may ask the party for flooded messages"
            )
        if self.second_key not in (None, second_key):
            raise PolicyRefused(
                "the party takes part only in flooded rounds by way of the second shuffler that its owner named "
                "(policy.second_shuffler)"
            )
        if delta > self.largest_delta_flooded:
            allowed = float(self.largest_delta_flooded)
            raise PolicyRefused(
                f"this round has delta {float(delta):.3g}; the party allows {allowed:.3g} a round"
            )

    def require_batch(self, minimum_batch: int) -> None:
        """Refuse a collection that could be released too early."""
        if minimum_batch < self.minimum_batch:
            raise PolicyRefused(
                f"the minimum batch must be at least {self.minimum_batch} (policy.minimum_batch)"
            )

    def require_withstanding(self, servers: int) -> None:
        """Refuse a noise plan that keeps its promise against fewer colluding servers than the owner wants."""
        if servers < self.colluding_servers:
            raise PolicyRefused(
                f"the noise plan must withstand {self.colluding_servers} colluding servers, not {servers}"
                " (policy.colluding_servers)"
            )
