"""Every notebook runs from top to bottom, in a process of its own, and is kept without its outputs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.processes import ROOT, stage

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
# Runs the cells of a notebook in one namespace, and says which one failed.
RUNNER = """
import json, os, sys
os.environ["MPLBACKEND"] = "Agg"
cells = json.load(open(sys.argv[1]))["cells"]
names = {"__name__": "__main__"}
for number, cell in enumerate(cells):
    if cell["cell_type"] == "code":
        code = compile("".join(cell["source"]), f"cell {number}", "exec")
        exec(code, names)
"""


def content(notebook: Path) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(notebook.read_text())
    return read


def run(notebook: Path, directory: Path) -> subprocess.CompletedProcess[str]:
    with stage(directory) as made:
        done = subprocess.run(
            [sys.executable, "-c", RUNNER, str(notebook)],
            env=made.environment,
            cwd=directory,
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
        )
        assert not made.process_ids()
        return done


def test_there_are_three() -> None:
    assert [notebook.stem for notebook in NOTEBOOKS] == [
        "1-first-count",
        "2-federated-learning",
        "3-hospital-consortium",
    ]


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_from_top_to_bottom(notebook: Path, tmp_path: Path) -> None:
    done = run(notebook, tmp_path)
    assert done.returncode == 0, done.stderr
    assert "±" in done.stdout


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_without_outputs_and_in_the_format(notebook: Path) -> None:
    read = content(notebook)
    assert (read["nbformat"], read["nbformat_minor"]) == (4, 5)
    identifiers = [cell["id"] for cell in read["cells"]]
    assert len(identifiers) == len(set(identifiers))
    assert read["cells"][0]["cell_type"] == "markdown"
    for cell in read["cells"]:
        assert cell["cell_type"] in ("code", "markdown")
        assert cell["metadata"] == {}
        if cell["cell_type"] == "code":
            assert cell["outputs"] == [] and cell["execution_count"] is None


def test_a_cell_that_fails_is_noticed(tmp_path: Path) -> None:
    broken = tmp_path / "broken.ipynb"
    cells = [{"cell_type": "code", "source": ["x = 1\n", "1 / (x - 1)"]}]
    broken.write_text(json.dumps({"cells": cells}))
    done = run(broken, tmp_path)
    assert done.returncode != 0
    assert "cell 0" in done.stderr
