"""The production source: the standard keystream, no byte twice, no coin shared by forks or threads."""

import os

import numpy as np
import pytest

from localdp.errors import InvalidParameter
from localdp.randomness.keystream import CHUNK_BYTES, KeystreamSource, SourceBusy

KEY = bytes.fromhex("2b7e151628aed2a6abf7158809cf4f3c")


def test_the_first_block_is_aes_of_the_zero_counter() -> None:
    # AES-128 of sixteen zero bytes under an all-zero key: FIPS 197 arithmetic, listed in many places.
    assert (
        KeystreamSource(bytes(16)).raw(np.uint8, 16).tobytes().hex() == "66e94bd4ef8a2c3b884cfa59ca342b2e"
    )


def test_small_draws_read_the_keystream_in_order_without_waste() -> None:
    whole = np.concatenate([KeystreamSource(KEY).raw(np.uint8, 1000), np.empty(0, np.uint8)])
    source = KeystreamSource(KEY)
    pieces = np.concatenate([source.raw(np.uint8, n) for n in (1, 7, 0, 500, 492)])
    assert (pieces == whole).all()


def test_no_byte_is_handed_out_twice_across_chunk_borders() -> None:
    source = KeystreamSource(KEY)
    sizes = [100, CHUNK_BYTES // 8 - 1, 1999, 5, 2 * CHUNK_BYTES // 8, 1500, 1, 2047, 77]
    words = np.concatenate([source.raw(np.uint64, n) for n in sizes * 3])
    assert len(np.unique(words)) == len(words)


def test_a_drawn_array_does_not_change_when_more_is_drawn() -> None:
    source = KeystreamSource(KEY)
    drawn = source.raw(np.uint64, 10)
    before = drawn.copy()
    source.raw(np.uint64, CHUNK_BYTES)
    assert (drawn == before).all()


def test_two_system_keyed_sources_differ() -> None:
    one, two = KeystreamSource.from_system(), KeystreamSource.from_system()
    assert one.raw(np.uint64, 4).tolist() != two.raw(np.uint64, 4).tolist()


@pytest.mark.parametrize("size", [0, 15, 17, 24, 33])
def test_a_key_of_another_size_is_refused(size: int) -> None:
    with pytest.raises(InvalidParameter):
        KeystreamSource(bytes(size))


def _words_in_child(source: KeystreamSource) -> bytes:
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writer, source.raw(np.uint64, 64).tobytes())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        words = pipe.read()
    assert os.waitpid(child, 0)[1] == 0
    return words


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_parent_child_and_sibling_share_no_coin_after_a_fork() -> None:
    source = KeystreamSource.from_system()
    source.raw(np.uint64, 3)  # So that the buffer is part used, and would be copied into the children.
    drawn = [_words_in_child(source), _words_in_child(source), source.raw(np.uint64, 64).tobytes()]
    words = np.frombuffer(b"".join(drawn), np.uint64)
    assert len(words) == len(np.unique(words)) == 192


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_the_fork_test_sees_a_source_that_is_not_keyed_anew() -> None:
    source = KeystreamSource(KEY)  # A given key is deterministic by design: here it is the broken twin.
    assert _words_in_child(source) == _words_in_child(source)


def test_a_second_thread_inside_one_source_is_refused() -> None:
    source = KeystreamSource(KEY)
    turn = source._turn.pop()  # What a thread that is in the middle of a draw holds.
    with pytest.raises(SourceBusy):
        source.raw(np.uint8, 1)
    source._turn.append(turn)
    assert source.raw(np.uint8, 1).shape == (1,)
