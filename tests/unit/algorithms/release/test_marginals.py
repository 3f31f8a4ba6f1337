"""Marginals from parities: exactly those of the records, within tolerance of an adversary, consistent."""

from itertools import combinations
from typing import Any

import numpy as np
import pytest

from localdp.algorithms.quick_start import oracle_of_records
from localdp.algorithms.release.marginals import MarginalRelease, Way
from localdp.algorithms.scikit_learn import NotFitted
from localdp.errors import InvalidParameter, SignalTooWeak
from localdp.oracles.adversarial import STRATEGIES, AdversarialOracle
from localdp.oracles.exact import ExactOracle
from localdp.oracles.recording import CountingOracle
from localdp.randomness.hazmat import SeededSource
from tests.unit.algorithms.release.people import FINITE, bit_people, mixed_people, table_of

WAYS: tuple[Way, ...] = ("entropy", "least-squares", "multiplicative-weights")
PEOPLE = mixed_people(2000)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_the_exact_oracle_gives_the_true_marginals(order: int) -> None:
    records = bit_people(8, 3000)
    release = MarginalRelease(order=order).fit(ExactOracle(records))
    for size in range(1, order + 1):
        for names in combinations(records.schema.names, size):
            found = release.marginal(*names)
            np.testing.assert_allclose(found.values, table_of(records, *names), atol=1e-12)
            assert (found.standard_errors == 0).all()


@pytest.mark.parametrize("names", [("region",), ("children", "smoker"), ("smoker", "region", "married")])
def test_categories_and_whole_numbers_are_put_together_from_their_bits(names: tuple[str, ...]) -> None:
    release = MarginalRelease(FINITE, 4).fit(ExactOracle(PEOPLE))
    found = release.marginal(*names)
    assert found.attributes == names
    np.testing.assert_allclose(found.values, table_of(PEOPLE, *names), atol=1e-12)


def test_conditions_may_be_released_under_a_name() -> None:
    release = MarginalRelease({"rich": "income >= 5", "smoker": "smoker"}, 2).fit(ExactOracle(PEOPLE))
    rich = (PEOPLE.column("income") >= 5) & PEOPLE.column("smoker")
    assert release.marginal("smoker", "rich").values[1, 1] == pytest.approx(rich.mean(), abs=1e-12)
    assert release.distribution().synthetic(50, SeededSource(1)).schema.names == ("rich", "smoker")


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_no_cell_is_further_off_than_the_tolerance_allows(strategy: str) -> None:
    tolerance, records = 0.05, bit_people(6, 2000)
    release = MarginalRelease(order=3).fit(AdversarialOracle(records, tolerance, strategy))
    for size in (1, 2, 3):
        for names in combinations(records.schema.names, size):
            off = np.abs(release.marginal(*names).values - table_of(records, *names)).max()
            assert off <= (1 - 0.5**size) * tolerance + 1e-12


def test_the_bound_on_a_cell_is_reached() -> None:
    records = bit_people(3, 2000)
    release = MarginalRelease(order=3).fit(AdversarialOracle(records, 0.05, "up"))
    off = np.abs(release.marginal("b0", "b1", "b2").values - table_of(records, "b0", "b1", "b2")).max()
    assert off == pytest.approx(7 / 8 * 0.05)


def test_noisy_marginals_are_consistent() -> None:
    records = bit_people(6, 500)
    release = MarginalRelease(order=3, check_signal=False).fit(oracle_of_records(records, 1.0, "local"))
    whole = release.marginal("b0", "b3", "b5").values
    np.testing.assert_allclose(whole.sum(axis=1), release.marginal("b0", "b5").values, atol=1e-12)
    np.testing.assert_allclose(
        whole.transpose(2, 0, 1), release.marginal("b5", "b0", "b3").values, atol=1e-12
    )
    assert whole.sum() == pytest.approx(1)
    tables = (release.marginal(*names).values for names in combinations(records.schema.names, 3))
    assert (
        min(table.min() for table in tables) < 0
    )  # at this n raw tables are not positive, and nobody made them so


