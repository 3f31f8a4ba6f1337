"""`localdp separate` as a newcomer runs it."""

import json
from pathlib import Path

import pytest

from tests.support.processes import localdp


@pytest.mark.parametrize("name", ["parity", "masked-parity", "conjunctions", "packing", "counters"])
def test_a_separation_prints_its_table_and_writes_numbers_and_plot(name: str, tmp_path: Path) -> None:
    done = localdp(tmp_path, "separate", name, "--trials", "1", "--out", "out", "--insecure-seed", "5")
    assert done.returncode == 0, done.stderr
    assert "epsilon = 1" in done.stdout
    numbers = json.loads((tmp_path / "out" / f"{name}.json").read_text())
    drawing = (tmp_path / "out" / f"{name}.svg").read_text()
    for series in {point["series"] for point in numbers["points"]}:
        assert series in drawing
    again = localdp(tmp_path, "separate", name, "--trials", "1", "--json", "--insecure-seed", "5")
    assert json.loads(again.stdout)["data"]["points"] == numbers["points"]


def test_nonsense_is_answered_with_one_line(tmp_path: Path) -> None:
    done = localdp(tmp_path, "separate", "parity", "--epsilon", "zero", "--trials", "1")
    assert done.returncode == 2
    assert "epsilon" in done.stderr and "Traceback" not in done.stderr
    assert localdp(tmp_path, "separate", "pairity").returncode == 2
