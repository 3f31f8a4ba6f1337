"""Words are broken between words and numbers are never cut, however narrow a terminal is; elsewhere lines are whole."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from rich.console import Console
from rich.table import Table
from rich.text import Text

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.ledger import Charge
from localdp.cohorts import Cohort
from localdp.experiments.comparison import Comparison
from localdp.selection import choose
from parties.agent.entries import LedgerEntry
from parties.agent.purposes import question_of
from parties.command.choose import print_choice
from parties.command.doctor import print_findings
from parties.command.history import print_history
from parties.command.output import plain_path, print_prose
from parties.command.run import _SPARE, _result_table
from parties.doctor.finding import note, ok
from parties.experiments.results import Results
from parties.report.comparison import print_comparison
from parties.report.fitting import print_fitting
from tests.support.reports import row

WIDTHS = (40, 60, 80, 120)


class Screen(io.StringIO):
    """What a terminal is given."""

    def isatty(self) -> bool:
        """It is one."""
        return True


def screen(width: int) -> Console:
    """A terminal without colours."""
    return Console(file=Screen(), width=width, color_system=None, legacy_windows=False)


def told(console: Console) -> str:
    """What was printed."""
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


WORDS = (
    "a message of several words about /a/path/that/is/longer/than/most/terminals/are/wide/by/far and more"
)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("indent", [0, 4, 28])
def test_prose_is_broken_between_words_and_every_word_stays_whole(width: int, indent: int) -> None:
    console = screen(width)
    print_prose(console, WORDS, indent)
    lines = told(console).splitlines()
    assert " ".join(line.strip() for line in lines) == WORDS
    assert all(len(line) <= width or len(line.split()) == 1 for line in lines)
    assert all(line.startswith(" " * min(indent, width // 2)) for line in lines[1:])


def test_prose_that_does_not_go_to_a_terminal_is_one_line() -> None:
    console = Console(file=io.StringIO(), width=20)
    print_prose(console, WORDS, 4)
    assert told(console) == WORDS + "\n"


def test_prose_keeps_its_styles_and_is_no_markup() -> None:
    console = Console(file=Screen(), width=12, color_system="standard", no_color=False, _environ={})
    print_prose(console, Text.assemble(("error", "bold"), " [red]some[/red] words ", ("dim", "italic")))
    assert re.sub(r"\x1b\[[0-9;]*m", "", told(console)) == "error\n[red]some[/red]\nwords dim\n"
    assert "\x1b[1merror\x1b[0m" in told(console) and "\x1b[3mdim\x1b[0m" in told(console)


def numbers(text: str) -> set[str]:
    """The numbers of a table, as they stand there."""
    return set(re.findall(r"(?<![\w.])\d[\d,.]*(?![\w…])", text))


def comparison() -> Comparison:
    """Numbers of many digits."""
    rows = [
        row(model, people, 2000, 765.6, 9.1, 757.1, 3538.0 if model == "local" else None)
        for model in ("local", "shuffled", "shared", "curator")
        for people in (100, 100_000_000)
    ]
    return Comparison(1.0, "each-server", 2, "in-process", tuple(rows), 2.5)


@pytest.mark.parametrize("width", WIDTHS)
def test_a_comparison_loses_columns_and_no_digit(width: int) -> None:
    console = screen(width)
    print_comparison(comparison(), console)
    assert "…" not in told(console)
    assert told(console).count("766 ± 18") == 8 and told(console).count("100,000,000") == 4
    assert ("Not shown in" in told(console)) == (width < 70)


@pytest.mark.parametrize("width", WIDTHS)
def test_a_choice_loses_columns_and_no_digit(width: int) -> None:
    choice, console, wide = choose(1024, Epsilon.requested("1"), 10**6), screen(width), screen(200)
    print_choice(choice, console)
    print_choice(choice, wide)
    assert "…" not in told(console)
    table = told(console)[told(console).index("oracle") : told(console).index("bits:")]
    assert "projective-geometry" in table and numbers(table) <= numbers(told(wide))


def test_columns_go_in_the_order_that_was_asked_for_and_a_table_that_is_still_too_wide_is_not_cut() -> None:
    for width, kept in ((60, "name first second"), (25, "name second"), (12, "name")):
        table = Table("name", "first", "second", box=None)
        table.add_row("a-long-name", "1" * 12, "2" * 10)
        console = screen(width)
        print_fitting(console, table, ["first", "second", "no such column"])
        heading, row = told(console).splitlines()[:2]
        assert heading.split() == kept.split()
        assert len(row.split()) == len(kept.split()) and "…" not in row


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("dimension", [None, 16])
def test_the_table_of_a_run_loses_columns_and_no_digit_and_has_a_dimension_if_there_is_one(
    width: int, dimension: int | None
) -> None:
    where = {"model": "shuffled", "epsilon": 0.25, "people": 100_000_000, "dimension": dimension}
    refused = {"budget_exhausted": {"trials": 12_345}}
    measures = {"error": {"root_mean_square": 0.000123}}
    found = {"refused": refused, "measures": measures, "predicted_standard_error": 0.000456}
    console = screen(width)
    print_fitting(console, _result_table(Results({}, [{**where, **found, "trials": 100_000}], [])), _SPARE)
    assert "…" not in told(console)
    assert "100,000,000" in told(console) and "0.000123" in told(console)
    assert ("dim." in told(console)) == (dimension is not None)


def entry(purpose: str) -> LedgerEntry:
    """A use of epsilon, at noon."""
    charge = Charge(bytes(16), bytes(32), Cohort(0, 1000), Epsilon.requested("0.5"), purpose, "analyst")
    return LedgerEntry(1, 1_800_000_000, charge, bytes(32))


QUESTION = "smoker and age >= 65 and ward in {A, B} of the north"
HOW = "unary(epsilon=0.5,inputs=1024,something-else=1000000)"


@pytest.mark.parametrize("width", WIDTHS)
def test_a_history_has_the_question_before_the_randomizer_and_says_the_zone_once(width: int) -> None:
    console = screen(width)
    print_history([entry(f"{HOW} of {QUESTION}")] * 2, console)
    lines = told(console)
    assert lines.count("UTC") == 1 and lines.splitlines()[0].startswith("when (UTC)")
    assert lines.count("2027-01-15 08:00:00") == 2 and "…" not in lines
    whole = " ".join(lines.split())
    assert f"{QUESTION} by {HOW}" in whole


def test_a_purpose_of_another_form_is_shown_as_it_is() -> None:
    assert question_of("divided collection of smoker") == ("smoker", "by divided collection")
    assert question_of("marginals") == ("marginals", "")


@pytest.mark.parametrize("width", WIDTHS)
def test_findings_are_broken_between_words_with_what_to_do_on_its_own_line(width: int) -> None:
    console, fix = screen(width), "pip install 'localdp[docs]'"
    findings = [
        ok("python", "3.11.7"),
        note("extra docs", "mkdocs is not installed: no pages are made", fix),
    ]
    print_findings(findings, console)
    lines = told(console).splitlines()
    assert max(map(len, lines)) <= width
    assert lines[0] == "ok    python      3.11.7" and lines[-1] == f"      to do: {fix}"


def test_a_path_is_shown_without_detours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "examples").mkdir()
    monkeypatch.chdir(tmp_path)
    assert plain_path(Path("examples/../out/report.html")) == "out/report.html"
    assert plain_path(Path("out/report.html")) == "out/report.html"
    assert plain_path(Path("../elsewhere")) == str(tmp_path.resolve().parent / "elsewhere")
    assert plain_path(Path("/a/b")) == "/a/b"
