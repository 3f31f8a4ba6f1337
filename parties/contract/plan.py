"""What a check of the contract asks, of whom, and what it costs them: fixed, and told, before anything is spent.

The people stand in a row.  The first ones, `crowd`, answer every ordinary request once.  The others stand in five equal
blocks, each of which one clause spends to the last nanonat.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from fractions import Fraction

from localdp.accounting.epsilon import LARGEST_EPSILON_NATS, NANONATS_PER_NAT, Epsilon
from localdp.cohorts import Cohort
from localdp.domains import CategoryDomain, IntegerDomain, RealDomain, Schema
from localdp.errors import InvalidParameter
from localdp.oracles.party import Request
from localdp.oracles.question import category_size
from localdp.queries.expressions import Column, Compare, Label, Number
from localdp.queries.text import to_text
from localdp.randomizers.definition import LocalRandomizer
from localdp.randomizers.finite_channel import MOST_INPUTS, FiniteChannel
from localdp.randomizers.k_ary import KaryRandomizedResponse
from localdp.randomizers.local_laplace import LocalDiscreteLaplace
from localdp.randomizers.one_bit import OneBitRandomizer

LEAST_PEOPLE = 512  # fewer, and the law would be seen too dimly
LARGEST_CROWD = 200_001
LARGEST_BLOCK = 1000
BLOCKS = ("budget", "channel", "retry", "rush", "quote")
MOST_PAYMENTS = 256  # to spend a budget
GRID = 16
_QUARTER = "clip(0.25)"
_LARGEST_PAYMENT = 8 * NANONATS_PER_NAT  # up to here a one-bit law costs exactly what was asked for
_LEAST_EPSILON = NANONATS_PER_NAT // 10
_SHARE = 10  # an ordinary request costs at most this part of the budget


@dataclass(frozen=True, slots=True)
class Plan:
    """Requests by name, people by clause."""

    party: str  # what the party calls itself
    budget: int  # what each person may spend, in nanonats
    largest: int  # of one request
    people: int
    schema: Schema
    column: str  # a column with few values
    values: int  # how many
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
            f"and the whole budget of epsilon {Epsilon(self.budget)} of each of {spent} others"
        )


def plan_of(party: str, schema: Schema, people: int, budget: int, largest: int) -> Plan:
    """The plan for an agent that says this of itself; refused if it cannot be checked."""
    column = _column_of_few_values(schema)
    epsilon = Epsilon(min(NANONATS_PER_NAT, largest, budget // _SHARE))
    if people < LEAST_PEOPLE or epsilon.nanonats < _LEAST_EPSILON:
        raise InvalidParameter(
            f"a check needs at least {LEAST_PEOPLE} people, a budget of 1 nat and requests of 0.1 nat"
        )
    if budget > MOST_PAYMENTS * min(largest, _LARGEST_PAYMENT):
        raise InvalidParameter(
            f"a check spends whole budgets in at most {MOST_PAYMENTS} requests: give the agent a smaller one"
        )
    size = min(LARGEST_BLOCK, people // 16)
    crowd = Cohort(0, min(LARGEST_CROWD, people - len(BLOCKS) * size))
    blocks = {
        name: Cohort(crowd.stop + place * size, crowd.stop + (place + 1) * size)
        for place, name in enumerate(BLOCKS)
    }
    values = category_size(Column(column), schema)
    run = os.urandom(16)
    requests = _requests(run, schema, column, values, epsilon)
    return Plan(party, budget, largest, people, schema, column, values, crowd, blocks, requests, run)


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
