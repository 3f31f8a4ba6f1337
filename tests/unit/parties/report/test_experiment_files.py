"""What a file of results may hold: whatever it is, it is told or refused, and never believed."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from localdp.errors import InvalidParameter
from parties.report import write_experiment_report
from parties.report.files import MOST_FILES, stories_in
from parties.report.page import report_page
from tests.support.reports import (
    Results,
    attack,
    page_of,
    separation,
    story_of,
    written,
)
from tests.unit.parties.report.test_report import comparison_of, read

HOSTILE = "</script><b>x</b>$\\frac{1}{$ _&\"'\x00\ud800 漢字"


def test_text_from_a_file_cannot_become_markup_or_a_formula(results: Results, tmp_path: Path) -> None:
    data = copy.deepcopy(results)
    data["provenance"] |= {
        "experiment": HOSTILE,
        "data": HOSTILE,
        "configuration": HOSTILE,
        "privacy": HOSTILE,
    }
    data["cells"][0]["privacy"] = HOSTILE
    data["cells"][0]["claim"] |= {"honest": HOSTILE, "strength": HOSTILE}
    data["cells"][-1]["refused"] = {HOSTILE: {"trials": 1, "message": HOSTILE}}
    parity = separation()
    parity |= {"title": HOSTILE, "parameter": HOSTILE, "measure": HOSTILE, "notes": [HOSTILE]}
    for point in parity["points"]:
        point["series"] = HOSTILE
    written(tmp_path, "parity.json", parity)
    text = page_of(tmp_path, data)
    assert "b" not in read(text).tags
    assert "\x00" not in text
    assert "&lt;/script&gt;" in text
    assert "<" not in read(text).embedded  # a comment could open in there, and a script


JUNK: tuple[Any, ...] = (None, "x", [], {}, -1, 10**400, True, "a = " + "[" * 5000)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place of a JSON document; of lists the first and the last entry."""
    yield path
    if isinstance(value, dict):
        for key, one in value.items():
            yield from places(one, (*path, key))
    elif isinstance(value, list) and value:
        for index in {0, len(value) - 1}:
            yield from places(value[index], (*path, index))


def changed(data: Any, path: tuple[Any, ...], junk: Any) -> str:
    """The document with something else at one place."""
    if not path:
        return json.dumps(junk)
    copied = copy.deepcopy(data)
    inner = copied
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = junk
    return json.dumps(copied)


@pytest.mark.parametrize("name", ["results.json", "compare.json", "parity.json", "averaging.json"])
def test_whatever_stands_in_a_file_is_told_or_refused_by_name(
    name: str, results: Results, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("parties.report.page.panel_svg", lambda *_: '<svg viewBox="0"></svg>')
    small = {"results.json": few(results), "compare.json": comparison_of((100,)).to_data()}
    data = {**small, "parity.json": separation(), "averaging.json": attack()}[name]
    outcomes: set[str] = set()
    for path in places(data):
        for junk in JUNK:
            try:
                assert report_page(stories_in(written(tmp_path, name, changed(data, path, junk))), name)
                outcomes.add("told")
            except InvalidParameter:
                outcomes.add("refused")
    assert outcomes == {"told", "refused"}


def few(results: Results) -> Results:
    """Two cells, with a trial each: enough places to spoil."""
    kept = [index for index, trial in enumerate(results["trials"]["trial"]) if trial == 0][:2]
    trials = {name: [column[index] for index in kept] for name, column in results["trials"].items()}
    return {**results, "cells": results["cells"][:2], "trials": trials}


@pytest.mark.parametrize(
    "text",
    ['{"format": NaN}', '{"format": -1e999}', '{"a": 1', "\udcff", "[" * 100_000, ""],
    ids=["nan", "infinite", "cut", "bytes", "deep", "empty"],
)
def test_what_is_no_json_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "results.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(InvalidParameter, match="not JSON"):
        write_experiment_report(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["results.json"]


def test_a_directory_without_results_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidParameter, match="no results"):
        write_experiment_report(tmp_path)
    with pytest.raises(InvalidParameter, match="not a directory"):
        write_experiment_report(tmp_path / "nowhere")
    for number in range(MOST_FILES + 1):
        written(tmp_path, f"{number}.json", separation())
    with pytest.raises(InvalidParameter, match="more than"):
        write_experiment_report(tmp_path)
    monkeypatch.setattr("parties.report.files.MOST_BYTES", 10)
    with pytest.raises(InvalidParameter, match="larger"):
        stories_in(written(tmp_path / "large", "a.json", separation()))


def test_results_of_another_format_are_refused(results: Results, tmp_path: Path) -> None:
    with pytest.raises(InvalidParameter, match="another version"):
        story_of(tmp_path, {**results, "format": 2})
