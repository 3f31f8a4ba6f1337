"""The picture of a game of roads: a line for each road, whose bars are those of the noise."""

from __future__ import annotations

import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.algorithms.games.equilibrium import EquilibriumSelection
from localdp.experiments.datasets import synthetic
from localdp.experiments.parties_in_process import asked_in_process
from localdp.randomness.hazmat import SeededSource
from parties.report.loads import TITLE, loads_panel, loads_svg


@pytest.mark.parametrize("model", ["exact", "local"])
def test_every_published_load_is_drawn(model: str) -> None:
    source = SeededSource(1)
    drivers = synthetic("drivers", 2000, source, 3)
    game = EquilibriumSelection(
        ["x0", "x1", "x2"], [0.1, 0.2, 0.3], [1, 1, 1], rounds=7, check_signal=False
    )
    game.fit(asked_in_process(model, drivers, Epsilon.requested(1), source))
    panel = loads_panel(game)
    assert len(panel.points) == 7 * 3 and list(panel.series()) == ["road 1", "road 2", "road 3"]
    assert [point.value for point in panel.series()["road 2"]] == game.loads_[:, 1].tolist()
    assert all((point.error == 0) == (model == "exact") for point in panel.points)
    assert ("epsilon = 1" in panel.title) == (model == "local")
    drawn = loads_svg(game)
    assert TITLE in drawn and all(f">road {number}<" in drawn for number in (1, 2, 3))
