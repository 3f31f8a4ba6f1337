"""The demonstrations: every series is there, their data are plain, and the same seed gives the same numbers."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from localdp.errors import InvalidParameter
from localdp.experiments import (
    attack_overfitting,
    attack_reconstruction,
    attack_synthesis,
    attack_tracing,
)
from localdp.experiments.attack_averaging import averaging
from localdp.experiments.attack_differencing import differencing
from localdp.experiments.attack_game import game
from localdp.experiments.attack_overfitting import overfitting
from localdp.experiments.attack_reconstruction import answer_deviation, reconstruction
from localdp.experiments.attack_synthesis import synthesis
from localdp.experiments.attack_tracing import tracing
from localdp.experiments.attack_trials import Range
from localdp.experiments.panels import Demonstration, Panel, Point
from localdp.randomness.keyring import Keyring

KEYRING = Keyring.insecurely_seeded(11)


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same demonstration on few people: the full size is for the nightly tests."""
    for name, value in {
        "PEOPLE": 16,
        "QUERIES": 64,
        "HADAMARD_PEOPLE": 32,
        "LP_PEOPLE": 8,
        "LP_QUERIES": 32,
        "EPSILONS": (1, 1000),
    }.items():
        monkeypatch.setattr(attack_reconstruction, name, value)
    monkeypatch.setattr(attack_tracing, "ATTRIBUTES", (300, 1000))
    monkeypatch.setattr(attack_synthesis, "PEOPLE", (5, 20))
    monkeypatch.setattr(attack_overfitting, "QUESTIONS", (3, 10))


@pytest.mark.parametrize(
    "run", [reconstruction, averaging, differencing, tracing, synthesis, overfitting, game]
)
def test_a_demonstration_is_plain_data_and_repeats_with_its_seed(
    run: Callable[[Range], Demonstration],
) -> None:
    seen: list[str] = []
    shown = run(Range(KEYRING, 1, seen.append))
    data = shown.to_data()
    assert json.loads(json.dumps(data, allow_nan=False)) == json.loads(json.dumps(data))
    assert shown.to_data() == run(Range(KEYRING, 1)).to_data()
    assert len(seen) >= 6
    assert shown.notes
    assert all(
        point.value is not None and 0 <= point.value <= 1
        for panel in shown.panels
        for point in panel.points
    )
    assert all(len(panel.series()) >= 1 for panel in shown.panels)


def test_reconstruction_has_a_panel_for_every_attack() -> None:
    shown = reconstruction(Range(KEYRING, 1))
    series = {name for panel in shown.panels for name in panel.series()}
    assert {"least squares", "Hadamard", "linear program", "curator", "local reports"} <= series


def test_the_deviation_of_an_answer_follows_its_epsilon(monkeypatch: pytest.MonkeyPatch) -> None:
    # 256 people and 1,024 queries, epsilon 100: about sqrt(2) / .0977 and 16 / .0977.
    monkeypatch.setattr(attack_reconstruction, "PEOPLE", 256)
    monkeypatch.setattr(attack_reconstruction, "QUERIES", 1024)
    assert answer_deviation("curator", 100) == pytest.approx(14.48, abs=0.01)
    assert answer_deviation("local reports", 100) == pytest.approx(163.8, abs=0.2)


def test_the_points_of_a_series_come_by_increasing_parameter() -> None:
    panel = Panel("t", "p", "m", (Point("a", 4, 0.1, 1), Point("a", 1, 0.2, 1), Point("b", 2, 0.3, 1)))
    assert [point.parameter for point in panel.series()["a"]] == [1, 4]


@pytest.mark.parametrize("trials", [0, 10_001])
def test_an_attack_is_tried_a_bounded_number_of_times(trials: int) -> None:
    with pytest.raises(InvalidParameter):
        Range(KEYRING, trials)
