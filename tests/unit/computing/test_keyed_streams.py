"""Keys and streams: which two servers draw alike, what a stream depends on, and words that are no elements."""

from __future__ import annotations

import numpy as np
import pytest

from localdp.computing.keyed_streams import HeldKeys, KeyedAttempt, KeyedStream
from localdp.errors import InvalidParameter
from localdp.sharing.field import PRIME
from localdp.sharing.prio3.batch.field128 import NumpyField128
from localdp.sharing.prio3.batch.words import Words
from localdp.sharing.prio3.fields import PRIME128
from tests.support.computing import FIELD64_KERNEL, keys_of

NONCES = tuple(bytes([server]) * 16 for server in range(3))


def attempt_of(server: int, computation: bytes = b"id", nonces: tuple[bytes, ...] = NONCES) -> KeyedAttempt:
    return KeyedAttempt(keys_of(1)[server], computation, nonces)


def test_the_next_stream_of_a_server_is_the_own_stream_of_the_next_server() -> None:
    for server in range(3):
        here, there = attempt_of(server), attempt_of((server + 1) % 3)
        assert (here.fresh(b"mask").next.words(9) == there.fresh(b"mask").own.words(9)).all()
        assert (here.lasting(b"noise").next.words(9) == there.lasting(b"noise").own.words(9)).all()
        assert here.secrets(b"x")[1] == there.secrets(b"x")[0]
        assert here.tag == there.tag


def test_no_two_uses_have_a_stream_in_common() -> None:
    base, other = attempt_of(0), attempt_of(0, nonces=(NONCES[0], NONCES[1], bytes(16)))
    drawn = [
        pair.words(2).tobytes()
        for pair in (
            base.fresh(b"a"),
            base.fresh(b"b"),
            base.lasting(b"a"),
            other.fresh(b"a"),
            attempt_of(0, b"other").fresh(b"a"),
            attempt_of(0, b"other").lasting(b"a"),
        )
    ]
    assert len(set(drawn)) == len(drawn)
    assert base.tag != other.tag


def test_a_lasting_stream_is_the_same_in_every_attempt() -> None:
    other = attempt_of(0, nonces=(bytes(16),) * 3)
    assert (attempt_of(0).lasting(b"a").words(5) == other.lasting(b"a").words(5)).all()


class Script(KeyedStream):
    """A keystream whose words a test writes."""

    def __init__(self, words: list[int]) -> None:
        self._left = words

    def words(self, count: int) -> Words:
        taken, self._left = self._left[:count], self._left[count:]
        return np.array(taken, np.uint64)


def test_words_that_are_no_elements_are_skipped_in_order() -> None:
    script = Script([5, PRIME, 7, PRIME + 3, PRIME - 1, 2**64 - 1, 9])
    assert script.elements(FIELD64_KERNEL, 4).tolist() == [[5, 7, PRIME - 1, 9]]
    low, high = PRIME128 % 2**64, PRIME128 >> 64
    pairs = Script([1, 2, low, high, low - 1, high, 0, 2**64 - 1, 3, 4])
    assert pairs.elements(NumpyField128(), 3).tolist() == [[1, low - 1, 3], [2, high, 4]]


def test_drawing_in_parts_is_drawing_at_once() -> None:
    whole, parts = KeyedStream(bytes(32)), KeyedStream(bytes(32))
    drawn = np.concatenate([parts.words(count) for count in (1, 3, 40_000, 2)])
    assert (whole.words(40_006) == drawn).all()


def test_keys_and_nonces_of_another_length_are_refused() -> None:
    with pytest.raises(InvalidParameter):
        HeldKeys(bytes(32), bytes(31))
    with pytest.raises(InvalidParameter):
        attempt_of(0, nonces=NONCES[:2])
    with pytest.raises(InvalidParameter):
        attempt_of(0, nonces=(*NONCES[:2], b"short"))
