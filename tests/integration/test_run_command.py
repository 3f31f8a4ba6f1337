"""`localdp run` as a user meets it: forecasts, results, kills and resumptions, and nothing left behind."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet

from parties.experiments.journal import FILE
from tests.integration.test_nothing_is_left_behind import CLEANUP_SECONDS, ENDINGS, ended
from tests.support.processes import COMMAND, envelope, localdp, stage, wait_until

TEXT = """[data]
set = "made-up"
[parties]
number = 2
[run]
models = ["curator", "local", "shuffled", "shared"]
query = "smoker and age >= 65"
epsilon = [0.5, 1]
people = 200
trials = {trials}
[output]
directory = "out"
"""
SEED = ("--insecure-seed", "5")


def written(directory: Path, trials: int = 50) -> str:
    path = directory / "experiment.toml"
    path.write_text(TEXT.format(trials=trials))
    return str(path)


def results(directory: Path) -> dict[str, Any]:
    data = json.loads((directory / "results.json").read_text())
    return {key: data[key] for key in ("cells", "trials")}


def test_a_run_prints_one_envelope_and_writes_its_files(tmp_path: Path) -> None:
    told = envelope(localdp(tmp_path, "run", written(tmp_path), "--jobs", "1", "--json", *SEED))
    assert told["status"] == "ok", told
    assert len(told["data"]["cells"]) == 8
    assert told["data"]["provenance"]["seeds"] == [5]
    made = {FILE, "results.json", "results.parquet", "report.html"}
    assert {path.name for path in (tmp_path / "out").iterdir()} == made
    assert parquet.read_table(tmp_path / "out" / "results.parquet").num_rows == 8 * 50


def test_several_sets_are_several_runs_in_one_envelope(tmp_path: Path) -> None:
    text = (
        TEXT.format(trials=2)
        .replace('"made-up"', '["bits", "majority"]')
        .replace("smoker and age >= 65", "x0")
    )
    (tmp_path / "several.toml").write_text(text)
    told = envelope(localdp(tmp_path, "run", "several.toml", "--jobs", "1", "--json", *SEED))
    assert [one["provenance"]["data"] for one in told["data"]["experiments"]] == ["bits", "majority"]
    assert {path.parent.name for path in tmp_path.rglob("results.json")} == {"bits", "majority"}
    planned = envelope(localdp(tmp_path, "run", "several.toml", "--dry-run", "--json"))
    assert [len(one["cells"]) for one in planned["data"]["experiments"]] == [8, 8]


def test_a_table_of_the_package_is_run_by_its_name_and_shown_beside_what_is_stored(tmp_path: Path) -> None:
    told = localdp(tmp_path, "run", "conjunction", "--jobs", "1", "--insecure-seed", "0")
    assert told.returncode == 0, told.stderr
    (shown,) = [line for line in told.stdout.splitlines() if line.split()[:2] == ["conjunction-2", "local"]]
    assert shown.count("1.000 ± 0.000") == 2
    assert (tmp_path / "out/conjunction/conjunction-2/results.json").exists()


def test_for_people_the_table_is_whole_and_progress_goes_to_standard_error(tmp_path: Path) -> None:
    told = localdp(tmp_path, "run", written(tmp_path, 10), "--jobs", "1", *SEED)
    assert told.returncode == 0, told.stderr
    assert "…" not in told.stdout
    assert "80 of 80 trials" in told.stderr
    assert "trials" not in told.stdout.splitlines()[0]
    assert "dim." not in told.stdout  # there is no dimension
    assert "\x1b" not in told.stdout + told.stderr
    for model in ("curator", "local", "shuffled", "shared"):
        assert f"{model}: whatever" in told.stdout


def test_a_dry_run_forecasts_every_cell_and_writes_nothing(tmp_path: Path) -> None:
    file = written(tmp_path)
    told = envelope(localdp(tmp_path, "run", file, "--dry-run", "--json"))["data"]
    assert len(told["cells"]) == 8
    for cell in told["cells"]:
        assert cell["predicted_standard_error"] > 0
        assert cell["seconds"] > 0
        assert (cell["bytes_per_trial"] > 0) == (cell["model"] != "curator")
    shown = localdp(tmp_path, "run", file, "--dry-run")
    assert "8 cells, 400 trials" in shown.stdout
    assert "seconds: all trials of the cell, on one worker" in shown.stdout
    assert "dim." not in shown.stdout
    assert "…" not in shown.stdout
    assert not (tmp_path / "out").exists()


def blocks_in(journal: Path) -> int:
    return max(0, journal.read_bytes().count(b"\n") - 1) if journal.exists() else 0


def cut_off(directory: Path, file: str, after: int, how: signal.Signals) -> int:
    """Run until so many blocks are in the journal, and end it; returns how many there are then."""
    journal = directory / "out" / FILE
    with stage(directory) as made:
        process = made.popen(
            [str(COMMAND), "run", file, "--jobs", "2", "--resume", *SEED],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        with ended(process):
            wait_until(lambda: blocks_in(journal) >= after, f"{after} blocks are done", step=0.001)
            process.send_signal(how)
            process.wait(CLEANUP_SECONDS)
        wait_until(lambda: not made.process_ids(), "no process is left", CLEANUP_SECONDS)
    return blocks_in(journal)


@pytest.mark.parametrize(
    "cuts",
    [
        ((2, signal.SIGKILL), (10, signal.SIGINT)),
        pytest.param(
            tuple((after, signal.SIGKILL) for after in (1, 3, 5, 8, 12, 16, 20)), marks=pytest.mark.nightly
        ),
        pytest.param(
            ((1, signal.SIGTERM), (8, signal.SIGINT), (16, signal.SIGTERM)), marks=pytest.mark.nightly
        ),
    ],
    ids=["killed and interrupted", "killed again and again", "interrupted again and again"],
)
def test_runs_that_are_cut_off_lose_nothing_and_repeat_nothing(
    tmp_path: Path, cuts: tuple[tuple[int, signal.Signals], ...]
) -> None:
    file = written(tmp_path, 100)
    total = 8 * 4
    localdp(tmp_path, "run", file, "--jobs", "1", "--out", "whole", *SEED)
    kept = 0
    for after, how in cuts:
        found = cut_off(tmp_path, file, max(after, kept), how)
        assert found >= kept
        kept = found
    assert kept < total, "the run was over before it was cut off"
    told = envelope(localdp(tmp_path, "run", file, "--jobs", "2", "--resume", "--json", *SEED))
    assert told["data"]["provenance"]["blocks_from_earlier_runs"] == kept
    assert results(tmp_path / "out") == results(tmp_path / "whole")  # of one worker
    lines = (tmp_path / "out" / FILE).read_text().splitlines()[1:]
    names = [json.loads(line.partition(" ")[2])["block"] for line in lines]
    assert len(names) == len(set(names)) == total
    assert parquet.read_table(tmp_path / "out" / "results.parquet").equals(
        parquet.read_table(tmp_path / "whole" / "results.parquet")
    )


@pytest.mark.parametrize(
    "ending",
    [
        "SIGTERM",
        "kill -9",
        pytest.param("Ctrl-C in the terminal", marks=pytest.mark.nightly),
        pytest.param("SIGINT to the process alone", marks=pytest.mark.nightly),
    ],
)
def test_nothing_is_left_running_however_a_run_ends(tmp_path: Path, ending: str) -> None:
    file = written(tmp_path, 100_000)
    with stage(tmp_path) as made:
        process = made.popen(
            [str(COMMAND), "run", file, "--jobs", "2"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        with ended(process):
            wait_until(lambda: blocks_in(tmp_path / "out" / FILE) >= 2, "some blocks are done")
            ENDINGS[ending](process)
            _, told = process.communicate(timeout=CLEANUP_SECONDS)
        wait_until(lambda: not made.process_ids(), "no process is left", CLEANUP_SECONDS)
        wait_until(lambda: not made.leftovers(), "no temporary file is left", CLEANUP_SECONDS)
    assert process.returncode == (-signal.SIGKILL if ending == "kill -9" else 130)
    assert b"Traceback" not in told, told.decode()
    assert (b"--resume" in told) == (ending != "kill -9")  # the same command alone would be refused


def test_an_earlier_run_is_not_written_over(tmp_path: Path) -> None:
    file = written(tmp_path, 2)
    assert localdp(tmp_path, "run", file, "--jobs", "1", *SEED).returncode == 0
    before = (tmp_path / "out" / "results.json").read_bytes()
    told = envelope(localdp(tmp_path, "run", file, "--jobs", "1", "--json", *SEED))
    assert (told["exit_code"], told["error_code"]) == (2, "invalid_parameter")
    assert "--resume" in told["message"]
    assert (tmp_path / "out" / "results.json").read_bytes() == before


OWN = """
from localdp.algorithms.definition import Learner, features_of
from localdp.domains import BitDomain


