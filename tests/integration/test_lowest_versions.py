"""The lowest versions that pyproject.toml declares, tried together in an environment of their own; and beside Flower.

At night: packages are downloaded.  Where that is not possible the tests are skipped, and say so.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.support.environments import Environment, absent, build, lowest, only, run, succeeded
from tests.support.processes import ROOT

EXTRAS = ("plots", "agent", "shared", "attacks", "postgres", "database")
TESTING = [one for one in lowest("dev") if one.startswith(("pytest==", "hypothesis=="))]
# Where the old and the new differ: messages, calls, certificates, seals, arrays, compiled code, tables, pictures.
SMOKE = (
    "tests/unit/parties/test_codec.py",
    "tests/unit/parties/test_randomizer_codec.py",
    "tests/unit/parties/test_identity.py",
    "tests/unit/parties/test_revocation.py",
    "tests/unit/parties/shares/test_share_messages.py",
    "tests/unit/sharing/test_sealing.py",
    "tests/unit/sharing/test_tiers.py",
    "tests/unit/randomness",
    "tests/integration/test_admission.py",
    "tests/integration/test_relay.py",
)
# Each holds on to other versions: cryptography 44 and rich 13; cryptography 46; cryptography 50 and rich 14.
FLOWERS = ("1.24.0", "1.26.1", "1.29.0", "1.36.0", "1.41.0")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("build")
    build(directory, "wheel")
    return only(directory, "*.whl")


@pytest.fixture(scope="module")
def old(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """Everything that localdp needs and can use, as old as it may be."""
    made = Environment.made(tmp_path_factory.mktemp("lowest") / "env")
    made.install(f"{wheel}[{','.join(EXTRAS)}]", *lowest(*EXTRAS), *TESTING)
    return made


def test_every_dependency_has_a_lowest_version() -> None:
    assert not [one for one in lowest(*EXTRAS) if "==" not in one]


@pytest.mark.nightly
@pytest.mark.parametrize("model", ["local", "shuffled", "shared"])
def test_the_lowest_versions_count_over_grpc(old: Environment, model: str, tmp_path: Path) -> None:
    compare = [old.command("localdp"), "compare", "--transport", "grpc", "--trials", "2", "--models", model]
    told = json.loads(
        succeeded([*compare, "--people", "100", "--out", "out", "--json"], tmp_path, 300)
    )  # in this directory, the wheel; with a picture
    assert [row["model"] for row in told["data"]["rows"]] == [model]


@pytest.mark.nightly
def test_the_lowest_versions_ask_with_proofs(old: Environment, tmp_path: Path) -> None:
    ask = [old.command("localdp"), "ask", "smoker", "--people", "100", "--model", "shared", "--json"]
    assert json.loads(succeeded(ask, tmp_path, 300))["data"]["people"] == 100


@pytest.mark.nightly
def test_tests_pass_on_the_lowest_versions(old: Environment) -> None:
    """Of warnings only those of localdp's own making count: old packages warn of newer ones."""
    tests = [old.command("python"), "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not nightly"]
    succeeded([*tests, "-W", "ignore::DeprecationWarning", *SMOKE], ROOT, 900)


@pytest.mark.nightly
@pytest.mark.parametrize("version", FLOWERS)
def test_flower_can_be_installed_beside_it(wheel: Path, version: str, tmp_path: Path) -> None:
    flower, made = f"flwr=={version}", Environment.made(tmp_path / "env")

    def resolved(*requirements: str) -> subprocess.CompletedProcess[str]:
        pip = [made.command("pip"), "install", "--disable-pip-version-check", "--dry-run"]
        return run([*pip, flower, *requirements], tmp_path, 600)

    beside = resolved(str(wheel))
    if beside.returncode != 0 and resolved().returncode != 0:
        absent(f"{flower} cannot be installed here, with localdp or without it")
    assert beside.returncode == 0, beside.stderr[-4000:]
    # What was declared once did not fit.
    assert "ResolutionImpossible" in resolved("cryptography>=45", "protobuf>=7.35").stderr
