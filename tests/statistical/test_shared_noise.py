"""The released error of a collection against its exact law, for every noise plan.

The error is that of the whole protocol in process: 100 people split their bits into shares, three servers add up and
add noise, a collector combines; 20,000 collections by default and 200,000 in the nightly run.  Three checks:

- the integer error against its exact law, by a chi-square test with every bin counted and the tails pooled, at alpha
  = 1e-4; the law is made here, from scipy's negative binomials by convolution;
- its variance against m, or m / (m - t), times the central one: within 8 % (5 standard errors), nightly within 3 %;
- the same law whatever the number of people.

The check must catch noise added twice, an epsilon doubled, and a shape that is off by one server.  It would miss an
epsilon that is off by less than about 3 % (nightly 1 %).  500 collections through the oracle, parties and servers
hold the long way to the same law; there the check sees an epsilon that is off by about 50 %.  The coins are fixed.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from localdp.accounting.epsilon import Epsilon
from localdp.mechanisms.adder import Adder, Rows, SharesInProcess
from localdp.oracles.protocols import run_shared_count
from localdp.oracles.shared import InProcessShareServers, SharedOracle
from localdp.randomness.hazmat import SeededSource
from localdp.randomness.source import Integers
from localdp.sharing.noise_plans import PLANS, NoisePlan
from tests.support.people import KEYRING, ONE, parties_of, population, servers_of

ALPHA = 1e-4
SERVERS = 3
REACH = 120
BINS = 8
EACH, ALL, SOME = NoisePlan.EACH_SERVER, NoisePlan.DIVIDED, NoisePlan.divided(1)
FACTOR = {EACH: 3.0, ALL: 1.0, SOME: 1.5}
CENTRAL_VARIANCE = 1.8413472  # of the discrete Laplace law at epsilon = 1


def exact_law(plan: NoisePlan, epsilon: float = 1.0, servers: int = SERVERS) -> NDArray[np.float64]:
    """Probabilities of the errors -REACH .. REACH, from the definition of each server's noise and by convolution."""
    shape = 1.0 if plan == EACH else 1 / (servers - plan.tolerated)
    half = stats.nbinom.pmf(np.arange(REACH + 1), shape, -np.expm1(-epsilon))
    one = np.convolve(half, half[::-1])  # a difference of two, on -REACH .. REACH
    return reduce(lambda left, right: np.convolve(left, right)[REACH:-REACH], [one] * servers)


def follows(measured: Integers, law: NDArray[np.float64], bins: int = BINS) -> bool:
    """Chi-square over the bins -bins .. bins, with both tails pooled into the last ones."""
    observed = np.bincount(np.clip(measured, -bins, bins) + bins, minlength=2 * bins + 1)
    support = np.clip(np.arange(-REACH, REACH + 1), -bins, bins) + bins
    expected = np.bincount(support, weights=law) * len(measured)
    statistic = ((observed - expected) ** 2 / expected).sum()
    return bool(stats.chi2.sf(statistic, 2 * bins) > ALPHA)


def errors(adder: Adder, collections: int, people: int = 100, epsilon: Epsilon = ONE) -> Integers:
    """What the releases of independent collections differ from the truth by."""
    rows = np.tile(np.arange(people)[:, None] % 3 == 0, (1, collections)).astype(np.int64)
    return adder.noisy_sums(rows, 1, epsilon) - int(rows[:, 0].sum())


def shares(plan: NoisePlan, seed: int) -> SharesInProcess:
    return SharesInProcess(SeededSource(seed), SERVERS, plan)


@dataclass(frozen=True)
class NoiseTwice(SharesInProcess):
    """Broken twin: every server adds its noise twice."""

    def noisy_sums(self, rows: Rows, sensitivity: int, epsilon: Epsilon) -> Integers:
        assert isinstance(rows, np.ndarray)
        again = SharesInProcess.noisy_sums(self, np.zeros_like(rows[:1]), sensitivity, epsilon)
        return SharesInProcess.noisy_sums(self, rows, sensitivity, epsilon) + again


@dataclass(frozen=True)
class EpsilonDoubled(SharesInProcess):
    """Broken twin: half the noise."""

    def noisy_sums(self, rows: Rows, sensitivity: int, epsilon: Epsilon) -> Integers:
        return SharesInProcess.noisy_sums(self, rows, sensitivity, epsilon * 2)