@pytest.mark.parametrize("way", WAYS)
def test_a_distribution_that_fits_exact_parities_has_the_true_marginals(way: Way) -> None:
    release = MarginalRelease(FINITE, 3).fit(ExactOracle(PEOPLE))
    fitted = release.distribution(way)
    assert fitted.masses.min() >= 0 and fitted.masses.sum() == pytest.approx(1)
    np.testing.assert_allclose(
        fitted.marginal("region", "smoker"), table_of(PEOPLE, "region", "smoker"), atol=1e-3
    )
    made = fitted.synthetic(5000, SeededSource(1))
    np.testing.assert_allclose(
        table_of(made, "married", "smoker"), table_of(PEOPLE, "married", "smoker"), atol=2e-2
    )


@pytest.mark.parametrize("trust", ["exact", "curator", "shared", "local"])
def test_a_release_asks_once_and_says_what_it_cost(trust: Any) -> None:
    counting = CountingOracle(oracle_of_records(bit_people(4, 20_000), 1.0, trust))
    release = MarginalRelease(order=2).fit(counting)
    assert (counting.counts.rounds, counting.counts.queries, counting.counts.entries) == (1, 1, 10)
    assert release.cost_.rounds == 1
    assert float(release.cost_.epsilon_promised) == (0.0 if trust == "exact" else pytest.approx(1.0))
    assert release.claim_.model == trust
    assert release.plan_.rows[0].entries == 10


def test_nothing_is_asked_when_the_cells_would_drown() -> None:
    counting = CountingOracle(oracle_of_records(bit_people(8, 200), 1.0, "local"))
    with pytest.raises(SignalTooWeak):
        MarginalRelease(order=3).fit(counting)
    assert counting.counts.rounds == 0
    MarginalRelease(order=3, check_signal=False).fit(counting)
    assert counting.counts.rounds == 1


@pytest.mark.parametrize(
    ("wanted", "order"),
    [((), 2), (["smoker"], 1), ([("smoker", "region")], 3), ([("region",), ("children", "smoker")], 4)],
)
def test_the_order_is_what_the_wanted_tables_need(wanted: Any, order: int) -> None:
    release = MarginalRelease(FINITE, wanted=wanted).fit(ExactOracle(PEOPLE))
    assert release.order_ == order
    for one in wanted:
        names = (one,) if isinstance(one, str) else one
        np.testing.assert_allclose(release.marginal(*names).values, table_of(PEOPLE, *names), atol=1e-12)


@pytest.mark.parametrize(
    ("order", "wanted", "why"),
    [
        (2, [("married",), ("smoker", "region")], r"wanted=\[\('smoker', 'region'\)\], or order=3"),
        (2, ["children"], "does not contain it"),
        (None, [("nobody", "smoker")], "nobody"),
        (None, [("smoker", "smoker")], "different"),
    ],
)
def test_a_wanted_table_that_a_release_does_not_contain_is_refused_before_anybody_pays(
    order: int | None, wanted: Any, why: str
) -> None:
    counting = CountingOracle(oracle_of_records(PEOPLE, 1.0, "curator"))
    with pytest.raises(InvalidParameter, match=why):
        MarginalRelease(FINITE, order, wanted=wanted).fit(counting)
    assert counting.counts.rounds == 0


@pytest.mark.parametrize("parameters", [{"order": 0}, {"order": 5}, {"order": 1.5}, {"signal": 0.0}])
def test_bad_parameters_are_refused_before_anything_is_asked(parameters: dict[str, Any]) -> None:
    counting = CountingOracle(ExactOracle(bit_people(4, 10)))
    with pytest.raises(InvalidParameter):
        MarginalRelease(**parameters).fit(counting)
    assert counting.counts.rounds == 0


def test_marginals_beyond_the_order_and_unknown_ways_are_refused() -> None:
    with pytest.raises(NotFitted):
        MarginalRelease().marginal("b0")
    release = MarginalRelease(FINITE, 2).fit(ExactOracle(PEOPLE))
    for names in (("children",), ("region", "smoker"), ("nobody",), ("smoker", "smoker"), ()):
        with pytest.raises(InvalidParameter):
            release.marginal(*names)
    with pytest.raises(InvalidParameter):
        release.distribution("magic")  # type: ignore[arg-type]
