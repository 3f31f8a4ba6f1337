"""A run in this process: its files, its summaries, its provenance; and a run that stops half way is gone on with."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.shuffling import largest_local
from localdp.errors import InvalidParameter
from parties.experiments import results
from parties.experiments.cells import Block, BlockResult
from parties.experiments.running import run_experiment, seeded
from tests.support.experiments import SMALL, experiment


def data_of(directory: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((directory / "out" / "results.json").read_text())
    return found


def test_results_hold_every_trial_in_the_order_of_the_sweep(tmp_path: Path) -> None:
    run = run_experiment(experiment(tmp_path))
    assert [path.name for path in run.written] == ["results.json", "results.parquet"]
    data = data_of(tmp_path)
    assert len(data["cells"]) == 16
    columns = data["trials"]
    assert len(columns["error"]) == 480
    assert columns["trial"][:31] == [*range(30), 0]
    assert columns["model"][0:120:30] == ["curator", "local", "shuffled", "shared"]
    table = parquet.read_table(tmp_path / "out" / "results.parquet")
    assert table.to_pydict() == columns
    assert json.loads(table.schema.metadata[b"localdp"]) == data["provenance"]


def test_provenance_says_where_results_come_from(tmp_path: Path) -> None:
    run_experiment(experiment(tmp_path, SMALL.replace("trials = 30", "trials = 2")))
    told = data_of(tmp_path)["provenance"]
    assert told["configuration"] == (tmp_path / "experiment.toml").read_text()
    assert len(told["configuration_sha256"]) == 64
    assert told["seeds"] == [1]
    assert told["privacy"] == results.NO_PRIVACY
    assert {"python", "localdp", "numpy"} <= set(told["versions"])
    assert set(told["machine"]) == {"system", "architecture", "processors"}
    assert told["refusals"] == {}
    promises = {cell["model"]: cell["privacy"] for cell in data_of(tmp_path)["cells"]}
    assert all(promise.startswith(f"{model}: whatever") for model, promise in promises.items())


def test_without_seeds_randomness_is_the_systems_and_promises_are_kept(tmp_path: Path) -> None:
    text = SMALL.replace("insecure_seeds = 1\n", "").replace("trials = 30", "trials = 2")
    run_experiment(experiment(tmp_path, text))
    told = data_of(tmp_path)["provenance"]
    assert told["seeds"] == "system randomness"
    assert told["privacy"] == results.ONE_TRIAL


def test_refusals_are_counted_by_reason_and_say_why(tmp_path: Path) -> None:
    text = SMALL.replace("number = 3", "number = 3\nbudget = 1").replace('"shuffled", ', "")
    run_experiment(experiment(tmp_path, text))
    data = data_of(tmp_path)
    refused = sum(one["trials"] for cell in data["cells"] for one in cell["refused"].values())
    assert (
        refused == sum(data["provenance"]["refusals"].values()) == 180
    )  # three models and two sizes at epsilon 2
    assert all(cell["measures"] == {} for cell in data["cells"] if cell["refused"])
    messages = {one["message"] for cell in data["cells"] for one in cell["refused"].values()}
    assert all(messages)


def test_refusals_say_how_many_parties_refused(tmp_path: Path) -> None:
    text = SMALL.replace("number = 3", "number = 3\nbudget = 1").replace('"shuffled", ', "")
    run_experiment(experiment(tmp_path, text))
    data = data_of(tmp_path)
    told = {(cell["model"], one["parties"]) for cell in data["cells"] for one in cell["refused"].values()}
    assert told == {("curator", None), ("local", 3), ("shared", 3)}  # a curator keeps the book itself
    assert set(data["provenance"]["parties_refusing"].values()) <= {3, None}
    columns = data["trials"]
    for model, refused, parties in zip(
        columns["model"], columns["refused"], columns["parties_refusing"], strict=True
    ):
        assert parties == (3 if refused is not None and model != "curator" else None)
    table = parquet.read_table(tmp_path / "out" / "results.parquet")
    assert table.to_pydict() == columns


def test_a_budget_that_is_too_small_for_a_shuffled_report_says_what_it_costs(tmp_path: Path) -> None:
    text = SMALL.replace("number = 3", "number = 3\nbudget = 2").replace('"curator", "local", ', "")
    run_experiment(experiment(tmp_path, text.replace(', "shared"', "").replace("[30, 60]", "[3000]")))
    (refused, *_), cells = data_of(tmp_path)["cells"], data_of(tmp_path)["cells"]
    assert len(cells) == 2
    (why,) = refused["refused"].values()
    assert why["trials"] == 30
    assert why["parties"] == 3
    cost = largest_local(3000, Epsilon.requested(1), 1e-6, "binary")
    assert f"reveals, {cost} nats" in why["message"]
    assert "epsilon = 1" in why["message"] and "parties.budget is 2: write a larger one" in why["message"]


class Stopped(Exception):
    """Somebody pulled the plug."""


def stopping_after(blocks: int) -> Any:
    counted: Iterator[int] = iter(range(blocks))

    def done(block: Block, result: BlockResult) -> None:
        if next(counted, None) is None:
            raise Stopped

    return done


FEW = SMALL.replace("[30, 60]", "30").replace("[1, 2]", "1")  # eight blocks


@pytest.mark.parametrize("blocks", [0, 3, 7])
def test_a_run_that_stopped_is_gone_on_with_and_nothing_is_run_twice(tmp_path: Path, blocks: int) -> None:
    whole = tmp_path / "whole"
    whole.mkdir()
    run_experiment(experiment(whole, FEW))
    made = experiment(tmp_path, FEW)
    with pytest.raises(Stopped):
        run_experiment(made, done=stopping_after(blocks))
    assert not (tmp_path / "out" / "results.json").exists()
    run = run_experiment(made, resume=True)
    assert run.repeated == blocks + 1
    assert data_of(tmp_path)["trials"] == data_of(whole)["trials"]
    assert data_of(tmp_path)["cells"] == data_of(whole)["cells"]


def test_a_finished_run_is_only_written_again(tmp_path: Path) -> None:
    first = run_experiment(experiment(tmp_path, FEW)).results
    again = run_experiment(experiment(tmp_path, FEW), resume=True)
    assert again.repeated == 8
    assert (again.results.trials, again.results.cells) == (first.trials, first.cells)


def test_another_seed_or_a_changed_table_is_another_run(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("smoker\n" + "true\nfalse\n" * 20)
    text = SMALL.replace('set = "made-up"', 'path = "people.csv"\n[schema]\nsmoker = { kind = "bit" }')
    made = experiment(tmp_path, text.replace("[30, 60]", "[30, 40]"))
    run_experiment(made)
    with pytest.raises(InvalidParameter, match="another experiment"):
        run_experiment(seeded(made, 2), resume=True)
    (tmp_path / "people.csv").write_text("smoker\n" + "true\ntrue\n" * 20)
    with pytest.raises(InvalidParameter, match="other data"):
        run_experiment(made, resume=True)


def test_what_can_never_be_asked_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    text = SMALL.replace('query = "smoker"', 'learner = "halfspace"\nparameters.target = "age"')
    with pytest.raises(InvalidParameter, match="should be a bit"):
        run_experiment(experiment(tmp_path, text))
    assert not (tmp_path / "out").exists()


def test_without_pyarrow_there_is_json_and_parquet_alone_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(results, "has_pyarrow", lambda: False)
    few = SMALL.replace("trials = 30", "trials = 1")
    assert [path.name for path in run_experiment(experiment(tmp_path, few)).written] == ["results.json"]
    with pytest.raises(InvalidParameter, match="pyarrow"):
        run_experiment(experiment(tmp_path, few + 'formats = "parquet"\n'))
