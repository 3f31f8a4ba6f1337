"""`localdp report` as a person meets it: the page in a real browser, in the light, in the dark and on a phone.

The browser is Chromium; where it is absent .ci/browser installs it, and these tests fail with one line that says so.
"""

from __future__ import annotations

import html
import json
import re
import struct
from pathlib import Path
from typing import Any

import pytest

from tests.support.browser import Seen, looked_at, measured, screenshot
from tests.support.processes import envelope, localdp
from tests.support.reports import TEXT, attack, separation, written
from tests.unit.parties.report.test_report import comparison_of

PHONE, DESK = 360, 1200


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of every kind: of a run, and what the other experiments write."""
    here = tmp_path_factory.mktemp("experiments")
    (here / "experiment.toml").write_text(TEXT)
    told = envelope(localdp(here, "run", "experiment.toml", "--jobs", "1", "--json"))
    assert told["status"] == "ok", told
    assert [Path(path).name for path in told["data"]["written"]][-1] == "report.html"
    written(here / "out", "compare.json", comparison_of().to_data())
    written(here / "out", "parity.json", separation())
    written(here / "out", "averaging.json", attack())
    return here


@pytest.fixture(scope="module")
def page(directory: Path) -> Path:
    told = envelope(localdp(directory, "report", "out", "--out", "page/report.html", "--json"))
    assert told["status"] == "ok", told
    assert len(told["data"]["experiments"]) == 4
    return directory / "page" / "report.html"


@pytest.fixture(scope="module")
def seen(page: Path) -> Seen:
    return looked_at(page, page.parent / "profile")


@pytest.fixture(scope="module")
def phone(page: Path) -> dict[str, Any]:
    return measured(page.read_text(), PHONE, page.parent)


def values(dom: str) -> set[float]:
    return {float(value) for value in re.findall(r'<data value="([^"]+)"', dom)}


def results_of(directory: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((directory / "out" / "results.json").read_text())
    return found


def test_the_browser_shows_the_numbers_of_the_files_and_has_nothing_to_complain_of(
    directory: Path, seen: Seen
) -> None:
    assert seen.complaints == []
    shown = values(seen.dom)
    cells = results_of(directory)["cells"]
    assert len(cells) == 18
    for cell in cells:
        assert cell["predicted_standard_error"] in shown
        assert not cell["measures"] or cell["measures"]["error"]["root_mean_square"] in shown
    assert {row["mean_abs_error"] for row in comparison_of().to_data()["rows"]} <= shown
    assert {point["value"] for point in separation()["points"]} <= shown
    embedded = re.search(
        r'<script type="application/json" id="results">(.*?)</script>', seen.dom, re.DOTALL
    )
    assert embedded is not None
    assert json.loads(embedded[1])["results.json"]["cells"] == cells


def test_the_browser_draws_every_plot_and_keeps_the_words(seen: Seen) -> None:
    dom = seen.dom
    assert dom.count("<figure") == dom.count("<svg") == dom.count("<figcaption") == 8
    words = html.unescape(dom)
    for said in (
        "smoker and age >= 65",
        "divided",
        "budget exhausted",
        "unreachable",
        "1 of 4",
        "replace one person",
    ):
        assert said in words


def test_nothing_sticks_out_of_a_phone_or_a_desk_with_all_of_the_page_open(
    page: Path, phone: dict[str, Any], tmp_path: Path
) -> None:
    for width, told in ((PHONE, phone), (DESK, measured(page.read_text(), DESK, tmp_path))):
        assert told["width"] == width == told["content"]
        assert told["sticking"] == []
        assert all(0 < box < width for box in told["boxes"]) and len(told["boxes"]) > 10
        assert all(250 < plot <= 600 for plot in told["plots"]) and len(told["plots"]) == 8
        assert told["smallest"] >= 9  # pixels of the letters in plots


def test_the_dark_is_dark_and_the_light_is_light(page: Path, phone: dict[str, Any], tmp_path: Path) -> None:
    dark = measured(page.read_text(), PHONE, tmp_path, dark=True)
    assert (phone["paper"], phone["ink"]) == ("rgb(255, 255, 255)", "rgb(31, 35, 41)")
    assert (dark["paper"], dark["ink"]) == ("rgb(20, 23, 27)", "rgb(232, 234, 237)")


def test_a_picture_of_the_page_is_not_empty(page: Path, tmp_path: Path) -> None:
    picture = screenshot(page, tmp_path / "profile", tmp_path / "page.png", "--window-size=800,1000")
    assert picture.startswith(b"\x89PNG") and struct.unpack(">II", picture[16:24]) == (800, 1000)
    assert len(picture) > 30_000  # an empty page of this size has some 4,000 bytes


def test_a_page_that_sticks_out_or_complains_would_be_seen(page: Path, tmp_path: Path) -> None:
    text = page.read_text()
    wide = measured(text.replace("<main>", '<main><div style="width:700px">wide</div>'), PHONE, tmp_path)
    assert wide["content"] > PHONE and wide["sticking"] == ["DIV "]
    loading = tmp_path / "loading.html"
    loading.write_text(text.replace("<main>", '<main><img src="none.png">'))
    assert "Content Security Policy" in looked_at(loading, tmp_path / "profile").complaints[0]


def test_nonsense_is_answered_with_one_line(tmp_path: Path) -> None:
    (tmp_path / "results.json").write_text('{"format": 1, "provenance": {}, "cells": [], "trials": {}}')
    done = localdp(tmp_path, "report", ".")
    assert done.returncode == 2 and "damaged" in done.stderr and "Traceback" not in done.stderr
    assert not (tmp_path / "report.html").exists()
