"""The flooded oracle: its law, its plan, its claim, and what it refuses."""

from fractions import Fraction

import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.cohorts import Cohort, Split
from localdp.errors import InvalidParameter, PolicyRefused
from localdp.oracles.exact import ExactOracle
from localdp.oracles.flooded import FloodedOracle
from localdp.oracles.lr import InProcessLROracle
from localdp.oracles.models import MODELS, OneCount
from localdp.oracles.shuffler import Promise, Shuffler
from localdp.randomness.keystream import KeystreamSource
from localdp.sharing.summed_noise import SummedNoise
from tests.support.people import KEYRING, ONE, parties_of, population

PEOPLE = population(300)
TRIALS = 1000


def oracle(epsilon: Epsilon = ONE, promise: Promise | None = None, **options: object) -> FloodedOracle:
    lr = InProcessLROracle(parties_of(PEOPLE, 3))
    mixer = Shuffler(lr, KeystreamSource(bytes(16)), promise)
    return FloodedOracle(mixer, epsilon, KEYRING.source("flooded"), **options)  # type: ignore[arg-type]


def errors(options: dict[str, object], trials: int, query: str = "smoker") -> np.ndarray:
    truth = ExactOracle(PEOPLE).answer([query])[0].value
    asked = oracle(**options)  # type: ignore[arg-type]
    return np.array([asked.answer([query])[0].value - truth for _ in range(trials)]) * PEOPLE.people


@pytest.mark.parametrize("honest", [Fraction(1), Fraction(1, 2)])
def test_the_error_of_a_count_has_the_law_that_is_predicted(honest: Fraction) -> None:
    """1,000 trials: chi-square over 7 classes, with a chance of a false alarm of 1e-6 (41.6 at 7 degrees of freedom)."""
    found = np.rint(errors({"honest": honest}, TRIALS)).astype(int)
    count = OneCount(300, ONE, options={"honest": honest})
    law = MODELS["flooded"].noise(count)
    assert isinstance(law, SummedNoise)
    inner = np.array([law.probability(k) for k in range(-3, 4)])
    expected = TRIALS * np.append(inner, 1 - inner.sum())
    seen = np.array([np.count_nonzero(found == k) for k in range(-3, 4)])
    seen = np.append(seen, TRIALS - seen.sum())
    assert ((seen - expected) ** 2 / expected).sum() < 41.6
    without = np.where(np.arange(8) == 3, TRIALS, 0)  # the twin: no noise at all
    assert ((without - expected) ** 2 / expected).sum() > 41.6
    assert (
        abs(np.abs(found).mean() - MODELS["flooded"].predicted_error(count)) < 6 * found.std() / TRIALS**0.5
    )


def test_queries_of_a_round_and_rounds_of_a_view_divide_epsilon_and_delta() -> None:
    asked = oracle()
    asked.answer(["smoker", "age >= 65"])
    assert asked.claim.epsilon == ONE
    assert asked.claim.delta == Fraction(1, 10**6)
    view = asked.in_rounds(4)
    for _ in range(4):
        view.answer(["smoker"])
    assert asked.claim.epsilon == ONE * 2
    assert asked.claim.delta == Fraction(2, 10**6)
    assert asked.cost.rounds == 5


def test_a_plan_says_how_many_messages_a_person_sends() -> None:
    row = oracle().plan(["smoker"]).rows[0]
    assert "4,755 pairs" in row.how
    assert "messages a person" in row.how
    answer = oracle().answer(["smoker"])[0]
    assert row.standard_error == pytest.approx(answer.standard_error)


def test_the_claim_says_against_whom_nothing_holds() -> None:
    asked = oracle(honest=Fraction(9, 10))
    asked.answer(["smoker"])
    told = asked.claim.statement()
    assert "nothing holds at all" in told
    assert "At least 270 of the 300 people" in told
    assert "polynomial-time" in told


def test_numbers_with_more_steps_are_rounded_less() -> None:
    few, many = (
        errors({"steps": steps, "epsilon": Epsilon.requested(8)}, 60, "clip(bmi/60)") for steps in (1, 32)
    )
    assert many.std() < few.std() / 4


def test_ledgers_are_charged_what_is_promised() -> None:
    lr = InProcessLROracle(parties_of(PEOPLE, 3))
    asked = FloodedOracle(Shuffler(lr, KeystreamSource(bytes(16))), ONE, KEYRING.source("ledger"))
    asked.answer(["smoker"])
    assert {spent for party in lr.parties for spent in party.ledger.spent()} == {ONE.nanonats}
    assert asked.cost.epsilon_charged == asked.cost.epsilon_promised == ONE


@pytest.mark.parametrize(
    ("options", "error", "why"),
    [
        ({"delta": Fraction(0)}, InvalidParameter, "delta"),
        ({"honest": Fraction(0)}, InvalidParameter, "honest"),
        ({"honest": Fraction(11, 10)}, InvalidParameter, "honest"),
        ({"extra": Fraction(0)}, InvalidParameter, "above 0"),
        ({"promise": Promise(Epsilon.requested("0.5"))}, PolicyRefused, "promises more"),
        ({"promise": Promise(ONE, Fraction(1, 10**7))}, PolicyRefused, "promises more"),
        ({"cohort": Cohort(0, 300, Split(bytes(16), 2, 0))}, InvalidParameter, "range of people"),
    ],
)
def test_what_cannot_be_is_refused(options: dict[str, object], error: type[Exception], why: str) -> None:
    with pytest.raises(error, match=why):
        oracle(**options)  # type: ignore[arg-type]


def test_a_histogram_and_a_selection_come_from_flooded_rounds() -> None:
    asked, truth = oracle(Epsilon.requested(4)), ExactOracle(PEOPLE)
    (shares,) = asked.answer_vectors(["region"])
    assert np.abs(shares.values - truth.answer_vectors(["region"])[0].values).max() < 0.05
    assert shares.noise is not None
    chosen = asked.select(["smoker", "age >= 0"])
    assert chosen.place == 1
