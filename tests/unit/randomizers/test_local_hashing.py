"""`OptimalLocalHashing` through every coin of each seed, and the hash functions it stands on.

The chi-square tests have alpha = 1e-6 and count every bin; each is on fixed seeds.  They see a bucket whose probability
is off by about 2 % of itself; the exact statements of tests above them do not depend on the hash at all.
"""

import tracemalloc
from fractions import Fraction
from math import exp
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import chisquare

from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter, MalformedReport
from localdp.randomizers import local_hashing
from localdp.randomizers.local_hashing import (
    LARGEST_BUCKETS,
    REPORT,
    OptimalLocalHashing,
    binary_local_hashing,
    nearest_buckets,
)
from localdp.randomizers.parts.universal_hash import (
    bucket_of,
    checked_fingerprints,
    family_seeds,
    fingerprints,
    mixed,
)
from localdp.randomness.enumerating import enumerate_law
from localdp.randomness.hazmat import SeededSource
from localdp.randomness.lanes import LanedSource
from tests.support.broken_twins import BrokenTwin, EpsilonDoubled
from tests.support.randomizer_checks import KEY, Law, assert_caught, check_epsilon, largest_ratio

EPSILONS = ["0.01", "0.1", "0.5", "1", "2", "4"]
SEEDS = (0, 1, 12345, (1 << 64) - 1)
ITEMS = range(12)
ALPHA = 1e-6


def _hashing(epsilon: str, buckets: int | None = None) -> OptimalLocalHashing:
    return OptimalLocalHashing(Epsilon.requested(epsilon), buckets)


def _law(randomizer: OptimalLocalHashing, seed: int, item: int) -> Law:
    seeds, items = np.array([seed], np.uint64), np.array([item], np.uint64)
    return enumerate_law(lambda source: int(randomizer.respond(seeds, items, source)["bucket"][0]))


def _check_law_of_seeds(randomizer: OptimalLocalHashing) -> None:
    for seed in SEEDS:
        laws = {item: _law(randomizer, seed, item) for item in ITEMS}
        for item, law in laws.items():
            assert sum(law.values()) == 1
            assert law == randomizer.law(item, seed)
        check_epsilon(randomizer, largest_ratio(laws.values()))


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("buckets", [2, 3, 4, None])
def test_the_law_of_every_seed_is_exact_and_spends_what_was_requested(
    epsilon: str, buckets: int | None
) -> None:
    _check_law_of_seeds(_hashing(epsilon, buckets))


class ItemKept(BrokenTwin):
    """Answers honestly when the item's bucket is the first one."""

    def respond(self, seeds: NDArray[Any], values: NDArray[Any], source: SeededSource) -> NDArray[Any]:
        reports: NDArray[Any] = self.sound.respond(seeds, values, source)
        reports["bucket"][bucket_of(seeds, values, self.sound.number) == 0] = 0
        return reports


class Doubled(EpsilonDoubled):
    """Draws the bucket with twice the epsilon."""

    def respond(self, seeds: NDArray[Any], values: NDArray[Any], source: SeededSource) -> NDArray[Any]:
        reports: NDArray[Any] = self.drawn.respond(seeds, values, source)
        return reports


def test_the_broken_twins_are_caught() -> None:
    sound = _hashing("1", 3)
    assert_caught(_check_law_of_seeds, Doubled(sound, _hashing("2", 3)), ItemKept(sound))


@pytest.mark.parametrize("buckets", [2, 3, 4, 7])
def test_the_estimate_is_unbiased_for_a_uniform_hash(buckets: int) -> None:
    randomizer = _hashing("1", buckets)
    support = randomizer.support
    uniform = Fraction(1, buckets)
    other = (1 - support.own) / (buckets - 1)
    assert support.own * uniform + other * (1 - uniform) == support.other


def test_the_law_without_a_seed_is_that_of_a_given_one() -> None:
    assert _hashing("1", 4).law(9) == _hashing("1", 4).law(9, 0)


