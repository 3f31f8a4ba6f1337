"""The delta of flooded sums is an upper bound, and the least one: against every view of up to six people."""

from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from localdp.accounting.flood_window import FloodWindow, flood_window
from localdp.accounting.flooding import Flood, Moved
from localdp.accounting.outward import exp_below
from localdp.errors import InvalidParameter
from tests.support.flooded_views import FloodedViews

SIZES = [(people, largest) for largest, most in ((1, 6), (2, 5), (3, 4)) for people in range(2, most + 1)]
RATES = (Fraction(7, 10), Fraction(11, 10))
PAIRS = (1, 3, 8)
BEYOND = tuple(Fraction(one, 100) for one in (1, 10, 25, 50, 90, 150, 220, 300))
ROUNDING = 1e-12  # of the enumeration
SETTINGS = len(SIZES) * len(RATES) * len(PAIRS) * len(BEYOND)


def _epsilons(rate: Fraction, largest: int) -> list[Fraction]:
    return [largest * rate + more for more in BEYOND]


def _claimed(rate: Fraction, pairs: int, largest: int) -> list[float]:
    return [float(Flood(rate, pairs).delta(one, Moved(largest))) for one in _epsilons(rate, largest)]


def test_there_are_at_least_500_settings() -> None:
    assert SETTINGS >= 500


@pytest.mark.parametrize(("people", "largest"), SIZES)
def test_it_bounds_every_database_and_neighbour_and_is_reached(people: int, largest: int) -> None:
    for rate, pairs in product(RATES, PAIRS):
        claimed = np.array(_claimed(rate, pairs, largest))
        views = FloodedViews(people, largest, float(rate), pairs)
        found = views.deltas(np.array(_epsilons(rate, largest), float))
        assert (found <= claimed + ROUNDING).all()
        assert (found >= 0.999 * claimed - ROUNDING).all()


def test_sums_that_shrink_are_charged_their_rate_and_no_delta() -> None:
    for rate, pairs, largest in product(RATES, PAIRS, (1, 2, 3)):
        views = FloodedViews(3, largest, float(rate), pairs)
        least, most = views.law((0, 0, 0)), views.law((0, 0, largest))
        excess = np.maximum(most - np.exp(float(rate) * largest) * least, 0.0).sum()
        assert excess < ROUNDING


@pytest.mark.parametrize("pairs", PAIRS)
def test_of_a_histogram_one_bin_shrinks_and_one_grows(pairs: int) -> None:
    """Two bins, seen together: their joint law, against the same with one person in the other bin."""
    rate = Fraction(1, 2)
    views = FloodedViews(2, 1, float(rate), pairs)
    some = views.law((0, 1))[:48, :48].ravel()
    more, none = views.law((1, 1))[:48, :48].ravel(), views.law((0, 0))[:48, :48].ravel()
    keep = np.argsort(some)[::-1][:1500]  # all that has a mass worth speaking of
    for beyond in (0.05, 0.3, 0.8):
        epsilon = 2 * float(rate) + beyond
        # A person moves from the first bin to the second: (2, 0) and (1, 1), with two people; and the other way.
        above = np.outer(more[keep], none[keep])
        below = np.outer(some[keep], some[keep])
        claimed = float(Flood(rate, pairs).delta(Fraction(epsilon), Moved(1, 1, 1)))
        for one, other in ((above, below), (below, above)):
            assert np.maximum(one - np.exp(epsilon) * other, 0.0).sum() <= claimed + ROUNDING


TWINS: dict[str, Callable[[int], float]] = {
    "the flood is left out": lambda value: 0.0,
    "the flood depends on the value": lambda value: 1.0 - value,
    "half of the flood": lambda value: 0.5,
}


@pytest.mark.parametrize("twin", TWINS)
def test_a_flood_that_is_not_the_one_is_caught(twin: str) -> None:
    rate, pairs = Fraction(7, 10), 8
    claimed = np.array(_claimed(rate, pairs, 1))
    found = FloodedViews(4, 1, float(rate), pairs, TWINS[twin]).deltas(np.array(_epsilons(rate, 1), float))
    assert (found > claimed + ROUNDING).any()


