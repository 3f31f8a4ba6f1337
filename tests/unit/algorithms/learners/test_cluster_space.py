"""Where clusters are looked for: size, axes and grid, on exact answers, whatever the scale that was guessed."""

import numpy as np
import pytest

from localdp.algorithms.learners.cluster_space import ClusterSpace, Grid
from localdp.algorithms.learners.scaling import Scaling
from localdp.oracles.exact import ExactOracle
from localdp.queries.vector_query import VectorQuery
from tests.support.number_tables import table_of

DRAWS = np.random.default_rng(4)
CENTRES = np.array([[1.0, 1, 0, 0, 0], [1, -1, 0, 0, 0], [-1.5, 0, 0, 0, 0]])
PLACES = CENTRES[DRAWS.integers(0, 3, 6000)] + DRAWS.normal(0, 0.1, (6000, 5))
PEOPLE = table_of(PLACES, 8.0)
UNITS = Scaling.common(PEOPLE.schema, PEOPLE.schema.names, None)
SIZE = float(np.sqrt(PLACES.var(axis=0).sum()))


@pytest.mark.parametrize("guess", [1.2, 2.4])
def test_the_space_holds_the_clusters_and_tells_what_is_within_them(guess: float) -> None:
    rough = Scaling.around(PEOPLE.schema.names, PLACES.mean(axis=0), np.full(5, guess * SIZE))
    space = ClusterSpace.found(ExactOracle(PEOPLE), UNITS, rough, 2, (1, 1))
    assert np.square(space.axes[:, :2]).sum() == pytest.approx(2, abs=0.01)
    assert np.linalg.norm(space.spreads) * UNITS.widths[0] == pytest.approx(SIZE, rel=0.1)
    assert space.others * UNITS.widths[0] == pytest.approx(0.1, rel=0.3)
    np.testing.assert_allclose(space.complement @ space.axes.T, 0, atol=1e-12)


def test_with_as_many_axes_as_features_they_are_the_features_and_have_spreads_of_their_own() -> None:
    rough = Scaling.around(PEOPLE.schema.names, PLACES.mean(axis=0), np.full(5, 1.5 * SIZE))
    space = ClusterSpace.found(ExactOracle(PEOPLE), UNITS, rough, 5, (1, 0))
    assert np.array_equal(space.axes, np.eye(5)) and space.others == 0 and not len(space.complement)
    np.testing.assert_allclose(space.spreads[:2] * UNITS.widths[0], PLACES.std(axis=0)[:2], rtol=0.1)


def test_the_middles_of_the_cells_are_in_the_cells_of_their_numbers() -> None:
    turned, _ = np.linalg.qr(DRAWS.normal(size=(5, 5)))
    space = ClusterSpace(np.full(5, 0.01), turned[:2], np.array([0.1, 0.05]), 0.01)
    grid = Grid.over(space, 6)
    table = table_of(grid.middles * UNITS.widths + UNITS.centres, 8.0)
    query = VectorQuery.parse(grid.query(UNITS), table.schema)
    assert query.length == len(grid.middles) == 36
    assert query.evaluate(table).tolist() == list(range(36))
