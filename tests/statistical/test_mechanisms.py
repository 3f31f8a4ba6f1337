"""Mechanisms that need addition only: the same law on a trusted curator and on shares, against the exact one.

n = 1,500 releases of each, on fixed seeds; the integer error of one answer against the law that the mechanism
predicts, by a chi-square test with every bin counted at alpha = 1e-6.  It sees an epsilon that is off by 25 %, and
must catch it doubled or halved, which is what a sensitivity of 1 in place of 2 would do.
"""

from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from localdp.accounting.epsilon import Epsilon
from localdp.mechanisms.adder import Adder, SharesInProcess, TrustedCurator
from localdp.mechanisms.marginals import DirectMarginals
from localdp.mechanisms.tree_counter import TreeCounter
from localdp.randomness.hazmat import SeededSource
from localdp.sharing.encoding import Encoding
from localdp.sharing.noise_plans import NoisePlan
from localdp.sharing.summed_noise import SummedNoise

ALPHA = 1e-6
RELEASES = 1500
ONE = Epsilon.requested(1)
ADDERS: dict[str, Callable[[], Adder]] = {
    "curator": lambda: TrustedCurator(SeededSource(51)),
    "divided": lambda: SharesInProcess(SeededSource(52), 3, NoisePlan.DIVIDED),
    "divided(1)": lambda: SharesInProcess(SeededSource(53), 3, NoisePlan.divided(1)),
    "each-server": lambda: SharesInProcess(SeededSource(54), 2),
}
Sampled = tuple[list[int], SummedNoise]


def summed(adder: Adder, rows: list[list[int]], encoding: Encoding) -> Sampled:
    """The error of the last of the noisy sums."""
    values, truth = np.array(rows, np.int64), sum(row[-1] for row in rows)
    drawn = [adder.noisy_sums(values, encoding.sensitivity, ONE) for _ in range(RELEASES)]
    return [int(sums[-1]) - truth for sums in drawn], adder.noise(encoding.sensitivity, ONE)


def count(adder: Adder) -> Sampled:
    return summed(adder, [[1], [0]], Encoding.count())


def bounded_sum(adder: Adder) -> Sampled:
    return summed(adder, [[5], [2]], Encoding.sum(5))


def histogram(adder: Adder) -> Sampled:
    return summed(adder, [[0, 0, 0, 1], [1, 0, 0, 0], [0, 0, 0, 1]], Encoding.histogram(4))


def vector_sum(adder: Adder) -> Sampled:
    return summed(adder, [[1, 9]], Encoding.vector(2, 9, 3))


def marginals(adder: Adder) -> Sampled:
    mechanism = DirectMarginals(2, 1, ONE, adder)
    return [
        int(mechanism.release(np.ones((3, 2), np.bool_))[0, 1]) - 3 for _ in range(RELEASES)
    ], mechanism.noise


def tree(adder: Adder) -> Sampled:
    """The first step of a stream holds one interval."""
    mechanism = TreeCounter(2, ONE, adder)
    return [mechanism.start().update(np.array([1])) - 1 for _ in range(RELEASES)], mechanism.node_noise


def follows(measured: list[int], law: SummedNoise) -> bool:
    reach = int(3 * np.sqrt(law.variance()))
    counts = np.bincount(
        np.clip(measured, -reach - 1, reach + 1) + np.int64(reach + 1), minlength=2 * reach + 3
    )
    masses = np.array([law.probability(k) for k in range(-reach, reach + 1)])
    tail = (1 - masses.sum()) / 2
    expected = np.array([tail, *masses, tail]) * len(measured)
    return bool(stats.chi2.sf(((counts - expected) ** 2 / expected).sum(), len(expected) - 1) > ALPHA)


@pytest.mark.parametrize("mechanism", [count, bounded_sum, histogram, vector_sum, marginals, tree])
@pytest.mark.parametrize("adder", ADDERS)
def test_the_error_has_the_law_that_is_predicted(adder: str, mechanism: Callable[[Adder], Sampled]) -> None:
    measured, law = mechanism(ADDERS[adder]())
    assert follows(measured, law)
    for wrong in (law.parameter / 2, law.parameter * 2):
        assert not follows(measured, SummedNoise(wrong, law.shape))


def test_divided_shares_and_a_curator_predict_the_same_law() -> None:
    laws = [ADDERS[name]().noise(Encoding.histogram(4).sensitivity, ONE) for name in ("curator", "divided")]
    assert laws[0] == laws[1]