def test_noise_that_is_too_small_is_caught() -> None:
    rate, pairs = Fraction(7, 10), 8
    claimed = np.array(_claimed(rate, pairs, 1))
    views = FloodedViews(4, 1, float(rate), pairs, shares=0.5)
    assert (views.deltas(np.array(_epsilons(rate, 1), float)) > claimed + ROUNDING).any()


def test_more_people_than_were_counted_on_do_no_harm() -> None:
    rate, pairs = Fraction(7, 10), 3
    claimed = np.array(_claimed(rate, pairs, 1))
    views = FloodedViews(4, 1, float(rate), pairs * 1.5, shares=1.5)
    assert (views.deltas(np.array(_epsilons(rate, 1), float)) <= claimed + ROUNDING).all()


@pytest.mark.parametrize(
    ("part", "pairs", "delta"),
    [("0.7", 197, 9.62e-7), ("0.9", 1349, 9.944e-7), ("0.95", 4743, 9.96e-7), ("0.98", 25305, 9.965e-7)],
)
def test_known_floods_of_a_count_have_the_delta_that_is_known(part: str, pairs: int, delta: float) -> None:
    found = Flood(Fraction(part), pairs).delta(Fraction(1), Moved())
    assert float(found) == pytest.approx(delta, rel=1e-3)


@pytest.mark.parametrize(("rate", "pairs", "shift"), [("0.5", 40, 1), ("0.1", 300, 3), ("0.95", 900, 1)])
def test_the_window_is_that_of_decimals(rate: str, pairs: int, shift: int) -> None:
    growth = exp_below(Fraction(1, 10))
    with localcontext() as context:
        context.prec = 60
        factor = Decimal(growth.numerator) / Decimal(growth.denominator)
        masses = _decimal_masses(Decimal(rate), pairs)
        before = [Decimal(0)] * shift + masses
        pairs_of_masses = zip(masses, before, strict=False)
        exact = sum((max(a - factor * b, Decimal(0)) for a, b in pairs_of_masses), Decimal(0))
    found = flood_window(Fraction(rate), pairs).above(shift, growth)
    assert found >= Fraction(exact) - Fraction(1, 10**50)
    assert float(found) == pytest.approx(float(exact), rel=1e-14)


def _decimal_masses(rate: Decimal, pairs: int) -> list[Decimal]:
    """Pr[M + F = w], straight from the definitions."""
    base, poisson, law = (-2 * rate).exp(), (-Decimal(pairs)).exp(), [Decimal(0)]
    for place in range(3 * pairs + 200):
        law.append(base * law[-1] + (1 - base) * poisson)
        poisson = poisson * pairs / (place + 1)
    return law[1:]


def test_few_windows_are_kept_and_none_is_searched_where_next_to_nothing_is() -> None:
    """A question says how many pairs there are: the largest window takes 90 MB, and a change of 255 looks 32,000 times."""
    for pairs in range(20):
        flood_window(Fraction(1, 2), pairs)
    assert flood_window.cache_info().currsize <= 4
    window, looked = flood_window(Fraction(1, 780), 10**6), list[int]()

    class Watched(FloodWindow):
        def _rises(self, place: int, shift: int, factor: int) -> bool:
            looked.append(place)
            return super()._rises(place, shift, factor)

    far = Watched(window.masses, window.sums)
    for shift in (1, 2, 5, 20, 40, 60):
        assert 0 <= far.above(shift, Fraction(11, 4)) < 2**-100
    assert len(looked) <= 6  # and not 600


def test_a_change_that_the_sum_alone_reveals_has_no_promise() -> None:
    assert Flood(Fraction(1), 100).delta(Fraction(9, 10), Moved()) == 1
    assert Flood(Fraction(1, 2), 100).delta(Fraction(9, 10), Moved(2)) == 1


def test_what_is_no_flood_is_refused() -> None:
    for rate, pairs in ((Fraction(0), 1), (Fraction(31), 1), (Fraction(1), -1), (Fraction(1), 1 << 27)):
        with pytest.raises(InvalidParameter):
            Flood(rate, pairs)
    for largest, rising, falling in ((0, 1, 0), (256, 1, 0), (1, 0, 1), (2, 2, 0), (2, 1, 1), (1, 1, -1)):
        with pytest.raises(InvalidParameter):
            Moved(largest, rising, falling)
