"""What a shuffler keeps from whoever asks it: names, order, differences of cohorts, details of refusals."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest

from localdp.accounting.promise_ledger import MemoryPromiseLedger
from localdp.cohorts import Cohort, Split
from localdp.domains import Schema
from localdp.errors import (
    BudgetExhausted,
    InvalidParameter,
    LocalDpError,
    PolicyRefused,
    QueryRefused,
    TooFewReports,
    UnknownIndex,
)
from localdp.oracles.lr import InProcessLROracle
from localdp.oracles.shuffled import ShuffledOracle
from localdp.oracles.shuffler import Promise, Shuffler
from localdp.party.party import Request
from localdp.randomizers.definition import LocalRandomizer, Reports
from localdp.randomizers.k_ary import KaryRandomizedResponse
from localdp.randomizers.memoised import memoised_optimized_unary
from localdp.randomizers.one_bit import OneBitRandomizer, binary_randomized_response
from localdp.sharing.collection import Contributor
from tests.support.people import KEYRING, ONE, parties_of, population

PEOPLE = population(2000)
EVERYBODY = Cohort(0, 2000)
BIT = OneBitRandomizer(ONE, 1)


def request(name: str = "request", randomizer: LocalRandomizer = BIT, query: str = "smoker") -> Request:
    return Request(name.ljust(16, "-").encode(), query, randomizer)


class Recorded:
    """An LR oracle that writes down what it is asked, and may send parties' answers in another order."""

    def __init__(self, parties: int = 4, backwards: bool = False) -> None:
        self._inner = InProcessLROracle(parties_of(PEOPLE, parties))
        self._backwards = backwards
        self.asked: list[bytes] = []

    @property
    def schema(self) -> Schema:
        return self._inner.schema

    @property
    def people(self) -> int:
        return self._inner.people

    @property
    def by_row(self) -> bool:
        return self._inner.by_row

    @property
    def samples(self) -> bool:
        return self._inner.samples

    @property
    def contributors(self) -> tuple[Contributor, ...]:
        return self._inner.contributors

    @property
    def by_content(self) -> tuple[str, ...]:
        return self._inner.by_content

    @property
    def bytes_moved(self) -> int:
        return self._inner.bytes_moved

    def reports(self, request: Request, cohort: Cohort) -> Iterator[Reports]:
        self.asked.append(request.request_id)
        parts = list(self._inner.reports(request, cohort))
        yield from reversed(parts) if self._backwards else parts


class Refusing(Recorded):
    """One whose last party refuses, in words that say too much."""

    def reports(self, request: Request, cohort: Cohort) -> Iterator[Reports]:
        yield next(super().reports(request, cohort))
        raise BudgetExhausted("3 people of party-3 cannot pay")


def shuffler(reports: Recorded | None = None, promise: Promise | None = None) -> Shuffler:
    return Shuffler(reports or Recorded(), KEYRING.source("shuffler"), promise)


def mixed_of(mixer: Shuffler, asked: Request, cohort: Cohort = EVERYBODY) -> Reports:
    return np.concatenate(list(mixer.reports(asked, cohort)))


def test_the_same_request_has_the_same_answer_bit_for_bit() -> None:
    for randomizer, query in ((BIT, "smoker"), (KaryRandomizedResponse(ONE, 4), "region")):
        asked = request("again", randomizer, query)
        assert (mixed_of(shuffler(), asked) == mixed_of(shuffler(), asked)).all()


def test_the_order_of_bits_does_not_depend_on_who_answered_first() -> None:
    forth, back = (mixed_of(shuffler(Recorded(backwards=b)), request("order")) for b in (False, True))
    assert (forth == back).all()


def test_other_cohorts_and_other_requests_are_asked_under_other_names() -> None:
    # Otherwise the reports of n and of n - 1 people would differ by one person's.
    recorded = Recorded()
    mixer = shuffler(recorded)
    for cohort in (
        EVERYBODY,
        Cohort(0, 1999),
        Cohort(1, 2000),
        Cohort(0, 2000, Split(bytes(16), 2, 0)),
        Cohort(0, 2000, Split(bytes(16), 2, 1)),
    ):
        list(mixer.reports(request(), cohort))
    list(mixer.reports(request("other"), EVERYBODY))
    assert len(set(recorded.asked)) == 6
    assert request().request_id not in recorded.asked
    list(mixer.reports(request(), EVERYBODY))
    assert len(set(recorded.asked)) == 6


def test_leaving_one_person_out_draws_everybody_anew() -> None:
    # At epsilon 1 two independent draws of 2,000 differ in 39 % of the places; the same draws in none.
    parties = InProcessLROracle(parties_of(PEOPLE, 1))
    mixer = Shuffler(parties, KEYRING.source("differences"))
    whole, part = (
        np.concatenate(list(parties.reports(mixer.request_for(request(), cohort), Cohort(0, 1999))))
        for cohort in (EVERYBODY, Cohort(0, 1999))
    )
    assert 0.3 < np.mean(whole != part) < 0.5


