"""The pictures of the documents in a real browser: nothing overlaps, nothing is cut, also on a phone, in light and dark."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from localdp.oracles.models import MODELS
from tests.support.browser import looked_at, preferring, told_by
from tests.support.processes import ROOT

PICTURES = ROOT / "docs/pictures"
NAMES = sorted(path.stem for path in PICTURES.glob("*.svg"))
PHONE = 390 - 2 * 13  # what the site's margins leave of it
SMALLEST_LETTERS = 10.5  # pixels, on a phone
WIDE = {"computing-rounds": 7.0}  # a table of twenty rounds: on a phone it is turned or made larger

# Where every word of every picture is, as drawn.  A box that a word is in has it whole.
_MEASURE = """
const told = {};
document.querySelectorAll("svg").forEach(svg => {
  const words = [...svg.querySelectorAll("text")], place = one => one.getBoundingClientRect();
  const whole = place(svg), across = (a, b) => a.left >= b.left && a.right <= b.right;
  const inside = (a, b) => across(a, b) && a.top >= b.top && a.bottom <= b.bottom;
  const apart = (a, b) => a.right <= b.left || b.right <= a.left || a.bottom <= b.top + 3 || b.bottom <= a.top + 3;
  const boxes = [...svg.querySelectorAll("rect")].filter(one => !one.closest("symbol")).map(place);
  const text = words.map(one => ({words: one.textContent, at: place(one)}));
  told[svg.id] = {
    overlapping: text.filter((a, i) => text.slice(i + 1).some(b => !apart(a.at, b.at))).map(a => a.words),
    cut: text.filter(a => !inside(a.at, whole)).map(a => a.words),
    sticking: text.filter(a => boxes.some(box => !inside(a.at, box) && !apart(a.at, box))).map(a => a.words),
    letters: Math.min(...words.map(one => parseFloat(getComputedStyle(one).fontSize))) * whole.width
      / svg.viewBox.baseVal.width,
    ink: getComputedStyle(words[0]).fill,
  };
});
document.getElementById("told").textContent = JSON.stringify(told);
"""


def drawn(directory: Path, width: int, *, dark: bool, change: str = "") -> dict[str, Any]:
    """Every picture by itself in a page, measured.  Their styles are the same, but for the colour of the model."""
    pictures = [
        (PICTURES / f"{name}.svg").read_text().replace("<svg ", f'<svg id="{name}" ', 1) for name in NAMES
    ]
    shown = "".join(
        re.sub(r' width="\d+" height="\d+" role', f' width="{width}" role', one) for one in pictures
    )
    page = directory / f"pictures-{width}-{dark}.html"
    page.write_text(
        f'<!doctype html><meta charset="utf-8"><body>{shown.replace("Analyst<", f"Analyst{change}<")}<pre id="told"></pre>'
        f"<script>{_MEASURE}</script>"
    )
    told: dict[str, Any] = told_by(looked_at(page, directory / "profile", preferring(dark=dark)))
    return told


@pytest.mark.parametrize(("width", "dark"), [(PHONE, True), (460, False)])
def test_no_word_is_cut_or_overlaps_another(width: int, dark: bool, tmp_path: Path) -> None:
    told = drawn(tmp_path, width, dark=dark)
    assert set(told) == set(NAMES) >= {*MODELS, "system"}
    for name, picture in told.items():
        assert picture["overlapping"] == picture["cut"] == picture["sticking"] == [], name
        assert picture["letters"] >= WIDE.get(name, SMALLEST_LETTERS), name
        assert picture["ink"] == ("rgb(232, 234, 237)" if dark else "rgb(31, 35, 41)"), name


def test_a_word_that_does_not_fit_would_be_seen(tmp_path: Path) -> None:
    told = drawn(
        tmp_path, PHONE, dark=False, change=", who asks all of these questions of the other parties and all"
    )
    assert all(picture["cut"] and picture["sticking"] for name, picture in told.items() if name in MODELS)


@pytest.mark.parametrize("model", MODELS)
def test_the_picture_of_a_model_has_its_colour(model: str) -> None:
    assert f"--model: {MODELS[model].colour};" in (PICTURES / f"{model}.svg").read_text()


def test_every_picture_is_shown_and_has_words_for_who_cannot_see_it() -> None:
    pages = [path.read_text() for path in (ROOT / "docs").glob("*.md")]
    for name in NAMES:
        assert any(re.search(rf"!\[[^\]]{{20,}}\]\(pictures/{name}\.svg\)", page) for page in pages), name
        picture = (PICTURES / f"{name}.svg").read_text()
        assert "<title" in picture and "<desc" in picture and "prefers-color-scheme: dark" in picture
