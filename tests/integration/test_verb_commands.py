"""`localdp mean`, `quantile`, `histogram`, `fit` and `release`: each under every trust model, in words and for scripts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from localdp.experiments.population import made_up_people
from localdp.oracles.models import MODELS
from parties.command.main import app
from parties.federation import Federation

FEW = ("--people", "2000", "--parties", "2", "--tier", "additive")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments), env={"COLUMNS": "100", "NO_COLOR": "1"})


def data(*arguments: str) -> Any:
    result = run(*arguments, "--json")
    envelope = json.loads(result.stdout)
    assert result.exit_code == 0, envelope
    return envelope["data"]


@pytest.mark.parametrize("model", MODELS)
def test_a_histogram_is_asked_under_every_model(model: str) -> None:
    asked = ("--model", model, "--epsilon", "4", *FEW)
    found = data("histogram", "region", *asked)
    assert found["values"] == ["north", "east", "south", "west"] and found["model"] == model
    assert sum(found["consistent"]) == pytest.approx(1) and min(found["consistent"]) >= 0
    assert len(found["frequencies"]) == len(found["half_widths"]) == 4 and found["level"] == 0.95


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    path = tmp_path_factory.mktemp("running") / "parties.json"
    with Federation.launch(made_up_people(20_000), parties=2, budget=30) as launched:
        launched.write_addresses(path)
        yield str(path)


def test_a_mean_is_on_the_scale_of_its_column(running: str) -> None:
    found = data("mean", "age", "--connect", running, "--epsilon", "2")
    assert found["low"] < found["value"] < found["high"] and 40 < found["value"] < 66
    words = run("mean", "2*age - bmi", "--connect", running, "--epsilon", "2").stdout
    assert "mean of 2*age - bmi: " in words and "(95 %) for 20,000 people" in words
    assert "20,000 people, local model, epsilon 2 each" in words and "Nobody else has to be honest" in words


def test_a_quantile_is_the_median_unless_told(running: str) -> None:
    asked = ("quantile", "age", "--connect", running, "--epsilon", "4")
    median, high = data(*asked), data(*asked, "--at", "0.9")
    assert median["name"] == "median of age" and 40 < median["value"] < 66
    assert median["value"] < high["value"] and high["low"] <= high["value"] <= high["high"]


def test_numbers_are_cut_into_bins(running: str) -> None:
    found = data("histogram", "bmi", "--bins", "5", "--connect", running, "--epsilon", "2")
    assert found["values"] == ["10 to 20", "20 to 30", "30 to 40", "40 to 50", "50 to 60"]
    words = run("histogram", "region", "--connect", running, "--epsilon", "2").stdout
    assert "people (95 %)" in words and "█" in words


def test_what_noise_would_drown_is_asked_only_with_anyway(running: str) -> None:
    asked = ("histogram", "age", "--connect", running, "--epsilon", "0.1")
    refused = run(*asked)
    assert refused.exit_code == 1 and "--anyway" in refused.stderr and "--bins" in refused.stderr
    assert "check_signal" not in refused.stderr
    assert len(data(*asked, "--anyway")["values"]) == 121


def test_a_learner_is_fitted_where_the_records_are(running: str, tmp_path: Path) -> None:
    asked = ("fit", "linear-regression", "--target", "bmi", "--features", "age", "--connect", running)
    out = tmp_path / "learned.json"
    words = run(*asked, "--epsilon", "4", "--anyway", "--out", str(out))
    assert words.exit_code == 0 and "age" in words.stdout and "(intercept)" in words.stdout
    assert "epsilon 4 of each person" in words.stdout
    learned = json.loads(out.read_text())
    assert learned["learned"]["features"] == ["age"] and len(learned["learned"]["coef"]) == 1


def test_a_release_has_many_answers(running: str) -> None:
    asked = ("release", "marginals", "smoker", "region", "--connect", running, "--epsilon", "4")
    (smoker, region) = data(*asked)["learned"]["marginals"]
    assert (smoker["attributes"], len(region["shares"])) == (["smoker"], 4)
    words = run(
        "release", "ranges", "age", "--set", "bins=16", "--connect", running, "--epsilon", "4"
    ).stdout
    assert "people below" in words and "90 %" in words


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("mean", "region"), "ask for its histogram"),
        (("quantile", "agee"), "did you mean 'age'?"),
        (("histogram", "regoin"), "did you mean 'region'?"),
        (("fit", "logistic"), "there are boosting"),
        (("fit", "pca", "--target", "smoker"), "pca has no parameter target"),
        (("fit", "pca", "--set", "n_components"), "NAME=VALUE"),
        (("fit", "k-means", "--features", "agee"), "'agee' of features is no column"),
        (("release", "ranges", "age", "bmi"), "one column"),
        (("release", "marginals", "smokr"), "'smokr' of columns is no column"),
    ],
)
def test_a_mistake_is_refused_before_anything_is_launched(
    monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], said: str
) -> None:
    def launched(*_: object, **__: object) -> None:
        raise AssertionError("launched")

    monkeypatch.setattr("parties.simulation.launcher.Simulation", launched)
    result = run(*arguments)
    assert result.exit_code == 2 and said in result.stderr
