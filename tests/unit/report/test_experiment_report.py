"""The report of experiments: the numbers of the files, nothing from outside, and nothing believed that a file says."""

from __future__ import annotations

import copy
import html
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from localdp.errors import InvalidParameter, LocalDpError
from parties.report.experiment import write_experiment_report
from parties.report.experiment.drawing import panel_svg, tick
from parties.report.experiment.files import MOST_FILES, stories_in
from parties.report.experiment.page import report_page
from parties.report.experiment.points import MOST_PANELS, pools_of
from parties.report.experiment.story import LARGEST, Panel, Point, Story
from parties.report.experiment.telling import outward
from tests.support.reports import SECRET, TEXT, WITHOUT_FAULTS, attack, run_of, separation, written
from tests.unit.report.test_report import comparison_of, read

Results = dict[str, Any]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return run_of(tmp_path_factory.mktemp("run"))[1]


@pytest.fixture(scope="module")
def page(results: Results, tmp_path_factory: pytest.TempPathFactory) -> str:
    return page_of(tmp_path_factory.mktemp("page"), results)


def page_of(directory: Path, data: Any, name: str = "results.json") -> str:
    return write_experiment_report(written(directory, name, data)).read_text()


def story_of(directory: Path, data: Any, name: str = "results.json") -> Story:
    return stories_in(written(directory, name, data))[0]


def embedded(text: str) -> Any:
    return json.loads(read(text).embedded)


# The numbers.


def test_the_numbers_on_the_page_are_those_of_the_cells(page: str, results: Results) -> None:
    reader = read(page)
    shown = set(reader.values)
    assert len(results["cells"]) == 18
    for cell in results["cells"]:
        assert {cell["people"], cell["trials"], cell["epsilon"], cell["predicted_standard_error"]} <= shown
        if cell["measures"]:
            assert cell["measures"]["error"]["root_mean_square"] in shown
    assert 'data-standard-error="0' in page


def test_a_wrong_number_on_the_page_would_be_seen(page: str, results: Results) -> None:
    right = results["cells"][0]["measures"]["error"]["root_mean_square"]
    wrong = page.replace(f'value="{right!r}"', 'value="0.123"')
    assert right in read(page).values and right not in read(wrong).values


def test_the_page_embeds_provenance_and_cells_and_leaves_trials_in_their_file(
    page: str, results: Results
) -> None:
    kept = {key: results[key] for key in ("format", "provenance", "cells")}
    assert embedded(page) == {"results.json": kept}


def test_a_point_is_a_root_mean_square_with_its_standard_error(results: Results, tmp_path: Path) -> None:
    story = story_of(tmp_path, results)
    point = story.groups[0].panels[0].points[0]
    columns = results["trials"]
    place = ("curator", 0.5, 100)
    errors = np.array(
        [
            error
            for error, *where in zip(
                columns["error"], columns["model"], columns["epsilon"], columns["people"], strict=True
            )
            if tuple(where) == place
        ]
    )
    root = np.sqrt(np.mean(errors**2))
    assert point.value == pytest.approx(root, rel=1e-12)
    assert point.error == pytest.approx(
        np.std(errors**2, ddof=1) / (2 * root * np.sqrt(errors.size)), rel=1e-9
    )


def test_trials_of_several_seeds_are_one_point(results: Results, tmp_path: Path) -> None:
    twice = doubled(results)
    story, single = story_of(tmp_path / "2", twice), story_of(tmp_path / "1", results)
    one, two = single.groups[0].panels[0].points[0], story.groups[0].panels[0].points[0]
    assert len(pools_of(twice)) == len(pools_of(results)) == 18
    assert two.value == pytest.approx(one.value) and two.trials == 2 * one.trials
    assert two.error is not None and one.error is not None and two.error < one.error


