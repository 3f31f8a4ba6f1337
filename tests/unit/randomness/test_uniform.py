"""Folding words onto a range: every outcome has the same number of accepted words."""

import numpy as np
import pytest

from localdp.randomness.source import WORD_RANGE
from localdp.randomness.uniform import below_each, fold_half_words, fold_words
from tests.support.scripted import ScriptedSource


@pytest.mark.parametrize("bound", [1, 2, 3, 5, 1000, 65537, (1 << 31) + 1, (1 << 32) - 1, 1 << 32])
def test_each_outcome_of_a_half_word_has_equally_many_accepted_words(bound: int) -> None:
    # The words that fold to j are a run; its ends, and the rejected words among them, are computed by hand.
    for outcome in {0, 1 % bound, bound // 2, bound - 1}:
        start, end = -(-(outcome << 32) // bound), -(-((outcome + 1) << 32) // bound)
        near = np.unique([start, min(start + 1, end - 1), end - 1]).astype(np.uint32)
        drawn, rejected = fold_half_words(near, bound)
        assert (drawn == outcome).all()
        accepted = end - start - ((start * bound) % (1 << 32) < (1 << 32) % bound)
        assert accepted == (1 << 32) // bound
        assert (near[rejected] == start).all()


@pytest.mark.parametrize("bound", [3, 10**12, (1 << 63) + 1, (1 << 64) - 1])
def test_the_last_incomplete_run_of_words_is_rejected(bound: int) -> None:
    first_rejected = WORD_RANGE - WORD_RANGE % bound
    words = np.array([0, bound - 1, first_rejected - 1, first_rejected, WORD_RANGE - 1], np.uint64)
    drawn, rejected = fold_words(words, bound)
    assert rejected.tolist() == [3, 4]
    assert drawn[:3].tolist() == [0, bound - 1, bound - 1]


@pytest.mark.parametrize("bound", [1, 2, 1 << 63, WORD_RANGE])
def test_powers_of_two_reject_nothing(bound: int) -> None:
    drawn, rejected = fold_words(np.array([WORD_RANGE - 1], np.uint64), bound)
    assert drawn[0] == bound - 1
    assert not rejected.size


def test_each_bound_has_its_own_rejection() -> None:
    bounds = [3, 4, 1, (1 << 63) - 1]
    last = [WORD_RANGE - WORD_RANGE % bound for bound in bounds]
    words = [last[0], WORD_RANGE - 1, WORD_RANGE - 1, last[3], 7, 9]
    source = ScriptedSource(b"".join(word.to_bytes(8, "little") for word in words))
    assert below_each(source, np.array(bounds, np.uint64)).tolist() == [7 % 3, 3, 0, 9]
