"""The people of a cell: as many as asked for, the same for every trust model and epsilon, and drawn as the file says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from localdp.domains import IntegerDomain, Schema
from localdp.errors import InvalidParameter
from localdp.randomness.keyring import Keyring
from parties.experiments.bundled import BUNDLED, bundled
from parties.experiments.definition import DataSource
from parties.experiments.populations import SETS, population, schema_of

KEYS = Keyring.insecurely_seeded(1)
SIZES = {
    "breast-cancer": 569,
    "diabetes": 442,
    "digits": 1797,
    "fair": 6366,
    "iris": 150,
    "randhie": 20190,
    "wine": 178,
}


@pytest.mark.parametrize("name", BUNDLED)
def test_a_bundled_set_has_its_published_size_and_a_target_within_round_bounds(name: str) -> None:
    records = bundled(name)
    assert records.people == SIZES[name]
    assert "target" in records.schema
    assert schema_of(DataSource(name=name), None) == records.schema


def test_what_a_target_was_made_from_is_no_feature() -> None:
    assert "affairs" not in bundled("fair").schema
    assert "mdvis" not in bundled("randhie").schema


@pytest.mark.parametrize("name", SETS)
def test_a_population_is_a_function_of_its_coins(name: str) -> None:
    data = DataSource(name=name, resample=name in BUNDLED)
    first, again = (population(data, 50, None, KEYS) for _ in range(2))
    assert first.people == 50
    assert first.fingerprint() == again.fingerprint()
    assert population(data, 50, None, Keyring.insecurely_seeded(2)).fingerprint() != first.fingerprint()


def numbered(directory: Path, resample: bool = False) -> DataSource:
    path = directory / "numbers.csv"
    path.write_text("place\n" + "\n".join(map(str, range(100))) + "\n")
    return DataSource(path, Schema({"place": IntegerDomain(0, 99)}), None, resample)


def test_all_rows_of_a_table_are_taken_in_order(tmp_path: Path) -> None:
    assert population(numbered(tmp_path), 100, None, KEYS).column("place").tolist() == list(range(100))


def test_some_rows_are_drawn_without_replacement(tmp_path: Path) -> None:
    drawn = population(numbered(tmp_path), 60, None, KEYS).column("place")
    assert len(np.unique(drawn)) == 60


def test_resampled_rows_are_drawn_with_replacement(tmp_path: Path) -> None:
    drawn = population(numbered(tmp_path, True), 1000, None, KEYS).column("place")
    counts = np.bincount(drawn, minlength=100)
    assert counts.sum() == 1000
    assert counts.max() < 30  # 10 expected; at this seed, and but for a chance of 1e-6 at any


def test_more_people_than_rows_need_resampling(tmp_path: Path) -> None:
    with pytest.raises(InvalidParameter, match="resample = true"):
        population(numbered(tmp_path), 101, None, KEYS)
