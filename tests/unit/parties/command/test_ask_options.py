"""The options of `localdp ask` that go with one trust model: refused with the others, and before anything is launched."""

from __future__ import annotations

import json
from inspect import signature
from typing import Any

import pytest
from typer.testing import CliRunner

from localdp.oracles import shared
from localdp.oracles.collecting import RoundOfCollections
from parties.command.ask import ask
from parties.command.main import app


def asked(*options: str) -> tuple[int, dict[str, Any]]:
    result = CliRunner().invoke(app, ["ask", "smoker", "--json", *options])
    return result.exit_code, json.loads(result.stdout)


@pytest.fixture
def nothing_is_launched(monkeypatch: pytest.MonkeyPatch) -> None:
    def launched(*_: object, **__: object) -> None:
        raise AssertionError("launched")

    monkeypatch.setattr("parties.simulation.launcher.Simulation", launched)


@pytest.mark.usefixtures("nothing_is_launched")
@pytest.mark.parametrize("model", ["exact", "curator", "local", "shuffled"])
def test_a_minimum_batch_goes_with_the_shared_model_alone(model: str) -> None:
    code, told = asked("--model", model, "--minimum-batch", "10")
    assert (code, told["error_code"]) == (2, "invalid_parameter")
    assert "it goes with --model shared" in told["message"]


@pytest.mark.usefixtures("nothing_is_launched")
def test_a_batch_of_more_people_than_there_are_is_refused_before_anybody_pays() -> None:
    code, told = asked("--model", "shared", "--people", "100", "--minimum-batch", "101")
    assert (code, told["error_code"]) == (1, "too_few_reports")
    assert told["message"].startswith("a minimum batch of 101 is more than the 100 people who are asked")


def test_every_door_to_running_parties_wants_proofs_unless_told_otherwise() -> None:
    """The third one, `Federation.connect`, in tests/integration/test_federation.py."""
    proved = shared.default_tier(simulated=False)
    assert proved == "prio3"
    assert signature(ask).parameters["tier"].default == proved
    assert signature(shared.SharedOracle).parameters["tier"].default == proved


@pytest.mark.parametrize("batch", ["0", "-1", "1.5", "all"])
def test_a_batch_is_a_number_of_reports(batch: str) -> None:
    assert (
        CliRunner()
        .invoke(app, ["ask", "smoker", "--model", "shared", f"--minimum-batch={batch}"])
        .exit_code
        == 2
    )


def test_the_batch_reaches_the_collection(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    real = RoundOfCollections.open

    def watched(self: RoundOfCollections) -> None:
        seen.extend(collection.minimum_batch for collection in self.collections)
        real(self)

    monkeypatch.setattr(RoundOfCollections, "open", watched)
    few = ("--model", "shared", "--tier", "additive", "--people", "40", "--parties", "2")
    for options in ((), ("--minimum-batch", "40")):
        assert asked(*few, *options)[0] == 0
    assert seen == [shared.MINIMUM_BATCH, 40]
