"""Queries in the form that randomizers take."""

import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.cohorts import Cohort
from localdp.errors import InvalidParameter, QueryRefused
from localdp.party.party import Request
from localdp.party.question import Question
from localdp.queries.vector_query import VectorQuery
from localdp.randomizers.coordinate_sampling import CoordinateSampling
from localdp.randomizers.definition import LocalRandomizer, Values
from localdp.randomizers.k_ary import KaryRandomizedResponse
from localdp.randomizers.local_hashing import OptimalLocalHashing
from localdp.randomizers.marginals import HadamardMarginals
from localdp.randomizers.memoised import memoised_optimized_unary
from localdp.randomizers.one_bit import OneBitRandomizer
from localdp.randomizers.parts.universal_hash import fingerprints
from localdp.randomizers.priv_unit import PrivUnit
from localdp.randomness.hazmat import SeededSource
from tests.support.people import ONE, party_of, population

PEOPLE = population(500)


def inputs(text: str, randomizer: LocalRandomizer) -> Values:
    return Question.asked(text, PEOPLE.schema, randomizer).inputs(PEOPLE)


def test_a_category_is_numbered_by_its_labels() -> None:
    assert (inputs("region", KaryRandomizedResponse(ONE, 4)) == PEOPLE.column("region")).all()


def test_a_bounded_whole_number_is_a_category_from_its_lower_end_on() -> None:
    assert (inputs("age", KaryRandomizedResponse(ONE, 121)) == PEOPLE.column("age")).all()


def test_a_bit_is_a_category_of_two() -> None:
    assert (inputs("smoker", KaryRandomizedResponse(ONE, 2)) == PEOPLE.column("smoker")).all()


def test_a_mean_is_taken_on_the_grid_of_its_randomizer() -> None:
    expected = np.rint(PEOPLE.column("bmi") / 60 * 1024)
    assert np.abs(inputs("clip(bmi/60)", OneBitRandomizer(ONE, 1024)) - expected).max() <= 1
    assert set(inputs("smoker", OneBitRandomizer(ONE, 1024)).tolist()) == {0, 1024}


def test_fingerprints_stand_for_labels_and_numbers_alike_at_every_party() -> None:
    regions = inputs("region", OptimalLocalHashing(ONE))
    known = fingerprints(["north", "east", "south", "west"])
    assert (regions == known[PEOPLE.column("region")]).all()
    ages = inputs("age", OptimalLocalHashing(ONE))
    assert (ages == fingerprints(str(age) for age in PEOPLE.column("age"))).all()


def test_the_first_condition_of_a_marginal_is_the_lowest_bit() -> None:
    value = inputs("vector(smoker, age >= 65, true)", HadamardMarginals(ONE, 3, 2))
    assert (value == PEOPLE.column("smoker") + 2 * (PEOPLE.column("age") >= 65) + 4).all()


def test_a_vector_has_a_column_for_each_component() -> None:
    vectors = inputs("vector(smoker, clip(bmi/60))", CoordinateSampling(ONE, 2, 1024))
    assert vectors.shape == (500, 2)
    assert (vectors[:, 0] == 1024 * PEOPLE.column("smoker")).all()


def test_vectors_for_the_ball_lie_in_it() -> None:
    ball = PrivUnit(ONE, 3)
    vectors = inputs("vector(smoker, clip(bmi/60), age >= 65)", ball)
    assert (np.square(vectors).sum(axis=1) <= ball.resolution**2).all()
    assert np.square(vectors).sum(axis=1).max() > 0.6 * ball.resolution**2


def test_any_category_goes_through_a_randomizer_of_categories() -> None:
    smoker, region = PEOPLE.column("smoker"), PEOPLE.column("region")
    assert (inputs("cells(region, smoker)", KaryRandomizedResponse(ONE, 8)) == 2 * region + smoker).all()
    assert (inputs("age >= 65", KaryRandomizedResponse(ONE, 2)) == (PEOPLE.column("age") >= 65)).all()
    decades = inputs("which(age < 30, age < 60)", KaryRandomizedResponse(ONE, 3))
    assert (decades == np.digitize(PEOPLE.column("age"), [30, 60])).all()


