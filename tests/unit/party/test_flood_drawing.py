"""A party reads sums and noise off the round itself, and refuses what it would not promise."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from localdp.accounting.flood_plan import Flooded
from localdp.accounting.flooding import Moved
from localdp.cohorts import Cohort
from localdp.errors import InvalidParameter, QueryRefused
from localdp.party.flood_drawing import FloodDrawing
from localdp.queries.encoded import measured
from localdp.sharing.flooded_batch import FloodedBatch, added
from localdp.sharing.flooded_round import FloodedRound
from tests.support.flooding import plan_of, question_of, round_at
from tests.support.people import population

PEOPLE = population(60)
PLAN = plan_of(100, 100)
ROUND = round_at(question_of(PLAN), ("party-0", 60), ("party-1", 40))


def drawing(asked: FloodedRound) -> FloodDrawing:
    return FloodDrawing.of(asked, asked.parts[0], PEOPLE.schema)


def batch(asked: FloodedRound, key: bytes = b"k" * 32) -> FloodedBatch:
    one = drawing(asked)
    return one.batch(key, Cohort(0, 60), measured(one.query, PEOPLE))


def test_the_batch_is_the_same_for_the_same_key_and_another_for_another() -> None:
    codes = [batch(ROUND, key).codes for key in (b"k" * 32, b"k" * 32, b"m" * 32)]
    assert (codes[0] == codes[1]).all()
    assert (codes[0] != codes[2]).any()
    assert {len(one) for one in codes} == {PLAN.size(60)}
    assert abs(int(added(codes[0], 1)[0]) - int(PEOPLE.column("smoker").sum())) < 100


def test_each_part_and_each_round_has_a_name_of_its_own() -> None:
    names = {FloodDrawing.of(ROUND, part, PEOPLE.schema).name for part in ROUND.parts}
    names.add(drawing(round_at(question_of(PLAN, number=1), ("party-0", 60), ("party-1", 40))).name)
    names.add(drawing(round_at(question_of(PLAN), ("party-0", 60), ("party-2", 40))).name)
    assert len(names) == 4


@pytest.mark.parametrize(
    ("query", "sums"),
    [
        ("region", Flooded()),
        ("smoker", Flooded(1, Moved(2), 2)),
        ("smoker", Flooded(1, Moved(), 2)),
        ("clip(age/100)", Flooded()),
    ],
)
def test_a_query_that_moves_more_than_the_round_says_is_refused(query: str, sums: Flooded) -> None:
    plan = plan_of(100, 100, sums=sums)
    asked = round_at(question_of(plan, query=query), ("party-0", 60), ("party-1", 40))
    with pytest.raises(InvalidParameter, match="other sums"):
        drawing(asked)


def test_a_query_that_is_none_is_refused() -> None:
    with pytest.raises(QueryRefused):
        drawing(round_at(question_of(PLAN, query="smoker +"), ("party-0", 60), ("party-1", 40)))


def test_less_noise_than_the_promise_needs_makes_no_round_at_all() -> None:
    """Whoever lies about the noise, or about who is honest, has to say a larger delta."""
    weaker = replace(PLAN.flood, pairs=PLAN.flood.pairs // 2)
    with pytest.raises(InvalidParameter, match="hides less"):
        replace(PLAN, flood=weaker)


def test_what_a_ledger_says_of_it_names_delta_and_key() -> None:
    told = drawing(ROUND).purpose
    assert "flooded messages of smoker, delta 0.001, noise of 100 of 100 people" in told
    assert ROUND.question.key[:4].hex() in told


def test_neighbours_have_batches_of_one_length_and_of_one_law_of_dummies() -> None:
    """With the same coins the batches of neighbours differ in one message."""
    one = drawing(ROUND)
    values = measured(one.query, PEOPLE)
    other = values.copy()
    other[0] ^= 1
    codes = [one.batch(b"k" * 32, Cohort(0, 60), some).codes for some in (values, other)]
    told = [np.bincount(some, minlength=3) for some in codes]
    assert len(codes[0]) == len(codes[1])
    assert abs(told[0] - told[1]).tolist() == [1, 1, 0]


def test_honest_people_who_are_fewer_draw_more() -> None:
    fewer = round_at(question_of(plan_of(100, 50)), ("party-0", 60), ("party-1", 40))
    assert fewer.plan.share(60) == Fraction(6, 5)
    assert len(batch(fewer)) > len(batch(ROUND))
