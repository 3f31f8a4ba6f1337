"""`localdp pan-private`: a state in a file, gone on with by one command after the other."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from parties.command.main import app
from parties.streams.seen_once import state_of


def typed(*words: object, came: str = "") -> Any:
    return CliRunner().invoke(app, ["pan-private", *map(str, words)], input=came)


def told(*words: object, came: str = "") -> Any:
    result = typed(*words, "--json", came=came)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)["data"]


def some(numbers: Iterable[int]) -> str:
    return "\n".join(map(str, numbers))


def test_a_density_is_taken_in_and_told_once(tmp_path: Path) -> None:
    state = tmp_path / "visits"
    assert told("begin", state, "density", "--elements", 2000, "--epsilon", 4)["told"] is None
    told("add", state, came=some(range(500)))
    (tmp_path / "today").write_text(some(range(250, 750)))
    told("add", state, tmp_path / "today")
    first = told("tell", state)
    assert abs(first["told"] - 750 / 2000) < 5 * first["standard_error"]
    assert told("tell", state)["told"] == first["told"]
    assert first["claim"]["epsilon"] == pytest.approx(4)
    assert typed("add", state, came="1").exit_code
    assert state.stat().st_mode & 0o077 == 0


def test_a_counter_tells_after_every_step_and_goes_on_after_an_intrusion(tmp_path: Path) -> None:
    state = tmp_path / "admissions"
    told("begin", state, "counter", "--steps", 8, "--epsilon", 20)
    for step in range(1, 4):
        count = told("add", state, "-", came=some([1] * 100))
        assert abs(count["told"] - 100 * step) < 8 * count["standard_error"]
    assert told("tell", state)["told"] == count["told"]
    told("seen", state)
    refused = typed("add", state, came="1")
    assert refused.exit_code and "renew" in refused.output
    assert told("renew", state)["renewed"] == 1
    told("add", state)
    for _ in range(2):
        told("seen", state)
    assert "twice" in typed("renew", state).output


@pytest.mark.parametrize("what", ["cropped-mean", "heavy-hitters"])
def test_the_others_stop_when_they_were_seen(tmp_path: Path, what: str) -> None:
    state = tmp_path / "state"
    told("begin", state, what, "--elements", 50)
    told("add", state, came="1 1 2")
    told("seen", state)
    assert "begin anew" in typed("renew", state).output
    assert told("tell", state)["seen"] == 1


def test_what_is_written_is_the_state_alone_and_one_process_at_a_time_changes_it(tmp_path: Path) -> None:
    state = tmp_path / "state"
    told("begin", state, "density", "--elements", 20)
    assert typed("begin", state, "density").exit_code
    with ThreadPoolExecutor(4) as several:
        list(several.map(lambda number: _appear(state, number), range(12)))
    assert sorted(path.name for path in tmp_path.iterdir()) == [".state.lock", "state"]
    assert set(json.loads(state.read_text())) == {
        "format", "noticed", "renewed", "kind", "elements", "most", "state", "output", "numbers", "places", "bits", "told",
    }  # fmt: skip


def _appear(state: Path, number: int) -> None:
    with state_of(state) as running:
        running.appear([number])  # type: ignore[union-attr]


def test_a_change_that_fails_leaves_the_state_as_it_was(tmp_path: Path) -> None:
    state = tmp_path / "state"
    told("begin", state, "density", "--elements", 20)
    before = state.read_bytes()
    assert typed("add", state, came="99").exit_code
    assert state.read_bytes() == before
    assert typed("add", tmp_path / "nothing", came="1").exit_code
    state.write_text("[]")
    assert "not a state" in typed("tell", state).output


@pytest.mark.parametrize("words", [("4031",), ("17", "4031")])
def test_what_came_is_no_argument_which_others_see(tmp_path: Path, words: tuple[str, ...]) -> None:
    state = tmp_path / "state"
    told("begin", state, "density", "--elements", 5000)
    before = state.read_bytes()
    assert typed("add", state, *words).exit_code
    assert state.read_bytes() == before
    assert "standard input" in typed("add", state, "17").output


@pytest.mark.parametrize("came", ["1 two 3", "1.5", str(1 << 80)])
def test_what_is_no_number_is_refused_and_not_repeated(tmp_path: Path, came: str) -> None:
    state = tmp_path / "state"
    told("begin", state, "density", "--elements", 20)
    before = state.read_bytes()
    refused = typed("add", state, came=came)
    assert refused.exit_code and came not in refused.output and "whole numbers" in refused.output
    assert state.read_bytes() == before


def test_no_older_state_stays_where_a_link_points(tmp_path: Path) -> None:
    inner, link = tmp_path / "encrypted" / "visits", tmp_path / "visits"
    inner.parent.mkdir()
    link.symlink_to(Path("encrypted") / "visits")
    told("begin", link, "counter", "--steps", 64)
    told("add", link, came="1 1")
    told("add", inner, came="1")
    assert link.is_symlink() and json.loads(link.read_text())["step"] == 2
    assert sorted(path.name for path in tmp_path.rglob("*")) == [
        ".visits.lock", "encrypted", "visits", "visits",
    ]  # fmt: skip


def test_no_older_state_stays_under_another_name(tmp_path: Path) -> None:
    state = tmp_path / "visits"
    told("begin", state, "counter", "--steps", 64)
    (tmp_path / "again").hardlink_to(state)
    refused = typed("add", state, came="1")
    assert refused.exit_code and "another name" in refused.output
    assert json.loads(state.read_text())["step"] == 0


_KILLED = """
import os, signal, sys
from pathlib import Path
import numpy as np
from parties.streams.seen_once import state_of
os.replace = lambda *paths: os.kill(os.getpid(), signal.SIGKILL)
with state_of(Path(sys.argv[1])) as running:
    running.update(np.ones(2, np.int64))
"""


def test_whoever_is_killed_while_writing_leaves_no_state_beside_the_next_one(tmp_path: Path) -> None:
    """Two states of a counter differ by what came between them: with the older one kept, nothing would be hidden."""
    state = tmp_path / "visits"
    told("begin", state, "counter", "--steps", 64)
    for _ in range(2):
        killed = subprocess.run([sys.executable, "-c", _KILLED, str(state)], env=os.environ, check=False)
        assert killed.returncode == -signal.SIGKILL
    left = {path.name for path in tmp_path.iterdir()} - {"visits", ".visits.lock"}
    assert len(left) == 1  # what was written last, and not taken up by anybody
    told("tell", state)
    assert {path.name for path in tmp_path.iterdir()} == {"visits", ".visits.lock"}
    assert json.loads(state.read_text())["step"] == 0
