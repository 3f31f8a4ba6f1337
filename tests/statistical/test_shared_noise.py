"""The released error of a collection against its exact law.

The whole protocol runs in process: shares, two servers, noise, release.  The integer error of 4,000 collections is
compared with its exact law by a chi-square test with every bin counted and the tails pooled, at alpha = 1e-6; the law is
that of the discrete Laplace (divided plan) or of the sum of two of them (each-server).  At 4,000 collections the test
sees an epsilon that is off by about 15 %; it would miss one that is off by 5 %.  The coins are fixed.
"""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from localdp.accounting.epsilon import Epsilon
from localdp.oracles.shared import InProcessShareServers, SharedOracle
from localdp.sharing.noise_plans import NoisePlan
from tests.support.people import KEYRING, ONE, parties_of, population, servers_of

ALPHA = 1e-6
COLLECTIONS = 4000
REACH = 60
BINS = 6


def exact_law(plan: NoisePlan, epsilon: float) -> NDArray[np.float64]:
    """Probabilities of the errors -REACH .. REACH, from the definition and by convolution."""
    a = np.exp(-epsilon)
    single = (1 - a) / (1 + a) * a ** np.abs(np.arange(-REACH, REACH + 1))
    return np.asarray(single if plan is NoisePlan.DIVIDED else np.convolve(single, single)[REACH:-REACH])


def errors(plan: NoisePlan, epsilon: Epsilon, collections: int) -> NDArray[np.int64]:
    """What the servers' release differs from the truth by."""
    people = population(20)
    truth = int(people.column("smoker").sum())
    federation = InProcessShareServers(parties_of(people, 2), servers_of(2))
    oracle = SharedOracle(federation, epsilon, KEYRING.source("shared noise", plan.value), plan=plan)
    counts = [oracle.answer(["smoker"])[0].count for _ in range(collections)]
    return np.array([round(count) - truth for count in counts], np.int64)


def check_law(measured: NDArray[np.int64], law: NDArray[np.float64]) -> None:
    """Chi-square over the bins -BINS .. BINS with both tails pooled into the last ones; and no drift."""
    observed = np.bincount(np.clip(measured, -BINS, BINS) + BINS, minlength=2 * BINS + 1)
    support = np.arange(-REACH, REACH + 1)
    expected = np.bincount(np.clip(support, -BINS, BINS) + BINS, weights=law) * len(measured)
    statistic = ((observed - expected) ** 2 / expected).sum()
    assert stats.chi2.sf(statistic, 2 * BINS) > ALPHA


def twice(measured: NDArray[np.int64]) -> NDArray[np.int64]:
    """Broken twin: noise added twice."""
    return measured + np.roll(measured, 1)


def none(measured: NDArray[np.int64]) -> NDArray[np.int64]:
    """Broken twin: noise forgotten."""
    return np.zeros_like(measured)


def one_sided(measured: NDArray[np.int64]) -> NDArray[np.int64]:
    """Broken twin: the sign lost on its way through the field."""
    return np.abs(measured)


def doubled(measured: NDArray[np.int64]) -> NDArray[np.int64]:
    """Broken twin: epsilon halved, or the noise scaled."""
    return 2 * measured


@pytest.mark.parametrize("plan", list(NoisePlan))
def test_the_error_of_a_collection_has_exactly_its_law(plan: NoisePlan) -> None:
    measured, law = errors(plan, ONE, COLLECTIONS), exact_law(plan, 1.0)
    check_law(measured, law)
    broken: Callable[[NDArray[np.int64]], NDArray[np.int64]]
    for broken in (twice, none, one_sided, doubled):
        with pytest.raises(AssertionError):
            check_law(broken(measured), law)


def test_the_check_tells_the_two_plans_apart() -> None:
    with pytest.raises(AssertionError):
        check_law(errors(NoisePlan.DIVIDED, ONE, COLLECTIONS), exact_law(NoisePlan.EACH_SERVER, 1.0))
