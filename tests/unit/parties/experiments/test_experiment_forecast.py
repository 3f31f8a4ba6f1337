"""A forecast says what the plans say, asks nobody, and is of the right order in bytes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from parties.experiments import forecast
from parties.experiments.forecast import forecasts
from parties.experiments.trials import run_block, setting_of_trial
from tests.support.experiments import SMALL, experiment, work


def test_every_cell_is_forecast_with_the_error_that_its_trials_are_measured_against(tmp_path: Path) -> None:
    told = list(forecasts(experiment(tmp_path)))
    made, blocks = work(tmp_path)
    firsts = [block for block in blocks if block.first == 0]
    assert len(told) == len(firsts) == 16
    for cell, block in zip(told, firsts, strict=True):
        result = run_block(made, block)
        assert (cell.model, cell.people, cell.epsilon) == (
            block.cell.model,
            block.cell.people,
            float(block.cell.epsilon),
        )
        assert cell.predicted_standard_error == pytest.approx(result.predicted)
        assert cell.seconds is not None and cell.seconds > 0
        moved = result.rows[0]["bytes_moved"]
        assert cell.bytes_per_trial is not None
        assert cell.bytes_per_trial == pytest.approx(
            moved, rel=0.5
        )  # reports of 10 people fill their last byte partly


def test_a_cell_whose_trials_will_be_refused_says_why(tmp_path: Path) -> None:
    text = SMALL.replace('set = "made-up"', 'set = "parity"').replace(
        'query = "smoker"', 'learner = "parity"'
    )
    told = [cell for cell in forecasts(experiment(tmp_path, text)) if cell.model == "local"]
    assert all(cell.predicted_standard_error is None for cell in told)
    assert all(cell.how.startswith("refused, signal_too_weak: ") for cell in told)


def test_sizes_and_missing_parties_are_forecast_too(tmp_path: Path) -> None:
    text = SMALL.replace("number = 3", "sizes = [10, 20, 30]\n[faults]\ndropouts = 0.3").replace(
        "[30, 60]", "60"
    )
    told = list(forecasts(experiment(tmp_path, text.replace('"shuffled", ', ""))))
    assert len(told) == 6
    assert all(cell.predicted_standard_error is not None for cell in told)


@pytest.mark.parametrize(("enough", "trials"), [(-1.0, 3), (1e9, 6)])
def test_trials_that_take_long_are_not_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, enough: float, trials: int
) -> None:
    """Two with few people, of which the first warms up, and one with many; three of each where there is time."""
    made = []

    def counted(*arguments: Any) -> Any:
        made.append(arguments)
        return setting_of_trial(*arguments)

    monkeypatch.setattr(forecast, "_ENOUGH_SECONDS", enough)
    monkeypatch.setattr(forecast, "setting_of_trial", counted)
    text = SMALL.replace('["curator", "local", "shuffled", "shared"]', '["local"]').replace(
        "[30, 60]", "2000"
    )
    told = list(forecasts(experiment(tmp_path, text)))
    assert len(made) == trials and all(cell.seconds for cell in told)
