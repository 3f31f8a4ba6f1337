"""The executable summaries of the protocols: unbiased, with the errors that the book promises."""

import math
from collections.abc import Callable

import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.oracles import bounds, protocols
from localdp.randomness.hazmat import SeededSource
from localdp.sharing.noise_plans import NoisePlan
from tests.support.people import ONE

BITS = np.arange(400) % 4 == 0
RUNS = 2000


def test_the_exact_count_is_the_number_of_ones() -> None:
    assert protocols.run_exact_count(BITS) == 100


# Mean absolute error over 2,000 runs with fixed coins: the relative standard error is below 3 %, the band is 15 %.
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("curator", bounds.curator_error(1)),
        ("local", bounds.randomized_response_error(1, 400)),
        ("shared each-server", bounds.each_server_error(1, 2)),
        ("shared divided", bounds.curator_error(1)),
    ],
)
def test_each_protocol_has_the_error_of_its_theorem(name: str, expected: float) -> None:
    source = SeededSource(5)
    runs: dict[str, Callable[[], float]] = {
        "curator": lambda: protocols.run_curator_count(BITS, ONE, source),
        "local": lambda: protocols.run_local_count(BITS, ONE, source),
        "shared each-server": lambda: protocols.run_shared_count(BITS, ONE, source),
        "shared divided": lambda: protocols.run_shared_count(BITS, ONE, source, plan=NoisePlan.DIVIDED),
    }
    errors = np.array([runs[name]() - 100 for _ in range(RUNS)])
    assert abs(errors.mean()) < 5 * errors.std() / math.sqrt(RUNS)
    assert np.abs(errors).mean() == pytest.approx(expected, rel=0.15)


def test_with_hardly_any_privacy_every_protocol_is_exact() -> None:
    epsilon, source = Epsilon.requested(30), SeededSource(6)
    assert protocols.run_curator_count(BITS, epsilon, source) == 100
    assert protocols.run_local_count(BITS, epsilon, source) == pytest.approx(100)
    assert protocols.run_shared_count(BITS, epsilon, source, servers=5) == 100
