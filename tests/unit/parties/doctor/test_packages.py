"""What the doctor says about packages, with made-up machines."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path

import pytest

from parties.doctor import packages
from tests.support.processes import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
NEW = "9999"


def machine(versions: Mapping[str, str | None]) -> packages.Versions:
    """A machine with these versions, and new ones of everything else."""
    return lambda name: versions.get(name, NEW)


def test_the_doctor_knows_what_the_project_needs() -> None:
    declared = [line.split(">=") for line in PROJECT["dependencies"]]
    assert packages.requirements() == dict(declared)


def test_the_doctor_knows_the_extras_of_the_project() -> None:
    extras = PROJECT["optional-dependencies"]
    assert set(packages.EXTRAS) == set(extras)
    for extra, (package, _) in packages.EXTRAS.items():
        assert any(line.startswith(package) for line in extras[extra])


def test_the_documents_say_what_each_extra_is_for() -> None:
    page = (ROOT / "docs/index.md").read_text()
    assert re.findall(r"^\| `(\w+)` \| \S.+ \|$", page, re.MULTILINE) == list(packages.EXTRAS)
    for extra, (package, _) in packages.EXTRAS.items():
        row = next(line for line in page.splitlines() if line.startswith(f"| `{extra}` "))
        assert package in row
    assert "docs/index.md#installation" in (ROOT / "README.md").read_text()


def test_python_is_the_one_of_the_project() -> None:
    assert PROJECT["requires-python"] == ">=" + ".".join(map(str, packages.LEAST_PYTHON))
    assert packages.python((3, 11, 0)).verdict == "ok"
    assert packages.python((3, 10, 14)).verdict == "fails"


@pytest.mark.parametrize(
    ("version", "expected"),
    [("1.85.1", (1, 85, 1)), ("2.0", (2,)), ("2", (2,)), ("10.2rc1", (10, 2)), ("unknown", ())],
)
def test_versions_are_compared_by_their_numbers(version: str, expected: tuple[int, ...]) -> None:
    assert packages.numbers(version) == expected


def test_a_package_that_is_missing_or_old_is_named() -> None:
    assert packages.core(machine({})).verdict == "ok"
    missing = packages.core(machine({"grpcio": None}))
    assert (missing.verdict, missing.told) == ("fails", "grpcio is missing")
    old = packages.core(machine({"numpy": "1.26.4"}))
    assert (old.verdict, old.told) == ("fails", "numpy 1.26.4 is older than 2.0")
    assert packages.core(machine({"localdp": None})).verdict == "fails"


def test_versions_that_were_not_tested_together_are_noted(tmp_path: Path) -> None:
    file = tmp_path / "constraints.txt"
    assert packages.constraints(file).verdict == "ok"
    file.write_text("numpy==2.4.6\nrich==15.0.0\n")
    assert packages.constraints(file, machine({"numpy": "2.4.6", "rich": None})).verdict == "ok"
    noted = packages.constraints(file, machine({"numpy": "2.4.7", "rich": "15.0.0"}))
    assert (noted.verdict, noted.told) == ("note", "numpy 2.4.7 instead of 2.4.6")


def test_an_extra_that_is_missing_is_a_note_with_the_command_that_adds_it() -> None:
    found = {one.check: one for one in packages.extras(machine({"matplotlib": None}))}
    assert found["extra plots"].verdict == "note"
    assert found["extra plots"].fix == "pip install 'localdp[plots]'"
    assert all(one.verdict == "ok" for check, one in found.items() if check != "extra plots")


def test_compiled_code_is_looked_for_where_numba_keeps_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    assert packages.compiled_code(machine({"numba": None})).told == "none without numba"
    found = packages.compiled_code(machine({}))
    assert (found.verdict, found.fix) == ("ok", "") and "first proofs take a minute" in found.told
    (tmp_path / "compiled_1").mkdir()
    (tmp_path / "compiled_1" / "kernel.py311.nbi").touch()
    assert packages.compiled_code(machine({})).told == "1 functions are kept on disk"


def test_nobody_is_told_to_install_what_is_not_needed() -> None:
    found = {one.check: one for one in packages.extras(lambda _: None)}
    docs = found.pop("extra docs")
    assert (docs.verdict, docs.fix) == ("ok", "") and "`make docs` makes an environment" in docs.told
    assert all(one.verdict == "note" and one.fix.startswith("pip install") for one in found.values())
    assert not any("nothing to do" in one.fix for one in found.values())
