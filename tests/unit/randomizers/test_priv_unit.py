"""PrivUnit by public candidates: its exact epsilon whatever the candidates, its moments, its public normals."""

from collections.abc import Hashable
from dataclasses import replace
from fractions import Fraction
from math import pi, sqrt
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import integrate, stats

from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter, MalformedReport
from localdp.randomizers.parts.near_scores import NearScores, best_near, near_moments
from localdp.randomizers.parts.public_normals import PublicScores, public_normals
from localdp.randomizers.priv_unit import LARGEST_DIMENSION, PrivUnit, _candidates
from localdp.randomness.enumerating import enumerate_law
from localdp.randomness.hazmat import SeededSource
from localdp.randomness.lanes import LanedSource
from localdp.randomness.source import WORD_RANGE
from tests.support.broken_twins import BrokenTwin, RepeatingSource
from tests.support.randomizer_checks import assert_caught, check_epsilon, largest_ratio

EPSILONS = ["0.01", "0.5", "1", "2", "4", "10"]
VECTORS = np.array([[0, 0], [1000, 0], [-600, 800], [30, -5], [0, -1000], [707, 707]])
REFERENCE = {0.5: 25.180, 1.0: 6.330, 2.0: 1.617, 4.0: 0.4353}  # sigma**2 of PrivUnitG


def _priv_unit(epsilon: str, candidates: int = 8, near: int = 0) -> PrivUnit:
    return PrivUnit(Epsilon.requested(epsilon), 2, 1000, candidates, near)


def _sphere(randomizer: PrivUnit, people: int, seed: int = 0) -> NDArray[np.int64]:
    directions = np.random.default_rng(seed).normal(size=(people, randomizer.dimension))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    return np.trunc(directions * randomizer.resolution).astype(np.int64)


def _law(randomizer: Any, vector: NDArray[np.int64], seed: int) -> dict[Hashable, Fraction]:
    """The law of the real choice, over every coin but the public seed."""
    unit = randomizer._unit_vectors(vector[None, :])
    seeds = np.array([seed], np.uint64)
    return enumerate_law(lambda source: int(randomizer.choose(unit, seeds, source)[0]))


def _check_exact_law(randomizer: Any) -> None:
    for seed in (0, 1, WORD_RANGE - 1):
        laws = [_law(randomizer, vector, seed) for vector in VECTORS]
        for vector, law in zip(VECTORS, laws, strict=True):
            assert sum(law.values()) == 1 and law == randomizer.law_given_seed(vector, seed)
        check_epsilon(randomizer, largest_ratio(laws))


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize(("candidates", "near"), [(2, 1), (8, 0), (8, 4), (12, 5)])
def test_given_any_seed_the_law_is_exact_and_spends_what_was_requested(
    epsilon: str, candidates: int, near: int
) -> None:
    _check_exact_law(_priv_unit(epsilon, candidates, near))


@pytest.mark.parametrize("epsilon", ["0.01", "0.1", "0.5", "1", "2", "4", "8", "10"])
def test_the_usual_number_of_candidates_spends_what_was_requested(epsilon: str) -> None:
    randomizer = PrivUnit(Epsilon.requested(epsilon), 100)
    assert 0 <= randomizer.requested.nanonats - randomizer.epsilon.nanonats <= 1
    assert "none" in randomizer.assumption