@pytest.mark.parametrize("buckets", [2, 3, 5, 56, 1000, LARGEST_BUCKETS])
def test_counted_supports_are_the_hashes_that_match(buckets: int) -> None:
    randomizer = _hashing("4", buckets)
    items = np.concatenate([np.arange(40, dtype=np.uint64), fingerprints(map(str, range(40)))])
    reports = randomizer.randomize(np.resize(items, 5000), SeededSource(3))
    matching = bucket_of(reports["seed"][:, None], items, buckets) == reports["bucket"][:, None]
    assert randomizer.support_counts(reports, items).tolist() == matching.sum(axis=0).tolist()


def test_supports_add_up_over_reports() -> None:
    randomizer, items = _hashing("1"), np.arange(30)
    reports = randomizer.randomize(np.resize(items, 9000), SeededSource(3))
    parts = np.zeros(30, np.int64)
    for part in np.split(reports, [1, 4096, 4097]):
        parts += randomizer.support_counts(part, items)
    assert (parts == randomizer.support_counts(reports, items)).all()
    whole, again = (
        randomizer.estimate(reports, items),
        randomizer.estimate_from_counts(parts, 9000),
    )
    assert (whole.values == again.values).all()


@pytest.mark.parametrize("buckets", [2, 3, 4, 56, 1000])
def test_single_items_and_neighbours_hash_uniformly_over_seeds(buckets: int) -> None:
    seeds = SeededSource(1).raw(np.uint64, 200_000)
    for item in (0, 1, 77, 1 << 32, (1 << 64) - 1):
        here = bucket_of(seeds, np.array([item], np.uint64), buckets)
        there = bucket_of(seeds, np.array([(item + 1) % (1 << 64)], np.uint64), buckets)
        assert chisquare(np.bincount(here.astype(int), minlength=buckets)).pvalue > ALPHA
        difference = (here + np.uint64(buckets) - there) % np.uint64(buckets)
        assert chisquare(np.bincount(difference.astype(int), minlength=buckets)).pvalue > ALPHA


def test_sequential_seeds_and_items_hash_uniformly() -> None:
    seeds, items = np.arange(2000, dtype=np.uint64)[:, None], np.arange(100, dtype=np.uint64)
    hashed = bucket_of(seeds, items, 4).astype(int)
    assert chisquare(np.bincount(hashed.ravel(), minlength=4)).pvalue > ALPHA
    joint = hashed[:, ::2] * 4 + hashed[:, 1::2]
    assert chisquare(np.bincount(joint.ravel(), minlength=16)).pvalue > ALPHA


def test_hashes_and_fingerprints_are_frozen() -> None:
    assert (
        mixed(np.array([0x9E3779B97F4A7C15], np.uint64))[0] == 0xE220A8397B1DCDAF
    )  # of SplitMix64's author
    assert fingerprints(["", "a", b"localdp"]).tolist() == [
        13020603013274838756, 3405396810240292928, 4177456748397313108,
    ]  # fmt: skip
    extremes = np.array([0, 5, (1 << 64) - 1], np.uint64)
    seeds = np.array([0, 1, (1 << 64) - 1], np.uint64)
    assert bucket_of(seeds, extremes, 1 << 32).tolist() == [596395215, 379289559, 4171395226]
    assert family_seeds(7, 3).tolist() == [13225839796362995591, 9672475392221035855, 5573481420429128725]
    assert len(fingerprints([])) == 0


def test_the_number_of_buckets_is_the_integer_nearest_to_the_optimum() -> None:
    for epsilon in (0.001, 0.5, 1.0, 2.0, 3.3, 4.0, 8.0):
        assert nearest_buckets(Epsilon.requested(epsilon)) == round(exp(epsilon) + 1)
    assert nearest_buckets(Epsilon.requested(30)) == LARGEST_BUCKETS
    assert _hashing("1") == _hashing("1", 4)
    assert binary_local_hashing(Epsilon.requested(1)) == _hashing("1", 2)


