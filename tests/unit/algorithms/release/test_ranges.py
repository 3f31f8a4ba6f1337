"""Ranges and quantiles: exactly those of the records, within tolerance of an adversary, the best tree for the oracle."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from localdp.algorithms.quick_start import oracle_of_records
from localdp.algorithms.release.ranges import RangeRelease
from localdp.algorithms.scikit_learn import NotFitted
from localdp.domains import BitDomain, IntegerDomain, RealDomain, Records, Schema
from localdp.errors import InvalidParameter, SignalTooWeak
from localdp.oracles.adversarial import STRATEGIES, AdversarialOracle
from localdp.oracles.exact import ExactOracle
from localdp.oracles.recording import CountingOracle

SCHEMA = Schema({"age": IntegerDomain(-4, 59), "income": RealDomain(0.0, 10.0), "smoker": BitDomain()})
Floats = NDArray[np.float64]


def people(count: int, seed: int = 1) -> Records:
    generator = np.random.default_rng(seed)
    income = generator.beta(2, 5, count) * 10
    age = np.clip(generator.normal(25, 12, count), -4, 59).astype(np.int64)
    return Records(SCHEMA, {"age": age, "income": income, "smoker": income > 3})


PEOPLE = people(4000)


def mass(values: NDArray[Any], low: Floats, high: Floats) -> Floats:
    ordered = np.sort(values)
    return (np.searchsorted(ordered, high) - np.searchsorted(ordered, low)) / len(values)


@pytest.mark.parametrize("branching", [None, 2, 3, 4, 64])
@pytest.mark.parametrize(
    ("column", "bins"), [("age", 64), ("age", 16), ("income", 50), ("income", 7), ("income", 2)]
)
def test_the_exact_oracle_gives_the_true_masses(column: str, bins: int, branching: int | None) -> None:
    release = RangeRelease(column, bins=bins, branching=branching).fit(ExactOracle(PEOPLE))
    edges = release.edges_
    low, high = np.meshgrid(edges, edges)
    low, high = low[low <= high], high[low <= high]
    found = release.ranges(low, high)
    np.testing.assert_allclose(found.values, mass(PEOPLE.column(column), low, high), atol=1e-12)
    assert len(edges) == bins + 1 and found.standard_errors.max() < 1e-12
    assert release.frequencies().sum() == pytest.approx(1)


def test_values_outside_the_bounds_count_to_the_nearest_bin() -> None:
    release = RangeRelease("income", 2.0, 4.0, bins=4).fit(ExactOracle(PEOPLE))
    income = PEOPLE.column("income")
    assert release.edges_.tolist() == [2, 2.5, 3, 3.5, 4]
    assert release.ranges(2, 2.5).values[0] == pytest.approx((income < 2.5).mean())
    assert release.ranges(3.5, 4).values[0] == pytest.approx((income >= 3.5).mean())


@pytest.mark.parametrize("level", [0.0, 0.1, 0.5, 0.9, 1.0])
def test_quantiles_of_exact_answers_have_the_level_as_their_rank(level: float) -> None:
    ages, incomes = PEOPLE.column("age"), PEOPLE.column("income")
    age = RangeRelease("age", bins=64).fit(ExactOracle(PEOPLE)).quantile(level)
    assert age == int(age) and (ages < age).mean() <= level + 1e-9 and (ages <= age).mean() >= level - 1e-9
    release = RangeRelease("income", bins=100).fit(ExactOracle(PEOPLE))
    income = release.quantile(level)
    assert (
        abs((incomes <= income).mean() - level) < 0.01
    )  # a hundredth of a bin's mass, where it interpolates
    low, high = release.quantile_interval(level)
    assert low - 1e-9 <= income <= high + 1e-9


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("branching", [2, 4])
def test_no_range_and_no_quantile_is_further_off_than_stated(branching: int, strategy: str) -> None:
    tolerance, values = 0.002, PEOPLE.column("age")
    release = RangeRelease("age", bins=64, branching=branching).fit(
        AdversarialOracle(PEOPLE, tolerance, strategy)
    )
    height = release.tree_.levels
    stated = branching * height * (height + 1) * tolerance / 2
    low, high = np.meshgrid(release.edges_, release.edges_)
    low, high = low[low <= high], high[low <= high]
    off = np.abs(release.ranges(low, high).values - mass(values, low, high))
    assert off.max() <= stated + 1e-12
    for level in (0.1, 0.5, 0.9):
        place = release.quantile(level)
        below, above = (values < place).mean(), (values <= place).mean()
        assert below - stated / 2 - 1e-9 <= level <= above + stated / 2 + 1e-9


def test_the_tree_is_chosen_for_who_answers() -> None:
    records = people(100_000)
    chosen = {
        trust: RangeRelease("income", bins=256).fit(oracle_of_records(records, 1.0, trust)).tree_
        for trust in ("curator", "local")
    }
    # Levels divide a curator's epsilon, and people in the local model: the price is the square of it, or once.
    assert chosen["curator"].branching > chosen["local"].branching
    for trust, tree in chosen.items():
        planned = []
        for branching in (2, 4, 16):
            release = RangeRelease("income", bins=256, branching=branching)
            release.fit(oracle_of_records(records, 1.0, trust))  # type: ignore[arg-type]
            planned.append(release.tree_.mean_range_variance(256))
        assert tree.mean_range_variance(256) <= 1.02 * min(planned)


@pytest.mark.parametrize("trust", ["exact", "curator", "shared", "local"])
def test_a_release_is_one_round_and_says_what_it_cost(trust: Any) -> None:
    counting = CountingOracle(oracle_of_records(people(20_000), 1.0, trust))
    release = RangeRelease("income", bins=16, branching=4).fit(counting)
    assert (counting.counts.rounds, counting.counts.queries, counting.counts.entries) == (1, 2, 20)
    assert release.claim_.model == trust
    assert [row.entries for row in release.plan_.rows] == [4, 16]


def test_nothing_is_asked_when_ranges_would_drown() -> None:
    counting = CountingOracle(oracle_of_records(people(300), 1.0, "local"))
    with pytest.raises(SignalTooWeak):
        RangeRelease("income").fit(counting)
    assert counting.counts.rounds == 0


@pytest.mark.parametrize(
    "parameters",
    [
        {"bins": 1},
        {"bins": 5000},
        {"bins": 2.5},
        {"branching": 1},
        {"signal": 0},
        {"low": 4.0, "high": 4.0},
        {"low": float("nan")},
        {"high": float("inf")},
        {"low": 0.0, "high": 1e-9},
        {"column": "smoker"},
        {"column": "nobody"},
    ],
)
def test_bad_parameters_are_refused_before_anything_is_asked(parameters: dict[str, Any]) -> None:
    counting = CountingOracle(ExactOracle(PEOPLE))
    with pytest.raises(InvalidParameter):
        RangeRelease(**{"column": "income", **parameters}).fit(counting)
    assert counting.counts.rounds == 0


def test_bad_ranges_and_levels_are_refused() -> None:
    with pytest.raises(NotFitted):
        RangeRelease("age").quantile(0.5)
    release = RangeRelease("age", bins=8).fit(ExactOracle(PEOPLE))
    for low, high in ((5, 1), (float("nan"), 3), ([[1]], 3)):
        with pytest.raises(InvalidParameter):
            release.ranges(low, high)
    for level in (-0.1, 1.1):
        with pytest.raises(InvalidParameter):
            release.quantile(level)
    with pytest.raises(InvalidParameter):
        release.quantile_interval(0.5, 1.0)


@pytest.mark.parametrize("high", [9, 61, 99, 120, 255, 300])
def test_everybody_has_one_whole_number_and_it_is_every_quantile(high: int) -> None:
    schema = Schema({"k": IntegerDomain(0, high)})
    for value in range(0, high + 1, 7):
        oracle = ExactOracle(Records.from_columns(schema, {"k": np.full(5, value)}))
        release = RangeRelease("k").fit(oracle)
        for level in (0.01, 0.5, 1.0):
            low, last = release.quantile_interval(level)
            assert low <= value <= last and low <= release.quantile(level) <= last
            assert last - low == (
                0 if high < 256 else pytest.approx(0.5, abs=0.5)
            )  # a bin of one or two numbers
            assert high >= 256 or release.quantile(level) == value
