"""docs/howto-own-randomizer.md, followed to the letter in a copy of the tree: no file is touched that it does not name."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.processes import ROOT

PAGE = (ROOT / "docs/howto-own-randomizer.md").read_text()
ROOMS = ("localdp", "parties", "protos", "tests")
SECONDS = 120.0
ONES = "grid or every_module or every_row or every_field"  # what says something of this one
REGISTRY, PROTO = "localdp/randomizers/registry.py", "protos/parties/wire/v1/randomizer.proto"
# Where the page says that a block goes, as the text that it is put before; an empty one is the end of the file.
PLACES = {
    f"{PROTO}, at the end of the oneof": "  }\n}\n",
    f"{PROTO}, at the end": "",
    f"{REGISTRY}, among the imports": "from localdp.randomizers.haar import",
    f"{REGISTRY}, at the end of ENTRIES": ")\nREGISTRY =",
}


def titled() -> dict[str, str]:
    """The blocks of the page that are files, or parts of files."""
    return dict(re.findall(r'^```\w+ title="([^"]+)"\n(.*?)^```', PAGE, re.DOTALL | re.MULTILINE))


def follow(tree: Path) -> None:
    """Write what the page says, where it says so."""
    for title, block in titled().items():
        name = title.split(",")[0]
        if title not in PLACES:
            (tree / name).write_text(block)
            continue
        text, place = (tree / name).read_text(), PLACES[title]
        assert place in text, f"there is no place for {title}"
        (tree / name).write_text(text.replace(place, block + place, 1) if place else text + block)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the tree with the randomizer of the page in it."""
    copy = tmp_path_factory.mktemp("tree")
    for room in ROOMS:
        shutil.copytree(ROOT / room, copy / room, ignore=shutil.ignore_patterns("__pycache__"))
    (copy / "docs").mkdir()
    shutil.copy(ROOT / "docs/contract.md", copy / "docs")
    shutil.copy(ROOT / "pyproject.toml", copy)
    follow(copy)
    run(copy, "protos/generate.py")  # what `make protos` runs
    return copy


def run(tree: Path, *arguments: str) -> str:
    """Python in that tree, of which nothing may fail."""
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=tree,
        env={**os.environ, "PYTHONPATH": str(tree)},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


def test_the_page_has_all_the_parts() -> None:
    files = {"localdp/randomizers/grid_response.py", "ask.py"}
    assert set(titled()) == files | set(PLACES)


def test_the_contract_suite_runs_on_it(tree: Path) -> None:
    suites = re.findall(r"tests/\S+\.py", re.findall(r"^pytest (.*)$", PAGE, re.MULTILINE)[0])
    assert len(suites) == 3
    shown = run(tree, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", ONES, *suites)
    passed = re.search(r"(\d+) passed", shown)
    assert passed and int(passed[1]) > 20


def test_it_is_audited_by_name(tree: Path) -> None:
    shown = run(tree, "-m", "localdp", "audit", "grid-response")
    assert "holds (exact" in shown and "tightness  1.000000" in shown


def test_an_agent_is_asked_with_it_over_grpc(tree: Path) -> None:
    assert float(run(tree, "ask.py").split()[0]) == pytest.approx(0.5, abs=0.1)
