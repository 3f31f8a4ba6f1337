"""Histograms in the local model: every frequency from one report, each called by its name."""

import numpy as np
import pytest

from localdp.asking.verbs import histogram
from localdp.oracles.local import LocalOracle
from localdp.oracles.lr import InProcessLROracle
from localdp.queries.vector_query import VectorQuery
from tests.support.people import KEYRING, ONE, parties_of, population

PEOPLE = 20_000


@pytest.fixture(scope="module")
def reports() -> InProcessLROracle:
    return InProcessLROracle(parties_of(population(PEOPLE), 3))


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("region", ("north", "east", "south", "west")),
        ("age", tuple(map(str, range(121)))),
        ("smoker", ("false", "true")),
        ("which(age < 20, age < 40)", ("age < 20", "age < 40", "otherwise")),
        ("age >= 65", ("false", "true")),
        ("cells(smoker, age >= 65)", ("false, false", "false, true", "true, false", "true, true")),
    ],
)
def test_every_value_has_its_name_and_its_share_within_three_half_widths(
    reports: InProcessLROracle, query: str, names: tuple[str, ...]
) -> None:
    oracle = LocalOracle(reports, ONE, KEYRING.source("histogram", query))
    found = histogram(oracle, query, check_signal=False)
    values = VectorQuery.parse(query, reports.schema).evaluate(population(PEOPLE)).astype(int)
    errors = np.abs(found.shares - np.bincount(values, minlength=len(names)) / PEOPLE)
    assert tuple(name for (name,) in found.labels) == names
    assert errors.max() > 0 and (errors < 3 * found.half_widths).all()


def test_a_histogram_costs_what_one_report_costs() -> None:
    parties = parties_of(population(100), 1)
    histogram(LocalOracle(InProcessLROracle(parties), ONE, KEYRING.source("cost")), "region")
    assert (parties[0].ledger.spent() == ONE.nanonats).all()
