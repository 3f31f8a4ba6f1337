"""The page of a report: nothing from outside, readable in the light and in the dark, one chapter an experiment."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from localdp.experiments.separations import parity
from parties.report import write_experiment_report
from parties.report.files import stories_in
from tests.support.reports import (
    ONE,
    Results,
    attack,
    page_of,
    separation,
    story_of,
    written,
)
from tests.unit.parties.report.test_report import comparison_of, read


def embedded(text: str) -> Any:
    return json.loads(read(text).embedded)


# The page.


def test_the_page_loads_nothing_and_runs_nothing(page: str) -> None:
    reader = read(page)
    assert "://" not in page
    assert not {"link", "img", "iframe", "object", "embed", "form"} & set(reader.tags)
    assert page.count("<script") == 1 and 'type="application/json"' in page
    assert not [name for name, _ in reader.attributes if name.startswith("on")]
    assert not re.search(r"@import|url\((?!#)", page)


def test_every_id_is_used_once_and_every_reference_resolves(page: str) -> None:
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'(?:url\(|href=")#([^")]+)', page)) <= set(ids)


def test_the_same_results_make_the_same_bytes(page: str, results: Results, tmp_path: Path) -> None:
    assert page_of(tmp_path, results) == page


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return float(np.dot([0.2126, 0.7152, 0.0722], linear))


def test_every_colour_of_text_can_be_read_in_the_light_and_in_the_dark(page: str) -> None:
    schemes = [
        dict(re.findall(r"--([\w-]+): (#\w{6})", part))
        for part in re.findall(r":root {(.*?)}", page, re.DOTALL)
    ]
    assert len(schemes) == 2
    pairs = [
        (ink, paper)
        for ink in ("ink", "soft", "local", "shuffled", "shared", "curator")
        for paper in ("paper", "card")
    ]
    for scheme in schemes:
        for ink, paper in [*pairs, ("alarm", "alarm-paper")]:
            dark, light = sorted((luminance(scheme[ink]), luminance(scheme[paper])))
            assert (light + 0.05) / (dark + 0.05) >= 4.5, (ink, paper)


# The other experiments.


def test_a_comparison_keeps_its_numbers_and_promises(tmp_path: Path) -> None:
    data = comparison_of().to_data()
    text = page_of(tmp_path, data, "compare.json")
    shown = set(read(text).values)
    for row in data["rows"]:
        assert {row["people"], row["mean_abs_error"], row["predicted"], row["trials"]} <= shown
    assert embedded(text) == {"compare.json": data}
    assert text.count("<article>") == 5
    assert "<dt>delta</dt><dd>1e-06</dd>" in text


def test_a_separation_has_error_bars_also_where_every_trial_ends_alike(tmp_path: Path) -> None:
    story = story_of(tmp_path, separation(), "parity.json")
    points = {(point.series, point.parameter): point for point in story.groups[0].panels[0].points}
    assert [promise.model for promise in story.promises] == ["local", "curator"]
    assert points["local", 6].error == 0.08
    assert {point["value"] for point in separation()["points"]} <= set(
        read(page_of(tmp_path, separation(), "parity.json")).values
    )
    shown = parity(dimensions=(6,))
    every = shown.shown(ONE, {tried: [1.0] * 10 for tried in shown.tried}).panels[0].points
    smooth = 11 / 12
    assert [point.error for point in every] == [pytest.approx((smooth * (1 - smooth) / 12) ** 0.5)] * 2


def test_an_attack_is_told_without_a_promise(tmp_path: Path) -> None:
    text = page_of(tmp_path, attack(), "averaging.json")
    assert "An attack promises nothing" in text and "<article>" not in text and "a note" in text


def test_several_experiments_are_chapters_of_one_page(results: Results, tmp_path: Path) -> None:
    for name, data in (("parity.json", separation()), ("a.json", attack()), ("results.json", results)):
        written(tmp_path, name, data)
    written(tmp_path, "parties.json", {"agents": []})  # somebody else's
    text = write_experiment_report(tmp_path).read_text()
    assert [story.source for story in stories_in(tmp_path)] == ["results.json", "a.json", "parity.json"]
    assert text.count("<section") == 3 and 'href="#story-2"' in text
    assert set(embedded(text)) == {"results.json", "a.json", "parity.json"}
    ids = re.findall(r'\bid="([^"]+)"', text)
    assert len(ids) == len(set(ids))
