"""Reading a query takes a time that grows with its text about linearly, whatever the text is made to be.

Each family is a way to make a parser do more than its text says.  Two sizes are compared in one run, the larger one at the
bounds on text and operands: eight times the text may take 24 times as long, where quadratic work takes 64 times.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import pytest

from localdp.domains import BitDomain, CategoryDomain, IntegerDomain, Schema
from localdp.errors import QueryRefused
from localdp.queries.asked import query_of
from localdp.queries.nodes import MOST_NODES
from localdp.queries.parser import parse
from localdp.queries.scalar_parser import MOST_HANDLED
from localdp.queries.tokens import LONGEST_TEXT, MOST_OPERANDS
from tests.support.processor_time import processor_seconds

TIMES = 8
AT_MOST = 3 * TIMES
LEAST_SECONDS = 0.002  # what takes less is not compared
SCHEMA = Schema(
    {
        **{f"c{i}": IntegerDomain(0, 9) for i in range(300)},
        "a": BitDomain(),
        "k": CategoryDomain(tuple(f"L{i}" for i in range(200))),
    }
)


def form(terms: int) -> str:
    """A linear form; its columns are made up, which is found out after parsing."""
    return "(" + "+".join(f"d{i}" for i in range(terms)) + ")"


def nested(within: str, after: str) -> str:
    """As deep as a query may be, one operation a level."""
    return "(" * 30 + within + f"{after})" * 30


# Each makes a text of about n operands (n is at most MOST_OPERANDS), or n nodes.
FAMILIES: dict[str, Callable[[int], str]] = {
    "product": lambda n: form(n // 4) + "*1" * (n // 2) + "<5",
    "quotient": lambda n: form(n // 4) + "/2*2" * (n // 5) + "<5",
    "product of the right": lambda n: "1*" * (n // 2) + form(n // 4) + "<5",
    "real columns": lambda n: "(" + "+".join(SCHEMA.names[: n // 55]) + ")" + "*1" * (n // 2) + "<5",
    "products in sums": lambda n: "+".join([form(20) + "*1" * 20] * (n // 45)) + "<5",
    "nested products": lambda n: nested(form(n // 5), "*2/2") + "<5",
    "nested sums": lambda n: nested(form(n // 5), "+1") + "<5",
    "minus signs": lambda n: "-" * 30 + form(n // 5) + "<5",
    "one column": lambda n: "+".join(["c0"] * (n - 2)) + "<5",
    "primes": lambda n: "+".join(f"1/{(3, 5, 7, 11, 13, 17)[i % 6]}" for i in range(n // 3)) + "<c0",
    "long fractions": lambda n: "+".join(f"1/{10**29 + i}" for i in range(n // 16)) + "<c0",
    "powers": lambda n: "*".join(["7", "1/7"] * (n // 4)) + "<c0",
    "exponents": lambda n: "+".join(["1e-29*c0"] * (n // 3)) + "<5",
    "comparisons": lambda n: " and ".join(["c0<1"] * (n // 14)),
    "conjunction": lambda n: " and ".join(["a"] * (n // 5)),
    "disjunction of conjunctions": lambda n: " or ".join(["a and a"] * (n // 13)),
    "parentheses": lambda n: " and ".join(["(((((((a)))))))"] * (n // 6)),
    "nested conjunctions": lambda n: "(" * 30 + " and ".join(["a"] * (n // 6)) + " and a)" * 30,
    "labels": lambda n: "k in {" + ",".join(['"L199"'] * (n // 5)) + "}",
    "equal labels": lambda n: " or ".join(['k=="L199"'] * (n // 14)),
    "decision list": lambda n: "if a then a else " * (n // 10) + "a",
    "nested decision lists": lambda n: (
        "if a then a else (" * 30 + "if a then a else " * (n // 12) + "a" + ")" * 30
    ),
    "parity": lambda n: "parity(" + ",".join(["a"] * (n // 5)) + ")",
    "vector": lambda n: "vector(" + ",".join(["a"] * (n // 5)) + ")",
    "which": lambda n: "which(" + ",".join(["a"] * (n // 5)) + ")",
    "ball": lambda n: "ball(" + ",".join(["c0/9"] * (n // 20)) + ")",
    "forms of a ball": lambda n: "ball(" + ",".join(["c0+c1+c2+c3"] * (n // 30)) + ")",
    "centres": lambda n: "nearest(ball(c0/9)," + ",".join(["[1/7]"] * (n // 10)) + ")",
    "gradient": lambda n: (
        f"gradient(logistic,[{','.join(['1'] * (n // 30))}],ball({','.join(['c0/9'] * (n // 30))}),a)"
    ),
}


def seconds(text: str) -> float:
    """The processor's time of reading and checking a text that was not read before."""
    with processor_seconds() as passed:
        with suppress(QueryRefused):
            query_of(text, SCHEMA)
        return passed()


@pytest.mark.parametrize("family", FAMILIES)
def test_time_grows_with_the_text_and_not_with_its_square(family: str) -> None:
    small, large = (FAMILIES[family](size) for size in (MOST_OPERANDS // TIMES, MOST_OPERANDS))
    assert len(small) * TIMES / 2 < len(large) <= LONGEST_TEXT
    assert seconds(large) <= AT_MOST * max(seconds(small), LEAST_SECONDS)


def test_a_form_that_is_multiplied_again_and_again_is_refused() -> None:
    with pytest.raises(QueryRefused, match="too much arithmetic"):
        parse(form(1000) + "*1" * 100 + " < 5")


def test_what_somebody_writes_is_far_from_too_much_arithmetic() -> None:
    terms = MOST_NODES - 10
    flat = " - ".join(
        f"1/3*d{i}" for i in range(terms)
    )  # longer than any canonical text that has as many terms
    assert parse(f"-(({flat})/2 - 1)/3 < 5")
    assert 8 * terms < MOST_HANDLED