def doubled(results: Results) -> Results:
    """The same trials under a second seed."""
    twice = copy.deepcopy(results)
    twice["cells"] += [{**cell, "seed": 2} for cell in results["cells"]]
    for name, column in results["trials"].items():
        twice["trials"][name] = [*column, *([2] * len(column) if name == "seed" else column)]
    return twice


def test_every_axis_that_was_varied_has_its_plots(results: Results, tmp_path: Path) -> None:
    story = story_of(tmp_path, results)
    assert [group.title for group in story.groups] == ["Error against epsilon", "Error against people"]
    assert [panel.title for panel in story.groups[0].panels] == ["people = 100", "people = 200"]
    assert [panel.title for panel in story.groups[1].panels] == [
        "epsilon = 0.5",
        "epsilon = 1",
        "epsilon = 4",
    ]
    assert {point.series for point in story.groups[0].panels[0].points} == {"curator", "local", "shared"}


def test_of_many_combinations_few_are_drawn_and_all_are_in_the_table(
    results: Results, tmp_path: Path
) -> None:
    many = copy.deepcopy(results)
    cell = next(cell for cell in results["cells"] if cell["model"] == "local")
    places = [(epsilon, people) for epsilon in range(1, 8) for people in (10, 20)]
    many["cells"] = [{**cell, "epsilon": epsilon, "people": people} for epsilon, people in places]
    many["trials"] = {name: [] for name in results["trials"]}
    story = story_of(tmp_path, many)
    titles = [panel.title for panel in story.groups[1].panels]
    assert len(titles) == MOST_PANELS and titles[0] == "epsilon = 1" and titles[-1] == "epsilon = 7"
    assert "4 of 7 combinations" in story.groups[1].note
    assert story.cells is not None and len(story.cells.rows) == 14


def test_where_nothing_was_varied_the_models_stand_side_by_side(tmp_path: Path) -> None:
    text = WITHOUT_FAULTS.replace("[0.5, 1, 4]", "1").replace("[100, 200]", "100")
    directory, data = run_of(tmp_path, text)
    text = write_experiment_report(directory).read_text()
    assert "Trust models side by side" in text
    assert {cell["measures"]["error"]["root_mean_square"] for cell in data["cells"]} <= set(
        read(text).values
    )


def test_scores_are_means_beside_what_the_truth_would_have_taught(results: Results, tmp_path: Path) -> None:
    scored = copy.deepcopy(results)
    columns = scored["trials"]
    columns["score"] = [None if error is None else -1 - abs(error) for error in columns.pop("error")]
    columns["score_of_truth"] = [None if score is None else -1.0 for score in columns["score"]]
    point = story_of(tmp_path, scored).groups[0].panels[0].points[0]
    assert point.predicted == -1.0
    assert point.value == pytest.approx(np.mean(columns["score"][:6]))


# The words.


def test_every_trust_model_says_what_it_promises(results: Results, tmp_path: Path) -> None:
    promises = {promise.model: promise for promise in story_of(tmp_path, results).promises}
    assert set(promises) == {"curator", "local", "shared"}
    for promise in promises.values():
        assert promise.words.startswith("Whatever ")
        assert "exp(1)" in promise.words  # the largest that was answered
        assert promise.facts["epsilon"].startswith("0.5, 1 (nats, per person")
        assert promise.facts["delta"] == "0"
        assert promise.facts["neighbours"] == "replace one person's record"
        assert ("computational" in promise.facts["kind"]) == (promise.model == "shared")
    assert "curator" in promises["curator"].facts["must be honest"]
    assert "Nobody else" in promises["local"].facts["must be honest"]
    assert "share servers" in promises["shared"].facts["must be honest"]


