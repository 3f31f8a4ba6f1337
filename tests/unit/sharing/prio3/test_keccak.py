"""TurboSHAKE128: against the standard library, RFC 9861, a naive one, and for many messages at once."""

import hashlib

import numpy as np
import pytest

from localdp.sharing.prio3.batch import keccak as batch
from localdp.sharing.prio3.keccak import RATE, TurboShake128
from tests.vectors import naive_prio3

SHAKE128_DOMAIN, FULL_ROUNDS = 0x1F, 24
LENGTHS = pytest.mark.parametrize("length", [0, 1, RATE - 2, RATE - 1, RATE, RATE + 1, 3 * RATE])


def message(length: int) -> bytes:
    return bytes((7 * i + length) % 251 for i in range(length))


@LENGTHS
def test_with_all_rounds_the_sponge_is_shake128(length: int) -> None:
    ours = TurboShake128(message(length), SHAKE128_DOMAIN, FULL_ROUNDS).read(400)
    assert ours == hashlib.shake_128(message(length)).digest(400)


def test_the_value_that_rfc_9861_gives_for_the_empty_message() -> None:
    expected = "1e415f1c5983aff2169217277d17bb538cd945a397ddec541f1ce41af2c1b74c"
    assert TurboShake128(b"", 0x1F).read(32).hex() == expected


@LENGTHS
@pytest.mark.parametrize("domain", [1, 0x7F])
def test_with_half_the_rounds_it_is_the_naive_turboshake(length: int, domain: int) -> None:
    assert TurboShake128(message(length), domain).read(200) == naive_prio3.turboshake128(
        message(length), domain, 200
    )


def test_reading_in_pieces_gives_the_same_stream() -> None:
    whole = TurboShake128(b"pieces", 1).read(1000)
    stream = TurboShake128(b"pieces", 1)
    assert b"".join(stream.read(size) for size in (0, 1, 167, 168, 169, 336, 159)) == whole


@LENGTHS
@pytest.mark.parametrize("count", [1, 3, batch.MESSAGES_AT_ONCE + 1])
def test_many_messages_at_once_have_the_outputs_of_each(length: int, count: int) -> None:
    messages = np.array([[(i * j + j) % 256 for j in range(length)] for i in range(count)], np.uint8)
    outputs = batch.turboshake128(messages.reshape(count, length), 1, 180)
    for i in {0, count // 2, count - 1}:
        assert outputs[i].tobytes() == TurboShake128(messages[i].tobytes(), 1).read(180)
