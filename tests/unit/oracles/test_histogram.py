"""Histograms in the local model."""

import numpy as np
import pytest

from localdp.errors import InvalidParameter, QueryRefused, SignalTooWeak
from localdp.oracles.histogram import ask_histogram
from localdp.oracles.lr import InProcessLROracle
from localdp.queries.vector_query import VectorQuery
from localdp.randomizers.k_ary import KaryRandomizedResponse
from localdp.randomizers.unary import OptimizedUnaryEncoding
from tests.support.people import KEYRING, ONE, parties_of, population

PEOPLE = 20_000


@pytest.fixture(scope="module")
def oracle() -> InProcessLROracle:
    return InProcessLROracle(parties_of(population(PEOPLE), 3))


@pytest.mark.parametrize(("column", "values"), [("region", 4), ("age", 121), ("smoker", 2)])
def test_every_frequency_is_within_six_standard_errors(
    oracle: InProcessLROracle, column: str, values: int
) -> None:
    histogram = ask_histogram(oracle, column, ONE, KEYRING.source("histogram", column), check_signal=False)
    truth = np.bincount(population(PEOPLE).column(column).astype(int), minlength=values) / PEOPLE
    errors = np.abs(histogram.frequencies.values - truth)
    assert len(histogram.values) == values
    assert (errors < 6 * histogram.frequencies.standard_errors).all()
    assert errors.max() > 0


def test_values_are_called_by_their_names(oracle: InProcessLROracle) -> None:
    source = KEYRING.source("names")
    assert ask_histogram(oracle, "region", ONE, source).values == ("north", "east", "south", "west")
    assert ask_histogram(oracle, "age", ONE, source, check_signal=False).values[-1] == "120"
    assert ask_histogram(oracle, "smoker", ONE, source).values == ("false", "true")


def test_the_randomizer_is_the_best_one_unless_another_is_named(oracle: InProcessLROracle) -> None:
    source = KEYRING.source("named")
    assert isinstance(ask_histogram(oracle, "region", ONE, source).randomizer, KaryRandomizedResponse)
    named = OptimizedUnaryEncoding(ONE, 4)
    assert ask_histogram(oracle, "region", ONE, source, randomizer=named).randomizer is named


def test_a_histogram_costs_what_one_report_costs() -> None:
    parties = parties_of(population(100), 1)
    ask_histogram(InProcessLROracle(parties), "region", ONE, KEYRING.source("cost"))
    assert (parties[0].ledger.spent() == ONE.nanonats).all()


@pytest.mark.parametrize(("column", "error"), [("bmi", QueryRefused), ("regoin", QueryRefused)])
def test_a_column_without_a_list_of_values_has_no_histogram(
    oracle: InProcessLROracle, column: str, error: type[Exception]
) -> None:
    with pytest.raises(error):
        ask_histogram(oracle, column, ONE, KEYRING.source("wrong"))


def test_a_randomizer_for_another_number_of_values_is_refused(oracle: InProcessLROracle) -> None:
    with pytest.raises(InvalidParameter):
        ask_histogram(
            oracle, "region", ONE, KEYRING.source("size"), randomizer=KaryRandomizedResponse(ONE, 5)
        )


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("which(age < 20, age < 40)", ("age < 20", "age < 40", "otherwise")),
        ("age >= 65", ("false", "true")),
        ("cells(smoker, age >= 65)", ("false, false", "false, true", "true, false", "true, true")),
    ],
)
def test_a_query_with_a_list_of_values_has_a_histogram(
    oracle: InProcessLROracle, query: str, names: tuple[str, ...]
) -> None:
    histogram = ask_histogram(oracle, query, ONE, KEYRING.source("queries", query))
    values = VectorQuery.parse(query, oracle.schema).evaluate(population(PEOPLE))
    errors = np.abs(histogram.frequencies.values - np.bincount(values, minlength=len(names)) / PEOPLE)
    assert histogram.values == names
    assert (errors < 6 * histogram.frequencies.standard_errors).all()


def test_what_noise_would_drown_is_not_asked_unless_told_to() -> None:
    parties = parties_of(population(300), 1)
    with pytest.raises(SignalTooWeak, match="even share of 121 values"):
        ask_histogram(InProcessLROracle(parties), "age", ONE, KEYRING.source("drowned"))
    assert not parties[0].ledger.spent().any()
    ask_histogram(InProcessLROracle(parties), "age", ONE, KEYRING.source("drowned"), check_signal=False)
    assert (parties[0].ledger.spent() == ONE.nanonats).all()