def test_a_shuffler_has_a_delta_and_a_model_that_was_refused_throughout_promises_nothing(
    tmp_path: Path,
) -> None:
    text = (
        WITHOUT_FAULTS.replace('"local"', '"shuffled"')
        .replace("budget = 3\n", "")
        .replace("[0.5, 1, 4]", "1")
    )
    directory, data = run_of(tmp_path, text)
    shuffled = {p.model: p for p in stories_in(directory)[0].promises}["shuffled"]
    assert shuffled.facts["delta"] == "1e-06"
    assert "shuffler" in shuffled.facts["must be honest"]
    assert shuffled.facts["kind"].endswith("but for a probability of delta")
    for cell in data["cells"]:
        cell |= {"privacy": None, "claim": None}
    refused = story_of(tmp_path / "refused", data).promises
    assert all("Every trial was refused" in promise.words and not promise.facts for promise in refused)


def test_a_loss_is_rounded_up_and_never_down() -> None:
    told = {
        0.999999999: "1",
        1.0000001: "1.00001",
        0.5: "0.5",
        0.0: "0",
        1e-6: "1e-06",
        16.0: "16",
        1234567.0: "1234570",
    }
    assert {loss: outward(loss) for loss in told} == told
    assert all(float(outward(loss)) >= loss for loss in told)


def test_refusals_are_told_by_reason_and_missing_parties_by_number(
    results: Results, tmp_path: Path
) -> None:
    table = story_of(tmp_path, results).refusals
    assert table is not None
    rows = {(row[0], row[1]): row for row in table.rows}
    assert rows["budget exhausted", "curator"][3] == 12
    assert rows["unreachable", "local"][2:4] == ("1 of 4", 24)
    assert rows["late", "shared"][2:4] == ("1 of 4", 24)
    assert ("late", "curator") not in rows  # who has everybody's records beforehand
    refused = sum(row[3] for row in table.rows if row[2] == "the whole trial")
    cells = story_of(tmp_path, results).cells
    assert cells is not None and sum(row[cells.columns.index("refused")] for row in cells.rows) == refused
    assert refused == sum(results["provenance"]["refusals"].values()) == 36


def test_costs_are_those_of_trials_that_were_answered(results: Results, tmp_path: Path) -> None:
    costs = story_of(tmp_path, results).costs
    assert costs is not None
    rows = {row[0]: dict(zip(costs.columns[1:], row[1:], strict=True)) for row in costs.rows}
    assert rows["shared"] == {
        "rounds": "1",
        "queries": "1",
        "epsilon per person": "0.5 to 1",
        "bytes moved": "800 to 1,600",
        "bytes per person": "8",
    }


def test_the_origin_is_told_with_the_configuration(page: str, results: Results) -> None:
    assert html.escape(results["provenance"]["configuration"]) in page
    for words in (
        "numpy",
        "insecure: 1",
        results["provenance"]["configuration_sha256"],
        "x86_64",
        "processors",
    ):
        assert words.replace("x86_64", results["provenance"]["machine"]["architecture"]) in page


def test_insecure_seeds_are_warned_of_and_secret_coins_are_not(page: str, tmp_path: Path) -> None:
    assert 'class="warning"' in page and "had the coins been secret" in page
    directory, _ = run_of(tmp_path, SECRET.replace("trials = 6", "trials = 2"))
    secret = write_experiment_report(directory).read_text()
    assert 'class="warning"' not in secret and "A promise is about one trial" in secret


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
    points = {(point.series, point.at): point for point in story.groups[0].panels[0].points}
    assert [promise.model for promise in story.promises] == ["local", "curator"]
    smooth = 11 / 12
    assert points["local", 6].error == pytest.approx((smooth * (1 - smooth) / 12) ** 0.5)
    assert {point["value"] for point in separation()["points"]} <= set(
        read(page_of(tmp_path, separation(), "parity.json")).values
    )


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


# What a file may hold.

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
    monkeypatch.setattr("parties.report.experiment.page.panel_svg", lambda *_: '<svg viewBox="0"></svg>')
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
    monkeypatch.setattr("parties.report.experiment.files.MOST_BYTES", 10)
    with pytest.raises(InvalidParameter, match="larger"):
        stories_in(written(tmp_path / "large", "a.json", separation()))


