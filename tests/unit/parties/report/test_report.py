"""Table, plot, page and files of a comparison: the same numbers everywhere, and nothing from outside."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
from fractions import Fraction
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest
from rich.console import Console

from localdp.accounting.claim import PrivacyClaim, Strength
from localdp.accounting.epsilon import Epsilon
from localdp.errors import LocalDpError
from localdp.experiments.comparison import Comparison
from localdp.experiments.panels import Point
from localdp.oracles.bounds import (
    curator_error,
    each_server_error,
    local_lower_bound,
    randomized_response_error,
    shuffled_local_epsilon,
)
from localdp.oracles.definition import normal_width
from parties.durable import write_atomically
from parties.report.comparison import print_comparison
from parties.report.drawing import panels_svg
from parties.report.page import report_page
from parties.report.stories import panel_of_comparison, story_of_comparison
from parties.report.wording import alike, number, slope, with_error_bar
from parties.report.writing import write_comparison
from tests.support.reports import row

PEOPLE = (10**2, 10**3, 10**4, 10**5, 10**6)


def comparison_of(people: tuple[int, ...] = PEOPLE, plan: str = "each-server") -> Comparison:
    """Measured values a little off the predicted ones, each row by its own factor."""
    rows: list[Point] = []
    for i, n in enumerate(people):
        central = curator_error(1.0)
        shared = each_server_error(1.0, 2) if plan == "each-server" else central
        local, bound = randomized_response_error(1.0, n), local_lower_bound(1.0, n)
        single = float(shuffled_local_epsilon(Epsilon.requested(1), Fraction(1, 10**6), n))
        shuffled = randomized_response_error(single, n)
        rows += [
            row("exact", n, 50, 0.0, 0.0, 0.0, None),
            row("curator", n, 200 + i, central * (1 + i / 100), central / 30, central, central),
            row("local", n, 300 + i, local * (1.01 + i / 100), local / 30, local, bound),
            row("shuffled", n, 350 + i, shuffled * (0.97 + i / 100), shuffled / 30, shuffled, None),
            row("shared", n, 400 + i, shared * (0.98 + i / 100), shared / 30, shared, central),
        ]
    return Comparison(1.0, plan, 2, "in-process", tuple(rows), 2.5, CLAIMS)


CLAIMS = [
    claim.to_data()
    for claim in (
        PrivacyClaim("exact", None, Strength.NONE, "anybody", "Whoever asks learns the truth."),
        PrivacyClaim.of_curator(Epsilon.requested(1)),
        PrivacyClaim.of_local(Epsilon.requested(1)),
        PrivacyClaim(
            "shuffled", Epsilon.requested(1), Strength.PURE, "others", "The shuffler.", Fraction(1, 10**6)
        ),
        PrivacyClaim("shared", Epsilon.requested(1), Strength.COMPUTATIONAL, "others", "One server."),
    )
]


def render_page(comparison: Comparison) -> str:
    """As compare.html has it."""
    return report_page([story_of_comparison("compare.json", comparison.to_data())], "")


def render_svg(comparison: Comparison) -> str:
    """As compare.svg has it, but for the title of its panel."""
    return panels_svg(
        [panel_of_comparison(comparison.to_data())], "Error of one private count, epsilon = 1"
    )


def printed(comparison: Comparison, width: int, encoding: str = "utf-8") -> str:
    stream = io.BytesIO()
    file = io.TextIOWrapper(stream, encoding=encoding)
    print_comparison(comparison, Console(file=file, width=width))
    file.flush()
    return stream.getvalue().decode(encoding)


@pytest.fixture(scope="module")
def page() -> str:
    return render_page(comparison_of())


class Reader(HTMLParser):
    """Collects the values of <data>, every attribute, the embedded JSON and unclosed elements."""

    VOID = ("meta", "br", "link", "img")

    def __init__(self) -> None:
        super().__init__()
        self.values: list[float] = []
        self.standard_errors: list[float] = []
        self.attributes: list[tuple[str, str]] = []
        self.tags: list[str] = []
        self.open: list[str] = []
        self.embedded = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        named = dict(attrs)
        if tag == "data":
            self.values.append(float(named["value"] or "nan"))
        if "data-standard-error" in named:
            self.standard_errors.append(float(named["data-standard-error"] or "nan"))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes += [(name, value or "") for name, value in attrs]

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script":
            self.embedded += data


def read(text: str) -> Reader:
    reader = Reader()
    reader.feed(text)
    reader.close()
    assert reader.open == []
    return reader


def test_numbers_are_written_plainly() -> None:
    assert [number(value) for value in (0.850918, 76.558, 7655.8, 0.0, 1.0, 123456.7, None)] == [
        "0.8509",
        "76.56",
        "7,656",
        "0",
        "1.000",
        "123,457",
        "-",
    ]
    assert with_error_bar(765.58, 9.13) == "765.6 ± 9.1"
    assert with_error_bar(0.85092, 0.00213) == "0.8509 ± 0.0021"
    assert with_error_bar(7655.8, 91.3) == "7,656 ± 91"
    assert with_error_bar(0.0, 0.0) == "0 ± 0"
    assert with_error_bar(2.236e-6, 1.6e-7) == "(2.24 ± 0.16)e-06"
    assert [slope(value) for value in (0.4999, -0.0001, -0.02, None)] == ["+0.50", "+0.00", "-0.02", "-"]


def test_the_numbers_of_one_sentence_have_one_notation() -> None:
    assert alike([0.85, 7655.8, 0.0]) == ["0.8500", "7,656", "0"]
    assert alike([2.236e-6, 4.529e-4, 0.85, 0.0]) == ["2.236e-06", "4.529e-04", "8.500e-01", "0"]


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_the_table_fits_its_terminal_and_cuts_no_number(width: int, encoding: str) -> None:
    comparison = comparison_of()
    text = printed(comparison, width, encoding)
    assert max(len(line) for line in text.splitlines()) <= width
    assert "…" not in text
    assert "\x1b" not in text
    plus_minus = "±" if encoding == "utf-8" else "+-"
    for point in comparison.points:
        assert point.value is not None and point.error is not None
        assert with_error_bar(point.value, normal_width(0.95) * point.error, plus_minus) in text
        assert number(point.predicted) in text
        assert number(point.bound) in text
    assert text.count("1,000,000") == 5
    assert f"fitted slope {slope(comparison.slopes['local'])}" in text
    assert ("trials" in text) == (width == 120)


def test_the_table_says_so_where_one_n_gives_no_slope() -> None:
    assert printed(comparison_of((1000,)), 80).count("no slope") == 4


def test_the_plot_is_the_same_bytes_for_the_same_data() -> None:
    assert render_svg(comparison_of()) == render_svg(comparison_of())


def test_the_plot_is_an_svg_whose_legend_names_every_series_and_slope() -> None:
    comparison = comparison_of()
    svg = render_svg(comparison)
    ElementTree.fromstring(svg)  # noqa: S314  (our own document)
    names = {
        "local": "local",
        "shuffled": "shuffled",
        "curator": "trusted curator",
        "shared": "shared curator",
    }
    for model, name in names.items():
        assert f"{name}: measured, slope {slope(comparison.slopes[model])}" in svg
    for label in ("predicted", "lower bound", "error of 0", "people n", "epsilon = 1"):
        assert label in svg
    assert "dc:date" not in svg


@pytest.mark.parametrize("plan", ["each-server", "divided"])
def test_sparse_data_and_errors_of_zero_are_drawn_without_complaint(plan: str) -> None:
    rows = (row("curator", 100, 5, 0.0, 0.0, 0.9, None), row("local", 100, 5, 1.0, 2.0, 7.0, 3.0))
    render_page(Comparison(1.0, plan, 2, "grpc", rows))
    render_page(comparison_of((1000,), plan))
    render_svg(Comparison(1.0, plan, 2, "grpc", ()))


def test_the_page_loads_nothing_from_outside(page: str) -> None:
    reader = read(page)
    assert "://" not in page
    assert not {"link", "img", "iframe", "object", "embed"} & set(reader.tags)
    assert all(
        value.startswith("#") for name, value in reader.attributes if "href" in name or name == "src"
    )
    assert not re.search(r"@import|url\((?!#)", page)
    assert page.count("<script") == 1


def test_the_numbers_of_the_page_are_those_of_the_json(page: str) -> None:
    comparison = comparison_of()
    reader = read(page)
    data = json.loads(reader.embedded)["compare.json"]
    assert data == comparison.to_data()
    shown = set(reader.values)
    for one in data["rows"]:
        assert {one["people"], one["trials"], one["mean_abs_error"], one["predicted"]} <= shown
        assert one["lower_bound"] is None or one["lower_bound"] in shown
        assert one["standard_error"] in reader.standard_errors
        assert (
            f">{with_error_bar(one['mean_abs_error'], normal_width(0.95) * one['standard_error'])}</data>"
            in page
        )
    assert all(f"{model} {slope(fitted)}" in page for model, fitted in data["slopes"].items())


def test_the_page_states_the_promise_of_every_model(page: str) -> None:
    assert page.count("<article>") == 5
    assert "<dt>delta</dt><dd>1e-06</dd>" in page
    assert "Mixed by a shuffler" in page
    for words in ("replace one person", "Definition 9.4", "Section 9.3", "must be honest", "for one count"):
        assert words in page
    assert "prefers-color-scheme: dark" in page
    assert 'name="viewport"' in page


def test_every_id_of_the_page_is_used_once_and_every_reference_resolves(page: str) -> None:
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'(?:url\(|href=")#([^")]+)', page)) <= set(ids)


def test_text_from_outside_cannot_become_markup() -> None:
    hostile = Comparison(1.0, "divided", 2, "</script><b>x", comparison_of().points)
    reader = read(render_page(hostile))
    assert "b" not in reader.tags
    assert json.loads(reader.embedded)["compare.json"]["transport"] == "</script><b>x"


def test_three_files_are_written_whole_and_nothing_else(tmp_path: Path) -> None:
    comparison = comparison_of()
    paths = write_comparison(comparison, tmp_path / "new" / "out")
    assert sorted(path.name for path in paths) == ["compare.html", "compare.json", "compare.svg"]
    assert sorted((tmp_path / "new" / "out").iterdir()) == sorted(paths)
    numbers, drawing, page = (path.read_text() for path in paths)
    assert json.loads(numbers) == comparison.to_data()
    assert "Error of one private count, epsilon = 1" in drawing
    assert page == render_page(comparison)


def test_a_failed_write_leaves_the_old_file_and_no_part(tmp_path: Path) -> None:
    path = tmp_path / "kept.txt"
    path.write_text("old")
    with pytest.raises(UnicodeEncodeError):
        write_atomically(path, "\ud800")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_without_matplotlib_the_numbers_are_kept_and_the_remedy_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(LocalDpError, match=r"localdp\[plots\]"):
        write_comparison(comparison_of(), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["compare.json"]


def test_importing_the_report_does_not_import_matplotlib() -> None:
    code = "import sys, parties.report; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