@pytest.mark.parametrize("constant", [0.0, 1.0, np.nan])
def test_the_worst_public_generator_leaves_the_epsilon_as_it_is(
    constant: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    def constant_scores(made: PublicScores, seeds: Any, vectors: Any) -> Any:
        return np.full((len(seeds), made.rows), constant, np.float32)

    monkeypatch.setattr(PublicScores, "of", constant_scores)
    randomizer = _priv_unit("1", 8, 3)
    laws = [_law(randomizer, vector, 0) for vector in VECTORS]
    assert all(law == randomizer.law_given_seed(v, 0) for v, law in zip(VECTORS, laws, strict=True))
    assert Epsilon.of_ratio(largest_ratio(laws)) <= randomizer.requested


def test_the_near_candidates_are_those_of_the_largest_scores() -> None:
    randomizer = _priv_unit("1", 12, 5)
    vector, seed = np.array([600, -640]), 77
    normals = public_normals(np.array([seed], np.uint64), np.arange(6)[None, :], 3)[0].astype(float)
    unit = randomizer._unit_vectors(vector[None, :])[0]
    scores = np.stack([normals @ unit, -(normals @ unit)], axis=1).ravel()
    near = {number for number, mass in randomizer.law_given_seed(vector, seed).items() if mass > 1 / 12}
    assert near == set(np.argsort(-scores)[:5].tolist())


class AlwaysNear(BrokenTwin):
    """Never reports one of the other candidates."""

    def choose(self, vectors: Any, seeds: Any, source: Any) -> Any:
        """A near candidate."""
        near = source.below(self.sound.near, len(seeds))
        scores = PublicScores(len(seeds), self.sound.candidates // 2, self.sound.dimension + 1)
        return _candidates(scores.of(seeds, vectors), near.astype(np.int64))


class Other(BrokenTwin):
    """Chooses with the threshold of another randomizer."""

    def __init__(self, sound: PrivUnit, drawn: PrivUnit) -> None:
        super().__init__(sound)
        self.choose = drawn.choose


def test_the_broken_twins_are_caught() -> None:
    sound = _priv_unit("1", 8, 3)
    assert_caught(_check_exact_law, AlwaysNear(sound), Other(sound, _priv_unit("2", 8, 3)))
    assert_caught(_check_independent, Repeated(sound))


class Repeated(BrokenTwin):
    """`SeedReused` for the choice: every person gets the coins of the first."""

    def choose(self, vectors: Any, seeds: Any, source: Any) -> Any:
        """Choices that share their coins."""
        return self.sound.choose(vectors, seeds, RepeatingSource(source, len(seeds)))


def _check_independent(randomizer: Any) -> None:
    vectors, seeds = randomizer._unit_vectors(VECTORS[1:3]), np.array([5, 6], np.uint64)
    joint = enumerate_law(lambda source: tuple(randomizer.choose(vectors, seeds, source).tolist()))
    one, two = (randomizer.law_given_seed(VECTORS[1 + i], 5 + i) for i in (0, 1))
    assert joint == {(a, b): one[a] * two[b] for a in one for b in two}


def test_people_choose_independently() -> None:
    _check_independent(_priv_unit("1", 4, 2))


def test_the_moments_of_the_near_scores_are_those_of_order_statistics() -> None:
    mean, square = near_moments(1)
    assert mean[0] == pytest.approx(sqrt(2 / pi), rel=1e-12) and square[0] == pytest.approx(1, rel=1e-12)
    half = stats.halfnorm()
    for pairs in (2, 5, 64):
        largest = integrate.quad(
            lambda a, n=pairs: a * n * half.pdf(a) * half.cdf(a) ** (n - 1), 0, 12, epsabs=1e-13
        )[0]
        mean, square = near_moments(pairs)
        assert mean[0] == pytest.approx(largest, rel=1e-9)
        assert mean[-1] == pytest.approx(sqrt(2 / pi), rel=1e-10)
        assert square[-1] == pytest.approx(1, rel=1e-10)


@pytest.mark.parametrize("epsilon", sorted(REFERENCE))
def test_many_candidates_come_close_to_priv_unit_g(epsilon: float) -> None:
    usual = PrivUnit(Epsilon.requested(epsilon), 100).scores.scale ** 2 / REFERENCE[epsilon]
    many = PrivUnit(Epsilon.requested(epsilon), 100, candidates=2048).scores.scale ** 2 / REFERENCE[epsilon]
    assert 1 < usual < 1.03
    assert 0.9995 < many < 1.003


def test_the_mean_squared_error_is_within_three_percent_of_the_reference() -> None:
    assert PrivUnit(Epsilon.requested(1), 100).mean_squared_error() == pytest.approx(633.0, rel=0.01)


def test_the_best_number_of_near_candidates_has_the_smallest_scale() -> None:
    for epsilon in (0.5, 2.0):
        best = PrivUnit(Epsilon.requested(epsilon), 2, candidates=32)
        others = [replace(best, near=near).scores.scale for near in range(1, 17)]
        assert best.scores.scale == min(others) and best.near == best_near(32, epsilon)


def test_the_public_normals_of_a_row_do_not_depend_on_what_else_is_made() -> None:
    seeds = np.array([3, WORD_RANGE - 1], np.uint64)
    whole = public_normals(seeds, np.broadcast_to(np.arange(6), (2, 6)), 7)
    assert whole.shape == (2, 6, 7)
    part = public_normals(seeds[1:], np.array([[4]]), 7)
    assert (part[0, 0] == whole[1, 4]).all()
    assert len(np.unique(whole)) == whole.size


@pytest.mark.parametrize("length", [1, 3, 4, 5, 66])
def test_the_public_scores_are_those_of_the_public_normals(length: int) -> None:
    made, vectors = PublicScores(7, 6, length), np.random.default_rng(length).normal(size=(20, length))
    seeds = np.arange(20, dtype=np.uint64) * np.uint64(977)
    normals = public_normals(seeds, np.broadcast_to(np.arange(6), (20, 6)), length).astype(float)
    expected = np.einsum("prl,pl->pr", normals, vectors)
    for start in (0, 7, 14):  # the last block is shorter than the memory
        part = slice(start, min(start + 7, 20))
        np.testing.assert_allclose(made.of(seeds[part], vectors[part]), expected[part], atol=2e-5)


def test_the_public_normals_are_normal() -> None:
    # 400,000 normals.  DKW at alpha = 1e-6: the distance stays below 0.0043.  Fourth moment: s.e. 0.016.
    drawn = public_normals(np.arange(1000, dtype=np.uint64), np.broadcast_to(np.arange(4), (1000, 4)), 100)
    flat = np.sort(drawn.ravel().astype(float))
    distance = np.abs(stats.norm.cdf(flat) - (np.arange(flat.size) + 0.5) / flat.size).max()
    assert distance < sqrt(np.log(2e6) / (2 * flat.size))
    assert (flat**4).mean() == pytest.approx(3, abs=4.5 * sqrt(96 / flat.size))
    neighbours = (drawn[..., :-1] * drawn[..., 1:]).mean()
    assert abs(neighbours) < 4.5 / sqrt(flat.size)


def test_reports_come_back_from_their_bytes_and_other_lengths_are_refused() -> None:
    randomizer = PrivUnit(Epsilon.requested(1), 5, candidates=10)
    for count in (0, 1, 2, 7, 100):
        reports = randomizer.randomize(_sphere(randomizer, count), SeededSource(count))
        packed = randomizer.pack(reports)
        assert len(packed) == -(-count * randomizer.report_bits // 8)
        again = randomizer.unpack(packed, count)
        assert again.dtype == reports.dtype and (again == reports).all()
        for wrong in {packed + b"\0", packed[:-1], b""} - {packed}:
            with pytest.raises(MalformedReport):
                randomizer.unpack(wrong, count)
    with pytest.raises(MalformedReport):
        randomizer.unpack(bytes(8) + b"\xa0", 1)  # candidate 10 of 10


def test_a_report_depends_on_the_own_lane_alone() -> None:
    randomizer, key = PrivUnit(Epsilon.requested(1), 700, candidates=64), bytes(32)
    values = _sphere(randomizer, 40)
    full = randomizer.randomize(values, LanedSource(key, range(40)))
    for chosen in (np.array([3]), np.arange(10, 20), np.array([31, 2, 7])):
        part = randomizer.randomize(values[chosen], LanedSource(key, chosen))
        assert (part == full[chosen]).all()


def test_tallies_merge_exactly() -> None:
    randomizer = PrivUnit(Epsilon.requested(1), 5, candidates=16)
    reports = randomizer.randomize(_sphere(randomizer, 60), SeededSource(1))
    whole = randomizer.tally(reports)
    parts = [randomizer.tally(part) for part in np.split(reports, [7, 7, 31])]
    merged = parts[3].merge(parts[0]).merge(parts[2]).merge(parts[1])
    assert merged.reports == 60 and (merged.sums == whole.sums).all() and whole.sums.dtype == np.int64


def test_the_law_over_all_seeds_is_not_listed() -> None:
    with pytest.raises(InvalidParameter):
        _priv_unit("1").law(0)


@pytest.mark.parametrize(
    "values",
    [
        np.zeros(2, np.int64),
        np.zeros((3, 3), np.int64),
        np.zeros((3, 2)),
        np.array([[1001, 0]]),
        np.array([[0, -1001]]),
        np.array([[800, 601]]),
    ],
)
def test_what_is_no_row_of_the_ball_is_refused(values: NDArray[Any]) -> None:
    with pytest.raises(InvalidParameter):
        _priv_unit("1").randomize(values, SeededSource(0))


@pytest.mark.parametrize(
    "parameters",
    [
        {"dimension": 0},
        {"dimension": LARGEST_DIMENSION + 1},
        {"dimension": LARGEST_DIMENSION, "candidates": 128},
        {"dimension": 2, "candidates": 7},
        {"dimension": 2, "candidates": 0},
        {"dimension": 2, "candidates": 8, "near": 5},
        {"dimension": 2, "near": -1},
        {"dimension": 2, "resolution": 0},
    ],
)
def test_parameters_out_of_bounds_are_refused(parameters: dict[str, int]) -> None:
    with pytest.raises(InvalidParameter):
        PrivUnit(Epsilon.requested(1), **parameters)


def test_one_dimension_and_the_largest_epsilon_are_served() -> None:
    for epsilon in ("1e-6", "30"):
        randomizer = PrivUnit(Epsilon.requested(epsilon), 1, candidates=16)
        reports = randomizer.randomize(np.array([[randomizer.resolution], [0]]), SeededSource(1))
        assert reports.shape == (2, 2) and np.isfinite(randomizer.scores.scale)
        assert randomizer.epsilon <= randomizer.requested


def test_equal_parameters_make_equal_randomizers() -> None:
    one, same = _priv_unit("1"), _priv_unit("1.0", near=_priv_unit("1").near)
    assert one == same and hash(one) == hash(same) and one.canonical == same.canonical
    assert len({one, _priv_unit("2"), _priv_unit("1", 10), replace(one, resolution=7)}) == 4
    assert NearScores(8, 3, 0.5) == NearScores(8, 3, 0.5)
