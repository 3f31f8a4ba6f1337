"""How queries become messages: exact where they can be, right in the mean elsewhere; never moved further than said."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from localdp.accounting.flooding import Flood, Moved
from localdp.domains import IntegerDomain, RealDomain, Records, Schema
from localdp.errors import InvalidParameter
from localdp.experiments.population import made_up_people
from localdp.queries.asked import query_of
from localdp.queries.encoded import Query, encoded_sums, means_of, measured
from localdp.queries.in_messages import InMessages
from localdp.randomness.lanes import LanedSource
from tests.support.people import KEYRING

PEOPLE = made_up_people(400, KEYRING.source("messages"))
SCHEMA = PEOPLE.schema
VISITS = Schema({"visits": IntegerDomain(0, 15), "weight": RealDomain(0, 100)})
EXACT = [
    "smoker",
    'age >= 65 or region == "east"',
    "region",
    "vector(smoker, age >= 50)",
    "clip(age/10 - 3)",
]
ROUNDED = ["clip(bmi/60)", "clip(age/100)", "vector(clip(bmi/60), smoker)", "ball(bmi/200, age/400)"]


def asked(text: str, schema: Schema = SCHEMA) -> Query:
    return query_of(text, schema)


def sums(query: Query, records: Records, steps: int = 16, key: bytes = b"k" * 16) -> np.ndarray:
    source = LanedSource(key, range(records.people))
    return InMessages.of(query, steps).sums(measured(query, records), source)


@pytest.mark.parametrize("text", EXACT)
def test_the_sums_of_what_is_whole_are_those_of_a_curator(text: str) -> None:
    query = asked(text)
    encoding = InMessages.of(query)
    assert not encoding.rounded
    told = encoding.means(query, sums(query, PEOPLE), PEOPLE.people)
    np.testing.assert_allclose(
        told, means_of(query, encoded_sums(query, PEOPLE), PEOPLE.people), atol=1e-12
    )


def test_whole_numbers_up_to_15_are_sent_as_they_are() -> None:
    records = Records.from_columns(VISITS, {"visits": np.arange(16), "weight": np.zeros(16)})
    query = asked("clip(visits/15)", VISITS)
    encoding = InMessages.of(query)
    assert (encoding.bound, encoding.rounded, encoding.flooded.moved) == (15, False, Moved(15))
    assert sums(query, records).tolist() == [120]


@pytest.mark.parametrize("text", ROUNDED)
def test_what_is_rounded_at_random_is_right_in_the_mean(text: str) -> None:
    """400 people, 200 keys: off by at most 6 standard errors, which a fair rounding exceeds with probability below 1e-8."""
    query = asked(text)
    encoding = InMessages.of(query)
    assert encoding.rounded
    drawn = np.array([sums(query, PEOPLE, key=b"%016d" % number) for number in range(200)])
    told = encoding.means(query, drawn.mean(axis=0), PEOPLE.people)
    truth = means_of(query, encoded_sums(query, PEOPLE), PEOPLE.people)
    error = encoding.unit(query) * np.sqrt(encoding.rounding_variance / PEOPLE.people / 200)
    assert (np.abs(told - truth) < 6 * error).all()
    spread = drawn.std(axis=0) / np.sqrt(PEOPLE.people)
    assert (spread <= 1.2 * np.sqrt(encoding.rounding_variance)).all()


def test_rounding_down_is_caught() -> None:
    """The twin: what is above a step is left out."""
    query = asked("clip(bmi/60)")
    encoding = InMessages.of(query)
    low = (measured(query, PEOPLE).astype(np.int64) * encoding.bound // encoding.fine).sum(axis=0)
    truth = means_of(query, encoded_sums(query, PEOPLE), PEOPLE.people)
    error = encoding.unit(query) * np.sqrt(encoding.rounding_variance / PEOPLE.people / 200)
    assert (np.abs(encoding.means(query, low, PEOPLE.people) - truth) > 6 * error).all()


@pytest.mark.parametrize("text", ["smoker", "region", "vector(smoker, age >= 50)", "clip(bmi/60)"])
def test_no_two_people_are_further_apart_than_is_said(text: str) -> None:
    query = asked(text)
    encoding = InMessages.of(query)
    rows = np.array([sums(query, PEOPLE.slice(place, place + 1)) for place in range(60)])
    moved = encoding.flooded.moved
    for one, other in product(rows, rows):
        up, down = np.maximum(one - other, 0), np.maximum(other - one, 0)
        assert one.sum() <= encoding.flooded.messages
        if moved.largest > 1:
            assert up.sum() + down.sum() <= moved.largest
        else:
            assert max(up.max(), down.max()) <= 1
            assert np.count_nonzero(up) + np.count_nonzero(down) <= moved.rising + moved.falling


def test_of_bits_that_change_it_is_the_worst_that_all_of_them_rise() -> None:
    flood, epsilon = Flood(Fraction("0.15"), 300), Fraction(1)
    worst = flood.delta(epsilon, Moved(1, 5))
    for rising in range(1, 5):
        assert flood.delta(epsilon, Moved(1, rising, 5 - rising)) <= worst


def test_parities_move_as_many_sums_as_two_records_differ_in() -> None:
    query = asked("parities(2, smoker, age >= 50, age >= 65)")
    encoding = InMessages.of(query)
    assert encoding.flooded.moved == Moved(1, 4)
    told = encoding.means(query, sums(query, PEOPLE), PEOPLE.people)
    np.testing.assert_allclose(told, means_of(query, encoded_sums(query, PEOPLE), PEOPLE.people))


@pytest.mark.parametrize("steps", [0, 256])
def test_steps_have_bounds(steps: int) -> None:
    with pytest.raises(InvalidParameter, match="steps"):
        InMessages.of(asked("clip(bmi/60)"), steps)
