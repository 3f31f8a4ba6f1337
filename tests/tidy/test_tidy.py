"""Rules of the house, run as tests."""

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from tests.tidy.figures import ROOT, sources

UNSAFE = re.compile(
    r"np\.random\.|numpy\.random|^\s*import random\b|^\s*import pickle|[^_.\w]eval\(|[^_.\w]exec\("
)


def those(wrong: Callable[[Path], object], *rooms: str) -> list[str]:
    """The files of some rooms with which something is wrong."""
    return [str(path.relative_to(ROOT)) for path in sources(*rooms) if wrong(path)]


def test_every_source_file_begins_by_saying_what_it_is() -> None:
    assert not those(
        lambda path: path.name != "__init__.py" and not path.read_text().startswith('"""'),
        "localdp",
        "parties",
    )


def test_no_unsafe_draw_and_no_code_from_outside() -> None:
    assert not those(
        lambda path: any(UNSAFE.search(line) for line in path.read_text().splitlines()),
        "localdp",
        "parties",
    )


def test_channels_are_opened_in_one_place_which_decides_about_tls_and_proxies() -> None:
    opened = re.compile(r"\bgrpc(\.aio)?\.(in)?secure_channel\(")
    assert those(lambda path: opened.search(path.read_text()), "localdp", "parties") == [
        "parties/serving.py"
    ]


def test_the_tests_that_a_docstring_names_exist() -> None:
    named = re.compile(r"tests/[\w/]+\.py")
    assert not those(
        lambda path: [name for name in named.findall(path.read_text()) if not (ROOT / name).exists()],
        "localdp",
        "parties",
    )


def test_no_unit_test_sleeps() -> None:
    """To let others go on is no sleep, nor is a sleep by a clock that jumps."""
    sleeps = re.compile(r"time\.sleep\(|asyncio\.sleep\((?!0\))")
    unit = [path for path in sources("tests/unit") if "waitless" not in path.read_text()]
    assert not [path for path in unit if sleeps.search(path.read_text())]


def test_nothing_is_skipped_or_expected_to_fail() -> None:
    """But for other environments at night, where a machine cannot have them: one function says so, for all."""
    marker = re.compile(r"pytest\.mark\.(skip|xfail)|pytest\.skip\(")
    found = {
        path: len(marker.findall(path.read_text())) for path in sources("tests") if path != Path(__file__)
    }
    assert {path for path, times in found.items() if times} == {ROOT / "tests/support/environments.py"}
    assert found[ROOT / "tests/support/environments.py"] == 1


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
