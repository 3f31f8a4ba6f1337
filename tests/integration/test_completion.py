"""Completion of words, in a real bash: the script that is shown is a script, and it completes commands and options."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.support.processes import COMMAND, stage

# What bash does when Tab is pressed: it calls the function that was registered, and takes COMPREPLY.
TAB = """
source <(localdp --show-completion; true)
COMP_WORDS=({words}); COMP_CWORD={place}
_localdp_completion localdp
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


def bash(directory: Path, script: str) -> str:
    with stage(directory) as made:
        environment = {
            **made.environment,
            "PATH": f"{COMMAND.parent}:/usr/bin:/bin",
            "HOME": str(directory),
        }
        done = subprocess.run(
            ["bash", "-c", script],
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_script_for_bash_is_shown_and_is_a_script(tmp_path: Path) -> None:
    shown = bash(tmp_path, "localdp --show-completion; true")
    assert "complete -o default -F _localdp_completion localdp" in shown
    bash(tmp_path, f"bash -n <<'SCRIPT'\n{shown}\nSCRIPT")


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        ("localdp bu", {"budget"}),
        ("localdp ask --min", {"--minimum-batch"}),
        ("localdp keys i", {"init", "issue"}),
    ],
)
def test_tab_completes_commands_and_options(words: str, completed: set[str], tmp_path: Path) -> None:
    told = bash(tmp_path, TAB.format(words=words, place=len(words.split()) - 1))
    assert set(told.split()) == completed


def test_installing_it_writes_into_the_home_of_who_asked_alone(tmp_path: Path) -> None:
    bash(tmp_path, "localdp --install-completion; true")
    assert ".bashrc" in {path.name for path in tmp_path.iterdir()}
    assert list(tmp_path.rglob("localdp.sh"))
