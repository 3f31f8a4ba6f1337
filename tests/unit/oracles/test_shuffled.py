"""The shuffled model: what is mixed, what is promised, and how large the error is."""

import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.shuffling import Shuffled, largest_local
from localdp.asking import verbs
from localdp.cohorts import Cohort
from localdp.errors import InvalidParameter, TooFewReports
from localdp.oracles.exact import ExactOracle
from localdp.oracles.lr import InProcessLROracle
from localdp.oracles.promise import Promise, mixes
from localdp.oracles.shuffled import ShuffledOracle, Shuffler
from localdp.oracles.slots import planned_slots
from localdp.party.party import Request
from localdp.queries.asked import checked_vectors
from localdp.randomizers.definition import LocalRandomizer, Reports
from localdp.randomizers.one_bit import OneBitRandomizer
from tests.support.people import KEYRING, ONE, parties_of, population

PEOPLE = population(5000)


def shuffler() -> Shuffler:
    return Shuffler(InProcessLROracle(parties_of(PEOPLE, 2)), KEYRING.source("shuffler"))


def oracle(purpose: str = "analyst") -> ShuffledOracle:
    return ShuffledOracle(shuffler(), ONE, KEYRING.source("shuffled", purpose))


def test_the_reports_are_those_of_the_parties_in_another_order() -> None:
    request = Request.fresh("smoker", OneBitRandomizer(ONE, 1), KEYRING.source("request"))
    everybody = Cohort(0, PEOPLE.people)
    mixer = shuffler()
    asked = mixer.request_for(request, everybody)
    plain = np.concatenate(list(InProcessLROracle(parties_of(PEOPLE, 2)).reports(asked, everybody)))
    (shuffled,) = mixer.reports(request, everybody)
    assert np.count_nonzero(plain) == np.count_nonzero(shuffled)
    assert not np.array_equal(plain, shuffled)


def test_a_report_is_as_revealing_as_mixing_allows_and_no_more() -> None:
    row = oracle().plan(["smoker"]).rows[0]
    local = float(row.how.split("epsilon=")[1].split(",")[0])
    assert float(Shuffled(5000, local, "binary").epsilon(1e-6)) <= 1.0
    assert float(Shuffled(5000, local + 0.01, "binary").epsilon(1e-6)) > 1.0


def test_a_count_has_the_error_of_the_shuffled_model() -> None:
    # 300 counts: the mean of |error| has a standard error of 0.2 people.
    asked, truth = oracle(), ExactOracle(PEOPLE).answer(["smoker"])[0].count
    errors = [asked.answer(["smoker"])[0].count - truth for _ in range(300)]
    assert np.mean(np.abs(errors)) == pytest.approx(4.66, abs=0.8)


def test_the_claim_says_who_must_be_honest_and_adds_up_deltas() -> None:
    asked = oracle("claim")
    asked.answer(["smoker"])
    asked.answer(["age > 40"])
    assert asked.claim.epsilon == ONE * 2
    assert asked.claim.delta == Fraction(2, 10**6)
    assert "shuffler must mix" in asked.claim.statement()
    view = oracle("view").in_rounds(2)
    view.answer(["smoker"])
    view.answer(["smoker"])
    assert (view.claim.epsilon, view.claim.delta) == (
        ONE,
        Fraction(1, 10**6),
    )  # other people in every round


def charged(mixer: Shuffler) -> set[int]:
    """What people's ledgers say, in nanonats."""
    assert isinstance(mixer.behind, InProcessLROracle)
    return {int(spent) for party in mixer.behind.parties for spent in party.ledger.spent()}


