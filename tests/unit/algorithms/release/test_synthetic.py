"""Distributions over a universe, and the records that are drawn from them."""

import numpy as np
import pytest

from localdp.algorithms.release.synthetic import Distribution
from localdp.algorithms.release.universe import Universe
from localdp.errors import InvalidParameter, QueryRefused
from localdp.queries.vector_query import VectorQuery
from localdp.randomness.hazmat import SeededSource
from tests.unit.algorithms.release.people import FINITE, MIXED

UNIVERSE = Universe.of(MIXED, FINITE)
SKEWED = Distribution(UNIVERSE, np.random.default_rng(1).dirichlet(np.full(60, 0.2)))


@pytest.mark.parametrize("people", [1, 7, 1000])
@pytest.mark.parametrize("seed", [1, 2])
def test_every_cell_and_every_stretch_has_its_share_of_the_records_up_to_one(
    people: int, seed: int
) -> None:
    records = SKEWED.synthetic(people, SeededSource(seed))
    counts = np.bincount(
        VectorQuery.parse(UNIVERSE.query(), UNIVERSE.schema).evaluate(records), minlength=60
    )
    assert records.people == people
    assert np.abs(counts - people * SKEWED.masses).max() < 1 + 1e-9
    assert np.abs(np.cumsum(counts) - people * np.cumsum(SKEWED.masses)).max() < 1 + 1e-9


def test_one_record_is_in_each_cell_with_the_cell_s_mass() -> None:
    # n = 4000 draws of one record: 4.5 standard errors of the heaviest cell's frequency.
    heaviest = int(np.argmax(SKEWED.masses))
    source, query = SeededSource(3), VectorQuery.parse(UNIVERSE.query(), UNIVERSE.schema)
    drawn = [int(query.evaluate(SKEWED.synthetic(1, source))[0]) for _ in range(4000)]
    share, found = SKEWED.masses[heaviest], drawn.count(heaviest) / 4000
    assert abs(found - share) < 4.5 * (share * (1 - share) / 4000) ** 0.5


def test_the_order_of_the_records_says_nothing() -> None:
    smoker = SKEWED.synthetic(10_000, SeededSource(4)).column("smoker").astype(float)
    halves = smoker[:5000].mean() - smoker[5000:].mean()
    assert abs(halves) < 4.5 * (2 * 0.25 / 5000) ** 0.5


def test_means_and_marginals_agree() -> None:
    assert SKEWED.mean('smoker and region == "east"') == pytest.approx(
        SKEWED.marginal("region", "smoker")[2, 1]
    )
    assert SKEWED.mean("clip(children/3)") == pytest.approx(
        float(SKEWED.marginal("children") @ np.array([0, 0, 1 / 3, 2 / 3, 1]))
    )


@pytest.mark.parametrize("masses", [np.ones(59), -np.ones(60), np.zeros(60), np.full(60, np.nan)])
def test_what_is_no_distribution_is_refused(masses: np.ndarray[tuple[int], np.dtype[np.float64]]) -> None:
    with pytest.raises(InvalidParameter):
        Distribution(UNIVERSE, masses)


def test_no_records_and_queries_about_other_columns_are_refused() -> None:
    with pytest.raises(InvalidParameter):
        SKEWED.synthetic(0, SeededSource(1))
    with pytest.raises(QueryRefused):
        SKEWED.mean("income >= 5")
