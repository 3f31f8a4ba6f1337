"""The accountant against the library dp-accounting, run here.

Its PLD accountant ignores the `count` of randomized response (version 0.6.0: 1,000 reports at 0.1 come to 0.1001), so every
report is composed in a loop; the bug is asserted as well, so that this file says when it is mended.
"""

import math
import warnings
from collections.abc import Sequence

import pytest

from localdp.accounting.accountant import total_epsilon
from localdp.accounting.epsilon import Epsilon
from localdp.accounting.events import PrivacyEvent

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of its own dependencies, at import
    from dp_accounting import NeighboringRelation, dp_event
    from dp_accounting.pld import pld_privacy_accountant, privacy_loss_distribution

DELTA = "1e-6"
STEP = 1e-4


def theirs(epsilons: Sequence[float]) -> tuple[float, float]:
    """A lower and an upper bound on the total of randomized responses, composed one by one."""
    bounds = []
    for pessimistic in (False, True):
        whole = None
        for epsilon in epsilons:
            one = _randomized_response(epsilon, pessimistic)
            whole = one if whole is None else whole.compose(one)
        assert whole is not None
        bounds.append(float(whole.get_epsilon_for_delta(float(DELTA))))
    return bounds[0], bounds[1]


def _randomized_response(
    epsilon: float, pessimistic: bool
) -> privacy_loss_distribution.PrivacyLossDistribution:
    noise = 2 / (1 + math.exp(epsilon))
    return privacy_loss_distribution.from_randomized_response(
        noise, 2, pessimistic_estimate=pessimistic, value_discretization_interval=STEP
    )


@pytest.mark.parametrize(
    "events",
    [
        [("0.1", 100)],
        [("0.5", 20)],
        [("1", 10)],
        [("0.1", 50), ("0.5", 5)],
        [("0.3", 7), ("0.2", 11), ("1", 2)],
    ],
)
def test_our_bound_lies_between_theirs(events: list[tuple[str, int]]) -> None:
    ours = float(
        total_epsilon(
            [PrivacyEvent(Epsilon.requested(each), count) for each, count in events], DELTA
        ).epsilon
    )
    low, high = theirs([float(each) for each, count in events for _ in range(count)])
    # Their answers are multiples of a step for every composed response.
    slack = STEP * sum(count for _, count in events)
    assert low - slack <= ours <= high + slack
    assert high - low <= 2 * slack


def test_their_accountant_still_ignores_how_often_randomized_response_is_used() -> None:
    accountant = pld_privacy_accountant.PLDAccountant(NeighboringRelation.REPLACE_ONE)
    noise = 2 / (1 + math.exp(0.1))
    accountant.compose(dp_event.RandomizedResponseDpEvent(noise, 2), 1000)
    assert accountant.get_epsilon(float(DELTA)) == pytest.approx(0.1, abs=1e-3)  # the truth is 19.34
    assert float(
        total_epsilon([PrivacyEvent(Epsilon.requested("0.1"), 1000)], DELTA).epsilon
    ) == pytest.approx(19.345, abs=1e-3)
