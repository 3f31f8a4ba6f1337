"""The map of the book (docs/book-map.md) against the source: no file that is not there, no citation that is not in it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
KINDS = "Theorem|Definition|Algorithm|Claim|Example|Figure|Lemma|Corollary|Proposition"
_NUMBER = r"\d+(?:\.\d+)*"
_CITED = re.compile(rf"\b({KINDS})s?\s+({_NUMBER}(?:(?:,\s*(?:and\s+)?|\s+and\s+|\s+to\s+){_NUMBER})*)")
_FILE = re.compile(r"`((?:localdp|parties|tests)/[\w/]+(?:\.py|/)?)`")
OTHERS = "## Numbers of other sources"


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


def rows(page: str) -> list[tuple[str, str]]:
    """What each row is about, and the rest of it."""
    lines = [line.split(" | ", 1) for line in page.splitlines() if line.startswith("| ")]
    return [(head.strip("| "), rest) for head, rest in lines if head.strip("| ") not in ("book", "number")]


PAGE = (ROOT / "docs/book-map.md").read_text()
ROWS = rows(PAGE)
SOURCES = [path for room in ("localdp", "parties") for path in sorted((ROOT / room).rglob("*.py"))]


def module_docstring(path: Path) -> str:
    return ast.get_docstring(ast.parse(path.read_text())) or ""


def test_a_range_of_numbers_is_each_of_them() -> None:
    assert citations("Theorems 11.1 to 11.3 and 11.5; Algorithms 15 and 16 (Definition\n2.4)") == {
        *(f"Theorem 11.{number}" for number in (1, 2, 3, 5)),
        "Algorithm 15",
        "Algorithm 16",
        "Definition 2.4",
    }


def test_every_citation_of_a_module_is_in_the_map() -> None:
    mapped = {one for head, _ in ROWS for one in citations(head)}
    cited = {one: path for path in SOURCES for one in citations(module_docstring(path))}
    assert len(cited) > 40
    missing = {one: str(path.relative_to(ROOT)) for one, path in cited.items() if one not in mapped}
    assert not missing, "add these to docs/book-map.md"


@pytest.mark.parametrize(("head", "rest"), ROWS, ids=[head for head, _ in ROWS])
def test_a_row_names_files_that_exist_and_speak_of_it(head: str, rest: str) -> None:
    named = _FILE.findall(rest)
    assert named
    assert not [name for name in named if not (ROOT / name).exists()]
    wanted = citations(head) or {head}  # a section is cited as it stands
    for name in named:
        if not name.startswith("tests/"):
            text = " ".join((ROOT / name).read_text().split())
            sections = [one for one in wanted if one.startswith("section") and one.split()[1] in text]
            assert wanted & citations(text) or sections, f"{name} does not speak of {head}"


def test_every_row_of_the_book_names_a_test() -> None:
    of_the_book = rows(PAGE.partition(OTHERS)[0])
    assert len(of_the_book) > 30
    assert not [head for head, rest in of_the_book if "`tests/" not in rest]
