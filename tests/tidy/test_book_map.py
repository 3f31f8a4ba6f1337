"""The map of the book (docs/book-map.md) against the source: every item has a row with a state, no file that is not there,
no citation that is not in it, and every error and deviation has its test.  Each rule is shown to catch a broken page.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from tests.tidy.book_items import ERRORS, EXPECTED

ROOT = Path(__file__).resolve().parents[2]
KINDS = "Theorem|Definition|Algorithm|Claim|Example|Figure|Lemma|Corollary|Proposition"
_NUMBER = r"(?:[A-Z]\.)?\d+(?:\.\d+)*"
_CITED = re.compile(rf"\b({KINDS})s?\s+({_NUMBER}(?:(?:,\s*(?:and\s+)?|\s+and\s+|\s+to\s+){_NUMBER})*)")
_FILE = re.compile(r"`((?:localdp|parties|tests)/[\w/]+(?:\.py|/)?)`")
_TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")
STATES = ("runs", "partly", "statement", "absent")
MAPPED = ["book", "state", "what it says", "code", "checked by"]
OTHERS = ["number", "source", "code"]
WRONG = ["where", "printed", "what holds", "shown by"]
PAGE = (ROOT / "docs/book-map.md").read_text()
ARCHITECTURE = (ROOT / "ARCHITECTURE.md").read_text()
SOURCES = [path for room in ("localdp", "parties") for path in sorted((ROOT / room).rglob("*.py"))]


@dataclass(frozen=True)
class Row:
    """A row of a table of the page, by the names of its columns."""

    cells: dict[str, str]

    @property
    def head(self) -> str:
        return next(iter(self.cells.values()))

    @property
    def state(self) -> str:
        return self.cells["state"].strip("`")

    @property
    def files(self) -> list[str]:
        """The files that it names: of code, and of tests."""
        return _FILE.findall(" ".join(self.cells.values()))

    @property
    def code(self) -> list[str]:
        return [name for name in self.files if not name.startswith("tests/")]


def tables(page: str) -> Iterator[tuple[list[str], list[Row]]]:
    """The columns and the rows of each table; a bar within a cell is written with a backslash."""
    for block in re.findall(r"(?:^\|.*\n)+", page, re.MULTILINE):
        lines = [
            [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in block.splitlines()
        ]
        columns, body = lines[0], lines[2:]
        yield columns, [Row(dict(zip(columns, cells, strict=True))) for cells in body]


def rows(page: str, wanted: list[str]) -> list[Row]:
    """The rows of all tables with these columns."""
    return [row for columns, found in tables(page) if columns == wanted for row in found]


def citations(text: str) -> set[str]:
    """What a text cites: "Theorems 11.1 to 11.3 and 11.5" is four of them."""
    found = set()
    for kind, numbers in _CITED.findall(" ".join(text.split())):
        for part in re.split(r",\s*(?:and\s+)?|\s+and\s+", numbers):
            first, _, last = part.partition(" to ")
            found |= {
                f"{kind} {number}" for number in _between(first.strip(), last.strip() or first.strip())
            }
    return found


def _between(first: str, last: str) -> Iterator[str]:
    chapter, dot, low = first.rpartition(".")
    for number in range(int(low), int(last.rpartition(".")[2]) + 1):
        yield f"{chapter}{dot}{number}"


def module_docstring(path: Path) -> str:
    return ast.get_docstring(ast.parse(path.read_text())) or ""


@cache
def functions(name: str) -> set[str]:
    """The functions of a file."""
    tree = ast.parse((ROOT / name).read_text())
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def miscounted(page: str) -> list[str]:
    """Items of the founding chapters that have no row, or several, or no state of their own."""
    mapped = rows(page, MAPPED)
    times = Counter(row.head for row in mapped)
    wanted = [item for items in EXPECTED.values() for item in items]
    stateless = [row.head for row in mapped if row.state not in STATES]
    return [item for item in wanted if times[item] != 1] + stateless


def unsupported(page: str) -> list[str]:
    """Rows that do not name what their state asks for."""
    found = []
    for row in rows(page, MAPPED):
        tested = any(name.startswith("tests/") for name in row.files)
        held = {
            "runs": bool(row.code) and tested,
            "partly": bool(row.code) and tested and ";" in row.cells["what it says"],
            "statement": tested and not row.code,
            "absent": not row.code,
        }
        if not held.get(row.state, True):
            found.append(row.head)
    return found


def unshown(page: str) -> list[str]:
    """Errors of the book that are not listed, or whose tests are not there."""
    listed = {row.head: row for row in rows(page, WRONG)}
    found = [error for error in ERRORS if error not in listed]
    for where, row in listed.items():
        tests = _TEST.findall(row.cells["shown by"])
        if not tests or any(
            not (ROOT / name).exists() or test not in functions(name) for name, test in tests
        ):
            found.append(where)
    return found


def untested(text: str) -> list[str]:
    """Deviations of ARCHITECTURE.md that name no test that exists."""
    section = text.partition("## Deviations from the sources\n")[2].partition("\n## ")[0]
    items = [" ".join(item.split()) for item in re.split(r"^- ", section, flags=re.MULTILINE)[1:]]
    assert len(items) > 8
    return [item for item in items if not any((ROOT / name).exists() for name in _FILE.findall(item))]


def counts(page: str) -> dict[str, list[int]]:
    """Of each kind: how many of the founding chapters are in each state, and in all."""
    states = {row.head: row.state for row in rows(page, MAPPED)}
    told = {kind: Counter(states[item] for item in items) for kind, items in EXPECTED.items()}
    return {kind: [*(found[state] for state in STATES), found.total()] for kind, found in told.items()}


def test_a_range_of_numbers_is_each_of_them() -> None:
    assert citations(
        "Theorems 11.1 to 11.3 and 11.5; Algorithms 15 and 16 (Definition\n2.4), Theorem B.1"
    ) == {
        *(f"Theorem 11.{number}" for number in (1, 2, 3, 5)),
        "Algorithm 15",
        "Algorithm 16",
        "Definition 2.4",
        "Theorem B.1",
    }


def test_the_founding_chapters_have_so_many_items() -> None:
    assert [len(items) for items in EXPECTED.values()] == [37, 32, 8, 4]
    assert len(ERRORS) == len(set(ERRORS)) == 15


def test_every_item_of_the_founding_chapters_has_one_row_with_a_state() -> None:
    assert miscounted(PAGE) == []


def test_what_a_state_asks_for_is_named() -> None:
    assert unsupported(PAGE) == []


def test_the_counts_at_the_top_are_those_of_the_rows() -> None:
    words = dict(
        zip(EXPECTED, ("theorems", "definitions", "algorithms", "figures of algorithms"), strict=True)
    )
    for kind, numbers in counts(PAGE).items():
        assert f"| {words[kind]} | {' | '.join(map(str, numbers))} |" in PAGE


def test_every_error_of_the_book_is_listed_with_a_test_that_is_there() -> None:
    assert unshown(PAGE) == []


def test_every_deviation_names_a_test() -> None:
    assert untested(ARCHITECTURE) == []


def test_broken_pages_are_caught() -> None:
    def without(pattern: str, instead: str = "", page: str = PAGE) -> str:
        broken, times = re.subn(pattern, instead, page, count=1, flags=re.MULTILINE)
        assert times == 1
        return broken

    assert miscounted(without(r"^\| Definition 7\.2 .*\n")) == ["Definition 7.2"]
    assert miscounted(without(r"^(\| Theorem 8\.8 \|.*\n)", r"\1\1")) == ["Theorem 8.8"]
    assert miscounted(without(r"^(\| Theorem 12\.6 \|) `\w+`", r"\1 ")) == ["Theorem 12.6"]
    assert miscounted(without(r"^(\| Figure 12\.2 \|) `\w+`", r"\1 `nearly`")) == ["Figure 12.2"]
    runs = without(r"^(\| Theorem 12\.7 \|.*\|) `tests/[^|]*\|$", r"\1 |")
    assert unsupported(runs) == ["Theorem 12.7"]
    for state, code, test in (
        ("runs", "", "`tests/tidy/test_book_map.py`"),
        ("statement", "", ""),
        ("absent", "`localdp/errors.py`", ""),
        (
            "partly",
            "`localdp/errors.py`",
            "`tests/tidy/test_book_map.py`",
        ),  # of what is missing nothing is said
    ):
        row = f"| Theorem 8.8 | `{state}` | words | {code} | {test} |"
        assert unsupported(without(r"^\| Theorem 8\.8 \|.*$", row)) == ["Theorem 8.8"]
    assert unshown(without(r"^\| Algorithm 14 \| ln.*\n")) == ["Algorithm 14"]
    assert unshown(without(r"::test_noise_on_each_of_two_sums", "::test_noise")) == ["section 10.3.3"]
    more = without(r"^## Deviations from the sources\n", r"\g<0>\n- Something.\n", ARCHITECTURE)
    assert untested(more) == ["Something."]


def test_every_citation_of_a_module_is_in_the_map() -> None:
    mapped = {one for row in [*rows(PAGE, MAPPED), *rows(PAGE, OTHERS)] for one in citations(row.head)}
    cited = {one: path for path in SOURCES for one in citations(module_docstring(path))}
    assert len(cited) > 40
    missing = {one: str(path.relative_to(ROOT)) for one, path in cited.items() if one not in mapped}
    assert not missing, "add these to docs/book-map.md"


NAMING = [row for row in [*rows(PAGE, MAPPED), *rows(PAGE, OTHERS)] if row.files]


@pytest.mark.parametrize("row", NAMING, ids=[row.head for row in NAMING])
def test_a_row_names_files_that_exist_and_speak_of_it(row: Row) -> None:
    assert not [name for name in row.files if not (ROOT / name).exists()]
    wanted = citations(row.head) or {row.head}  # a section is cited as it stands
    for name in row.code:
        text = " ".join((ROOT / name).read_text().split())
        sections = [one for one in wanted if one.startswith("section") and one.split()[1] in text]
        assert wanted & citations(text) or sections, f"{name} does not speak of {row.head}"