@dataclass(frozen=True)
class ShapeOffByOne(SharesInProcess):
    """Broken twin: the noise is divided as if one server more, or one less, could collude."""

    def noisy_sums(self, rows: Rows, sensitivity: int, epsilon: Epsilon) -> Integers:
        wrong = NoisePlan.divided(1 - self.plan.tolerated if self.plan != EACH else 1)
        return replace(SharesInProcess(self.source, self.servers), plan=wrong).noisy_sums(
            rows, sensitivity, epsilon
        )


TWINS: list[Callable[[SeededSource, int, NoisePlan], Adder]] = [NoiseTwice, EpsilonDoubled, ShapeOffByOne]


@pytest.mark.parametrize("plan", FACTOR, ids=str)
def test_the_error_has_exactly_its_law(plan: NoisePlan) -> None:
    measured, law = errors(shares(plan, 31), 20_000), exact_law(plan)
    assert law.sum() == pytest.approx(1, abs=1e-9)
    assert follows(measured, law)
    assert measured.var() == pytest.approx(FACTOR[plan] * CENTRAL_VARIANCE, rel=0.08)
    assert not follows(np.abs(measured), law) and not follows(measured + 1, law)


@pytest.mark.parametrize("plan", FACTOR, ids=str)
@pytest.mark.parametrize("twin", TWINS, ids=lambda twin: twin.__name__)
def test_the_check_catches_the_broken_twin(
    twin: Callable[[SeededSource, int, NoisePlan], Adder], plan: NoisePlan
) -> None:
    measured = errors(twin(SeededSource(32), SERVERS, plan), 20_000, people=3)
    assert not follows(measured, exact_law(plan))
    assert abs(measured.var() / (FACTOR[plan] * CENTRAL_VARIANCE) - 1) > 0.08


@pytest.mark.parametrize("people", [1, 10, 1000])
def test_the_law_does_not_depend_on_the_number_of_people(people: int) -> None:
    assert follows(errors(shares(SOME, 33), 4000, people), exact_law(SOME))


@pytest.mark.parametrize("epsilon", ["0.5", "2"])
def test_the_law_is_that_of_the_epsilon(epsilon: str) -> None:
    asked = Epsilon.requested(epsilon)
    assert follows(errors(shares(SOME, 34), 20_000, 5, asked), exact_law(SOME, float(asked)))


@pytest.mark.parametrize("plan", FACTOR, ids=str)
def test_the_short_protocol_has_the_same_law(plan: NoisePlan) -> None:
    source, bits = SeededSource(35), np.arange(20) < 7
    counts = [run_shared_count(bits, ONE, source, servers=SERVERS, plan=plan) for _ in range(1500)]
    assert follows(np.array(counts) - 7, exact_law(plan))


@pytest.mark.parametrize("plan", PLANS, ids=str)
def test_the_oracle_has_the_same_law(plan: NoisePlan) -> None:
    people = population(20)
    truth = int(people.column("smoker").sum())
    federation = InProcessShareServers(parties_of(people, 2), servers_of(2))
    oracle = SharedOracle(
        federation, ONE, KEYRING.source("shared noise", plan.value), plan=plan, tier="additive"
    )
    counts = [oracle.answer(["smoker"])[0].count for _ in range(500)]
    measured = np.array([round(count) - truth for count in counts], np.int64)
    assert follows(measured, exact_law(plan, servers=2))
    for broken in (
        measured + np.roll(measured, 1),
        np.zeros_like(measured),
        np.abs(measured),
        2 * measured,
    ):
        assert not follows(broken, exact_law(plan, servers=2))


@pytest.mark.nightly
@pytest.mark.parametrize("plan", FACTOR, ids=str)
def test_the_error_has_exactly_its_law_over_200_000_collections(plan: NoisePlan) -> None:
    adder = shares(plan, 36)
    measured = np.concatenate([errors(adder, 10_000) for _ in range(20)])
    assert follows(measured, exact_law(plan))
    assert measured.var() == pytest.approx(FACTOR[plan] * CENTRAL_VARIANCE, rel=0.03)
