"""Every Python that is declared, where it is present: an environment of its own, in which tests run.

At night: packages are downloaded.  What is not present is skipped, and says so.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.environments import (
    CONSTRAINTS,
    PROJECT,
    Environment,
    build,
    interpreter,
    only,
    succeeded,
)
from tests.support.processes import ROOT

DECLARED = [
    name.rpartition(" ")[2]
    for name in PROJECT["classifiers"]
    if name.startswith("Programming Language :: Python :: 3.")
]
SMOKE = (
    "tests/unit/accounting/test_epsilon.py",
    "tests/unit/queries",
    "tests/unit/randomness",
    "tests/unit/sharing/test_tiers.py",
    "tests/unit/sharing/test_hpke.py",
    "tests/unit/parties/test_codec.py",
    "tests/unit/parties/command",
    "tests/integration/test_agents.py",
)


def test_the_lowest_python_is_the_first_that_is_declared() -> None:
    assert PROJECT["requires-python"] == f">={DECLARED[0]}"


@pytest.mark.nightly
@pytest.mark.parametrize("version", DECLARED)
def test_it_runs_on_a_python_that_is_declared(version: str, tmp_path: Path) -> None:
    python = interpreter(version)
    build(tmp_path, "wheel")
    made = Environment.made(tmp_path / "env", python)
    extras = f"{only(tmp_path, '*.whl')}[plots,agent,shared,attacks]"
    made.install("--constraint", str(CONSTRAINTS), extras, "pytest", "hypothesis")
    ask = [made.command("localdp"), "ask", "smoker", "--people", "100", "--model", "shared", "--json"]
    assert json.loads(succeeded(ask, tmp_path, 300))["data"]["people"] == 100
    tests = [made.command("python"), "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not nightly"]
    succeeded([*tests, *SMOKE], ROOT, 1800)