class BestBit(Learner):
    def __init__(self, target="target", check_signal=True):
        self.target, self.check_signal = target, check_signal

    def _rounds(self):
        return 1

    def _learn(self, oracle):
        names = features_of(oracle.schema, None, self.target, (BitDomain,))
        queries = [f"not parity({name}, {self.target})" for name in names]
        self.plan_ = oracle.plan(queries)
        answers = oracle.answer(queries)
        self.best_ = max(range(len(names)), key=lambda place: answers[place].value)

    def measures(self, truth, records):
        return {"found": float(self.best_ == truth.best_)}
"""


def test_a_learner_of_ones_own_is_a_file_beside_the_experiment(tmp_path: Path) -> None:
    (tmp_path / "best_bit.py").write_text(OWN)
    file = tmp_path / "own.toml"
    told = '[data]\nset = "conjunction"\n[run]\nlearner = "best_bit:{}"\nmodels = ["exact", "local"]\nepsilon = 30\n'
    file.write_text(told.format("BestBit") + 'people = 2000\ntrials = 2\n[output]\ndirectory = "out"\n')
    done = envelope(localdp(tmp_path, "run", str(file), "--json", *SEED))
    assert done["status"] == "ok", done
    found = {cell["model"]: cell["measures"]["found"]["mean"] for cell in done["data"]["cells"]}
    assert found["exact"] == 1.0 and 0.0 <= found["local"] <= 1.0
    file.write_text(told.format("Nothing"))
    refused = localdp(tmp_path, "run", str(file))
    assert refused.returncode != 0 and "own.toml:4: run.learner: best_bit:Nothing" in refused.stderr