def test_the_variances_are_those_of_the_literature() -> None:
    assert _hashing("1").variance(0.0) == pytest.approx(3.692, abs=1e-3)
    assert _hashing("1", 2).variance(0.0) == pytest.approx(4.683, abs=1e-3)
    assert _hashing("1", 2).variance(0.4) == pytest.approx(4.283, abs=1e-3)


@pytest.mark.parametrize("buckets", [2, 4, 5, 300])
def test_reports_come_back_from_their_bytes(buckets: int) -> None:
    randomizer = _hashing("1", buckets)
    for count in (0, 1, 7, 8, 100):
        reports = randomizer.randomize(np.arange(count), SeededSource(count))
        packed = randomizer.pack(reports)
        assert len(packed) == -(-count * randomizer.report_bits // 8)
        assert reports.dtype == REPORT
        assert (randomizer.unpack(packed, count) == reports).all()
        for wrong in {packed + b"\0", packed[:-1], b""} - {packed}:
            with pytest.raises(MalformedReport):
                randomizer.unpack(wrong, count)


def test_a_bucket_out_of_range_and_dirty_padding_are_refused() -> None:
    randomizer = _hashing("1", 3)
    for last in (0b11000000, 0b01000001):
        with pytest.raises(MalformedReport):
            randomizer.unpack(bytes(8) + bytes([last]), 1)


def test_a_person_draws_alone() -> None:
    randomizer, items = _hashing("1"), np.arange(50) * 1000
    full = randomizer.randomize(items, LanedSource(KEY, range(50)))
    for chosen in (np.array([3]), np.array([41, 2, 7, 49])):
        assert (randomizer.randomize(items[chosen], LanedSource(KEY, chosen)) == full[chosen]).all()
    assert len(np.unique(full["seed"])) == 50


@pytest.mark.parametrize("buckets", [-1, 0, 1, LARGEST_BUCKETS + 1, True])
def test_a_bad_number_of_buckets_is_refused(buckets: int) -> None:
    with pytest.raises(InvalidParameter):
        _hashing("1", buckets)


@pytest.mark.parametrize("values", [np.array([-1]), np.array([0.5]), np.zeros((2, 2), int)])
def test_inputs_that_are_no_fingerprints_are_refused(values: NDArray[Any]) -> None:
    with pytest.raises(InvalidParameter):
        checked_fingerprints(values)
    with pytest.raises(InvalidParameter):
        _hashing("1").randomize(values, SeededSource(0))


def test_an_estimate_needs_a_report() -> None:
    with pytest.raises(InvalidParameter):
        _hashing("1").estimate(np.empty(0, REPORT), np.arange(3))


@pytest.mark.parametrize("people", [8_000, 40_000])
def test_blocks_of_people_and_of_reports_change_nothing(
    monkeypatch: pytest.MonkeyPatch, people: int
) -> None:
    randomizer, items = _hashing("1"), np.arange(people) % 1024
    reports = randomizer.randomize(items, SeededSource(3))
    counts = randomizer.support_counts(reports, np.arange(20))
    for name in ("_FEWEST_AT_ONCE", "_MOST_AT_ONCE", "_BLOCK"):
        monkeypatch.setattr(local_hashing, name, 1 << 20)
    assert (randomizer.randomize(items, SeededSource(3)) == reports).all()
    assert (randomizer.support_counts(reports, np.arange(20)) == counts).all()


def test_a_batch_of_8000_takes_less_than_60_bytes_a_person() -> None:
    randomizer, items = _hashing("1"), np.arange(8_000) % 1024
    source = SeededSource(0)
    randomizer.support_counts(randomizer.randomize(items[:100], source), items[:100])
    tracemalloc.start()
    try:
        randomizer.support_counts(randomizer.randomize(items, source), items[:64])
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 60 * len(items)
