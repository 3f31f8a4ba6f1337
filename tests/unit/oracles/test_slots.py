"""Who is asked what in a round of the local model."""

import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.domains import BitDomain, CategoryDomain, IntegerDomain, RealDomain, Schema
from localdp.oracles.slots import number_slots, planned_slots, slot_error, vector_slot
from localdp.queries.statistical import StatisticalQuery
from localdp.queries.vector_query import VectorQuery
from localdp.randomizers.coordinate_sampling import CoordinateSampling
from localdp.randomizers.marginals import HadamardMarginals
from localdp.randomizers.one_bit import OneBitRandomizer
from localdp.randomizers.priv_unit import PrivUnit

ONE = Epsilon.requested(1)
LETTERS = tuple("abcdefghij")
SCHEMA = Schema(
    {
        "letter": CategoryDomain(LETTERS),
        "number": IntegerDomain(5, 24),
        "bit": BitDomain(),
        "other": BitDomain(),
        "x": RealDomain(-1.0, 1.0),
    }
)


def numbers(*texts: str) -> list[StatisticalQuery]:
    return [StatisticalQuery.parse(text, SCHEMA) for text in texts]


def vector(text: str) -> VectorQuery:
    return VectorQuery.parse(text, SCHEMA)


def test_many_values_of_one_column_share_a_frequency_oracle() -> None:
    asked = numbers(*(f'letter == "{letter}"' for letter in reversed(LETTERS)), "bit")
    slots = number_slots(asked, ONE, 1000)
    assert [slot.text for slot in slots] == ["letter", "bit"]
    assert slots[0].places == tuple(range(10))
    assert slots[0].codes == tuple(reversed(range(10)))


def test_numbers_share_one_too_and_are_counted_from_the_lowest() -> None:
    slots = number_slots(numbers(*(f"number == {value}" for value in range(5, 15))), ONE, 1000)
    assert [(slot.text, slot.codes) for slot in slots] == [("number", tuple(range(10)))]


def test_two_values_are_asked_apart_because_that_is_better() -> None:
    slots = number_slots(numbers("number == 5", "number == 6"), ONE, 1000)
    assert all(isinstance(slot.randomizer, OneBitRandomizer) for slot in slots)
    assert [slot.places for slot in slots] == [(0,), (1,)]


def test_a_joint_slot_is_never_worse_than_separate_ones() -> None:
    for epsilon in map(Epsilon.requested, ("0.1", "0.5", "1", "2", "4")):
        for count in range(2, 11):
            asked = numbers(*(f'letter == "{letter}"' for letter in LETTERS[:count]))
            slots = number_slots(asked, epsilon, 1000)
            bit = OneBitRandomizer(epsilon, 1).variance((0, 1))
            joint = slots[0].variance if len(slots) == 1 else bit * count
            assert joint <= bit * count + 0.25 * (count - 1)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("ball(x, bit)", PrivUnit),
        ("vector(clip(x), bit)", CoordinateSampling),
        ("parities(1, bit, other)", HadamardMarginals),
        ("parities(1, other; bit)", HadamardMarginals),
    ],
)
def test_vectors_and_parities_have_their_randomizers(text: str, kind: type) -> None:
    assert isinstance(vector_slot(0, vector(text), ONE, 1000).randomizer, kind)


def test_a_cube_goes_through_the_ball_where_that_is_better() -> None:
    large = Epsilon.requested(8)
    assert isinstance(vector_slot(0, vector("vector(clip(x), bit)"), large, 1000).randomizer, PrivUnit)


def test_a_category_has_the_oracle_that_is_best_for_it() -> None:
    assert vector_slot(0, vector("cells(letter, bit)"), ONE, 1000).randomizer.inputs == 20


def test_the_expected_error_counts_who_is_left_out() -> None:
    query = numbers("bit")[0]
    slot = planned_slots([query], ONE, 1000)[0]
    assert slot_error(slot, query, 1000, 1000) ** 2 == pytest.approx(slot.variance / 1000)
    assert slot_error(slot, query, 500, 1000) ** 2 == pytest.approx((slot.variance + 0.125) / 500)
