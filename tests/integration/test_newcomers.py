"""The mistakes that everybody makes once, each answered with one line that says what is wrong and what to do."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from localdp.accounting.epsilon import Epsilon
from localdp.domains import BitDomain, Records, Schema
from parties.command.main import app
from parties.command.output import message_of, outcome_of
from parties.experiments.reading import load_experiment
from parties.experiments.running import run_experiment
from parties.simulation.launcher import Simulation
from tests.support.processes import envelope, localdp, somebody_without_rights

EXPERIMENT = """[data]
path = "people.csv"
[schema]
smoker = { kind = "bit" }
age = { kind = "integer", low = 0, high = 120 }
[parties]
number = 2
[run]
models = ["local"]
query = "smoker"
epsilon = 1
trials = 2
"""
AGENT = """name = "north"
[data]
path = "people.csv"
[schema]
smoker = {{ kind = "bit" }}
[budget]
total = 10
[listen]
address = "{address}"
"""


def prepared(directory: Path, good: str = "", bad: str = "") -> Path:
    (directory / "people.csv").write_text("smoker,age\n" + "true,30\nfalse,41\n" * 10)
    path = directory / "experiment.toml"
    path.write_text(EXPERIMENT.replace(good, bad) if good else EXPERIMENT)
    return path


MISTAKES: dict[str, tuple[str, str, int, tuple[str, ...]]] = {
    "a misspelt column in the query": ('"smoker"', '"smokr"', 10, ("smokr",)),
    "a misspelt column in the schema": (
        "age = {",
        "agee = {",
        2,
        ("no column 'agee'", "it has smoker, age"),
    ),
    "a column of the wrong type": (
        '{ kind = "bit" }',
        '{ kind = "integer", low = 5, high = 9 }',
        2,
        ("smoker",),
    ),
    "a query of the wrong type": ('"smoker"', '"age + 1"', 10, ("run.query",)),
    "epsilon missing": ("epsilon = 1\n", "", 8, ("run.epsilon: missing", "epsilon = 1")),
    "epsilon misspelt": ("epsilon = 1", "epsilom = 1", 11, ("run.epsilom: unknown", "epsilon")),
    "the data file absent": ("people.csv", "patients.csv", 2, ("there is no file", "relative to this one")),
}


@pytest.mark.parametrize(("good", "bad", "line", "told"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_in_an_experiment_is_one_line_with_its_place(
    tmp_path: Path, good: str, bad: str, line: int, told: tuple[str, ...]
) -> None:
    path = prepared(tmp_path, good, bad)
    result = CliRunner().invoke(app, ["run", str(path)])
    assert result.exit_code == 2
    assert result.stdout == ""
    (only,) = result.stderr.splitlines()
    assert f"{path}:{line}: " in only
    assert all(part in only for part in told), only
    assert not (tmp_path / "out").exists()


def test_the_experiment_itself_absent_is_one_line(tmp_path: Path) -> None:
    result = localdp(tmp_path, "run", "experimnt.toml")
    (only,) = result.stderr.splitlines()
    assert result.returncode == 2
    assert "experimnt.toml: there is no such file" in only


def test_the_same_file_without_mistakes_runs(tmp_path: Path) -> None:
    assert (
        envelope(localdp(tmp_path, "run", str(prepared(tmp_path)), "--jobs", "1", "--json"))["status"]
        == "ok"
    )


@contextmanager
def taken_port() -> Iterator[int]:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        yield taken.getsockname()[1]


def test_a_port_in_use_is_one_line_that_says_what_to_do(tmp_path: Path) -> None:
    prepared(tmp_path)
    with taken_port() as port:
        (tmp_path / "agent.toml").write_text(AGENT.format(address=f"127.0.0.1:{port}"))
        assert localdp(tmp_path, "agent", "init", "agent.toml").returncode == 0
        result = localdp(tmp_path, "agent", "run", "agent.toml")
    (only,) = result.stderr.splitlines()
    assert result.returncode == 3
    assert f"cannot listen on 127.0.0.1:{port}: the port is in use by another process" in only
    assert "choose another port, or 0 for any that is free" in only


def test_no_permission_to_write_names_the_path(tmp_path: Path) -> None:
    path = prepared(tmp_path)
    tmp_path.chmod(0o755)
    for parent in tmp_path.parents:
        if parent.name.startswith(("pytest-", "popen-")):
            parent.chmod(0o755)
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    experiment = load_experiment(path)
    run_experiment(experiment)  # imports what it needs, while it may read it
    elsewhere = replace(experiment, output=replace(experiment.output, directory=closed / "out"))
    with somebody_without_rights(), pytest.raises(PermissionError) as refused:
        run_experiment(elsewhere)
    outcome = outcome_of(refused.value)
    assert (outcome.error_code, outcome.hint) == ("file_error", "check the path and its permissions")
    assert message_of(refused.value).startswith(f"Permission denied: {closed / 'out'}")


def test_a_party_whose_schema_differs_is_named(tmp_path: Path) -> None:
    agents = []
    with ExitStack() as stack:
        for number, name in enumerate(("smoker", "smokes")):
            records = Records(Schema({name: BitDomain()}), {name: [True, False]})
            simulation = Simulation([records] * (number + 1), budget=Epsilon.requested(1))
            agents.append(asdict(stack.enter_context(simulation).agents[number]))
        (tmp_path / "parties.json").write_text(json.dumps({"agents": agents, "share_servers": []}))
        result = localdp(tmp_path, "ask", "smoker", "--connect", "parties.json")
    (only,) = result.stderr.splitlines()
    assert result.returncode == 2
    assert "party party-1 has other columns than party party-0: column 'smoker' is missing" in only
    assert "did you mean 'smokes'?" in only
    assert "have to be the same" in only
