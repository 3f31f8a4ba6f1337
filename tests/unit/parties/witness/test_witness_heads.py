"""Heads of ledgers: what is signed is unambiguous, what follows what, and which ledgers may go on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import product

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from localdp.errors import InvalidParameter, RolledBack
from localdp.framing import framed
from parties.witness.heads import (
    MOST_ENTRIES,
    CountersignedHead,
    Head,
    SignedHead,
    countersign,
    latest_answer,
    public_key_of,
    require_follows,
    sign,
    sign_step,
)

AGENT = Ed25519PrivateKey.from_private_bytes(b"a" * 32)
WITNESS = Ed25519PrivateKey.from_private_bytes(b"w" * 32)
LINKS = [bytes([number]) * 32 for number in range(3)]
HEAD = Head("north", 7, LINKS[1])


def test_what_is_signed_is_framed_and_says_what_it_is() -> None:
    assert HEAD.encoded() == framed([b"localdp ledger head v1", b"north", b"7", LINKS[1]])
    signed = sign(HEAD, AGENT)
    AGENT.public_key().verify(signed.signature, HEAD.encoded())
    countersigned = countersign(signed, WITNESS)
    told = [b"localdp countersigned head v1", HEAD.encoded(), public_key_of(AGENT), signed.signature]
    WITNESS.public_key().verify(countersigned.countersignature, framed(told))
    answer = framed([b"localdp latest head v1", b"north", b"n" * 32, countersigned.countersignature])
    assert latest_answer("north", b"n" * 32, countersigned) == answer


def test_no_two_heads_and_no_two_answers_are_the_same_bytes() -> None:
    heads = [Head(*one) for one in product(("n", "n1", "1"), (0, 1, 11), LINKS[:2])]
    countersigned = [None, *(countersign(sign(head, AGENT), WITNESS) for head in heads[:3])]
    answers = [latest_answer(*one) for one in product(("n", "n1"), (b"x" * 32, b"y" * 32), countersigned)]
    everything = [head.encoded() for head in heads] + answers
    assert len(set(everything)) == len(everything)


@pytest.mark.parametrize(
    "wrong",
    [
        *[(name, 0, LINKS[0]) for name in ("", "x" * 129, "a\nb")],
        *[("x", entries, LINKS[0]) for entries in (-1, MOST_ENTRIES + 1)],
        *[("x", 0, link) for link in (b"", bytes(33))],
    ],
)
def test_a_head_is_within_bounds(wrong: tuple[str, int, bytes]) -> None:
    with pytest.raises(InvalidParameter):
        Head(*wrong)


def test_a_signature_of_something_else_cannot_be_made_into_a_head() -> None:
    signed = sign(HEAD, AGENT)
    for changed in (Head("south", 7, LINKS[1]), Head("north", 8, LINKS[1]), Head("north", 7, LINKS[2])):
        with pytest.raises(InvalidParameter, match="the agent's signature"):
            SignedHead(changed, signed.public_key, signed.signature)
    for key in (public_key_of(WITNESS), b"", b"short", bytes(32)):
        with pytest.raises(InvalidParameter, match="the agent's signature"):
            SignedHead(HEAD, key, signed.signature)
    countersigned = countersign(signed, WITNESS)
    with pytest.raises(InvalidParameter, match="the witness's signature"):
        replace(countersigned, countersignature=signed.signature)
    with pytest.raises(InvalidParameter, match="the witness's signature"):
        CountersignedHead(sign(Head("north", 8, LINKS[1]), AGENT), *_rest(countersigned))


def _rest(countersigned: CountersignedHead) -> tuple[bytes, bytes]:
    return countersigned.witness_key, countersigned.countersignature


# What follows what: every pair of small heads, and rules that are wrong.


Rule = Callable[[Head | None, Head, Head | None], None]


def _more(newest: Head | None, head: Head, after: Head | None) -> None:
    """The rule that once was: counts, and does not ask after what.  The entries of another copy are more as well."""
    if newest is not None and head != newest and head.entries <= newest.entries:
        raise RolledBack


def _above(newest: Head | None, head: Head, after: Head | None) -> None:
    """Refuses the same head again."""
    if after != newest or (newest is not None and head.entries <= newest.entries):
        raise RolledBack


def _number(newest: Head | None, head: Head, after: Head | None) -> None:
    """Looks at the number of the head before, and not at its link."""
    known = -1 if newest is None else newest.entries
    if head != newest and (head.entries <= known or known != (-1 if after is None else after.entries)):
        raise RolledBack


def follows_as_it_should(rule: Rule) -> bool:
    """Whether the rule accepts the same head again, and a longer one after exactly this one, and nothing else."""
    heads = [Head("x", entries, link) for entries in range(3) for link in LINKS]
    for newest, head, after in product([None, *heads], heads, [None, *heads]):
        longer = newest is None or head.entries > newest.entries
        wanted = head == newest or (longer and after == newest)
        try:
            rule(newest, head, after)
            accepted = True
        except RolledBack:
            accepted = False
        if accepted != wanted:
            return False
    return True


def test_a_head_follows_if_it_is_the_same_or_comes_after_exactly_the_newest() -> None:
    assert follows_as_it_should(require_follows)


@pytest.mark.parametrize("twin", [_more, _above, _number])
def test_a_rule_that_forgets_forks_or_repetitions_is_caught(twin: Rule) -> None:
    assert not follows_as_it_should(twin)


def test_a_step_is_signed_with_the_head_after_which_it_comes() -> None:
    step = sign_step(HEAD, Head("north", 5, LINKS[0]), AGENT)
    for after in (None, Head("north", 6, LINKS[0]), Head("north", 5, LINKS[2])):
        with pytest.raises(InvalidParameter, match="the agent's signature"):
            replace(step, after=after)
    with pytest.raises(InvalidParameter, match="the agent's signature"):
        replace(sign_step(HEAD, None, AGENT), signature=sign(HEAD, AGENT).signature)
