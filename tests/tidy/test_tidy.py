"""Rules of the house, run as tests."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LONGEST_FILE = 400
UNSAFE = re.compile(
    r"np\.random\.|numpy\.random|^\s*import random\b|^\s*import pickle|[^_.\w]eval\(|[^_.\w]exec\("
)


def sources(*rooms: str) -> list[Path]:
    files = [path for room in rooms for path in (ROOT / room).rglob("*.py")]
    return sorted(path for path in files if "wire" not in path.relative_to(ROOT).parts)


def relative(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", sources("localdp", "parties"), ids=relative)
def test_a_source_file_holds_one_idea(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= LONGEST_FILE


@pytest.mark.parametrize(
    "path", [path for path in sources("localdp", "parties") if path.name != "__init__.py"], ids=relative
)
def test_a_source_file_begins_by_saying_what_it_is(path: Path) -> None:
    assert path.read_text().startswith('"""')


@pytest.mark.parametrize("path", sources("localdp", "parties"), ids=relative)
def test_no_unsafe_draw_and_no_code_from_outside(path: Path) -> None:
    assert not [line for line in path.read_text().splitlines() if UNSAFE.search(line)]


@pytest.mark.parametrize("path", sources("localdp", "parties"), ids=relative)
def test_the_tests_that_a_docstring_names_exist(path: Path) -> None:
    named = re.findall(r"tests/[\w/]+\.py", path.read_text())
    assert not [name for name in named if not (ROOT / name).exists()]


def test_nothing_is_skipped_or_expected_to_fail() -> None:
    marker = re.compile(r"pytest\.mark\.(skip|xfail)|pytest\.skip\(")
    here = Path(__file__)
    assert not [path for path in sources("tests") if path != here and marker.search(path.read_text())]


def test_the_example_of_the_coordinator_is_short() -> None:
    assert len((ROOT / "examples/three_questions.py").read_text().splitlines()) <= 40


def test_ci_runs_what_the_readme_shows() -> None:
    commands = [line for line in (ROOT / ".ci/run").read_text().splitlines() if line.startswith("make ")]
    readme = (ROOT / "README.md").read_text()
    assert "make test" in commands
    assert all(command in readme for command in commands)


def test_generated_code_is_what_the_protos_generate() -> None:
    python = sys.executable
    done = subprocess.run(
        [python, ROOT / "protos/generate.py", "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
