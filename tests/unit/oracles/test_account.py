"""An account of rounds in which not everybody is asked: what counts is who has lost most."""

from fractions import Fraction

import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.errors import BudgetExhausted
from localdp.oracles.account import Account

ONE, NONE = Epsilon.requested(1), Epsilon(0)


def test_different_people_add_nothing_and_the_same_ones_do() -> None:
    whole = Account()
    for some, promised in (((range(5),), 1), ((range(5, 9),), 1), ((range(4, 6),), 2)):
        Account(whole, among=some).book(1, ONE, ONE, 7)
        assert whole.cost.epsilon_promised == ONE * promised
    assert (whole.cost.rounds, whole.cost.queries, whole.cost.bytes_moved) == (3, 3, 21)


def test_a_chance_is_of_those_who_were_asked_and_adds_up_person_by_person() -> None:
    whole = Account()
    for some, each, delta in (
        ((range(5),), ONE, 8),
        ((range(4, 9),), Epsilon(1), 3),
        ((range(4, 9),), Epsilon(1), 3),
    ):
        view = Account(whole, among=some)
        view.book(2, each, each, 0)
        view.risk(Fraction(delta, 200))  # of each of two queries
        view.risk(Fraction(delta, 200))
    assert whole.delta == Fraction(8 + 3 + 3, 100)  # of the fifth person, whose rounds had different prices
    whole.book(1, ONE, ONE, 0)
    whole.risk(Fraction(1, 10))
    assert whole.delta == Fraction(24, 100)


def test_where_nobody_is_asked_twice_the_largest_chance_counts() -> None:
    whole = Account()
    rounds = Account(whole, once=True)
    for delta in (1, 3, 2):
        rounds.book(1, ONE, ONE, 0)
        rounds.risk(Fraction(delta, 100))
    several = Account(rounds)  # of one round of these, however many it has itself
    for _ in range(4):
        several.book(1, ONE, ONE, 0)
        several.risk(Fraction(1, 100))
    assert rounds.delta == whole.delta == Fraction(4, 100)


def test_a_round_of_everybody_comes_on_top() -> None:
    whole = Account()
    whole.book(1, ONE, ONE, 0)
    Account(whole, among=(range(3),)).book(1, ONE, NONE, 0)
    assert (whole.cost.epsilon_promised, whole.cost.epsilon_charged) == (ONE * 2, ONE)


def test_what_is_above_hears_of_the_rise_alone() -> None:
    top = Account()
    middle = Account(top)
    for some in ((range(5),), (range(5, 9),)):
        Account(middle, among=some).book(1, ONE, ONE, 0)
    assert top.cost.epsilon_promised == middle.cost.epsilon_promised == ONE


def test_nobody_is_granted_more_than_a_round() -> None:
    whole = Account()
    whole.require_left((range(9),), ONE, ONE)
    Account(whole, among=(range(5),)).book(1, ONE, ONE, 0)
    whole.require_left((range(5, 9),), ONE, ONE)
    with pytest.raises(BudgetExhausted):
        whole.require_left((range(2), range(4, 9)), Epsilon(1), ONE)
