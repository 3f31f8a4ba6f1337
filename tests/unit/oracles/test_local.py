"""The local oracle: fresh people in every round, and whose budget pays."""

from collections.abc import Iterator

import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.cohorts import Cohort, Split
from localdp.errors import BudgetExhausted, InvalidParameter, Unreachable
from localdp.oracles.local import LocalOracle
from localdp.oracles.lr import InProcessLROracle
from localdp.party.party import Request
from localdp.randomizers.definition import Reports
from tests.support.people import KEYRING, ONE, parties_of, population

PEOPLE = 2000


def parties(budget: Epsilon = ONE) -> InProcessLROracle:
    return InProcessLROracle(parties_of(population(PEOPLE), 2, budget))


def spent(reports: InProcessLROracle) -> np.ndarray:
    return np.concatenate([party.ledger.spent() for party in reports.parties])


def test_rounds_of_a_view_ask_everybody_once_whatever_the_number_of_queries() -> None:
    reports = parties()
    view = LocalOracle(reports, ONE, KEYRING.source("fresh")).in_rounds(3)
    view.answer(["smoker"])
    view.answer(["smoker", "age > 40"])
    view.answer_vectors(["region", "vector(smoker, age > 40)", "ball(0.01*age)"])
    assert set(spent(reports)) == {ONE.nanonats}
    assert view.cost.epsilon_promised == view.cost.epsilon_charged == ONE
    with pytest.raises(BudgetExhausted):
        view.answer(["smoker"])


def test_without_rounds_everybody_is_asked_each_time() -> None:
    reports = parties(ONE * 2)
    oracle = LocalOracle(reports, ONE, KEYRING.source("again"))
    oracle.answer(["smoker"])
    oracle.answer(["smoker", "age > 40"])
    assert set(spent(reports)) == {2 * ONE.nanonats}
    assert oracle.cost.epsilon_promised == oracle.cost.epsilon_charged == ONE * 2


def test_queries_may_divide_epsilon_where_that_is_asked_for() -> None:
    reports = parties()
    oracle = LocalOracle(reports, ONE, KEYRING.source("divided"), divide="epsilon")
    answers = oracle.answer(["smoker", "age > 40", "bmi > 25", "bmi > 30"])
    assert all(answer.reports == PEOPLE for answer in answers)
    assert ONE.nanonats - 4 <= spent(reports).max() <= ONE.nanonats


def test_dividing_people_beats_dividing_epsilon() -> None:
    queries = [f"age > {years}" for years in range(20, 30)]
    by_people = LocalOracle(parties(), ONE, KEYRING.source("p")).plan(queries)
    by_epsilon = LocalOracle(parties(), ONE, KEYRING.source("e"), divide="epsilon").plan(queries)
    ratio = (by_epsilon.rows[0].standard_error / by_people.rows[0].standard_error) ** 2
    assert 8 < ratio < 11  # 8.56 for signs, where the spread of the values counts


@pytest.mark.parametrize(("rounds", "queries"), [(3, 1), (4, 5), (7, 3)])
def test_a_finer_partition_refines_the_coarser_one_of_the_same_seed(rounds: int, queries: int) -> None:
    seed = bytes(range(16))
    for number in range(rounds):
        whole = set(Cohort(0, 5000, Split(seed, rounds, number)).lanes())
        parts = [
            set(Cohort(0, 5000, Split(seed, rounds * queries, part * rounds + number)).lanes())
            for part in range(queries)
        ]
        assert set().union(*parts) == whole
        assert sum(map(len, parts)) == len(whole)


def test_too_many_ways_to_split_are_refused_before_anybody_is_asked() -> None:
    reports = parties()
    view = LocalOracle(reports, ONE, KEYRING.source("many")).in_rounds(60_000)
    with pytest.raises(InvalidParameter):
        view.answer(["smoker", "age > 40"])
    assert spent(reports).max() == 0


def test_the_cohort_of_an_oracle_is_a_range() -> None:
    with pytest.raises(InvalidParameter):
        LocalOracle(parties(), ONE, KEYRING.source("x"), Cohort(0, 10, Split(bytes(16), 2, 0)))


class SecondPartyGone:
    """Reports of the first party, and then an error: what the first one sent has been seen."""

    def __init__(self, reports: InProcessLROracle, failures: int) -> None:
        self.parties, self.schema, self.people = reports.parties, reports.schema, reports.people
        self.bytes_moved, self.by_row, self.samples = 0, reports.by_row, reports.samples
        self._reports, self._failures = reports, failures

    def reports(self, request: Request, cohort: Cohort) -> Iterator[Reports]:
        """Breaks off as often as it was told to."""
        for number, reports in enumerate(self._reports.reports(request, cohort)):
            if number and self._failures:
                self._failures -= 1
                raise Unreachable("the second party is gone")
            yield reports


@pytest.mark.parametrize("rounds", [None, 2])
def test_a_round_that_broke_off_is_in_the_claim(rounds: int | None) -> None:
    reports = parties(ONE * 2)
    whole = LocalOracle(SecondPartyGone(reports, 1), ONE, KEYRING.source("gone"))
    oracle = whole if rounds is None else whole.in_rounds(rounds)
    with pytest.raises(Unreachable):
        oracle.answer(["smoker"])
    assert oracle.claim.epsilon == ONE
    oracle.answer(["smoker"])
    assert oracle.claim.epsilon == Epsilon(int(spent(reports).max()))


def test_what_views_ask_counts_in_the_oracle_that_they_are_views_of() -> None:
    reports = parties(ONE * 3)
    oracle = LocalOracle(reports, ONE, KEYRING.source("parent"))
    for _ in range(3):
        view = oracle.in_rounds(2)
        view.answer(["smoker"])
        view.answer(["smoker"])
    assert oracle.claim.epsilon == oracle.cost.epsilon_promised == ONE * 3
    assert oracle.cost.rounds == 6
    assert set(spent(reports)) == {3 * ONE.nanonats}


def test_a_view_of_a_view_divides_the_people_of_one_of_its_rounds() -> None:
    reports = parties()
    view = LocalOracle(reports, ONE, KEYRING.source("nested")).in_rounds(3)
    view.answer(["smoker", "age > 40"])
    inner = view.in_rounds(2)
    inner.answer(["smoker"])
    inner.answer(["smoker", "age > 40", "bmi > 25"])
    view.answer(["age > 40"])
    assert set(spent(reports)) == {ONE.nanonats}  # everybody once
    assert view.claim.epsilon == ONE
    for finished in (view, inner):
        with pytest.raises(BudgetExhausted):
            finished.answer(["smoker"])