def test_a_vector_of_the_ball_is_rounded_towards_zero() -> None:
    ball = PrivUnit(ONE, 3, resolution=1 << 20)
    for text in ("sphere(smoker, bmi - 25, age - 40)", "signed(smoker, ball(bmi/30, age/60, -1/3))"):
        vectors = inputs(text, ball)
        exact = VectorQuery.parse(text, PEOPLE.schema).evaluate(PEOPLE) * ball.resolution
        assert (np.abs(vectors) <= np.abs(exact)).all()
        assert np.abs(vectors - exact).max() < 1
        assert (np.square(vectors.astype(np.int64)).sum(axis=1) <= ball.resolution**2).all()
        ball.randomize(vectors, SeededSource(0))  # takes them all


def test_the_bits_of_parities_are_those_of_the_vector_of_the_same_conditions() -> None:
    marginals = HadamardMarginals(ONE, 3, 2)
    asked = inputs("parities(2, smoker, age >= 65, bmi > 25)", marginals)
    assert (asked == inputs("vector(smoker, age >= 65, bmi > 25)", marginals)).all()


def test_a_label_is_the_highest_bit() -> None:
    labelled = inputs(
        "parities(2, smoker, age >= 65; bmi > 25)", HadamardMarginals(ONE, 3, 2, labelled=True)
    )
    columns = PEOPLE.column("smoker"), PEOPLE.column("age") >= 65, PEOPLE.column("bmi") > 25
    assert (labelled == columns[0] + 2 * columns[1] + 4 * columns[2]).all()


def test_an_owner_is_shown_the_whole_question() -> None:
    text = "moments(ball(bmi/60,smoker),age/120)"
    question = Question.asked(text, PEOPLE.schema, PrivUnit(ONE, 5))
    assert question.columns == {"bmi", "smoker", "age"}
    assert question.about(PrivUnit(ONE, 5)).endswith("of moments(ball(1/60*bmi, smoker), 1/120*age)")


@pytest.mark.parametrize(
    ("text", "randomizer", "error"),
    [
        ("region", KaryRandomizedResponse(ONE, 5), InvalidParameter),
        ("regoin", KaryRandomizedResponse(ONE, 4), QueryRefused),
        ("bmi", KaryRandomizedResponse(ONE, 4), QueryRefused),
        ('region == "north"', KaryRandomizedResponse(ONE, 3), InvalidParameter),
        ("clip(bmi/60)", KaryRandomizedResponse(ONE, 2), QueryRefused),
        ("ball(smoker, bmi)", KaryRandomizedResponse(ONE, 2), QueryRefused),
        ("cells(region, smoker)", KaryRandomizedResponse(ONE, 4), InvalidParameter),
        ("cells(region, smoker)", OptimalLocalHashing(ONE), QueryRefused),
        ("age >= 65", OptimalLocalHashing(ONE), QueryRefused),
        ("which(smoker)", OneBitRandomizer(ONE), QueryRefused),
        ("ball(smoker, bmi)", OneBitRandomizer(ONE), QueryRefused),
        ("ball(smoker, bmi)", CoordinateSampling(ONE, 2), QueryRefused),
        ("vector(smoker, clip(bmi/60))", CoordinateSampling(ONE, 2, 1), InvalidParameter),
        ("ball(smoker, bmi)", PrivUnit(ONE, 3), InvalidParameter),
        ("region", PrivUnit(ONE, 4), QueryRefused),
        ("parities(1, smoker, age >= 65)", PrivUnit(ONE, 2), QueryRefused),
        ("ball(smoker, bmi)", HadamardMarginals(ONE, 2, 1), QueryRefused),
        ("vector(smoker, age >= 65)", HadamardMarginals(ONE, 2, 1, True), QueryRefused),
        ("parities(1, smoker, age >= 65)", HadamardMarginals(ONE, 2, 2), InvalidParameter),
        ("parities(2, smoker, age >= 65)", HadamardMarginals(ONE, 3, 1), InvalidParameter),
        ("parities(1, smoker, age >= 65; bmi > 25)", HadamardMarginals(ONE, 3, 1), InvalidParameter),
        ("parities(1, smoker, age >= 65, bmi > 25)", HadamardMarginals(ONE, 3, 1, True), InvalidParameter),
        ("vector(smoker)", KaryRandomizedResponse(ONE, 2), QueryRefused),
        ("region", OneBitRandomizer(ONE), QueryRefused),
        ("vector(smoker)", OneBitRandomizer(ONE), QueryRefused),
        ("clip(bmi/60)", OneBitRandomizer(ONE), InvalidParameter),
        ("bmi", OptimalLocalHashing(ONE), QueryRefused),
        ("smoker", CoordinateSampling(ONE, 2), QueryRefused),
        ("vector(smoker)", CoordinateSampling(ONE, 2), InvalidParameter),
        ("vector(smoker, clip(bmi/60))", HadamardMarginals(ONE, 2, 1), QueryRefused),
        ("vector(smoker, smokr)", PrivUnit(ONE, 2), QueryRefused),
    ],
)
def test_a_query_that_does_not_fit_its_randomizer_is_refused(
    text: str, randomizer: LocalRandomizer, error: type[Exception]
) -> None:
    with pytest.raises(error):
        Question.asked(text, PEOPLE.schema, randomizer)


