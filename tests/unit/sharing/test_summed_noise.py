"""The law of summed noises: against its transform, its moments and its special cases."""

from fractions import Fraction
from math import exp, expm1, sqrt

import numpy as np
import pytest

from localdp.errors import InvalidParameter
from localdp.oracles.bounds import each_server_error
from localdp.randomness.discrete_laplace import DiscreteLaplace
from localdp.randomness.polya import PolyaDifference
from localdp.sharing.summed_noise import SummedNoise

SHAPES = [Fraction(1, 3), Fraction(9, 10), Fraction(1), Fraction(3, 2), Fraction(5)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("parameter", [Fraction(2), Fraction(1), Fraction(1, 10)])
def test_the_probabilities_are_those_of_the_characteristic_function(
    parameter: Fraction, shape: Fraction
) -> None:
    law, points, rate = SummedNoise(parameter, shape), 1 << 12, float(parameter)
    angle = 2 * np.pi * np.arange(points) / points
    transform = (1 + 4 * exp(-rate) / expm1(-rate) ** 2 * np.sin(angle / 2) ** 2) ** -float(shape)
    masses = np.fft.ifft(transform).real
    assert [law.probability(k) for k in range(50)] == pytest.approx(masses[:50], rel=1e-6, abs=1e-14)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("parameter", [Fraction(1), Fraction(1, 5)])
def test_the_moments_are_those_of_the_probabilities(parameter: Fraction, shape: Fraction) -> None:
    law = SummedNoise(parameter, shape)
    masses = np.array([law.probability(k) for k in range(int(60 / parameter))])
    k = np.arange(len(masses))
    assert masses[0] + 2 * masses[1:].sum() == pytest.approx(1, abs=1e-12)
    assert 2 * (k * masses).sum() == pytest.approx(law.mean_absolute(), rel=1e-10)
    assert 2 * (k**2 * masses).sum() == pytest.approx(law.variance(), rel=1e-10)


def test_whole_and_fractional_shapes_are_the_laws_that_are_drawn() -> None:
    parameter = Fraction(1, 7)
    for part, whole in (
        (DiscreteLaplace(parameter), SummedNoise(parameter, Fraction(1))),
        (PolyaDifference(parameter, 4), SummedNoise(parameter, Fraction(1, 4))),
    ):
        assert whole.variance() == pytest.approx(part.variance(), rel=1e-12)
        assert whole.mean_absolute() == pytest.approx(part.mean_absolute(), rel=1e-10)
        assert [whole.probability(k) for k in (-3, 0, 9)] == pytest.approx(
            [part.probability(k) for k in (3, 0, 9)], rel=1e-12
        )


@pytest.mark.parametrize("servers", [1, 2, 3, 16])
def test_full_noises_of_several_servers_have_the_known_mean_error(servers: int) -> None:
    assert SummedNoise(Fraction(1), Fraction(servers)).mean_absolute() == pytest.approx(
        each_server_error(1.0, servers), rel=1e-10
    )


def test_wide_noise_is_nearly_continuous() -> None:
    """A difference of two Gamma(1/2) variables: E|X| = 2 scale / pi."""
    scale = 1 << 40
    law = SummedNoise(Fraction(1, scale), Fraction(1, 2))
    assert law.mean_absolute() / scale == pytest.approx(2 / np.pi, rel=1e-6)
    assert sqrt(law.variance()) / scale == pytest.approx(1, rel=1e-9)


def test_impossible_laws_are_refused() -> None:
    for parameter, shape in ((0, 1), (1, 0), (-1, 1)):
        with pytest.raises(InvalidParameter):
            SummedNoise(Fraction(parameter), Fraction(shape))
    with pytest.raises(InvalidParameter):
        SummedNoise(Fraction(1, 1 << 17), Fraction(1)).probability(0)


@pytest.mark.parametrize("parameter", [Fraction(3), Fraction(1), Fraction(1, 3), Fraction(1, 40)])
@pytest.mark.parametrize("shape", [Fraction(1, 2), Fraction(1), Fraction(2), Fraction(3)])
@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.999])
def test_half_of_an_interval_is_the_least_that_holds(
    parameter: Fraction, shape: Fraction, level: float
) -> None:
    noise = SummedNoise(parameter, shape)
    found = noise.half_width(level)
    within = noise.probability(0) + 2 * sum(noise.probability(k) for k in range(1, found + 1))
    assert within >= level - 1e-9
    assert found == 0 or within - 2 * noise.probability(found) < level + 1e-9


def test_half_of_an_interval_scales_where_tables_end() -> None:
    fine, coarse = (
        SummedNoise(Fraction(1, scale), Fraction(2)).half_width(0.95) for scale in (65_536, 512)
    )
    assert fine / 65_536 == pytest.approx(coarse / 512, rel=5e-3)
    with pytest.raises(InvalidParameter, match="level"):
        SummedNoise(Fraction(1), Fraction(1)).half_width(1.0)
