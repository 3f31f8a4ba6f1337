"""Documents quote learners' figures from the store alone: a table of a page is the stored one, within its spread.

Twins that must be caught: a figure that was changed, a row that was left out, a figure that stands in prose.
"""

from __future__ import annotations

import importlib
import re
import sys
from itertools import chain
from pathlib import Path

import pytest

from localdp.experiments.catalogue import LEARNERS
from localdp.oracles.models import MODELS
from parties.experiments.counterparts import CONSTANT, SCIKIT_LEARN
from parties.experiments.learner_figures import NAMES, PUBLISHED, SEEDS, definition, stored

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "docs"))
tables = importlib.import_module("tables")
PAGES = [
    path
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
    if "<!-- table: " in path.read_text()
]
BLOCKS = [
    pytest.param(found[2], found[3], id=f"{path.name}: {found[2]:.40}")
    for path in PAGES
    for found in tables.BLOCK.finditer(path.read_text())
]
_FIGURE = re.compile(r"(-?\d+\.\d+) ± (\d+\.\d+)")
_ROUNDING = 0.0005 + 1e-9
_QUOTED = re.compile(r"(?<![\w.])\d?\.\d{2,}(?![\w.])")


def rows(text: str) -> list[list[str]]:
    lines = [line for line in text.splitlines() if line.startswith("|") and not line.startswith("|---")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def wrong(which: str, text: str) -> list[str]:
    """What a table says that is not stored, or not within a spread of it."""
    quoted, known = rows(text), rows(tables.markdown(which))
    if [len(row) for row in quoted] != [len(row) for row in known]:
        return [f"{len(quoted)} rows, and {len(known)} are stored"]
    pairs = zip(chain(*quoted), chain(*known), strict=True)
    return [f"{here}, and stored is {there}" for here, there in pairs if not _agree(here, there)]


def _agree(here: str, there: str) -> bool:
    if _FIGURE.sub("", here) != _FIGURE.sub("", there):
        return False
    figures = zip(_FIGURE.findall(here), _FIGURE.findall(there), strict=True)
    return all(
        abs(float(one[0]) - float(other[0])) <= float(other[1]) + _ROUNDING for one, other in figures
    )


@pytest.mark.parametrize(("which", "text"), BLOCKS)
def test_a_table_is_within_its_spread_of_what_is_stored(which: str, text: str) -> None:
    assert rows(text), "an empty table"
    assert not wrong(which, text)


def test_a_changed_figure_and_a_missing_row_are_caught() -> None:
    text = tables.markdown("naive-bayes")
    (mean, spread), figure = _FIGURE.findall(text)[0], _FIGURE.search(text)
    assert figure is not None
    shifted = f"{float(mean) + 2 * float(spread) + 0.002:.3f} ± {spread}"
    assert wrong("naive-bayes", text.replace(figure[0], shifted, 1))
    assert wrong("naive-bayes", "\n".join(text.splitlines()[:-1]))
    assert not wrong("naive-bayes", text)


def outside_of_tables(text: str) -> list[str]:
    """Figures in prose: not in code, in a table of the store, or between backticks."""
    prose = tables.BLOCK.sub("", re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE))
    return _QUOTED.findall(re.sub(r"`[^`]*`", "", prose))


def learning(path: Path) -> str:
    """What a page says about learners."""
    text = path.read_text()
    return text.partition("## Learn a model")[2].partition("\n## ")[0] if path.name == "README.md" else text


@pytest.mark.parametrize("page", ["README.md", "docs/learners.md"])
def test_no_figure_of_a_learner_stands_outside_of_a_table(page: str) -> None:
    assert outside_of_tables(learning(ROOT / page)) == []


def test_a_figure_in_prose_is_caught() -> None:
    assert outside_of_tables("the tree reaches 0.93, and `edge=0.25` is code") == ["0.93"]


def test_every_learner_has_a_table_in_its_page() -> None:
    shown = {found[2] for found in tables.BLOCK.finditer((ROOT / "docs/learners.md").read_text())}
    assert shown == set(LEARNERS) == {name for name in NAMES if name not in PUBLISHED.values()}


@pytest.mark.parametrize("name", NAMES)
def test_every_figure_of_a_definition_is_stored(name: str) -> None:
    known = stored(name)
    for one in definition(name):
        columns = {*one.sweep.models, *((SCIKIT_LEARN, CONSTANT) if one.baselines else ())}
        assert set(known[one.data.about]) == columns
        assert len(one.sweep.insecure_seeds) == SEEDS
        assert one.task.to_data()["parameters"].keys() <= {
            "n_components",
            "n_clusters",
        }  # nothing set by hand
        if name not in PUBLISHED.values():
            assert set(one.sweep.models) == {row.name for row in MODELS.values() if not row.near}