def test_any_number_of_memoised_reports_is_charged_once_and_keeps_its_answers() -> None:
    party = party_of(PEOPLE)
    everybody = Cohort(0, PEOPLE.people)
    memoised = memoised_optimized_unary(ONE * 2, ONE, 4)
    requests = [Request(b"day %012d" % day, "region", memoised) for day in range(3)]
    reports = [party.randomize(request, everybody) for request in requests]
    assert (party.ledger.spent() == memoised.epsilon_permanent.nanonats).all()
    assert (reports[0] != reports[1]).any()
    assert (reports[0] == party.randomize(requests[0], everybody)).all()
    # Averaging many days shows the permanent answer, which the charge covers, and no more.
    days = [
        party.randomize(Request(b"%16d" % day, "region", memoised), Cohort(0, 50)) for day in range(400)
    ]
    shares = np.mean([np.unpackbits(day, axis=1)[:, :4] for day in days], axis=0)
    high, low = 1 - memoised.flip / 2**64, memoised.flip / 2**64
    assert (np.minimum(np.abs(shares - high), np.abs(shares - low)) < 0.12).all()


def test_a_new_epoch_is_charged_anew_and_has_permanent_answers_of_its_own() -> None:
    people = PEOPLE.people
    memoised = memoised_optimized_unary(ONE * 2, Epsilon(2 * 10**9 - 1), 4)  # shows permanent answers
    party, everybody = party_of(PEOPLE), Cohort(0, people)
    first = party.randomize(Request(b"an early request", "region", memoised), everybody)
    party.enter(party.epoch.next(PEOPLE))
    second = party.randomize(Request(b"a later request-", "region", memoised), everybody)
    assert (party.ledger.spent() == 2 * memoised.epsilon_permanent.nanonats).all()
    # Nobody moved, and still most answers differ: so they do not show who moved.
    assert np.count_nonzero((first != second).any(axis=1)) > people // 4


def test_the_owner_is_shown_the_whole_of_a_long_question() -> None:
    """What is asked may stand at the end, behind conditions that always hold."""
    long = " and ".join(["age >= 0"] * 1000) + " and smoker"
    question = Question.asked(long, PEOPLE.schema, OneBitRandomizer(ONE, 1))
    assert question.about(OneBitRandomizer(ONE, 1)).endswith(f" of {long}")
