"""The sampled audit: it refutes what is far off, and says "not refuted" where it cannot see.

All samples come from fixed seeds.  10,000 reports about each input, half of them fresh, at a confidence of 0.9999: twice
the epsilon is seen for every randomizer at epsilon = 1; what is not seen is listed in the tests at the end.
"""

from typing import Any

import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.auditing import audit, sampled_audit
from localdp.auditing.events import Stated, found_events
from localdp.errors import InvalidParameter
from localdp.randomizers.projective_geometry import ProjectiveGeometryResponse
from localdp.randomizers.recursive_hadamard import RecursiveHadamardResponse
from localdp.randomizers.subset_selection import SubsetSelection
from localdp.randomizers.unary import OptimizedUnaryEncoding
from localdp.randomness.hazmat import SeededSource
from tests.support.broken_twins import ItemKept, NoiseTwice, SeedFixed
from tests.unit.auditing.twins import EPSILON, NAMES, epsilon_times, item_kept, small, tried

TRIALS = 10_000
CONFIDENCE = 0.9999
# Too many coins to follow, one for each way to find an event: by the stated law, by bits, by the entries of a row.
LARGE = {
    "recursive-hadamard": RecursiveHadamardResponse(EPSILON, 5000),
    "projective-geometry": ProjectiveGeometryResponse(EPSILON, 5000),
    "optimized-unary": OptimizedUnaryEncoding(EPSILON, 300),
    "subset-selection": SubsetSelection(Epsilon.requested(3), 400),
}


def sampled(randomizer: Any, inputs: Any = None, seed: int = 0, trials: int = TRIALS) -> Any:
    few = None if inputs is None else inputs[:3]
    return sampled_audit(randomizer, trials, CONFIDENCE, SeededSource(seed), few)


@pytest.mark.parametrize("name", NAMES)
def test_a_sound_randomizer_is_not_refuted_and_its_epsilon_is_nearly_found(name: str) -> None:
    sound = small(name)
    finding = sampled(sound, tried(name, sound))
    assert finding.verdict == "not refuted" and finding.confidence == CONFIDENCE
    assert 0.6 < finding.tightness <= 1


@pytest.mark.parametrize("name", NAMES)
def test_twice_the_epsilon_is_refuted(name: str) -> None:
    sound = small(name)
    assert sampled(epsilon_times(name, sound, 2), tried(name, sound)).verdict == "violated"


@pytest.mark.nightly
@pytest.mark.parametrize("name", NAMES)
def test_a_quarter_more_than_claimed_is_refuted_by_more_trials(name: str) -> None:
    sound = small(name)
    twin = epsilon_times(name, sound, 1.25)
    assert sampled(twin, tried(name, sound), seed=5, trials=100_000).verdict == "violated"


@pytest.mark.parametrize("name", NAMES)
def test_an_item_that_is_kept_is_refuted(name: str) -> None:
    sound = small(name)
    assert sampled(item_kept(name, sound), tried(name, sound)).verdict == "violated"


@pytest.mark.parametrize("name", LARGE)
def test_large_randomizers_are_audited_by_a_sample(name: str) -> None:
    sound = LARGE[name]
    finding = audit(sound, SeededSource(3), trials=40_000)
    assert finding.method == "sampled" and finding.verdict == "not refuted"
    assert finding.tightness > 0.6
    assert audit(epsilon_times(name, sound, 2), SeededSource(4), trials=40_000).verdict == "violated"


def test_a_bit_left_unrandomized_among_many_is_refuted() -> None:
    def keep_last(values: Any, reports: Any) -> Any:
        reports[:, -1] = (reports[:, -1] & 0xE0) | np.where(values == 299, 0x10, 0)
        return reports

    assert sampled(ItemKept(LARGE["optimized-unary"], keep_last)).verdict == "violated"


def test_the_bound_exceeds_the_epsilon_no_more_often_than_stated() -> None:
    """At a confidence of 0.9, in 100 audits; 22 or more would have probability below 1e-3 even at the limit."""
    one_bit = small("one-bit")
    bounds = [sampled_audit(one_bit, 500, 0.9, SeededSource(seed), [0, 4]).measured for seed in range(100)]
    assert sum(bound > 1 for bound in bounds) < 22
    assert np.median(bounds) > 0.5, "and it is not vacuous"


def test_more_trials_come_closer() -> None:
    few, many = (sampled(small("k-ary"), trials=trials).measured for trials in (1000, 100_000))
    assert few < many < 1
    assert many > 0.9


def test_events_are_found_by_law_by_value_and_by_bit() -> None:
    k_ary = small("k-ary")
    x, y = (k_ary.randomize(np.full(5000, value), SeededSource(value)) for value in (0, 1))
    found = list(found_events(x, y, k_ary.law(0), k_ary.law(1), CONFIDENCE))
    assert len(found) == 3
    stated = found[0][1]
    assert isinstance(stated, Stated) and stated.members == {0}
    assert found[1][1].holds(np.array([0, 1, 2], np.uint8)).tolist() == [True, False, False]


def test_equal_laws_leave_nothing_to_find() -> None:
    class Silent(NoiseTwice):
        def randomize(self, values: Any, source: Any) -> Any:
            """Reports about nobody."""
            return self.sound.randomize(np.zeros_like(values), source)

        def law(self, value: int) -> Any:
            """Not stated."""
            raise InvalidParameter("no law")

    finding = sampled(Silent(small("k-ary")))
    assert finding.measured == 0 and "nothing was found" in finding.notes[-1]


# What a sample does not see.


def test_it_misses_a_hundredth_more_than_claimed() -> None:
    assert sampled(epsilon_times("k-ary", small("k-ary"), 1.01)).verdict == "not refuted"


def test_it_misses_a_seed_that_is_always_the_same() -> None:
    assert sampled(SeedFixed(small("k-ary"))).verdict == "not refuted"


def test_it_misses_too_much_noise() -> None:
    assert sampled(NoiseTwice(small("k-ary"))).verdict == "not refuted"


def test_it_misses_inputs_that_were_not_tried() -> None:
    def keep_two(values: Any, reports: Any) -> Any:
        return np.where(values == 2, 2, reports).astype(reports.dtype)

    assert sampled(ItemKept(small("k-ary"), keep_two)).verdict == "not refuted"  # tried: 0, 1 and the last


@pytest.mark.parametrize(
    ("trials", "confidence", "inputs"),
    [(99, 0.9, None), (10**9, 0.9, None), (1000, 1.0, None), (1000, 0.9, [0])],
)
def test_bad_parameters_are_refused(trials: int, confidence: float, inputs: list[int] | None) -> None:
    with pytest.raises(InvalidParameter):
        sampled_audit(small("k-ary"), trials, confidence, SeededSource(0), inputs)
