"""What flooded messages are priced at: more for more of them, and no less than what they take."""

from __future__ import annotations

from dataclasses import replace
from time import thread_time

import pytest

from localdp.cohorts import Cohort
from localdp.party.cost import Work
from localdp.party.cost_of_floods import drawn_flood_seconds, sealed_flood_work
from localdp.party.flood_drawing import FloodDrawing
from localdp.queries.asked import query_of
from localdp.queries.encoded import measured
from localdp.queries.in_messages import InMessages
from parties.agent.yardstick import slowness
from tests.support.flooding import KEY, plan_of, question_of, round_at
from tests.support.people import population

PEOPLE = population(60)
SOME = Cohort(0, 200)  # messages
LEAST, MOST = 0.2, 1.5  # of what is predicted; 0.7 was measured, on a busy machine


def drawing(query: str = "smoker", people: int = 60, epsilon: str = "1") -> FloodDrawing:
    sums = InMessages.of(query_of(query, PEOPLE.schema)).flooded
    plan = plan_of(people + 40, epsilon=epsilon, sums=sums)
    asked = round_at(question_of(plan, query=query), ("party-0", people), ("party-1", 40))
    return FloodDrawing.of(asked, asked.parts[0], PEOPLE.schema)


@pytest.mark.parametrize(
    "more",
    [drawing(people=60_000), drawing(epsilon="0.1"), drawing("region"), drawing("clip(bmi/60)")],
    ids=["people", "noise", "sums", "rounding"],
)
def test_more_messages_and_more_noise_cost_more(more: FloodDrawing) -> None:
    assert drawn_flood_seconds(more) > drawn_flood_seconds(drawing())


def ratio_of(price: Work, second_key: bytes = b"") -> float:
    """The best time of sealing some messages, in units of its price on this machine."""
    one = drawing()
    question = replace(one.asked.question, second_key=second_key)
    one = replace(one, asked=replace(one.asked, question=question))
    batch = one.batch(bytes(32), Cohort(0, 60), measured(one.query, PEOPLE))
    times = []
    for _ in range(5):
        begin = thread_time()
        batch.messages(SOME.start, SOME.stop)
        times.append(thread_time() - begin)
    return min(times) / (price.of(SOME) * slowness(thread_time))


def test_sealing_takes_what_it_is_priced_at() -> None:
    assert LEAST <= ratio_of(sealed_flood_work()) <= MOST


def test_sealing_to_a_second_shuffler_as_well_takes_twice_that() -> None:
    assert LEAST <= ratio_of(sealed_flood_work(2), KEY) <= MOST


def test_a_price_of_a_tenth_is_caught() -> None:
    price = sealed_flood_work()
    assert ratio_of(replace(price, person=price.person / 10)) > MOST
