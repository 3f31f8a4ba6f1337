"""Boosting against noisy tables, as a separation: the series are there, and tables win."""

from __future__ import annotations

import numpy as np

from localdp.accounting.epsilon import Epsilon
from localdp.experiments.boosting_queries import TABLES, boosting, cells_of_tables
from localdp.experiments.separations import Lab
from localdp.randomness.keyring import Keyring

LAB = Lab(Epsilon.requested(1), Keyring.insecurely_seeded(1))


def test_every_word_is_in_one_cell_of_each_table() -> None:
    rows = cells_of_tables()
    assert rows.shape == (448, 256)
    assert (rows.reshape(56, 8, 256).sum(axis=1) == 1).all()


def test_at_a_million_people_noisy_tables_are_better() -> None:
    tried = {one.series: one for one in boosting([1_000_000]).tried}
    outcomes = {
        series: LAB.outcome(one, 0) for series, one in tried.items() if "400" in series or series == TABLES
    }
    assert outcomes[TABLES] < 0.0006
    assert outcomes[TABLES] < min(value for series, value in outcomes.items() if series != TABLES) < 0.0012
    assert np.isfinite(list(outcomes.values())).all()