def test_only_the_shuffler_knows_under_which_name_it_asks() -> None:
    names = {
        Shuffler(Recorded(), KEYRING.source("shuffler", purpose))
        .request_for(request(), EVERYBODY)
        .request_id
        for purpose in ("one", "two")
    }
    assert len(names) == 2


def test_a_query_is_the_same_however_it_is_spelt() -> None:
    names = [
        shuffler().request_for(request(query=text), EVERYBODY).query for text in ("age>=65", "age >= 65")
    ]
    assert names[0] == names[1]


def test_if_one_party_refuses_nothing_is_passed_on_and_only_the_kind_is_told() -> None:
    told = shuffler(Refusing()).reports(request(), EVERYBODY)
    with pytest.raises(BudgetExhausted) as refusal:
        next(told)
    assert "party-3" not in str(refusal.value)
    assert "3" not in str(refusal.value)
    assert refusal.value.__cause__ is None


@pytest.mark.parametrize(
    ("asked", "cohort", "error"),
    [
        (request(query="smokr"), EVERYBODY, QueryRefused),
        (request(query="clip(bmi/60)"), EVERYBODY, InvalidParameter),
        (request(), Cohort(0, 2001), UnknownIndex),
    ],
)
def test_what_is_wrong_is_refused_before_anybody_is_asked(
    asked: Request, cohort: Cohort, error: type[LocalDpError]
) -> None:
    recorded = Recorded()
    with pytest.raises(error):
        list(shuffler(recorded).reports(asked, cohort))
    assert not recorded.asked


PROMISE = Promise(ONE, Fraction(1, 10**6))


def test_few_people_are_refused_before_they_are_asked() -> None:
    recorded = Recorded()
    mixer = shuffler(recorded, PROMISE)
    revealing = request(randomizer=binary_randomized_response("4.1"))
    assert len(mixed_of(mixer, revealing)) == 2000
    for cohort in (Cohort(0, 1), Cohort(0, 100)):
        with pytest.raises(TooFewReports):
            list(mixer.reports(revealing, cohort))
    assert len(recorded.asked) == 1


def test_a_random_part_that_is_too_small_is_not_passed_on() -> None:
    mixer = shuffler(promise=PROMISE)
    asked = request(randomizer=binary_randomized_response("4.1"))
    with pytest.raises(TooFewReports):
        list(mixer.reports(asked, Cohort(0, 2000, Split(bytes(16), 4, 0))))


def test_permanent_answers_are_not_mixed_under_a_promise() -> None:
    memoised = request(randomizer=memoised_optimized_unary(ONE * 2, ONE, 4), query="region")
    with pytest.raises(PolicyRefused):
        list(shuffler(promise=PROMISE).reports(memoised, EVERYBODY))


def test_an_oracle_that_would_reveal_more_than_is_promised_is_not_made() -> None:
    mixer = shuffler(promise=PROMISE)
    ShuffledOracle(mixer, ONE, KEYRING.source("fits"))
    with pytest.raises(PolicyRefused):
        ShuffledOracle(mixer, ONE * 2, KEYRING.source("epsilon"))
    with pytest.raises(PolicyRefused):
        ShuffledOracle(mixer, ONE, KEYRING.source("delta"), delta=Fraction(1, 10**5))


class Nameless(Recorded):
    """One whose parties are not known one by one."""

    @property
    def contributors(self) -> tuple[Contributor, ...]:
        return ()


class Twins(Recorded):
    """One with two parties of one name."""

    @property
    def contributors(self) -> tuple[Contributor, ...]:
        return (Contributor("twin", 1000), Contributor("twin", 1000))


@pytest.mark.parametrize("kind", [Nameless, Twins])
def test_a_shuffler_with_a_promise_knows_its_parties_by_name(kind: type[Recorded]) -> None:
    shuffler(kind())
    with pytest.raises(InvalidParameter, match="knows its parties"):
        shuffler(kind(), PROMISE)


def test_somebody_has_to_be_left_who_does_not_collude() -> None:
    assert shuffler(promise=Promise(ONE, colluding=3)).hiding == 500
    with pytest.raises(InvalidParameter, match="nobody could hide"):
        shuffler(promise=Promise(ONE, colluding=4))


class Short(Recorded):
    """One whose last person is missing, without a word."""

    def reports(self, request: Request, cohort: Cohort) -> Iterator[Reports]:
        yield np.concatenate(list(super().reports(request, cohort)))[:-1]


def test_if_a_report_is_missing_nothing_is_passed_on_and_nothing_was_promised() -> None:
    ledger = MemoryPromiseLedger(ONE, Fraction(1))
    mixer = Shuffler(Short(), KEYRING.source("short"), PROMISE, ledger)
    with pytest.raises(TooFewReports, match="not every party"):
        next(mixer.reports(request(), EVERYBODY))
    assert not ledger.spent("party-0", 500).any()


def test_an_empty_cohort_has_no_reports() -> None:
    assert list(shuffler().reports(request(), Cohort(5, 5))) == []
