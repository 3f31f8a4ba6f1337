"""Five tasks that a reader brings, solved by what the documents show: docs/tasks.md is run as it stands.

The page is also the first that a search for each task finds, by the words of its headings.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.documents import run
from tests.support.processes import ROOT, stage

PAGE = ROOT / "docs/tasks.md"


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a reader who has copied everything on the page."""
    directory = tmp_path_factory.mktemp("reader")
    with stage(directory) as made:
        finished = run(PAGE, made, 240.0)
        assert finished.returncode == 0, finished.stdout[-2000:] + finished.stderr[-2000:]
        assert not made.process_ids()
    return directory


def told(done: Path, name: str) -> str:
    return (done / name).read_text()


def numbers(text: str) -> list[float]:
    return [float(one.replace(",", "")) for one in re.findall(r"\d[\d,]*(?:\.\d+)?", text)]


def test_a_count_under_shares_from_a_csv_file(done: Path) -> None:
    """Of the 12,000 made-up patients 1,134 do; noise is off by more than 40 but for a chance of 1e-7."""
    rows = [line.split(",") for line in told(done, "north.csv").splitlines()[1:]]
    truth = sum(row[1] == "True" and int(row[2]) >= 65 for row in rows)
    count, half_width, level, people = numbers(told(done, "count.txt"))
    assert abs(count - truth) < 40
    assert (half_width, level, people) == (8, 95, 12_000)


def test_a_mean_with_an_interval(done: Path) -> None:
    rows = [line.split(",") for line in told(done, "north.csv").splitlines()[1:]]
    truth = sum(int(row[4]) for row in rows) / len(rows)
    first, second = told(done, "mean.txt").splitlines()
    mean, half_width, level, people = numbers(first)
    low, high, _ = numbers(second)
    assert abs(mean - truth) < 5 * half_width < 0.5
    assert (level, people) == (95, 12_000)
    assert low < mean < high


def test_a_histogram_to_a_frame_and_a_plot(done: Path) -> None:
    header, *rows = told(done, "histogram.txt").splitlines()
    assert header.split() == ["ward", "count", "low", "high", "share"]
    assert [row.split()[1] for row in rows] == ["surgery", "cardiology", "neurology"]
    assert "<svg" in told(done, "wards.svg") and "cardiology" in told(done, "wards.svg")


def test_a_logistic_regression_over_two_running_agents(done: Path) -> None:
    """At epsilon 4 and 20,000 people each coefficient is many standard errors from 0."""
    predicted, coefficients = told(done, "regression.txt").splitlines()
    assert predicted.split() == ["[", "True", "False]"]
    assert all(one > 0 for one in numbers(coefficients)) and "-" not in coefficients


def test_what_is_left_of_the_budget(done: Path) -> None:
    assert "20,000 people have at least epsilon 3 left" in told(done, "left.txt")
    assert re.search(r"left at least +│ 6 ", told(done, "owner.txt"))


SEARCHED = {  # what a reader types, and where it leads
    "count shares csv": "count-people-under-shares-from-a-csv-file",
    "mean interval": "get-a-mean-with-its-interval",
    "histogram frame plot": "get-a-histogram-as-a-data-frame-and-as-a-plot",
    "logistic regression running agents": "fit-a-logistic-regression-over-two-running-agents",
    "left budget": "see-what-is-left-of-the-budget",
}


def headings() -> list[tuple[str, str]]:
    """Every heading of the documents, with its page: the search weighs words in headings a thousand times."""
    pages = sorted((ROOT / "docs").glob("*.md"))
    found = [
        (page, re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE))
        for page in pages
    ]
    return [
        (f"{page.name}#{re.sub(r'[^a-z0-9]+', '-', line.lower()).strip('-')}", line)
        for page, text in found
        for line in re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    ]


@pytest.mark.parametrize("typed", SEARCHED)
def test_the_first_hit_of_each_task_is_its_section(typed: str) -> None:
    def hits(heading: tuple[str, str]) -> int:
        return sum(word in heading[1].lower() for word in typed.split())

    best = max(headings(), key=hits)
    assert best[0] == f"tasks.md#{SEARCHED[typed]}"
    assert sum(hits(one) == hits(best) for one in headings()) == 1
