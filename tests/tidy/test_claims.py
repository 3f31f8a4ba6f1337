"""docs/claims.md: every claim says first how it is checked, the counts at the top are theirs, and its tests are there."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/claims.md").read_text()
WAYS = ("enumerated", "sampled", "tried", "assumed")
_PATH = re.compile(r"`(tests/[\w/]+(?:\.py|/))`")


def claims(page: str) -> list[tuple[str, str, str]]:
    """What is claimed, how it is checked and where."""
    lines = [line.strip("|").split("|") for line in page.splitlines() if line.startswith("| ")]
    rows = [tuple(cell.strip() for cell in line) for line in lines]
    assert all(len(row) == 3 for row in rows)
    return [(claim, how, where) for claim, how, where in rows if claim != "claim"]


def way(how: str) -> str:
    """The first word."""
    return re.split(r"\W", how, maxsplit=1)[0]


def counted(page: str) -> str:
    """The line at the top, from the rows."""
    ways = Counter(way(how) for _, how, _ in claims(page))
    told = [f"{ways[one]} {one}" for one in WAYS]
    return f"{ways.total()} claims: {', '.join(told[:-1])} and {told[-1]}."


def amiss(page: str) -> list[str]:
    """Claims without a way, and those that name no test though they should, or one that is not there."""
    found = [claim for claim, how, _ in claims(page) if way(how) not in WAYS]
    for claim, how, where in claims(page):
        named = _PATH.findall(where)
        missing = [name for name in named if not (ROOT / name).exists()]
        if missing or bool(named) == (way(how) == "assumed"):
            found.append(claim)
    return found


def test_every_claim_says_how_it_is_checked_and_where() -> None:
    assert len(claims(PAGE)) > 30
    assert amiss(PAGE) == []


def test_the_counts_at_the_top_are_those_of_the_rows() -> None:
    assert PAGE.count(" claims: ") == PAGE.count(counted(PAGE)) == 1


@pytest.mark.parametrize(
    ("sound", "broken"),
    [
        ("| enumerated, at small sizes |", "| surely, at small sizes |"),
        ("| assumed: by you | |", "| enumerated | |"),
        ("`tests/contract/test_ledger.py`", "`tests/contract/test_no_ledger.py`"),
    ],
)
def test_broken_pages_are_caught(sound: str, broken: str) -> None:
    page = PAGE.replace(sound, broken, 1)
    assert page != PAGE and len(amiss(page)) == 1


def test_a_claim_more_is_noticed_at_the_top() -> None:
    assert counted(PAGE + "| the moon is round | assumed | |\n") not in PAGE
