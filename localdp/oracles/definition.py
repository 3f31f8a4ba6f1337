"""The one interface that algorithms speak to: a statistical-query oracle (Definitions 12.4 and 12.6).

An algorithm asks batches of statistical queries and receives their means over the people, each with a standard
error.  It cannot tell, and need not know, whether the answers come from the records themselves, a trusted curator,
randomized reports of the parties, or share servers.  One call of `answer` is one round of interaction; the queries of
one call are chosen before any of them is answered.

Checked for every implementation by tests/contract/test_statistical_query_oracle.py.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from localdp.accounting.claim import PrivacyClaim
from localdp.accounting.epsilon import Epsilon
from localdp.domains import Records, Schema
from localdp.errors import QueryRefused
from localdp.queries.statistical import StatisticalQuery

MOST_QUERIES_IN_A_ROUND = 4096
GRID = 1 << 16  # resolution on which a query with values between 0 and 1 is encoded


@dataclass(frozen=True, slots=True)
class Answer:
    """The mean of a query over the people, and how far off it may be."""

    query: str
    value: float  # unbiased, hence not clipped to [0, 1]
    people: int  # over whom the mean is taken
    reports: int  # how many of them answered
    variance_empirical: float  # about the mean of these people
    variance_population: float  # about the mean of the distribution that they are a sample of

    @property
    def standard_error(self) -> float:
        """Standard error about the mean of these people."""
        return math.sqrt(self.variance_empirical)

    @property
    def count(self) -> float:
        """The answer as a number of people."""
        return self.value * self.people

    @property
    def count_error(self) -> float:
        """Standard error of `count`."""
        return self.standard_error * self.people


@dataclass(frozen=True, slots=True)
class Cost:
    """What an oracle's answers have cost so far."""

    rounds: int = 0
    queries: int = 0
    epsilon_per_person: Epsilon = Epsilon(0)
    bytes_moved: int = 0

    def after_round(self, queries: int, epsilon: Epsilon, bytes_moved: int) -> Cost:
        """The cost with one more round on top."""
        return Cost(
            self.rounds + 1,
            self.queries + queries,
            self.epsilon_per_person + epsilon,
            self.bytes_moved + bytes_moved,
        )


class StatisticalQueryOracle(Protocol):
    """Answers statistical queries about people whose records it may or may not see."""

    @property
    def schema(self) -> Schema:
        """What queries may be about."""
        ...

    @property
    def people(self) -> int:
        """How many people the answers are about."""
        ...

    @property
    def cost(self) -> Cost:
        """What the answers have cost so far."""
        ...

    @property
    def claim(self) -> PrivacyClaim:
        """What is promised to the people about all answers so far."""
        ...

    def answer(self, queries: Sequence[str | StatisticalQuery]) -> list[Answer]:
        """One round: the mean of every query, in order."""
        ...


def checked_round(queries: Sequence[str | StatisticalQuery], schema: Schema) -> list[StatisticalQuery]:
    """The queries of a round, parsed and type-checked before anything is asked or charged."""
    if isinstance(queries, str):
        raise QueryRefused("a round is a list of queries; write [query] for a single one")
    if not 1 <= len(queries) <= MOST_QUERIES_IN_A_ROUND:
        raise QueryRefused(f"a round has 1 to {MOST_QUERIES_IN_A_ROUND} queries")
    return [_checked(query, schema) for query in queries]


def _checked(query: str | StatisticalQuery, schema: Schema) -> StatisticalQuery:
    if isinstance(query, str):
        return StatisticalQuery.parse(query, schema)
    if query.schema != schema:
        raise QueryRefused("the query was checked against another schema than the oracle's")
    return query


def resolution_of(query: StatisticalQuery) -> int:
    """A bit needs no grid; anything between 0 and 1 is rounded to 2**-16."""
    return 1 if query.kind == "bit" else GRID


def encoded_sum(query: StatisticalQuery, records: Records) -> int:
    """The sum of a query over records, on its grid."""
    if query.kind == "bit":
        return int(np.count_nonzero(query.evaluate(records)))
    return int(query.encode(records, GRID).sum())
