"""The universe: attributes, their bits, and the numbering of their combinations."""

from typing import Any

import numpy as np
import pytest

from localdp.algorithms.release.synthetic import rows_of
from localdp.algorithms.release.universe import Universe, marginal_queries
from localdp.domains import BitDomain, Schema
from localdp.errors import InvalidParameter
from localdp.queries.vector_query import VectorQuery
from tests.unit.algorithms.release.people import FINITE, MIXED, mixed_people, table_of

UNIVERSE = Universe.of(MIXED, FINITE)


def test_the_cells_are_numbered_as_the_query_for_them_does() -> None:
    assert UNIVERSE.cells == 2 * 3 * 5 * 2
    every = UNIVERSE.records()
    numbers = VectorQuery.parse(UNIVERSE.query(), UNIVERSE.schema).evaluate(every)
    assert numbers.tolist() == list(range(60))


def test_the_words_are_the_values_of_the_conditions() -> None:
    every, place = UNIVERSE.records(), np.zeros(60, np.int64)
    for bit, condition in enumerate(UNIVERSE.conditions()):
        place |= VectorQuery.parse(f"cells({condition})", UNIVERSE.schema).evaluate(every) << bit
    assert UNIVERSE.bits == 1 + 2 + 3 + 1
    assert (place == UNIVERSE.words()).all()
    assert len(set(place.tolist())) == 60


def test_without_names_all_bits_and_categories_are_taken_and_conditions_may_have_names() -> None:
    assert Universe.of(MIXED).schema.names == ("smoker", "region", "married")
    named = Universe.of(MIXED, {"rich": "income >= 5", "smoker": "smoker", "where": "region"})
    assert named.sizes == (2, 2, 3)
    assert named.query() == "cells(income >= 5, smoker, region)"
    assert isinstance(named.schema["rich"], BitDomain)


@pytest.mark.parametrize("names", [("region",), ("married", "smoker"), ("children", "smoker", "region")])
def test_a_marginal_sums_out_the_others_in_the_order_asked_for(names: tuple[str, ...]) -> None:
    records = mixed_people(500)
    cells = VectorQuery.parse(UNIVERSE.query(), MIXED).evaluate(records)
    masses = np.bincount(cells, minlength=60) / 500
    np.testing.assert_allclose(UNIVERSE.marginal(masses, names), table_of(records, *names), atol=1e-15)


@pytest.mark.parametrize("order", [1, 2, 4])
def test_the_queries_of_marginals_are_their_cells(order: int) -> None:
    rows = rows_of(marginal_queries(UNIVERSE, order), UNIVERSE)
    masses = np.random.default_rng(1).dirichlet(np.ones(60))
    sizes = {1: 12, 2: 6 + 10 + 4 + 15 + 6 + 10, 4: 60}
    assert len(rows) == sizes[order]
    assert (rows.sum(axis=0) == {1: 4, 2: 6, 4: 1}[order]).all()
    if order == 4:
        np.testing.assert_allclose(rows @ masses, masses)


@pytest.mark.parametrize(
    "columns",
    [[], ["smoker", "smoker"], "smoker", ["nobody"], ["income"], {"x": "income"}],
)
def test_what_is_no_attribute_is_refused(columns: Any) -> None:
    with pytest.raises(InvalidParameter):
        Universe.of(MIXED, columns)


def test_large_universes_have_no_table_and_names_are_checked() -> None:
    wide = Universe.of(Schema({f"b{place}": BitDomain() for place in range(21)}))
    with pytest.raises(InvalidParameter, match="cells"):
        wide.words()
    for names in ([], ["smoker", "smoker"], ["income"], "smoker"):
        with pytest.raises(InvalidParameter):
            UNIVERSE.places(names)
    with pytest.raises(InvalidParameter):
        marginal_queries(UNIVERSE, 5)
