"""Integer thresholds: never above what epsilon allows, and the last integer that is not."""

from decimal import Decimal, localcontext

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter
from localdp.randomizers.parts.thresholds import keep_threshold

WORD = 1 << 64
EPSILONS = st.integers(1, 30 * 10**9).map(Epsilon)
COUNTS = st.integers(1, 1 << 32)


def _allowed(threshold: int, epsilon: Epsilon, kept: int, others: int) -> bool:
    """Whether (T / kept) / ((2**64 - T) / others) <= exp(epsilon), in 80-digit decimals."""
    with localcontext() as context:
        context.prec = 80
        limit = (Decimal(epsilon.nanonats) / 10**9).exp() * kept * (WORD - threshold)
        return threshold * others <= limit


@settings(max_examples=300, deadline=None)
@given(EPSILONS, COUNTS, COUNTS)
def test_the_threshold_is_the_largest_that_epsilon_allows(epsilon: Epsilon, kept: int, others: int) -> None:
    threshold = keep_threshold(epsilon, kept, others)
    assert 0 <= threshold < WORD
    assert _allowed(threshold, epsilon, kept, others)
    assert not _allowed(threshold + 1, epsilon, kept, others)


@settings(max_examples=100, deadline=None)
@given(EPSILONS)
def test_more_epsilon_keeps_no_less_of_the_truth(epsilon: Epsilon) -> None:
    assert keep_threshold(epsilon) <= keep_threshold(epsilon + Epsilon(1))


def test_the_truth_is_kept_more_often_than_not_by_the_smallest_epsilon() -> None:
    assert keep_threshold(Epsilon(1)) > WORD // 2


@pytest.mark.parametrize(("kept", "others"), [(0, 1), (1, 0), (-1, 2)])
def test_no_kept_or_no_other_output_is_refused(kept: int, others: int) -> None:
    with pytest.raises(InvalidParameter):
        keep_threshold(Epsilon(10**9), kept, others)
