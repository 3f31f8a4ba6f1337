"""One quantile: selected by whoever can, read off a tree elsewhere, and right where there is hardly any noise."""

from itertools import pairwise

import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.algorithms.quick_start import oracle_of_records
from localdp.algorithms.release.quantiles import QuantileBins, _within, estimated_quantile
from localdp.domains import IntegerDomain, RealDomain, Records, Schema
from localdp.errors import InvalidParameter, SignalTooWeak
from localdp.oracles.exact import ExactOracle
from localdp.oracles.models import MODELS, ModelName
from localdp.oracles.recording import CountingOracle

PEOPLE = 4000
SCHEMA = Schema(
    {"age": IntegerDomain(0, 100), "wage": IntegerDomain(0, 99_999), "bmi": RealDomain(0.0, 60.0)}
)
_SEED = np.random.default_rng(5)
COLUMNS = {
    "age": _SEED.integers(0, 101, PEOPLE),
    "wage": _SEED.integers(0, 60_000, PEOPLE),
    "bmi": _SEED.uniform(0.0, 60.0, PEOPLE),
}
RECORDS = Records.from_columns(SCHEMA, COLUMNS)


def in_between(column: str, value: float, at: float) -> float:
    """The share of the people between a value and the quantile; nobody, if the value is theirs."""
    held = COLUMNS[column]
    below, upto = float(np.mean(held < value)), float(np.mean(held <= value))
    return max(below - at, at - upto, 0.0)


@pytest.mark.parametrize("at", [0.0, 0.1, 0.5, 0.9, 1.0])
@pytest.mark.parametrize(("column", "bin_share"), [("age", 0.0), ("wage", 0.002), ("bmi", 0.001)])
def test_a_selected_quantile_has_its_share_of_the_people_below(
    column: str, bin_share: float, at: float
) -> None:
    oracle = oracle_of_records(RECORDS, 20.0, "curator")
    found = estimated_quantile(oracle, column, at)
    assert in_between(column, found.value, at) <= bin_share + 0.001
    assert found.low <= found.value <= found.high
    assert found.value == int(found.value) or column == "bmi"


@pytest.mark.parametrize("model", ["exact", "curator", "local", "shared"])
def test_two_rounds_select_and_look_around_and_one_asks_the_tree(model: ModelName) -> None:
    epsilon = 2.0 if MODELS[model].spends else None
    counting = CountingOracle(oracle_of_records(RECORDS, epsilon, model))
    found = estimated_quantile(counting, "age", 0.5, check_signal=False)
    assert counting.counts.rounds == (2 if counting.selects else 1)
    assert counting.cost.epsilon_promised <= Epsilon.requested(epsilon or 1)
    assert in_between("age", found.value, 0.5) < 0.2


@pytest.mark.parametrize("at", [0.05, 0.25, 0.5, 0.75, 0.95])
def test_on_the_truth_a_quantile_of_whole_numbers_is_exact(at: float) -> None:
    # The tree has a bin for every value: with others a value lies somewhere within a bin, and its floor is off by one.
    found = estimated_quantile(ExactOracle(RECORDS), "age", at)
    assert in_between("age", found.value, at) == 0
    assert found.low == found.value == found.high


@pytest.mark.parametrize("place", [0, 1, 511, 1022, 1023])
def test_parts_get_twice_as_wide_with_every_step_away(place: int) -> None:
    bins = QuantileBins.of("bmi", SCHEMA)
    edges = bins.around(place)
    assert (edges[0], edges[-1]) == (0, 1024) and {place, place + 1} <= set(edges)
    widths = [high - low for low, high in pairwise(edges)]
    own = edges.index(place)
    right, left = widths[own + 1 : -1], widths[1:own][::-1]  # the last ones are cut off by the bounds
    for side in (right, left):
        assert side == [1, *(1 << power for power in range(len(side)))][: len(side)]
    assert len(edges) <= 24 and bins.parts(edges).count("<") == len(edges) - 2


@pytest.mark.parametrize(
    ("missing", "held", "error", "expected"),
    [
        (0.03, 0.1, 1e-6, 0.3),  # hardly any error: on the line
        (0.03, 0.1, 100.0, 0.5),  # nothing is known: the middle
        (0.03, -0.1, 0.01, 0.5),  # a bin that seems to hold nobody
        (0.30, 0.1, 1e-6, 1.0),  # beyond the bin, and sure of it: its end
        (-0.30, 0.1, 1e-6, 0.0),
    ],
)
def test_the_place_within_a_bin_is_as_sure_as_the_shares(
    missing: float, held: float, error: float, expected: float
) -> None:
    assert _within(missing, held, error) == pytest.approx(expected, abs=1e-3)


def test_nobody_is_asked_where_a_share_would_drown() -> None:
    few = Records.from_columns(SCHEMA, {name: column[:40] for name, column in COLUMNS.items()})
    counting = CountingOracle(oracle_of_records(few, 0.1, "curator"))
    with pytest.raises(SignalTooWeak, match=r"needs [\d,]+ people"):
        estimated_quantile(counting, "bmi", 0.5)
    assert counting.counts.rounds == 0
    estimated_quantile(counting, "bmi", 0.5, check_signal=False)


def test_a_share_that_is_none_is_refused() -> None:
    with pytest.raises(InvalidParameter):
        estimated_quantile(ExactOracle(RECORDS), "age", 1.5)