def test_what_is_promised_and_what_a_ledger_is_charged_have_two_names() -> None:
    mixer = shuffler()
    asked = ShuffledOracle(mixer, ONE, KEYRING.source("shuffled", "two names"))
    asked.answer(["smoker"])
    assert asked.cost.epsilon_promised == asked.claim.epsilon == ONE
    assert charged(mixer) == {asked.cost.epsilon_charged.nanonats}
    assert float(asked.cost.epsilon_charged) == pytest.approx(5.01, abs=0.01)  # docs/shuffling.md
    told = verbs.count(asked, "smoker")
    assert (told.epsilon_promised, told.epsilon_charged) == (2.0, float(asked.cost.epsilon_charged))
    assert "epsilon 2 (10.03 of a ledger) each" in told.caption
    assert charged(mixer) == {asked.cost.epsilon_charged.nanonats}


def test_of_a_view_the_dearest_round_is_what_a_ledger_was_charged_at_most() -> None:
    mixer = shuffler()
    whole = ShuffledOracle(mixer, ONE, KEYRING.source("shuffled", "dearest"))
    view = whole.in_rounds(2)
    view.answer_vectors(["region"])  # any randomizer: a smaller epsilon than that of one bit
    first = view.cost.epsilon_charged
    within = view.in_rounds(1)
    within.answer(["smoker"])
    assert (
        ONE < first < within.cost.epsilon_charged == view.cost.epsilon_charged == whole.cost.epsilon_charged
    )
    assert within.cost.epsilon_promised == view.cost.epsilon_promised == whole.cost.epsilon_promised == ONE
    assert charged(mixer) == {first.nanonats, within.cost.epsilon_charged.nanonats}
    assert within.claim.epsilon == ONE  # what it asked is promised, though the view had paid before


def test_more_queries_mean_fewer_people_to_hide_among() -> None:
    def local(queries: list[str]) -> float:
        return float(oracle().plan(queries).rows[0].how.split("epsilon=")[1].split(",")[0])

    assert local(["smoker"]) > local(["smoker", "age > 40"]) > local([f"age > {n}" for n in range(20, 60)])
    assert math.isfinite(local(["smoker"]))


class Mixings(Shuffler):
    """Keeps what was mixed together, and by which randomizer."""

    def __init__(self) -> None:
        super().__init__(InProcessLROracle(parties_of(PEOPLE, 2)), KEYRING.source("shuffler"))
        self.mixed: list[tuple[int, LocalRandomizer]] = []

    def reports(self, request: Request, cohort: Cohort) -> Iterator[Reports]:
        for reports in super().reports(request, cohort):
            self.mixed.append((len(reports), request.randomizer))
            yield reports


RANGES = [range(0, 300), range(1000, 1900), range(2500, 5000)]


@pytest.mark.parametrize("query", ["smoker", "region", "clip(bmi/60)"])
def test_each_range_of_people_that_is_mixed_by_itself_is_large_enough(query: str) -> None:
    mixer = Mixings()
    view = ShuffledOracle(mixer, ONE, KEYRING.source("shuffled", "ranges")).among(RANGES)
    view.answer_vectors([query]) if query == "region" else view.answer([query])
    assert [people for people, _ in mixer.mixed] == [300, 900, 2500]
    assert all(mixes(randomizer, people, ONE, 1e-6) for people, randomizer in mixer.mixed)
    assert float(mixer.mixed[0][1].epsilon) > 1.5  # and 300 people hide each other a little


def test_so_is_each_part_of_a_range_that_a_slot_is_asked_of() -> None:
    mixer = Mixings()
    view = ShuffledOracle(mixer, ONE, KEYRING.source("shuffled", "parts")).among(RANGES[1:])
    view.answer(["smoker", "age > 40"])
    assert len(mixer.mixed) == 4
    assert all(mixes(randomizer, people, ONE, 1e-6) for people, randomizer in mixer.mixed)


def test_a_shuffler_with_a_promise_mixes_ranges_of_people() -> None:
    promise = Promise(ONE, requests=3)
    mixer = Shuffler(InProcessLROracle(parties_of(PEOPLE, 2)), KEYRING.source("shuffler"), promise)
    view = ShuffledOracle(mixer, ONE, KEYRING.source("shuffled", "promised")).among(RANGES)
    assert view.answer(["smoker"])[0].reports == 3700


