"""Every example of docs/queries.md is a query, of the kind and length that stand beside it."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from localdp.domains import (
    RESERVED_WORDS,
    BitDomain,
    CategoryDomain,
    IntegerDomain,
    RealDomain,
    Records,
    RowsDomain,
    Schema,
)
from localdp.queries import StatisticalQuery, VectorQuery
from localdp.queries.nodes import MOST_DEPTH, MOST_DIGITS, MOST_NODES
from localdp.queries.tokens import LONGEST_TEXT, MOST_OPERANDS
from localdp.queries.vector_text import NAMES

PAGE = (Path(__file__).resolve().parents[3] / "docs/queries.md").read_text()
SCHEMA = Schema(
    {
        "smoker": BitDomain(),
        "married": BitDomain(),
        "age": IntegerDomain(0, 120),
        "bmi": RealDomain(0, 60),
        "rate": RealDomain(-1, 1),
        "city": CategoryDomain(("Paris", "Rome", "Oslo")),
        "visit": RowsDomain(4),
        "died": RowsDomain(4, BitDomain()),
        "cost": RowsDomain(4, RealDomain(0, 1000)),
        "ward": RowsDomain(4, CategoryDomain(("A", "B"))),
    }
)
RECORDS = Records(
    SCHEMA,
    {
        name: np.ones((3, 4) if isinstance(domain, RowsDomain) else 3, np.int64)
        for name, domain in SCHEMA.columns.items()
    },
)


def rows(heading: str) -> list[list[str]]:
    """The cells of the tables below a heading, without their first two rows."""
    section = PAGE.split(f"## {heading}")[1].split("\n## ")[0]
    table = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip("`") for cell in row] for row in table[2:]]


NUMBERS = [*rows("One number"), *rows("Rows of a person")]
SEVERAL = [
    *(("category", length, text) for text, length, _ in rows("One of several values")),
    *((kind, length, text) for text, kind, length, _ in rows("Vectors")),
    *(("parities", length, text) for text, length, _ in rows("Parities")),
]


@pytest.mark.parametrize(("text", "kind"), [row[:2] for row in NUMBERS])
def test_an_example_of_one_number_is_of_its_kind(text: str, kind: str) -> None:
    query = StatisticalQuery.parse(text, SCHEMA)
    assert query.kind == kind
    assert len(query.evaluate(RECORDS)) == 3


@pytest.mark.parametrize(("kind", "length", "text"), SEVERAL)
def test_an_example_of_more_is_of_its_kind_and_length(kind: str, length: str, text: str) -> None:
    query = VectorQuery.parse(text, SCHEMA)
    assert (query.kind, query.length) == (kind, int(length))
    assert len(query.evaluate(RECORDS)) == 3


def test_every_construct_has_an_example() -> None:
    written = " ".join(text for _, _, text in SEVERAL)
    assert not [name for name in NAMES.values() if f"{name}(" not in written]


def test_the_page_states_the_bounds_and_the_words_as_they_are() -> None:
    words = re.search(r"no names of columns: `([a-z ]+)`", PAGE)
    assert words is not None and set(words.group(1).split()) == RESERVED_WORDS
    stated = {row[0].split(";")[0]: row[1] for row in rows("Bounds")}
    assert stated["characters of a text"] == f"{LONGEST_TEXT:,}"
    assert stated["columns, numbers and labels of a text"] == f"{MOST_OPERANDS:,}"
    assert stated["levels"] == str(MOST_DEPTH)
    assert stated["nodes"] == f"{MOST_NODES:,}"
    assert stated["digits of a numerator or denominator"] == str(MOST_DIGITS)
