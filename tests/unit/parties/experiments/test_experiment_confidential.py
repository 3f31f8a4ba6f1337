"""Results on somebody's own table say that they tell exact answers, and are for their owner alone."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from localdp.errors import InvalidParameter
from parties.experiments.results import EXACT_ANSWERS
from parties.experiments.running import run_experiment
from parties.report.writing import write_experiment_report
from tests.support.experiments import SMALL, experiment

TABLE = "smoker\n" + "1\n" * 20 + "0\n" * 40
FILES = ("results.json", "results.parquet", "journal.jsonl", "report.html")


def run(directory: Path, public: str = "") -> Path:
    (directory / "people.csv").write_text(TABLE)
    text = SMALL.replace(
        'set = "made-up"', f'path = "people.csv"\n{public}\n[schema]\nsmoker = {{ kind = "bit" }}'
    )
    text = text.replace("people = [30, 60]\n", "").replace("trials = 30", "trials = 2")
    run_experiment(experiment(directory, text.replace("insecure_seeds = 1\n", "")))
    write_experiment_report(directory / "out")
    return directory / "out"


def test_results_on_a_table_are_as_confidential_as_the_table_and_say_so(tmp_path: Path) -> None:
    out = run(tmp_path)
    provenance = json.loads((out / "results.json").read_text())["provenance"]
    assert EXACT_ANSWERS in provenance["privacy"] and provenance["confidential"]
    page = (out / "report.html").read_text()
    assert '<p class="warning"' in page and "as confidential as the table" in page
    assert {(out / name).stat().st_mode & 0o077 for name in FILES} == {0}
    digest = hashlib.sha256(TABLE.encode()).hexdigest()
    assert not any(digest in (out / name).read_text() for name in ("results.json", "report.html"))


def test_a_table_that_anybody_may_know_needs_no_warning(tmp_path: Path) -> None:
    out = run(tmp_path, "public = true")
    provenance = json.loads((out / "results.json").read_text())["provenance"]
    assert EXACT_ANSWERS not in provenance["privacy"] and not provenance["confidential"]
    assert provenance["data_sha256"] == hashlib.sha256(TABLE.encode()).hexdigest()
    assert '<p class="warning"' not in (out / "report.html").read_text()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (SMALL.replace('"made-up"', '"made-up"\npublic = true'), "goes with data.path"),
        (SMALL.replace('set = "made-up"', 'path = "people.csv"\npublic = 1'), "true if anybody may know"),
    ],
)
def test_public_is_said_of_tables_and_is_true_or_false(tmp_path: Path, text: str, why: str) -> None:
    (tmp_path / "people.csv").write_text(TABLE)
    with pytest.raises(InvalidParameter, match=why):
        experiment(tmp_path, text + '[schema]\nsmoker = { kind = "bit" }\n' if "path" in text else text)
