"""The primitives over a forced stream: each first byte, ties on both sides of the boundary, rejections."""

import numpy as np
import pytest

from localdp.errors import CoinsExhausted
from localdp.randomness.source import IntegerLaw
from tests.support.scripted import ScriptedSource

FIRST = 0xBB
THRESHOLD = FIRST << 56 | 0x12345678_9ABCDE


def _word(value: int) -> bytes:
    return value.to_bytes(8, "little")


def _bernoulli(first: int, rest: int) -> bool:
    """One draw whose first byte and whose 56 further bits are forced."""
    return bool(ScriptedSource(bytes([first]) + _word(rest << 8 | 0xFF)).bernoulli(THRESHOLD, 1)[0])


def test_every_first_byte_but_the_tie_settles_the_draw_alone() -> None:
    for first in set(range(256)) - {FIRST}:
        source = ScriptedSource(bytes([first]))
        assert source.bernoulli(THRESHOLD, 1)[0] == (first < FIRST)
        assert source.remaining == 0


def test_a_tie_is_settled_by_the_remaining_56_bits() -> None:
    rest = THRESHOLD & ((1 << 56) - 1)
    assert [_bernoulli(FIRST, r) for r in (0, rest - 1, rest, rest + 1, (1 << 56) - 1)] == [
        True,
        True,
        False,
        False,
        False,
    ]


def test_a_threshold_that_ends_with_its_first_byte_has_no_ties() -> None:
    source = ScriptedSource(bytes(range(256)))
    assert source.bernoulli(FIRST << 56, 256).sum() == FIRST
    assert source.remaining == 0


def test_a_tie_inside_a_vector_goes_back_to_its_own_place() -> None:
    drawn = ScriptedSource(bytes([0, FIRST, 255, FIRST]) + _word(0) + _word((1 << 64) - 1)).bernoulli(
        THRESHOLD, 4
    )
    assert drawn.tolist() == [True, True, False, False]


def test_thresholds_of_their_own_compare_one_whole_word() -> None:
    source = ScriptedSource(_word(THRESHOLD - 1) + _word(THRESHOLD))
    assert source.bernoulli(np.full(2, THRESHOLD, np.uint64), 2).tolist() == [True, False]


def test_a_rejected_word_is_drawn_again() -> None:
    # 2**32 mod 3 = 1, so only the word 0 is rejected: 0 * 3 has the low half 0 < 1.
    script = (0).to_bytes(4, "little") * 2 + (0xFFFFFFFF).to_bytes(4, "little")
    source = ScriptedSource(script)
    assert source.below(3, 1)[0] == 2
    assert source.remaining == 0


def test_a_wide_bound_rejects_exactly_the_incomplete_last_run() -> None:
    bound = (1 << 63) + 1
    source = ScriptedSource(_word(bound) + _word(bound - 1))
    assert source.below(bound, 1)[0] == bound - 1


def test_a_category_of_weight_zero_is_never_drawn_and_the_rest_by_their_runs() -> None:
    law = IntegerLaw((1, 0, 2, 1))
    script = b"".join((i << 30).to_bytes(4, "little") for i in range(4))
    assert ScriptedSource(script).categorical(law, 4).tolist() == [0, 2, 2, 3]


def test_a_script_that_ends_says_so_and_does_not_start_over() -> None:
    source = ScriptedSource(bytes(8))
    source.raw(np.uint64, 1)
    with pytest.raises(CoinsExhausted):
        source.raw(np.uint8, 1)
