"""Commands where the world is not as usual: a terminal without ±, a directory that cannot be written."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from tests.support.processes import COMMAND, localdp


def test_a_terminal_that_cannot_show_a_character_costs_no_answer(tmp_path: Path) -> None:
    done = subprocess.run(
        [str(COMMAND), "ask", "smoker", "--people", "50", "--model", "curator"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done
    assert "share of people" in done.stdout and done.stdout.isascii()


def test_what_cannot_be_written_is_found_out_before_the_trials(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = localdp(tmp_path, "compare", "--trials", "2000", "--out", "file/out", seconds=30)
    assert done.returncode == 1 and "error file_error: Not a directory" in done.stderr


def test_the_command_tells_its_version(tmp_path: Path) -> None:
    done = localdp(tmp_path, "--version")
    assert (done.returncode, done.stdout.split()[0]) == (0, "localdp")
