"""An account of rounds in which not everybody is asked: what counts is who has lost most."""

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
    assert whole.paid_rounds == 2


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