def test_results_of_another_format_are_refused(results: Results, tmp_path: Path) -> None:
    with pytest.raises(InvalidParameter, match="another version"):
        story_of(tmp_path, {**results, "format": 2})


# The plots.


def panel_of(*values: float | None, parameter: str = "people", measure: str = "error") -> Panel:
    points = [
        Point("local", at, value, 3, None, value) for at, value in zip((1, 10, 100), values, strict=False)
    ]
    return Panel("", parameter, measure, tuple(points))


@pytest.mark.parametrize("parameter", ["people", ""])
@pytest.mark.parametrize(
    "values",
    [
        (),
        (None, None),
        (0.0,),
        (0.0, 0.0),
        (1.0,),
        (1e-300, LARGEST),
        (-1.0, 2.0),
        (5e-324, 1.0),
        (0.0, 1.0, 100.0),
    ],
)
def test_sparse_and_extreme_numbers_are_drawn_without_complaint(
    values: tuple[float | None, ...], parameter: str
) -> None:
    assert "<svg" in panel_svg(panel_of(*values, parameter=parameter), "salt")


def test_axes_are_logarithmic_where_errors_span_much_and_never_for_scores() -> None:
    wide, narrow = panel_svg(panel_of(0.001, 1.0), "s"), panel_svg(panel_of(0.5, 1.0), "s")
    score = panel_svg(panel_of(0.001, 1.0, measure="score"), "s")
    assert ">0.01<" in wide and ">0.01<" not in narrow and ">0.01<" not in score
    assert [tick(value) for value in (0, 0.25, 1e-4, 2e-5, 1000, 30_000, 1e6, 0.001)] == [
        *("0", "0.25", "1e-4", "2e-5", "1k", "30k", "1M", "0.001")
    ]


def test_predictions_are_dashed_and_points_have_bars() -> None:
    points = tuple(Point("local", at, 1.0 + at, 3, 0.5, 2.0 + at) for at in (1, 2, 3))
    with_both = panel_svg(Panel("", "people", "error", points), "s")
    bare = tuple(Point("local", at, 1.0 + at, 3) for at in (1, 2, 3))
    without = panel_svg(Panel("", "people", "error", bare), "s")
    assert with_both.count("stroke-dasharray") == 2  # the line, and its like in the legend
    assert ">predicted<" in with_both and "LineCollection" in with_both
    refused = tuple(Point("local", at, None, 0, None, 1.0 + at) for at in (1, 2, 3))
    assert ">local<" in panel_svg(Panel("", "people", "error", refused), "s")
    assert "stroke-dasharray" not in without and ">predicted<" not in without


def test_a_number_beyond_all_measure_is_no_point() -> None:
    for number in (float("inf"), float("nan"), 2 * LARGEST):
        with pytest.raises(InvalidParameter):
            Point("local", 1, number, 1)
    with pytest.raises(InvalidParameter):
        Point("local", 1, 1.0, 1, error=-1.0)


# The surroundings.


def test_without_matplotlib_the_remedy_is_named_and_nothing_is_written(
    results: Results, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(LocalDpError, match=r"localdp\[plots\]"):
        page_of(tmp_path, results)
    assert [path.name for path in tmp_path.iterdir()] == ["results.json"]


def test_reading_results_does_not_import_matplotlib() -> None:
    code = (
        "import sys, parties.report.experiment, parties.command.main; sys.exit('matplotlib' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_sweep_is_what_was_run_whatever_the_configuration_says(
    results: Results, tmp_path: Path
) -> None:
    assert "[100, 200]" in TEXT
    data = copy.deepcopy(results)
    data["provenance"]["configuration"] = "no TOML ="
    story = story_of(tmp_path, data)
    assert story.asked["people"] == "100, 200"
    assert story.title == "Experiment experiment.toml"
    assert report_page([story], "name").startswith("<!doctype html>")
