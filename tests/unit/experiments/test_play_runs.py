"""The games that `localdp play` shows: every series is there, data are plain, and the same seed gives the same numbers."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from localdp.experiments import (
    play_auction,
    play_facilities,
    play_payments,
    play_roads,
    play_surveyor,
    play_two_outcomes,
)
from localdp.experiments.attack_trials import Range
from localdp.experiments.panels import Demonstration
from localdp.randomness.keyring import Keyring

KEYRING = Keyring.insecurely_seeded(11)


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same games with few people."""
    monkeypatch.setattr(play_roads, "PEOPLE", (500, 1000))
    monkeypatch.setattr(play_roads, "SETTLING", 500)
    monkeypatch.setattr(play_auction, "PEOPLE", (300, 1000))
    monkeypatch.setattr(play_facilities, "PEOPLE", (10_000, 20_000))
    monkeypatch.setattr(play_surveyor, "BUDGETS", (30, 100))


@pytest.mark.parametrize(
    "run",
    [
        play_roads.roads,
        play_auction.auction,
        play_facilities.facilities,
        play_payments.payments,
        play_surveyor.surveyor,
        play_two_outcomes.two_outcomes,
    ],
)
def test_a_game_is_plain_data_and_repeats_with_its_seed(run: Callable[[Range], Demonstration]) -> None:
    seen: list[str] = []
    shown = run(Range(KEYRING, 1, seen.append))
    data = shown.to_data()
    assert json.loads(json.dumps(data, allow_nan=False)) == json.loads(json.dumps(data))
    assert data == run(Range(KEYRING, 1)).to_data()
    assert len(seen) >= 6 and shown.notes
    assert all(panel.points for panel in shown.panels)


def test_loads_settle_where_they_are_published() -> None:
    settling = play_roads.roads(Range(KEYRING, 1)).panels[0]
    roads = settling.series().values()
    assert len(roads) == 4
    for points in roads:
        exact = [point.predicted for point in points if point.predicted is not None]
        assert len(exact) == len(play_roads.ROUNDS_SHOWN)
        assert abs(exact[-1] - exact[-2]) < 0.02


def test_models_that_are_named_are_shown_in_place_of_the_usual_ones() -> None:
    (panel,) = play_auction.auction(Range(KEYRING, 1, models=("curator",))).panels
    assert set(panel.series()) == {"curator", "exponential mechanism"}
    (panel,) = play_facilities.facilities(Range(KEYRING, 1, models=("curator",))).panels
    assert "curator" in panel.series()


def test_where_there_are_too_few_people_for_a_model_nothing_is_drawn() -> None:
    """20 people in each of 50 rounds are too few to be mixed."""
    trials = Range(KEYRING, 1, models=("shuffled",))
    point = trials.point("shuffled", 1000, lambda source: play_roads.gain("shuffled", 1000, source))
    assert (point.value, point.trials) == (None, 0)
