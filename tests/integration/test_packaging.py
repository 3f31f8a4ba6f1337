"""The package as somebody installs it: typed, run as a module, and at night built and installed where nothing else is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import zipfile
from email import message_from_bytes
from pathlib import Path

import pytest

from parties.doctor.packages import EXTRAS, UNNEEDED
from tests.support.agents import write_agent
from tests.support.environments import CONSTRAINTS, PROJECT, Environment, build, only, run, succeeded
from tests.support.processes import ROOT

PACKAGES = ("localdp", "parties")
OPTIONAL = ("matplotlib", "pyarrow", "numba", "scipy", "mkdocs")


def test_the_module_is_the_command(tmp_path: Path) -> None:
    shown = succeeded([sys.executable, "-m", "localdp", "shared", "explain", "--json"], tmp_path)
    assert json.loads(shown)["status"] == "ok"
    wrong = run([sys.executable, "-m", "localdp", "askk", "--json"], tmp_path)
    assert (wrong.returncode, json.loads(wrong.stdout)["exit_code"]) == (2, 2)


def test_completion_offers_commands(tmp_path: Path) -> None:
    command = Path(sys.executable).with_name("localdp")
    asked = {"_LOCALDP_COMPLETE": "complete_bash", "COMP_WORDS": "localdp bud", "COMP_CWORD": "1"}
    done = subprocess.run(
        [str(command)],
        env={**os.environ, **asked},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout.split() == ["budget"]


def test_the_newest_entry_of_the_changelog_is_this_version() -> None:
    headings = [line for line in (ROOT / "CHANGELOG.md").read_text().splitlines() if line.startswith("## ")]
    released = [heading for heading in headings if heading != "## Unreleased"]
    assert released[0].startswith(f"## {PROJECT['version']} - 20")


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_says_that_it_is_typed(package: str) -> None:
    assert (ROOT / package / "py.typed").exists()


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a wheel and a source distribution, built from a copy of the checkout."""
    directory = tmp_path_factory.mktemp("build")
    build(directory, "wheel", "sdist")
    return directory


def own_files() -> set[str]:
    """What the packages are made of, code and data."""
    found = [path for package in PACKAGES for path in (ROOT / package).rglob("*") if path.is_file()]
    ours = [
        path for path in found if "__pycache__" not in path.parts and path.suffix not in (".nbi", ".nbc")
    ]
    return {str(path.relative_to(ROOT)) for path in ours}


@pytest.mark.nightly
def test_a_wheel_has_the_packages_whole_and_nothing_else(built: Path) -> None:
    names = set(zipfile.ZipFile(only(built, "*.whl")).namelist())
    inside = {name for name in names if ".dist-info/" not in name}
    assert inside == own_files()


@pytest.mark.nightly
def test_a_wheel_says_who_made_it_for_which_pythons_and_under_which_license(built: Path) -> None:
    with zipfile.ZipFile(only(built, "*.whl")) as wheel:
        (name,) = [name for name in wheel.namelist() if name.endswith(".dist-info/METADATA")]
        told = message_from_bytes(wheel.read(name))
    assert (told["Version"], told["License-Expression"]) == (PROJECT["version"], "Apache-2.0")
    assert told["Author"] == "localdp contributors" and told["Keywords"]
    assert told["Description-Content-Type"] == "text/markdown"
    classifiers = told.get_all("Classifier", [])
    assert {f"Programming Language :: Python :: 3.{minor}" for minor in (11, 12, 13)} <= set(classifiers)


@pytest.mark.nightly
def test_a_source_distribution_has_all_that_it_takes_to_test_it(built: Path) -> None:
    with tarfile.open(only(built, "*.tar.gz")) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert own_files() <= names
    wanted = [
        "README.md",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "SECURITY.md",
        "LICENSE",
        "Makefile",
        "constraints.txt",
        "mkdocs.yml",
        ".ci/run",
        "docs/index.md",
    ]
    wanted += [
        "tests/tidy/test_tidy.py",
        "notebooks/1-first-count.ipynb",
        "protos/generate.py",
        "examples/three_questions.py",
    ]
    assert not [name for name in wanted if name not in names]
    assert not [name for name in names if name.startswith((".venv", "out/")) or name.endswith(".pyc")]


@pytest.mark.nightly
def test_the_wheel_works_where_nothing_else_is_installed(built: Path, tmp_path: Path) -> None:
    alone = Environment.made(tmp_path / "env")
    python, command = alone.command("python"), alone.command("localdp")
    alone.install("--constraint", str(CONSTRAINTS), str(only(built, "*.whl")))
    for name in OPTIONAL:
        assert run([python, "-c", f"import {name}"], tmp_path).returncode != 0
    assert "Usage" in succeeded([command, "--help"], tmp_path)
    told = json.loads(
        succeeded([command, "compare", "--people", "100", "--trials", "2", "--json"], tmp_path)
    )
    assert len(told["data"]["rows"]) >= 4
    refused = json.loads(
        run(
            [command, "compare", "--people", "100", "--trials", "2", "--out", "out", "--json"], tmp_path
        ).stdout
    )
    assert (refused["exit_code"], "plots" in refused["message"]) == (1, True)
    asked = json.loads(succeeded([command, "ask", "smoker", "--people", "100", "--json"], tmp_path))
    assert asked["data"]["people"] == 100
    checks = json.loads(succeeded([python, "-m", "localdp", "doctor", "--json"], tmp_path))["data"][
        "checks"
    ]
    notes = {one["check"] for one in checks if one["verdict"] == "note"}
    needed = [name for name, (_, without) in EXTRAS.items() if not without.startswith(UNNEEDED)]
    assert needed and {f"extra {name}" for name in needed} <= notes
    config = str(write_agent(tmp_path))
    agent = json.loads(run([command, "agent", "init", config, "--json"], tmp_path).stdout)
    assert agent["status"] == "ok"  # a table in CSV needs no extra


@pytest.mark.nightly
def test_the_site_is_built_strictly_and_needs_no_network_to_be_read(tmp_path: Path) -> None:
    """In an environment of its own, as `make docs` does it."""
    alone, site = Environment.made(tmp_path / "env"), tmp_path / "site"
    alone.install("--constraint", str(CONSTRAINTS), "mkdocs", "mkdocs-material")
    made = [alone.command("mkdocs"), "build", "--strict", "--quiet", "--site-dir", str(site)]
    succeeded(made, ROOT, 300)
    pages = list(site.rglob("*.html"))
    assert len(pages) > 40
    outside = ('src="http', 'src="//', 'rel="stylesheet" href="http', 'rel="stylesheet" href="//')
    assert not [page.name for page in pages if any(one in page.read_text() for one in outside)]