def test_a_range_that_no_shuffler_would_mix_is_refused_before_anybody_pays() -> None:
    mixer = Shuffler(
        InProcessLROracle(parties_of(PEOPLE, 2)), KEYRING.source("shuffler"), Promise(ONE, requests=3)
    )
    view = ShuffledOracle(mixer, ONE, KEYRING.source("shuffled", "few")).among(
        [range(0, 900), range(1000, 1099)]
    )
    with pytest.raises(TooFewReports, match="at least 100 people"):
        view.plan(["smoker"])
    with pytest.raises(TooFewReports, match="at least 100 people"):
        view.answer(["smoker"])
    assert charged(mixer) == {0}


def test_whoever_is_not_honest_may_be_in_the_smallest_range() -> None:
    def local(honest: int | None) -> float:
        source = KEYRING.source("shuffled", "honest")
        view = ShuffledOracle(shuffler(), ONE, source, honest=honest).among(RANGES[1:])
        return float(view.plan(["smoker"]).rows[0].how.split("epsilon=")[1].split(",")[0])

    assert local(None) == float(largest_local(900, ONE, 1e-6, "binary"))
    assert local(4600) == float(largest_local(500, ONE, 1e-6, "binary"))


def test_too_few_people_cannot_be_mixed() -> None:
    with pytest.raises(TooFewReports):
        oracle().plan([f"age > {n}" for n in range(20, 120)] * 2)


@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1), Fraction(-1)])
def test_a_delta_is_a_probability(delta: Fraction) -> None:
    with pytest.raises(InvalidParameter):
        ShuffledOracle(shuffler(), Epsilon.requested(1), KEYRING.source("x"), delta=delta)


def local_of(*queries: str) -> Epsilon:
    return Epsilon.requested(oracle().plan(queries).rows[0].how.split("epsilon=")[1].split(",")[0])


def test_what_is_sent_as_a_bit_has_the_accounting_of_bits() -> None:
    assert local_of("smoker") == largest_local(5000, ONE, 1e-6, "binary")
    assert local_of("clip(bmi/60)") == largest_local(5000, ONE, 1e-6, "binary")
    two = local_of("smoker", "age > 40")  # of fewer than half of the people each
    assert largest_local(2000, ONE, 1e-6, "binary") < two < largest_local(2500, ONE, 1e-6, "binary")


@pytest.mark.parametrize("query", ["region", "age", "ball(bmi/60, age/120)", "vector(smoker, age >= 65)"])
def test_what_is_planned_is_mixed_by_a_shuffler_that_promises_it_and_hardly_more_is(query: str) -> None:
    """The shuffler works it out anew, from the randomizer that it is asked for."""
    mixer = Shuffler(InProcessLROracle(parties_of(PEOPLE, 2)), KEYRING.source("mixer"), Promise(ONE))
    asked = ShuffledOracle(mixer, ONE, KEYRING.source("shuffled", query))
    asked.answer_vectors([query])
    local = asked.cost.epsilon_charged
    assert local >= largest_local(5000, ONE, 1e-6)
    more = Epsilon(local.nanonats * 21 // 20)
    (slot,) = planned_slots(checked_vectors([query], PEOPLE.schema), more, 5000)
    with pytest.raises(TooFewReports):
        list(mixer.reports(Request.fresh(query, slot.randomizer, KEYRING.source(query)), Cohort(0, 5000)))


def test_of_many_values_a_report_reveals_more_than_any_report_may() -> None:
    """Whole numbers of 0 to 120: what each report may cost grows by a fifth of a nat, and n variance falls by a third."""
    (local,) = (oracle("age").plan(["age"]).rows[0].how.split("epsilon=")[1].split(",")[0],)
    assert float(local) > float(largest_local(5000, ONE, 1e-6)) + 0.2
