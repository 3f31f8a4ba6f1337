"""Key derivation: unambiguous, separated by its uses, and equal to HMAC-SHA256 of the stated message."""

import hashlib
import hmac

import pytest

from localdp.errors import InvalidParameter
from localdp.randomness.keys import derive_key

SECRET = bytes(range(32))


def test_where_a_part_ends_changes_the_key() -> None:
    contexts = [
        (),
        (b"",),
        (b"", b""),
        (b"abc",),
        (b"ab", b"c"),
        (b"a", b"bc"),
        (b"a", b"b", b"c"),
        (b"abc", b""),
    ]
    assert len({derive_key(SECRET, *context) for context in contexts}) == len(contexts)


def test_a_secret_and_the_same_secret_padded_with_zeros_give_different_keys() -> None:
    assert derive_key(SECRET, b"x") != derive_key(SECRET + b"\0", b"x")


def test_the_key_is_the_hmac_of_the_message_in_the_docstring() -> None:
    message = (
        bytes(7) + b"\x20" + b"localdp/derive-key/v1" + bytes(7) + b"\x01" + bytes(7) + b"\x02" + b"hi"
    )
    assert derive_key(SECRET, b"hi") == hmac.digest(SECRET, message, hashlib.sha256)


def test_a_short_secret_is_refused() -> None:
    with pytest.raises(InvalidParameter):
        derive_key(b"short", b"x")
