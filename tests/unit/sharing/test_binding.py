"""What ties a collection to its servers: all of it is in the digest, and signatures are good for one thing each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from localdp.errors import InvalidParameter, ShareMismatch
from localdp.sharing.binding import MOST_SECONDS, Binding, Opening, commitment_to
from localdp.sharing.signatures import WitnessKey, require_openings, require_sealed

NAMES = ("server-0", "server-1")
WITNESSES = [WitnessKey.derived(bytes([number]) * 32) for number in range(2)]
BINDING = Binding((b"a" * 32, b"b" * 32), tuple(one.public for one in WITNESSES), b"c" * 32, 1000)
NAME, SET = b"digest of a collection", b"digest of a set of reports"
SECRETS = [b"s" * 32, b"t" * 32]


@pytest.mark.parametrize(
    "changes",
    [
        {"keys": ()},
        {"keys": (b"a" * 32,)},
        {"keys": (b"a" * 32, b"b" * 31)},
        {"witnesses": ()},
        {"witnesses": (b"a" * 32,) * 3},
        {"witnesses": (b"a" * 32, b"")},
        {"commitment": b""},
        {"commitment": b"c" * 33},
        {"ends": 0},
        {"ends": -1},
        {"ends": MOST_SECONDS + 1},
    ],
    ids=str,
)
def test_a_binding_that_leaves_something_open_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter):
        replace(BINDING, **changes)


@pytest.mark.parametrize(
    "changes",
    [
        {"keys": BINDING.keys[::-1]},
        {"witnesses": BINDING.witnesses[::-1]},
        {"keys": BINDING.witnesses, "witnesses": BINDING.keys},
        {"commitment": b"d" * 32},
        {"ends": 1001},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_whatever_is_changed_changes_the_digest(changes: dict[str, Any]) -> None:
    assert replace(BINDING, **changes).digest != BINDING.digest


def test_a_commitment_is_to_one_key_and_does_not_show_it() -> None:
    key = bytes(range(32))
    assert commitment_to(key) == commitment_to(key) != commitment_to(key[::-1])
    assert key not in commitment_to(key) and len(commitment_to(key)) == 32


def test_a_witness_key_follows_from_its_secret_and_does_not_show_it() -> None:
    again = WitnessKey.derived(bytes(32))
    assert again == WITNESSES[0] != WITNESSES[1]
    assert bytes(32).hex() not in repr(again) and "private" not in repr(again)


def openings() -> list[Opening]:
    return [key.opening(NAME, secret) for key, secret in zip(WITNESSES, SECRETS, strict=True)]


def test_openings_of_all_servers_are_taken_and_have_one_digest() -> None:
    first = require_openings(NAMES, NAME, BINDING, openings())
    assert first == require_openings(NAMES, NAME, BINDING, openings())
    other = [openings()[0], WITNESSES[1].opening(NAME, b"u" * 32)]
    assert require_openings(NAMES, NAME, BINDING, other) != first
    assert not any(secret in opening.secret for secret in SECRETS for opening in openings())


CHANGED: dict[str, Callable[[Opening, Opening], Opening]] = {
    "of another server": lambda own, other: other,
    "of another secret": lambda own, other: replace(own, secret=other.secret),
    "of another collection": lambda own, other: WITNESSES[1].opening(NAME + b"!", SECRETS[1]),
    "with a wrong signature": lambda own, other: replace(own, signature=bytes(64)),
    "without a signature": lambda own, other: replace(own, signature=b""),
}


@pytest.mark.parametrize("how", CHANGED)
def test_an_opening_is_refused_and_its_server_named(how: str) -> None:
    first, second = openings()
    with pytest.raises(ShareMismatch, match="that share server server-1 signed"):
        require_openings(NAMES, NAME, BINDING, [first, CHANGED[how](second, first)])


@pytest.mark.parametrize("count", [0, 1, 3])
def test_openings_are_as_many_as_servers(count: int) -> None:
    with pytest.raises(ShareMismatch, match="every server"):
        require_openings(NAMES, NAME, BINDING, (openings() * 2)[:count])


def signed() -> list[bytes]:
    return [key.sealed(NAME, SET) for key in WITNESSES]


UNSIGNED: dict[str, Callable[[], bytes]] = {
    "by another server": lambda: signed()[0],
    "another set": lambda: WITNESSES[1].sealed(NAME, b"another set"),
    "of another collection": lambda: WITNESSES[1].sealed(NAME + b"!", SET),
    "nothing": lambda: b"",
    "an opening": lambda: WITNESSES[1].opening(NAME, SET).signature,
}


@pytest.mark.parametrize("how", UNSIGNED)
def test_a_set_for_which_not_all_have_signed_is_refused_and_who_has_not_named(how: str) -> None:
    require_sealed(NAMES, NAME, SET, BINDING, signed())
    with pytest.raises(ShareMismatch, match="no signature of share server server-1"):
        require_sealed(NAMES, NAME, SET, BINDING, [signed()[0], UNSIGNED[how]()])


@pytest.mark.parametrize("count", [0, 1, 3])
def test_signatures_are_as_many_as_servers(count: int) -> None:
    with pytest.raises(ShareMismatch, match="at every server"):
        require_sealed(NAMES, NAME, SET, BINDING, (signed() * 2)[:count])


def test_what_is_signed_as_an_opening_is_not_signed_as_a_set() -> None:
    """Also where the two messages would hold the same bytes."""
    secret = SECRETS[1]
    opening = WITNESSES[1].opening(NAME, secret)
    with pytest.raises(ShareMismatch):
        require_sealed(NAMES[1:], NAME, opening.secret, _second(), [opening.signature])
    sealed = WITNESSES[1].sealed(NAME, opening.secret)
    with pytest.raises(ShareMismatch):
        require_openings(NAMES[1:], NAME, _second(), [replace(opening, signature=sealed)])


def _second() -> Binding:
    return Binding(BINDING.keys[1:], BINDING.witnesses[1:], BINDING.commitment)
