"""Tables of learners: definitions that load, figures that are means and spreads over seeds, refusals that are counted."""

from __future__ import annotations

from pathlib import Path

import pytest

from localdp.errors import InvalidParameter
from parties.command.run import _elsewhere, _loaded
from parties.experiments import learner_figures
from parties.experiments.cells import Row
from parties.experiments.counterparts import CONSTANT, SCIKIT_LEARN
from parties.experiments.learner_figures import (
    NAMES,
    Figure,
    columns_of,
    definition,
    figures_of,
    store,
    stored,
)
from parties.experiments.reading import load_experiment, load_experiments


def trial(seed: int, model: str, score: float, best: float = 0.9) -> Row:
    return {"model": model, "seed": seed, "score": score, SCIKIT_LEARN: best, CONSTANT: 0.5}


TRIALS: list[Row] = [
    trial(0, "exact", 1.0),
    trial(1, "exact", 0.8),
    trial(0, "local", 0.7),
    {"model": "local", "seed": 1, "refused": "signal_too_weak"},
]


def test_a_figure_is_the_mean_and_the_spread_over_the_seeds() -> None:
    found = figures_of("naive-bayes", TRIALS)
    assert found["exact"] == Figure(0.9, 0.141421, 2, 0, 1)
    assert found[SCIKIT_LEARN] == Figure(0.9, 0.0, 2)


def test_a_refusal_is_counted_and_not_in_the_mean() -> None:
    assert figures_of("naive-bayes", TRIALS)["local"] == Figure(0.7, 0.0, 2, 1)
    refused = figures_of("naive-bayes", TRIALS[-1:])["local"]
    assert (refused.mean, refused.refused, refused.text) == (None, 1, "refused")
    assert not refused.near(0.7, 100)


def test_costs_are_shown_as_multiples() -> None:
    found = figures_of("k-means", [trial(0, "local", -0.3, -0.2)])
    assert found["local"].mean == pytest.approx(1.5)


def test_fewer_seeds_and_refusals_are_said() -> None:
    assert Figure(0.9, 0.01, 20).text == "0.900 ± 0.010"
    assert Figure(0.9, 0.01, 5, 2).text == "0.900 ± 0.010 (2 of 5 refused, 5 seeds)"


def test_what_is_stored_is_read_again_and_a_figure_is_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = learner_figures.DIRECTORY / "parity.toml"
    (tmp_path / "parity.toml").write_text(source.read_text())
    monkeypatch.setattr(learner_figures, "DIRECTORY", tmp_path)
    assert stored("parity") == {}
    told = {"parity": figures_of("parity", TRIALS)}
    store("parity", told)
    assert stored("parity") == told
    assert list(columns_of("parity")["parity"]) == [SCIKIT_LEARN, "exact", "local", CONSTANT]
    lines = (tmp_path / "parity.json").read_text().splitlines()
    assert sum('"mean"' in line for line in lines) == 4


@pytest.mark.parametrize("name", NAMES)
def test_a_definition_is_named_like_its_learner_and_writes_where_one_works(name: str) -> None:
    told, experiments = _loaded(Path(name))
    assert told == name
    assert [one.output.directory for one in experiments] == [
        Path("out") / name / one.data.about for one in experiments
    ]
    assert len({one.digest for one in experiments}) == len(
        experiments
    )  # so that nobody's people are taken for others


def test_a_file_of_that_name_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "k-means").write_text((learner_figures.DIRECTORY / "parity.toml").read_text())
    monkeypatch.chdir(tmp_path)
    told, experiments = _loaded(Path("k-means"))
    assert told is None
    assert experiments[0].data.about == "parity"


def test_several_sets_are_several_experiments(tmp_path: Path) -> None:
    path = learner_figures.DIRECTORY / "k-means.toml"
    experiments = load_experiments(path)
    assert [one.data.about for one in experiments] == [one.data.about for one in definition("k-means")]
    assert [one.data.resample for one in experiments] == [
        one.data.about in ("iris", "wine") for one in experiments
    ]
    places = [one.output.directory for one in _elsewhere(experiments, tmp_path)]
    assert places == [tmp_path / one.data.about for one in experiments]
    with pytest.raises(InvalidParameter, match="6 experiments"):
        load_experiment(path)
