"""The result types of a comparison: their numbers, their JSON and their promises."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from localdp.errors import InvalidParameter
from localdp.experiments.comparison import (
    Comparison,
    fit_slope,
    summarise,
)
from tests.support.reports import row

ROWS = (
    row("local", 400, 10, 20.0, 1.0, 19.0, 9.0),
    row("local", 100, 10, 10.0, 0.5, 9.5, 4.5),
    row("exact", 100, 10, 0.0, 0.0, 0.0, None),
)


def test_a_comparison_gives_exactly_the_promised_data() -> None:
    data = Comparison(1.0, "each-server", 2, "in-process", ROWS, 1.5, [{"model": "local"}]).to_data()
    assert json.loads(json.dumps(data, allow_nan=False)) == data
    assert data["rows"][0] == {
        "model": "local",
        "people": 400,
        "trials": 10,
        "mean_abs_error": 20.0,
        "standard_error": 1.0,
        "predicted": 19.0,
        "lower_bound": 9.0,
    }
    assert data["rows"][2]["lower_bound"] is None
    assert set(data["slopes"]) == {"local", "shuffled", "flooded", "curator", "shared", "joint"}
    assert data["slopes"]["local"] == pytest.approx(0.5)
    assert data["slopes"]["curator"] is None
    assert {
        key: data[key] for key in ("epsilon", "delta", "noise_plan", "servers", "transport", "seconds")
    } == {
        "epsilon": 1.0,
        "delta": 1e-6,
        "noise_plan": "each-server",
        "servers": 2,
        "transport": "in-process",
        "seconds": 1.5,
    }
    assert data["privacy"] == [{"model": "local"}] and data["notes"] == []


def test_the_rows_of_a_model_come_by_increasing_people() -> None:
    comparison = Comparison(1.0, "divided", 2, "grpc", ROWS)
    assert [point.parameter for point in comparison.of_model("local")] == [100, 400]
    assert ROWS[0].ratio == pytest.approx(20 / 19)
    assert ROWS[2].ratio is None


def test_the_slope_of_a_power_law_is_its_exponent() -> None:
    people = [10**k for k in range(2, 7)]
    assert fit_slope(people, [0.7656 * math.sqrt(n) for n in people]) == pytest.approx(0.5, abs=1e-12)
    assert fit_slope(people, [0.851] * 5) == pytest.approx(0.0, abs=1e-12)
    assert fit_slope([1, 10, 100], [1.0, 100.0, 100.0]) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("people", "errors"), [([100], [1.0]), ([100, 100], [1.0, 2.0]), ([1, 2], [0.0, 1.0]), ([1, 2], [1.0])]
)
def test_a_slope_that_the_data_do_not_determine_is_refused(people: list[int], errors: list[float]) -> None:
    with pytest.raises(InvalidParameter):
        fit_slope(people, errors)


def test_a_summary_is_the_mean_and_its_standard_error() -> None:
    mean, standard_error = summarise(np.array([1, 2, 3, 4]))
    assert mean == 2.5
    assert standard_error == pytest.approx(math.sqrt(5 / 3) / 2)
    assert summarise([-1.0, 1.0]) == (1.0, 0.0)
    with pytest.raises(InvalidParameter, match="two trials"):
        summarise([1.0])


def notes(epsilon: float, plan: str, servers: int, model: str = "shared") -> tuple[str, ...]:
    shared = row(model, 100, 10, 1.4, 0.1, 1.37, 0.85)
    return Comparison(epsilon, plan, servers, "grpc", (shared,)).notes()


def test_the_shuffled_model_admits_what_the_shuffler_learns() -> None:
    rows = tuple(row("shuffled", n, 10, 4.6, 0.1, 4.66, None) for n in (10_000, 1_000_000))
    (note,) = Comparison(1.0, "each-server", 2, "grpc", rows, delta=1e-6).notes()
    assert "5.69 where 10,000 people are mixed and 10.3 where 1,000,000 people are mixed" in note


def test_divided_noise_admits_what_a_coalition_learns() -> None:
    assert notes(1.0, "each-server", 3) == ()
    assert "against one server it is 1.68" in notes(1.0, "divided", 2)[0]
    assert "against one server it is 1.39 and against 2 servers it is 2.08" in notes(1.0, "divided", 3)[0]
    assert "against 2 servers it is 1.68" in notes(1.0, "divided(1)", 3)[0]
    assert "it is 0.134" in notes(1e-6, "divided", 2)[0]
    with pytest.raises(InvalidParameter):
        notes(1.0, "none", 2)


def test_joint_noise_admits_what_two_servers_know_whatever_the_others_are_asked_with() -> None:
    (note,) = notes(1.0, "each-server", 2, model="joint")
    assert note.startswith("joint: two servers together know the noise")


def test_every_model_says_what_it_was_asked_with() -> None:
    rows = tuple(row(model, 100, 10, 1.4, 0.1, 1.37, 0.85) for model in ("shuffled", "shared", "joint"))
    assert Comparison(1.0, "divided", 4, "grpc", rows).settings() == {
        "shuffled": "delta = 1e-06",
        "shared": "4 share servers, noise plan divided",
        "joint": "3 share servers, noise plan joint",
    }
