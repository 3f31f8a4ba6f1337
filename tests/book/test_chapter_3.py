"""Section 3.5.2: the game of Definition 3.7, by every adversary of three rounds, against a ledger and without one."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import product

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.ledger import MemoryLedger
from localdp.cohorts import Cohort
from localdp.errors import BudgetExhausted
from localdp.randomizers.one_bit import binary_randomized_response
from tests.support.ledgers import charge

ROUNDS, LIMIT, PLENTY = 3, Epsilon.requested(1), Epsilon.requested(30)
PRICES = tuple(map(Epsilon.requested, ("0.25", "0.75", "1")))
REFUSED = 2  # beside the answers 0 and 1
Prices = tuple[Epsilon, ...]


@dataclass(frozen=True)
class Move:
    """A mechanism, and which of two neighbouring records experiment 1 has."""

    price: Epsilon
    swapped: bool


MOVES = [Move(price, swapped) for price in PRICES for swapped in (False, True)]
Adversary = tuple[Move, ...]  # the first move, and those after an answer of 0, of 1 and a refusal


def adversaries() -> Iterator[Adversary]:
    """All that go by the last answer."""
    return product(MOVES, repeat=4)


@cache
def taken(prices: Prices, limit: Epsilon) -> bool:
    """Whether a ledger takes the last of these charges, after those of the others that it took."""
    ledger, was_taken = MemoryLedger(1, limit), False
    for number, price in enumerate(prices):
        try:
            was_taken = bool(ledger.charge(charge(number, Cohort(0, 1), price)))
        except BudgetExhausted:
            was_taken = False
    return was_taken


@cache
def answer_law(price: Epsilon, bit: int) -> tuple[Fraction, Fraction]:
    law = binary_randomized_response(price).law(bit)
    return law[0], law[1]


def view(adversary: Adversary, experiment: int, limit: Epsilon) -> dict[tuple[int, ...], Fraction]:
    """The law of all answers in an experiment."""
    law: dict[tuple[int, ...], tuple[Fraction, Prices]] = {(): (Fraction(1), ())}
    for _ in range(ROUNDS):
        after = {}
        for said, (mass, prices) in law.items():
            move = adversary[0] if not said else adversary[1 + said[-1]]
            asked = (*prices, move.price)
            if not taken(asked, limit):
                after[*said, REFUSED] = mass, asked
                continue
            for answer, chance in enumerate(answer_law(move.price, experiment ^ move.swapped)):
                after[*said, answer] = mass * chance, asked
        law = after
    return {said: mass for said, (mass, _) in law.items()}


def guessed(adversary: Adversary, limit: Epsilon) -> Fraction:
    """How often the best guess tells which experiment it is."""
    first, second = (view(adversary, experiment, limit) for experiment in (0, 1))
    return sum((max(first[said], second[said]) for said in first), Fraction(0)) / 2


def test_no_adversary_tells_the_experiments_apart_better_than_the_budget_allows() -> None:
    bound = math.exp(float(LIMIT)) / (1 + math.exp(float(LIMIT)))
    rates = [guessed(adversary, LIMIT) for adversary in adversaries()]
    assert max(rates) <= bound < 1.001 * max(rates)
    for adversary in adversaries():
        first, second = (view(adversary, experiment, LIMIT) for experiment in (0, 1))
        assert sum(first.values()) == sum(second.values()) == 1
        assert Epsilon.of_ratio(max(first[said] / second[said] for said in first)) <= LIMIT


def test_without_a_ledger_some_adversary_does() -> None:
    bound = math.exp(float(LIMIT)) / (1 + math.exp(float(LIMIT)))
    assert max(guessed(adversary, PLENTY) for adversary in adversaries()) > bound
