"""The tables and the picture of the README are those of `make demo`, and of joint noise: every row, and its theory."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.experiments.comparison import ORDER
from localdp.oracles.compared import COMPARED as ROWS
from localdp.oracles.models import OneCount
from parties.report.wording import number

ROOT = Path(__file__).resolve().parents[2]
MODELS = [name for name in ORDER[:-1] if ROWS[name].share_servers is None]  # the exact one has no error
OTHERS = ["shared", "joint"]  # in a table of their own
PEOPLE = (100, 1_000_000)


def rows() -> list[list[str]]:
    """The tables, a row for each model and number of people; a model is named once."""
    text = (ROOT / "README.md").read_text()
    tables = [part.partition("```")[0] for part in text.split("─\n")[1:]]
    found, model = [], ""
    for line in filter(str.strip, "\n".join(tables).splitlines()):
        cells = re.split(r"\s{2,}", line.strip())
        model = cells.pop(0) if not line.startswith("  ") else model
        found.append([model, *cells])
    return found


def test_every_model_is_in_the_table_in_the_order_of_the_command() -> None:
    told = [[model, f"{people:,}"] for model in (*MODELS, *OTHERS) for people in PEOPLE]
    assert [row[:2] for row in rows()] == told


def test_the_demonstration_counts_with_the_models_of_its_table() -> None:
    """Joint noise takes as long as all of them together, and has a table of its own."""
    (line,) = [line for line in (ROOT / "Makefile").read_text().splitlines() if "localdp compare" in line]
    assert set(line.partition("--models ")[2].split(maxsplit=1)[0].split(",")) == {*MODELS, ORDER[-1]}


@pytest.mark.parametrize("row", rows(), ids=lambda row: " ".join(row[:2]))
def test_a_row_of_the_table_is_true(row: list[str]) -> None:
    model, people = row[0], int(row[1].replace(",", ""))
    count, bound = OneCount(people, Epsilon.requested(1)), ROWS[model].lower_bound
    predicted = ROWS[model].predicted_error(count)
    assert row[3] == number(predicted)
    assert row[5] == number(None if bound is None else bound(count))
    shown, error = row[2].split(" ± ")
    mean, digits = float(shown), len(shown.partition(".")[2])
    assert abs(mean - predicted) < 4 * float(error)
    rounding = 0.5 * 10**-digits + 0.0005 * predicted  # of the mean, and of the ratio
    assert abs(float(row[4]) * predicted - mean) <= rounding


@pytest.mark.parametrize("model", MODELS)
def test_every_model_is_in_the_picture_with_about_the_slope_of_theory(model: str) -> None:
    """Of 200 trials at five sizes a slope is off by 0.01, typically."""
    picture = (ROOT / "docs/compare.svg").read_text()
    found = re.search(rf">{ROWS[model].title}: measured, slope ([+-]0\.\d\d)<", picture)
    assert found is not None and abs(float(found[1]) - ROWS[model].growth) < 0.04
    assert ">predicted<" in picture
