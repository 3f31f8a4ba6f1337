"""What a learner learned is told by the names of its features, and as data that JSON can write down."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from localdp.algorithms.definition import Learner
from localdp.domains import Records
from localdp.errors import InvalidParameter
from localdp.experiments.catalogue import LEARNERS, LearnerTask
from localdp.experiments.population import SCHEMA, made_up_people
from localdp.oracles.exact import ExactOracle
from parties.command.learning import learned, parameters_of, print_learned

NUMBERS: dict[str, object] = {"features": ["age", "bmi"]}
BITS = Records(
    type(SCHEMA)(dict.fromkeys(("a", "b", "c"), SCHEMA["smoker"])),
    {name: np.arange(64) >> place & 1 > 0 for place, name in enumerate("abc")},
)
SETTINGS: dict[str, dict[str, object]] = {
    "conjunction": {"target": "c", "features": ["a", "b"]},
    "parity": {"target": "c", "features": ["a", "b"]},
    "linear-regression": {"target": "bmi", "features": ["age"]},
    "k-means": {"n_clusters": 2, **NUMBERS},
    "pca": NUMBERS,
}


def fitted(name: str) -> Learner:
    settings = {**SETTINGS.get(name, {"target": "smoker", **NUMBERS}), "check_signal": False}
    records = BITS if name in ("conjunction", "parity") else made_up_people(2000)
    return LearnerTask(name, settings).learner().fit(ExactOracle(records))


@pytest.mark.parametrize("name", LEARNERS)
def test_every_learner_of_the_catalogue_is_told_in_words_and_as_data(
    name: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    learner = fitted(name)
    assert json.loads(json.dumps(learned(learner), allow_nan=False))
    print_learned(name, learner, tmp_path / "learned.json", json=False)
    words = capsys.readouterr().out
    assert words.startswith(name) and "round" in words and "cost nothing" in words
    assert str(tmp_path / "learned.json") in words
    print_learned(name, learner, None, json=True)
    envelope = json.loads(capsys.readouterr().out)
    assert json.loads((tmp_path / "learned.json").read_text()) == envelope["data"]


def test_coefficients_stand_beside_their_features(capsys: pytest.CaptureFixture[str]) -> None:
    print_learned("logistic-regression", fitted("logistic-regression"), None, json=False)
    rows = dict(
        line.rsplit(maxsplit=1) for line in capsys.readouterr().out.splitlines() if line.count(".") == 1
    )
    assert {"age", "bmi", "(intercept)"} <= {name.strip() for name in rows}


def test_a_release_is_told_as_tables(capsys: pytest.CaptureFixture[str]) -> None:
    oracle = ExactOracle(made_up_people(1000))
    print_learned(
        "ranges", LearnerTask("ranges", {"column": "age"}).learner().fit(oracle), None, json=False
    )
    assert "people below" in capsys.readouterr().out
    wanted = {"columns": ["smoker", "region"], "wanted": [["smoker", "region"]]}
    released = LearnerTask("marginals", wanted).learner().fit(oracle)
    (table,) = learned(released)["marginals"]
    assert table["labels"] == [["false", "true"], ["north", "east", "south", "west"]]
    assert np.sum(table["shares"]) == pytest.approx(1)
    print_learned("marginals", released, None, json=False)
    assert "false" in capsys.readouterr().out
    queries = {"queries": ["smoker", 'region == "north"'], "most_updates": 5}
    print_learned(
        "construction", LearnerTask("construction", queries).learner().fit(oracle), None, json=False
    )
    assert 'region == "north"' in capsys.readouterr().out


def test_settings_are_json_or_text() -> None:
    typed = ["depth=3", "radius=1.5", 'edges={"age": [40]}', "noise=plain text", "wanted=[]"]
    assert parameters_of(typed) == {
        "depth": 3,
        "radius": 1.5,
        "edges": {"age": [40]},
        "noise": "plain text",
        "wanted": [],
    }


@pytest.mark.parametrize("setting", ["depth", "=3", "a-b=3", ""])
def test_what_is_no_setting_is_refused(setting: str) -> None:
    with pytest.raises(InvalidParameter, match="NAME=VALUE"):
        parameters_of([setting])
