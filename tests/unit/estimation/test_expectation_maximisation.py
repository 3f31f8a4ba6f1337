"""Expectation maximisation: its products, its monotony, its fixed points and its refusals."""

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

from localdp.errors import InvalidParameter
from localdp.estimation.expectation_maximisation import (
    BucketDistribution,
    WindowChannel,
    maximise_likelihood,
    smoothed,
)

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class MatrixChannel:
    """Any channel: `matrix[o, i]` is the probability of output o for input i."""

    matrix: Floats

    @property
    def inputs(self) -> int:
        return int(self.matrix.shape[1])

    def forward(self, masses: Floats) -> Floats:
        return self.matrix @ masses

    def backward(self, weights: Floats) -> Floats:
        return self.matrix.T @ weights


def _matrix(channel: WindowChannel) -> MatrixChannel:
    outputs = channel.inputs + channel.width - 1
    offset = np.arange(outputs)[:, None] - np.arange(channel.inputs)
    window = (offset >= 0) & (offset < channel.width)
    return MatrixChannel(np.where(window, channel.inside, channel.outside))


def _channel(inputs: int, width: int, odds: float = 5.0) -> WindowChannel:
    outside = 1 / (width * odds + inputs - 1)
    return WindowChannel(inputs, width, odds * outside, outside)


@pytest.mark.parametrize(("inputs", "width"), [(2, 1), (7, 3), (16, 5), (5, 40)])
def test_the_running_sums_of_a_window_are_the_products_with_its_matrix(inputs: int, width: int) -> None:
    channel, generator = _channel(inputs, width), np.random.default_rng(0)
    matrix = _matrix(channel)
    np.testing.assert_allclose(matrix.matrix.sum(axis=0), 1)
    masses, weights = generator.dirichlet(np.ones(inputs)), generator.random(inputs + width - 1)
    np.testing.assert_allclose(channel.forward(masses), matrix.forward(masses), rtol=1e-12)
    np.testing.assert_allclose(channel.backward(weights), matrix.backward(weights), rtol=1e-12)
    assert matrix.inputs == inputs


def test_each_step_of_em_gains_likelihood() -> None:
    channel = _channel(12, 5)
    counts = np.random.default_rng(1).multinomial(5000, channel.forward(np.arange(1, 13) / 78))
    reached = [
        maximise_likelihood(counts, channel, smoothing=False, least_gain=0, most_iterations=steps)
        for steps in (1, 2, 5, 20, 100)
    ]
    assert (np.diff([estimate.log_likelihood for estimate in reached]) > 0).all()
    assert [estimate.iterations for estimate in reached] == [1, 2, 5, 20, 100]


def test_em_finds_the_truth_when_the_counts_are_the_expected_ones() -> None:
    channel, truth = _channel(6, 3, odds=20.0), np.array([0.4, 0.1, 0.05, 0.05, 0.1, 0.3])
    counts = np.rint(channel.forward(truth) * 1e9).astype(np.int64)
    estimate = maximise_likelihood(counts, channel, smoothing=False, least_gain=1e-6)
    np.testing.assert_allclose(estimate.masses, truth, atol=1e-4)


def test_smoothing_is_off_when_it_is_switched_off_and_on_by_default() -> None:
    channel = _channel(32, 9)
    counts = np.random.default_rng(2).multinomial(2000, channel.forward(np.full(32, 1 / 32)))
    plain, smooth = (
        maximise_likelihood(counts, channel, smoothing=False),
        maximise_likelihood(counts, channel),
    )
    assert np.abs(np.diff(smooth.masses)).max() < np.abs(np.diff(plain.masses)).max() / 2
    assert plain.log_likelihood > smooth.log_likelihood


def test_the_kernel_keeps_the_total_and_spreads_a_point() -> None:
    np.testing.assert_allclose(smoothed(np.eye(7)[3]), [0, 0, 0.25, 0.5, 0.25, 0, 0])
    assert smoothed(np.eye(5)[0]).sum() == pytest.approx(1)
    np.testing.assert_allclose(smoothed(np.full(9, 1 / 9)), np.full(9, 1 / 9))
    np.testing.assert_allclose(smoothed(np.ones(1)), [1.0])


def test_mean_and_quantiles_are_those_of_the_buckets() -> None:
    estimate = BucketDistribution(np.array([0.5, 0.0, 0.25, 0.25]), 4, 1, 0.0)
    assert estimate.mean == pytest.approx(0.5 * 0.125 + 0.25 * 0.625 + 0.25 * 0.875)
    assert estimate.quantile(0.25) == pytest.approx(0.125)
    assert estimate.quantile(0.875) == pytest.approx(0.875)
    np.testing.assert_allclose(estimate.cumulative, [0.5, 0.5, 0.75, 1.0])
    for level in (-0.1, 1.1, float("nan")):
        with pytest.raises(InvalidParameter):
            estimate.quantile(level)


@pytest.mark.parametrize(
    "counts", [np.zeros(8, np.int64), np.ones(7, np.int64), np.array([-1, 2, 0, 0, 0, 0, 0, 0])]
)
def test_counts_that_no_reports_make_are_refused(counts: NDArray[np.int64]) -> None:
    with pytest.raises(InvalidParameter):
        maximise_likelihood(counts, _channel(6, 3))


def test_a_channel_with_an_impossible_output_is_refused() -> None:
    channel = MatrixChannel(np.array([[1.0, 1.0], [0.0, 0.0]]))
    with pytest.raises(InvalidParameter):
        maximise_likelihood(np.array([1, 1]), channel)
