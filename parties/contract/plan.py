"""What a check of the contract asks, of whom, and what it costs them: fixed, and told, before anything is spent.

The people stand in a row.  The first ones, `crowd`, answer every ordinary request once.  Then there are two blocks of half
the size of the others: people of whom several clauses show that they were not charged (`unpaid`), and people who answer
whatever a clause takes the time of, until the last one spends them down (`quiet`).  The others stand in five equal blocks,
each of which one clause spends to the last nanonat.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, fields
from fractions import Fraction

from localdp.accounting.epsilon import LARGEST_EPSILON_NATS, NANONATS_PER_NAT, Epsilon
from localdp.cohorts import Cohort
from localdp.domains import CategoryDomain, IntegerDomain, RealDomain, Schema
from localdp.errors import InvalidParameter
from localdp.party.party import Request
from localdp.party.question import category_size
from localdp.queries.expressions import Column, Compare, Label, Number
from localdp.queries.text import to_text
from localdp.randomizers.count_mean_sketch import CountMeanSketch
from localdp.randomizers.definition import LocalRandomizer
from localdp.randomizers.finite_channel import MOST_INPUTS, FiniteChannel
from localdp.randomizers.k_ary import KaryRandomizedResponse
from localdp.randomizers.local_laplace import LocalDiscreteLaplace
from localdp.randomizers.one_bit import OneBitRandomizer
from localdp.randomizers.priv_unit import PrivUnit

LEAST_PEOPLE = 512  # fewer, and the law would be seen too dimly
LARGEST_CROWD = 200_001
LARGEST_BLOCK = 1000
HALF_BLOCKS = ("unpaid", "quiet")
BLOCKS = ("budget", "channel", "retry", "rush", "quote")
MOST_PAYMENTS = 256  # to spend a budget
GRID = 16
_QUARTER = "clip(0.25)"
_LARGEST_PAYMENT = 8 * NANONATS_PER_NAT  # up to here a one-bit law costs exactly what was asked for
_LEAST_EPSILON = NANONATS_PER_NAT // 10
_SHARE = 10  # an ordinary request costs at most this part of the budget
_SMALL = 4  # a small request, this part of an ordinary one
# Whose second moments have 2015 entries: with so many candidates, nearly the most that is allowed.
_LARGE_COORDINATES = 62
_LARGE_CANDIDATES = 1 << 11
_WIDE_BITS = 1 << 16


@dataclass(frozen=True, slots=True)
class Announced:
    """What an agent says of itself, as far as a check depends on it; amounts in nanonats."""

    party: str
    schema: Schema
    people: int
    budget: int  # what each person may spend
    largest: int  # of one request
    smallest: int = 1  # of one request
    keep_seconds: int = 0
    quantum: int = 0  # nanoseconds


@dataclass(frozen=True, slots=True, kw_only=True)
class ClausePlan(Announced):
    """Requests by name, people by clause."""

    column: str  # a column with few values
    values: int  # how many
    epsilon: Epsilon  # of an ordinary request
    crowd: Cohort
    blocks: dict[str, Cohort]
    requests: dict[str, Request]
    run: bytes  # fresh bytes in every identifier of this check

    @property
    def payment(self) -> int:
        """The largest single payment out of a budget, in nanonats."""
        return min(self.largest, _LARGEST_PAYMENT)

    @property
    def allows_no_more(self) -> bool:
        """Whether the announced largest can be raised by a thousandth and is still an epsilon."""
        return self.largest < LARGEST_EPSILON_NATS * NANONATS_PER_NAT * 99 // 100

    @property
    def cost_of_crowd(self) -> Epsilon:
        """What the ordinary requests cost each person of the crowd."""
        return Epsilon(sum(request.randomizer.epsilon.nanonats for request in self.requests.values()))

    def request(self, label: str, query: str, randomizer: LocalRandomizer) -> Request:
        """A request of this check; the same label has the same identifier."""
        return Request(self.run + label.encode(), query, randomizer)

    def payment_of(self, label: str, nanonats: int) -> Request:
        """A request that costs exactly so much."""
        return self.request(label, "true", OneBitRandomizer(Epsilon(nanonats)))

    def cheap(self, label: str, query: str = "true") -> Request:
        """A request that costs as little as the party allows."""
        return self.request(label, query, OneBitRandomizer(Epsilon(self.smallest)))

    def large(self, label: str) -> Request:
        """As much work as one person's report can be: some tens of milliseconds, of each."""
        count = _LARGE_COORDINATES
        query = f"moments(ball({', '.join(['0.1'] * count)}), true)"
        law = PrivUnit(self._small, count + count * (count + 1) // 2, candidates=_LARGE_CANDIDATES)
        return self.request(label, query, law)

    def wide(self, label: str) -> Request:
        """Reports of 8 KiB each, for little work."""
        return self.request(label, self.column, CountMeanSketch(self._small, 1, _WIDE_BITS))

    @property
    def _small(self) -> Epsilon:
        return Epsilon(self.epsilon.nanonats // _SMALL)

    def channel(self, nanonats: int) -> FiniteChannel:
        """A channel on the column whose epsilon is just below so much: the truth, or any other value."""
        other = 1 << 20 if nanonats < 20 * NANONATS_PER_NAT else 1
        own = math.floor(other * math.exp(nanonats / NANONATS_PER_NAT))
        rows = range(self.values)
        return FiniteChannel(tuple(tuple(own if x == y else other for y in rows) for x in rows))

    def announcement(self) -> str:
        """What will be spent, in words."""
        spent = sum(block.size() for block in self.blocks.values())
        return (
            f"epsilon {self.cost_of_crowd} of each of {self.crowd.size()} people, "
            f"and up to the whole budget of epsilon {Epsilon(self.budget)} of each of {spent} others"
        )


def plan_of(said: Announced) -> ClausePlan:
    """The plan for an agent that says this of itself; refused if it cannot be checked."""
    column = _column_of_few_values(said.schema)
    epsilon = Epsilon(min(NANONATS_PER_NAT, said.largest, said.budget // _SHARE))
    _require_affordable(said, epsilon)
    values = category_size(Column(column), said.schema)
    run = os.urandom(16)
    crowd, blocks = _places(said.people)
    return ClausePlan(
        **{field.name: getattr(said, field.name) for field in fields(said)},
        column=column,
        values=values,
        epsilon=epsilon,
        crowd=crowd,
        blocks=blocks,
        requests=_requests(run, said.schema, column, values, epsilon),
        run=run,
    )


def _require_affordable(said: Announced, epsilon: Epsilon) -> None:
    if (
        said.people < LEAST_PEOPLE
        or epsilon.nanonats < _LEAST_EPSILON
        or said.smallest * _SMALL > epsilon.nanonats
    ):
        raise InvalidParameter(
            f"a check needs at least {LEAST_PEOPLE} people, a budget of 1 nat, and requests of 0.1 nat and of a quarter of "
            "an ordinary one (which is 1 nat, the largest, or a tenth of the budget)"
        )
    if said.budget > MOST_PAYMENTS * min(said.largest, _LARGEST_PAYMENT):
        raise InvalidParameter(
            f"a check spends whole budgets in at most {MOST_PAYMENTS} requests: give the agent a smaller one"
        )


def _places(people: int) -> tuple[Cohort, dict[str, Cohort]]:
    """The crowd, and after it the blocks."""
    size = min(LARGEST_BLOCK, people // 16)
    sizes = dict.fromkeys(HALF_BLOCKS, size // 2) | dict.fromkeys(BLOCKS, size)
    start = min(LARGEST_CROWD, people - sum(sizes.values()))
    crowd, blocks = Cohort(0, start), {}
    for name, many in sizes.items():
        blocks[name] = Cohort(start, start + many)
        start += many
    return crowd, blocks


def _requests(run: bytes, schema: Schema, column: str, values: int, epsilon: Epsilon) -> dict[str, Request]:
    bit, grid = OneBitRandomizer(epsilon), OneBitRandomizer(epsilon, GRID)
    return {
        "asked": Request(run + b"asked", _condition(schema, column), bit),
        "true": Request(run + b"truth", "true", bit),
        "true again": Request(run + b"again", "true", bit),
        "false": Request(
            run + b"truth", "false", bit
        ),  # the identifier of "true": another request all the same
        "quarter": Request(run + b"quarter", _QUARTER, grid),
        "near a quarter": Request(run + b"laplace", _QUARTER, LocalDiscreteLaplace(epsilon, GRID)),
        "column": Request(run + b"column", column, KaryRandomizedResponse(epsilon, values)),
    }


def _column_of_few_values(schema: Schema) -> str:
    for name in schema.names:
        if (
            not isinstance(schema[name], RealDomain)
            and 2 <= category_size(Column(name), schema) <= MOST_INPUTS
        ):
            return name
    raise InvalidParameter(f"a check needs a column with 2 to {MOST_INPUTS} values")


def _condition(schema: Schema, name: str) -> str:
    """A question about the column that is true of some records and not of others."""
    match schema[name]:
        case CategoryDomain(labels):
            return to_text(Compare("==", Column(name), Label(labels[0])))
        case IntegerDomain(low, high):
            return to_text(Compare(">", Column(name), Number(Fraction(low + high, 2))))
    return to_text(Column(name))


def two_values(schema: Schema, name: str) -> list[tuple[str, str]]:
    """The same question about two values of a column, where a question can name one."""
    values: tuple[Label | Number, Label | Number]
    match schema[name]:
        case CategoryDomain(labels):
            values = Label(labels[0]), Label(labels[-1])
        case IntegerDomain(low, high):
            values = Number(Fraction(low)), Number(Fraction(high))
        case _:
            return []
    first, last = (to_text(Compare("==", Column(name), value)) for value in values)
    return [(first, last)]
