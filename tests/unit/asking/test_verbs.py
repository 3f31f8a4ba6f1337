"""Verbs over the exact oracle give the truth, with labels; what cannot be asked is refused before anybody is."""

from __future__ import annotations

import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.algorithms.quick_start import oracle_of_records
from localdp.asking import verbs
from localdp.domains import BitDomain, CategoryDomain, IntegerDomain, RealDomain, Records, Schema
from localdp.errors import InvalidParameter, LocalDpError, QueryRefused, SignalTooWeak
from localdp.oracles.exact import ExactOracle

SCHEMA = Schema(
    {
        "smoker": BitDomain(),
        "age": IntegerDomain(0, 100),
        "stay": RealDomain(0.0, 60.0),
        "ward": CategoryDomain(("north", "east", "south")),
    }
)
PEOPLE = 600


def records() -> Records:
    places = np.arange(PEOPLE)
    return Records.from_columns(
        SCHEMA,
        {
            "smoker": places % 4 == 0,
            "age": places % 101,
            "stay": (places % 60).astype(np.float64),
            "ward": np.where(places % 3 == 0, 2, places % 2),
        },
    )


def exact() -> ExactOracle:
    return ExactOracle(records())


def test_a_count_is_how_many_people_meet_a_condition() -> None:
    found = verbs.count(exact(), "smoker and age >= 50")
    assert found.value == np.count_nonzero((np.arange(PEOPLE) % 4 == 0) & (np.arange(PEOPLE) % 101 >= 50))
    assert str(found) == f"{found.value:.0f} of 600 people"
    assert found.name == "count of smoker and age >= 50"


def test_a_share_is_a_part_of_one() -> None:
    assert verbs.share(exact(), "smoker").value == 0.25
    assert str(verbs.share(exact(), "smoker")) == "25 % of 600 people"


def test_means_and_sums_are_on_the_scale_of_the_column() -> None:
    stays = np.arange(PEOPLE) % 60
    assert verbs.mean(exact(), "stay").value == pytest.approx(stays.mean(), abs=1e-3)
    assert verbs.total(exact(), "stay").value == pytest.approx(stays.sum(), abs=1)
    assert verbs.mean(exact(), "2*stay - 1").value == pytest.approx(2 * stays.mean() - 1, abs=2e-3)


def test_a_quantile_is_where_a_share_lies_below() -> None:
    assert verbs.quantile(exact(), "stay", 0.5).value == pytest.approx(30, abs=0.5)
    assert verbs.quantile(exact(), "age", 0.9).name == "90 % quantile of age"


def test_a_histogram_has_labels() -> None:
    found = verbs.histogram(exact(), "ward")
    assert [label for (label,) in found.labels] == ["north", "east", "south"]
    assert found["south"] == 200
    assert found.counts.sum() == pytest.approx(PEOPLE)


@pytest.mark.parametrize(
    ("bins", "labels"),
    [
        (3, ["0 to 20", "20 to 40", "40 to 60"]),
        ([10, 50], ["0 to 10", "10 to 50", "50 to 60"]),
    ],
)
def test_a_column_of_numbers_is_cut_into_bins(bins: verbs.Bins, labels: list[str]) -> None:
    found = verbs.histogram(exact(), "stay", bins=bins)
    assert [label for (label,) in found.labels] == labels
    assert found[labels[0]] == np.count_nonzero(np.arange(PEOPLE) % 60 < float(labels[0].split()[-1]))


def test_real_numbers_are_cut_into_ten_bins_unless_told() -> None:
    assert len(verbs.histogram(exact(), "stay")) == verbs.BINS


def test_a_crosstab_has_a_label_for_each_column() -> None:
    found = verbs.crosstab(exact(), ["ward", "smoker"])
    assert found.by == ("ward", "smoker")
    assert len(found) == 6
    truth = np.count_nonzero((np.arange(PEOPLE) % 3 == 0) & (np.arange(PEOPLE) % 4 == 0))
    assert found["south", "true"] == pytest.approx(truth)


def test_the_top_is_in_falling_order_and_says_that_it_was_chosen() -> None:
    found = verbs.top(exact(), "ward", 2)
    assert [label for (label,) in found.labels] == ["north", "east"] or found.counts[0] >= found.counts[1]
    assert "chosen because" in str(found)
    assert "chosen because" not in str(verbs.top(exact(), "ward", 3))


@pytest.mark.parametrize("level", [0, 1, -0.5, 2])
def test_a_level_that_is_none_is_refused_and_nobody_is_asked(level: float) -> None:
    oracle = exact()
    for ask in (verbs.count, verbs.share):
        with pytest.raises(InvalidParameter, match="level"):
            ask(oracle, "smoker", level)
    with pytest.raises(InvalidParameter, match="level"):
        verbs.histogram(oracle, "ward", level)
    assert oracle.cost.rounds == 0


def test_what_does_not_fit_a_verb_is_refused_with_the_one_that_does() -> None:
    oracle = exact()
    with pytest.raises(QueryRefused, match="mean or sum"):
        verbs.count(oracle, "clip(stay/60)")
    with pytest.raises(QueryRefused, match="histogram"):
        verbs.mean(oracle, "ward")
    with pytest.raises(QueryRefused, match="histogram"):
        verbs.quantile(oracle, "ward")
    with pytest.raises(InvalidParameter, match="two columns"):
        verbs.crosstab(oracle, ["ward"])
    with pytest.raises(InvalidParameter, match="bins cut"):
        verbs.histogram(oracle, "ward", bins=3)
    with pytest.raises(InvalidParameter, match="rising"):
        verbs.histogram(oracle, "stay", bins=[50, 10])
    with pytest.raises(InvalidParameter, match="at least 1"):
        verbs.top(oracle, "ward", 0)
    with pytest.raises(LocalDpError):
        verbs.histogram(oracle, "smokr")
    assert oracle.cost.rounds == 0


def test_frequencies_that_noise_would_drown_are_refused_before_anybody_is_asked() -> None:
    oracle = oracle_of_records(records(), 0.1, "local")
    with pytest.raises(SignalTooWeak, match="bins=5"):
        verbs.histogram(oracle, "age")
    assert oracle.cost.epsilon_promised == Epsilon(0)
    assert len(verbs.histogram(oracle, "age", check_signal=False)) == 101
