"""The report of experiments: the numbers of the files, in the words that they deserve."""

from __future__ import annotations

import copy
import html
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from localdp.errors import LocalDpError
from parties.report import write_experiment_report
from parties.report.files import stories_in
from parties.report.in_words import outward
from parties.report.page import report_page
from parties.report.points import MOST_PANELS, pools_of
from tests.support.reports import (
    SECRET,
    TEXT,
    WITHOUT_FAULTS,
    Results,
    page_of,
    run_of,
    story_of,
)
from tests.unit.parties.report.test_report import read


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
    places = [(epsilon, people) for epsilon in range(1, 14) for people in (10, 20)]
    many["cells"] = [{**cell, "epsilon": epsilon, "people": people} for epsilon, people in places]
    many["trials"] = {name: [] for name in results["trials"]}
    story = story_of(tmp_path, many)
    titles = [panel.title for panel in story.groups[1].panels]
    assert len(titles) == MOST_PANELS and titles[0] == "epsilon = 1" and titles[-1] == "epsilon = 13"
    assert "4 of 13 combinations of epsilon" in story.groups[1].note
    assert story.cells is not None and len(story.cells.rows) == 26


def test_a_combination_that_is_not_drawn_is_named(results: Results, tmp_path: Path) -> None:
    few = copy.deepcopy(results)
    cell = next(cell for cell in results["cells"] if cell["model"] == "local")
    places = [(epsilon, people) for epsilon in (1, 2) for people in (1000, 3000, 10_000, 30_000, 100_000)]
    few["cells"] = [{**cell, "epsilon": epsilon, "people": people} for epsilon, people in places]
    few["trials"] = {name: [] for name in results["trials"]}
    notes = {group.title: group.note for group in story_of(tmp_path, few).groups}
    assert (
        notes["Error against epsilon"] == "Without a plot: people = 10,000. The table of all cells has it."
    )
    assert notes["Error against people"] == ""


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
    assert shuffled.facts["kind"].endswith("except with a probability of delta")
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
    assert rows["budget exhausted", "curator"][2] == "the whole trial"
    refused_locally = next(
        row for (why, model), row in rows.items() if model == "local" and "ed" in why[-3:]
    )
    assert refused_locally[2] == "2 of 4"  # of the others one is away, and one refuses too late
    refused = sum(row[3] for row in table.rows if row[0] in ("budget exhausted", "policy refused"))
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
        "epsilon promised": "0.5 to 1",
        "epsilon charged": "0.5 to 1",
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


# The surroundings.


def test_without_matplotlib_the_remedy_is_named_and_nothing_is_written(
    results: Results, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(LocalDpError, match=r"localdp\[plots\]"):
        page_of(tmp_path, results)
    assert [path.name for path in tmp_path.iterdir()] == ["results.json"]


def test_reading_results_does_not_import_matplotlib() -> None:
    code = "import sys, parties.report, parties.command.main; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_sweep_is_what_was_run_whatever_the_configuration_says(
    results: Results, tmp_path: Path
) -> None:
    assert "[100, 200]" in TEXT
    data = copy.deepcopy(results)
    data["provenance"]["configuration"] = "no TOML ="
    story = story_of(tmp_path, data)
    assert story.asked["people"] == "100, 200"
    assert story.title == "One statistical query: smoker and age >= 65"
    assert report_page([story], "name").startswith("<!doctype html>")
