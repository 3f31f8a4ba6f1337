"""Sealed shares: only their server opens them, and only in their place."""

import pytest

from localdp.errors import MalformedReport
from localdp.randomness.keys import derive_key
from localdp.sharing.sealing import SealingKey, sealed_to

KEY = SealingKey.derived(derive_key(bytes(32), b"a server"))
PLACE = (b"c" * 32, "party-0", "server-0", b"block 3")


def test_what_was_sealed_opens_in_its_place() -> None:
    data = bytes(range(256)) * 1000
    sealed = sealed_to(KEY.public, data, *PLACE)
    assert KEY.opened(sealed, *PLACE) == data
    assert len(sealed) == len(data) + 32 + 16  # an encapsulated key, a tag
    assert data[:64] not in sealed


@pytest.mark.parametrize("changed", range(4), ids=["collection", "party", "server", "block"])
def test_in_another_place_it_does_not_open(changed: int) -> None:
    sealed = sealed_to(KEY.public, b"shares", *PLACE)
    other = [value + (b"x" if isinstance(value, bytes) else "x") for value in PLACE]  # type: ignore[operator]
    place = [*PLACE[:changed], other[changed], *PLACE[changed + 1 :]]
    with pytest.raises(MalformedReport):
        KEY.opened(sealed, *place)  # type: ignore[arg-type]


def test_no_field_of_the_place_runs_into_the_next() -> None:
    sealed = sealed_to(KEY.public, b"shares", b"c", "party", "server", b"block")
    with pytest.raises(MalformedReport):
        KEY.opened(sealed, b"cp", "arty", "server", b"block")


@pytest.mark.parametrize("byte", [0, 31, 32, 40, -1])
def test_a_changed_byte_is_noticed(byte: int) -> None:
    sealed = bytearray(sealed_to(KEY.public, b"shares of many people", *PLACE))
    sealed[byte] ^= 1
    with pytest.raises(MalformedReport):
        KEY.opened(bytes(sealed), *PLACE)


@pytest.mark.parametrize("data", [b"", b"short", bytes(48), b"\xff" * 100])
def test_what_was_never_sealed_is_refused(data: bytes) -> None:
    with pytest.raises(MalformedReport):
        KEY.opened(data, *PLACE)


def test_another_server_does_not_open_it_and_the_key_is_not_shown() -> None:
    other = SealingKey.derived(derive_key(bytes(32), b"another server"))
    assert other.public != KEY.public
    with pytest.raises(MalformedReport):
        other.opened(sealed_to(KEY.public, b"shares", *PLACE), *PLACE)
    assert "private" not in repr(KEY).lower()
