"""Environments of their own: a wheel of this checkout, installed where nothing else is, or what is asked for."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import pytest

from tests.support.processes import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
CONSTRAINTS = ROOT / "constraints.txt"
INSTALL_SECONDS = 900.0
_LEFT_OUT = (
    "__pycache__",
    "*.pyc",
    "*.nbi",
    "*.nbc",
    ".venv*",
    "out",
    ".git",
    "build",
    "dist",
    "*.egg-info",
    ".*_cache",
)
# What pip says when there is nobody to download from, and not when versions do not fit.
_NO_INDEX = ("(from versions: none)", "Connection", "Name or service not known", "timed out")


def absent(what: str) -> NoReturn:
    """A machine that does not have what is to be tried can say nothing about it: the only reason to skip."""
    pytest.skip(what)


def run(arguments: list[str], directory: Path, seconds: float = 60.0) -> subprocess.CompletedProcess[str]:
    """Run something without the checkout on its path."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(
        arguments, cwd=directory, env=kept, capture_output=True, text=True, timeout=seconds, check=False
    )


def succeeded(arguments: list[str], directory: Path, seconds: float = 60.0) -> str:
    """What it wrote; it must not fail."""
    done = run(arguments, directory, seconds)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return done.stdout


def build(directory: Path, *kinds: str) -> None:
    """Put a wheel, a source distribution or both there, built from a copy of the checkout."""
    source = directory / "source"
    shutil.copytree(ROOT, source, ignore=shutil.ignore_patterns(*_LEFT_OUT))
    backend = "from setuptools import build_meta as b; b.build_{}({!r})"
    for kind in kinds:
        succeeded([sys.executable, "-c", backend.format(kind, str(directory))], source, 300)


def only(directory: Path, pattern: str) -> Path:
    """The one file of that kind."""
    (found,) = directory.glob(pattern)
    return found


def interpreter(version: str) -> str:
    """A Python of that version, such as 3.12: on the path, or among those of pyenv."""
    asked = ["-c", "import sys; print('{}.{}'.format(*sys.version_info))"]
    for found in _interpreters(version):
        if run([found, *asked], ROOT).stdout.strip() == version:
            return found
    absent(f"Python {version} is not present")


def _interpreters(version: str) -> Iterator[str]:
    if (found := shutil.which(f"python{version}")) is not None:
        yield found
    if (pyenv := shutil.which("pyenv")) is not None:
        versions = Path(succeeded([pyenv, "root"], ROOT).strip(), "versions")
        yield from map(str, sorted(versions.glob(f"{version}.*/bin/python")))


@dataclass(frozen=True, slots=True)
class Environment:
    """A virtual environment in a directory."""

    place: Path

    @classmethod
    def made(cls, place: Path, python: str = sys.executable) -> Environment:
        """A new one, with pip alone in it."""
        succeeded([python, "-m", "venv", str(place)], place.parent, 300)
        return cls(place)

    def command(self, name: str) -> str:
        """A program of the environment."""
        return str(self.place / "bin" / name)

    def install(self, *arguments: str) -> str:
        """Have pip install something; what cannot be had here is skipped, and what does not fit together fails."""
        pip = [self.command("python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        done = run([*pip, *arguments], self.place, INSTALL_SECONDS)
        if done.returncode == 0:
            return done.stdout
        if "ResolutionImpossible" not in done.stderr and any(one in done.stderr for one in _NO_INDEX):
            absent(f"packages cannot be downloaded here: {done.stderr.strip().splitlines()[-1]}")
        raise AssertionError(done.stderr[-4000:])


def lowest(*extras: str) -> list[str]:
    """What the project and some of its extras need, each at the lowest version that is declared."""
    declared = list(PROJECT["dependencies"])
    for extra in extras:
        declared += PROJECT["optional-dependencies"][extra]
    return [one.replace(">=", "==") for one in declared]
