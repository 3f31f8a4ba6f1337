"""Queries on the wire are texts: they come as they went, one meaning has one name, and a hostile text is refused."""

from __future__ import annotations

import time

import pytest
from hypothesis import assume, given, settings

from localdp.cohorts import Cohort
from localdp.errors import LocalDpError, QueryRefused
from localdp.party.party import Request
from localdp.queries import parse, to_text
from localdp.queries.expressions import MOST_DEPTH, MOST_NODES, Expression
from localdp.queries.tokens import LONGEST_TEXT, MOST_OPERANDS, tokens
from localdp.randomizers.one_bit import OneBitRandomizer
from parties import codec
from parties.codec import randomizer_to_wire
from parties.wire.v1 import oracle_pb2 as pb
from tests.support.federations import ONE, party, people
from tests.support.processor_time import processor_seconds
from tests.unit.queries.test_text import EXPRESSIONS

SECONDS = 1.0  # for one text; the slowest takes a fifth of it


def sent(text: str) -> Request:
    """What a party makes of a request with this text: it went over the wire as bytes."""
    message = pb.RandomizeRequest(
        request_id=bytes(16), query=text, randomizer=randomizer_to_wire(OneBitRandomizer(ONE))
    )
    return codec.request_from_wire(pb.RandomizeRequest.FromString(message.SerializeToString()))[0]


@given(EXPRESSIONS)
@settings(deadline=None)
def test_a_query_comes_as_it_went(expression: Expression) -> None:
    text = to_text(expression)
    assume(len(text) <= LONGEST_TEXT)
    assert sent(text).query == text
    assert parse(sent(text).query) == expression


@pytest.mark.parametrize(
    "text", ["age>=65 and smoker", "(65) <= age and\n smoker", "age >= 130/2 and (smoker)"]
)
def test_texts_that_mean_the_same_are_one_request(text: str) -> None:
    holder = party(people(8))
    first = holder.randomize(sent(to_text(parse(text))), Cohort(0, 8))
    spent = holder.ledger.spent()
    assert holder.name_of(sent(text)) == holder.name_of(sent(to_text(parse(text))))
    assert (holder.randomize(sent(text), Cohort(0, 8)) == first).all()
    assert (holder.ledger.spent() == spent).all(), "the same query under another spelling was charged again"


def ifs(levels: int) -> str:
    """Decision lists in the conditions of others."""
    return "(" * levels + "smoker" + " and if smoker then smoker else smoker)" * levels


HOSTILE = {
    "nothing at all": "",
    "one level too deep": "not " * MOST_DEPTH + "smoker",
    "as deep as it is long": "not " * 16_000 + "smoker",
    "too many parentheses": "(" * (MOST_DEPTH + 1) + "smoker" + ")" * (MOST_DEPTH + 1),
    "decision lists in decision lists": ifs(MOST_DEPTH),
    "too many nodes": " and ".join(["smoker"] * MOST_NODES),
    "a million operands": " and ".join(["true"] * 10**6),
    "a sum of many numbers": f"clip({'+'.join(['1'] * 32_000)})",
    "a product of many numbers": f"clip({'*'.join(['1'] * 32_000)})",
    "a quotient of many numbers": f"clip({'/'.join(['1'] * 32_000)})",
    "a sum of one column": f"clip({'+'.join(['age'] * 16_000)})",
    "differences": "clip(" + "-" * 60_000 + "1)",
    "a million labels": "region in {" + ",".join(['"x"'] * 10**6) + "}",
    "no labels": "region in {}",
    "an endless label": 'region == "' + "x" * 60_000 + '"',
    "a label with control characters": 'region == "a\x1b[2Jb"',
    "an escape sequence": "smoker\x1b[2J",
    "text that runs backwards": "smoker \u202e",
    "code": "__import__('os')",
    "a column that is a word of the language": "and",
    "a denominator of zero": "1/0 > age",
    "digits of another script": "age > \u0663",
    "an underscore": "age > 1_000",
    "an exponent": "age > 1e999999999",
    "too many digits": "age > " + "9" * 31,
    "a million digits": "age > " + "9" * 10**6,
    "an unknown comparison": "age <> 3",
    "a comparison of conditions": "(not smoker) == smoker",
    "a clipped condition": "clip(not smoker)",
    "a clipped clip": "clip(clip(age))",
    "a parity of nothing": "parity()",
    "a decision list without its last value": "if smoker then smoker",
    "a decision list of large numbers": "if smoker then 2 else 1",
    "which of nothing": "which()",
    "a ball of balls": "ball(ball(smoker))",
    "nearest to nothing": "nearest(ball(smoker))",
    "many coordinates": f"nearest(ball(smoker), [{','.join(['1'] * 30_000)}])",
    "many centres": f"nearest(ball(smoker), {','.join(['[1]'] * 16_000)})",
    "an unknown loss": "gradient(zero_one, [0.5], ball(smoker), smoker)",
    "parities of a huge order": f"parities(4294967295, {','.join(['smoker'] * 61)})",
    "a tower of moments": "moments(" * 45 + "ball(smoker)" + ")" * 45,
    "a vector, for one bit": "vector(smoker, smoker)",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_text_is_refused_soon_and_in_few_words(text: str) -> None:
    holder = party(people(4))
    with processor_seconds() as seconds:
        with pytest.raises(LocalDpError) as caught:
            holder.randomize(sent(text), Cohort(0, 4))
        assert seconds() < SECONDS
    assert len(str(caught.value)) < 300 and str(caught.value).replace("\n", "").isprintable()
    assert not holder.ledger.spent().any()


@pytest.mark.parametrize("text", ["x" * (LONGEST_TEXT + 1), "smoker\x00", "\x9b2J", "\u2028smoker"])
def test_what_is_too_long_or_cannot_be_shown_is_refused_before_anybody_parses_it(text: str) -> None:
    """A share server keeps the text of a collection and never parses it."""
    with pytest.raises(QueryRefused):
        sent(text)


def test_the_largest_queries_are_within_the_bound_on_words() -> None:
    """It is one on work that leaves no nodes, and refuses no query that the bounds on nodes and characters allow."""
    terms = " + ".join(f"1/3*c{place}" for place in range(MOST_NODES - 2))
    point = ",".join(["1/3"] * (MOST_NODES - 3))
    for text in (f"clip({terms})", f"nearest(ball(c),[{point}])"):
        operands = [one for one in tokens(text) if one.kind in ("name", "number", "string")]
        assert parse(text).size >= MOST_NODES - 1 and len(operands) <= MOST_OPERANDS
        assert len(operands) > MOST_OPERANDS // 3  # or the bound would say nothing


@pytest.mark.parametrize("sign", "+-*/")
def test_as_much_arithmetic_as_a_text_may_have_takes_no_longer(sign: str) -> None:
    text, began = f"clip({sign.join(['1'] * MOST_OPERANDS)})", time.process_time()
    assert parse(sent(text).query).size == 2
    assert time.process_time() - began < SECONDS
