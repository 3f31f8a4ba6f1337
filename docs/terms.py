"""The words of the glossary, and the pages in which their first use leads there.

What is not prose is left alone: code, links, pictures, headings and HTML.  A word is found in the plural as well.

Checked in tests/tidy/test_glossary.py.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass

_ROW = re.compile(r"^\| ([^|]+?) \| (.+) \|$", re.MULTILINE)
_ALSO = {
    "the book": r"(?:section|theorem|definition|chapter)s? \d+(?:\.\d+)*"
}  # what else a word is found by
_NOT_PROSE = re.compile(
    r"^---\n.*?^---$"  # the header of a page
    r"|^(?:```|~~~~).*?^(?:```|~~~~)"  # blocks of code
    r"|^#{1,6} .*?$"
    r"|`[^`]*`"
    r"|!?\[(?:[^\[\]]|\[[^\]]*\])*\]\([^)]*\)"  # links and pictures, over several lines as well
    r"|<[^>]*>",
    re.DOTALL | re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Term:
    """A word of the glossary."""

    word: str
    meaning: str

    @property
    def anchor(self) -> str:
        """Where it is on the page."""
        return "word-" + re.sub(r"[^a-z0-9]+", "-", self.word.lower()).strip("-")

    @property
    def pattern(self) -> re.Pattern[str]:
        """How it is found: a whole word, in one number or the other, perhaps broken over two lines."""
        base = r"\s+".join(map(re.escape, self.word.split(" (")[0].split()))
        ending = "(?:y|ies)" if base.endswith("y") else "(?:es|s)?"
        found = f"{base.removesuffix('y')}{ending}"
        also = f"|{_ALSO[self.word]}" if self.word in _ALSO else ""
        return re.compile(rf"(?<![\w-])(?:{found}{also})(?![\w-])", re.IGNORECASE)


def terms_of(glossary: str) -> list[Term]:
    """The words of the page, the longest first: "share server" is found before "share"."""
    rows = [Term(word, meaning) for word, meaning in _ROW.findall(glossary) if set(word) - set("-")]
    return sorted((row for row in rows if row.word != "word"), key=lambda row: -len(row.word))


def anchored(glossary: str) -> str:
    """The glossary itself, with a place to lead to in each row."""
    named = {term.word: term.anchor for term in terms_of(glossary)}
    return _ROW.sub(
        lambda row: f'| <a id="{named[row[1]]}"></a>{row[1]} | {row[2]} |' if row[1] in named else row[0],
        glossary,
    )


def linked(page: str, terms: list[Term]) -> str:
    """A page in which the first use of each word leads to the glossary."""
    left = list(terms)
    return "".join(_first_uses(text, left, terms) if prose else text for prose, text in split(page))


def uses(text: str, term: Term, terms: list[Term]) -> list[tuple[int, int]]:
    """Where a word stands by itself: "share" not within "share server"."""
    longer = [one for one in terms if one is not term and term.word.split(" (")[0] in one.word.split()]
    within = [hit.span() for one in longer for hit in one.pattern.finditer(text)]
    found = (hit.span() for hit in term.pattern.finditer(text))
    return [one for one in found if not any(start <= one[0] and one[1] <= end for start, end in within)]


def split(page: str) -> Iterator[tuple[bool, str]]:
    """The page in pieces, and whether each is prose."""
    place = 0
    for other in _NOT_PROSE.finditer(page):
        yield True, page[place : other.start()]
        yield False, other[0]
        place = other.end()
    yield True, page[place:]


def _first_uses(text: str, left: list[Term], terms: list[Term]) -> str:
    """Prose with links; the words that are found are taken off the list."""
    found = [(*spans[0], term) for term in left if (spans := uses(text, term, terms))]
    for _, _, term in found:
        left.remove(term)
    for start, end, term in sorted(found, key=lambda one: -one[0]):
        text = text[:start] + _link(text[start:end], term) + text[end:]
    return text


def _link(word: str, term: Term) -> str:
    title = html.escape(re.sub(r"\[([^\]]*)\]\([^)]*\)|`", r"\1", term.meaning), quote=True)
    return f'<a class="term" href="glossary.html#{term.anchor}" title="{title}">{word}</a>'
