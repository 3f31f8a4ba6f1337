"""A round's digest covers all that agents, shuffler and analyst must agree on."""

from dataclasses import replace
from fractions import Fraction

import pytest

from localdp.accounting.flooding import Flood
from localdp.cohorts import Cohort
from localdp.errors import InvalidParameter
from localdp.sharing.flooded_round import FloodedPart, FloodedRound, round_digest
from tests.support.flooding import KEY, plan_of, question_of, round_at

PLAN = plan_of(100)
QUESTION = question_of(PLAN)
ROUND = round_at(QUESTION, ("north", 60), ("south", 40))


def test_any_change_is_another_round() -> None:
    more = Flood(PLAN.flood.rate, PLAN.flood.pairs + 1)
    others = [
        round_at(replace(QUESTION, round_id=b"x" * 16), ("north", 60), ("south", 40)),
        round_at(replace(QUESTION, query="age >= 65"), ("north", 60), ("south", 40)),
        round_at(replace(QUESTION, steps=15), ("north", 60), ("south", 40)),
        round_at(replace(QUESTION, key=KEY[::-1]), ("north", 60), ("south", 40)),
        round_at(question_of(replace(PLAN, flood=more)), ("north", 60), ("south", 40)),
        round_at(question_of(replace(PLAN, honest=99)), ("north", 60), ("south", 40)),
        round_at(question_of(replace(PLAN, people=101)), ("north", 61), ("south", 40)),
        round_at(question_of(replace(PLAN, delta=Fraction(2, 1000))), ("north", 60), ("south", 40)),
        round_at(QUESTION, ("south", 40), ("north", 60)),
        round_at(QUESTION, ("north", 59), ("south", 41)),
        round_at(QUESTION, ("north", 60), ("east", 40)),
        FloodedRound(QUESTION, (FloodedPart("north", 1, 61), FloodedPart("south", 0, 40))),
    ]
    assert len({one.digest for one in [ROUND, *others]}) == 1 + len(others)


def test_an_analyst_who_knows_no_more_than_the_rosters_digest_knows_the_round() -> None:
    assert round_digest(QUESTION, ROUND.roster) == ROUND.digest


def test_the_people_are_those_of_the_plan_and_nobody_is_asked_twice() -> None:
    with pytest.raises(InvalidParameter, match="as many as its noise"):
        round_at(QUESTION, ("north", 60), ("south", 39))
    with pytest.raises(InvalidParameter, match="twice"):
        FloodedRound(QUESTION, (FloodedPart("north", 0, 60), FloodedPart("north", 59, 99)))
    with pytest.raises(InvalidParameter, match="each of somebody"):
        FloodedRound(QUESTION, (FloodedPart("north", 0, 100), FloodedPart("south", 5, 5)))


def test_a_part_is_known_by_its_people() -> None:
    assert ROUND.part_of("south", Cohort(0, 40)) == FloodedPart("south", 0, 40)
    for name, cohort in (("south", Cohort(0, 39)), ("north", Cohort(0, 40)), ("east", Cohort(0, 40))):
        with pytest.raises(InvalidParameter, match="not a part"):
            ROUND.part_of(name, cohort)


@pytest.mark.parametrize("key", [b"short", bytes(32), b"\x01" + bytes(31)])
def test_a_key_that_nothing_can_be_sealed_to_is_refused_before_anybody_pays(key: bytes) -> None:
    with pytest.raises(InvalidParameter, match="key"):
        question_of(PLAN, key)


def test_numbers_that_do_not_travel_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="billionths"):
        question_of(replace(PLAN, flood=Flood(PLAN.flood.rate - Fraction(1, 7 * 10**9), PLAN.flood.pairs)))
    with pytest.raises(InvalidParameter, match="16 bytes"):
        replace(QUESTION, round_id=b"")
