"""The mistakes of those who start an agent or ask a question: each is one line that says where, what and what to do.

| mistake | agent | share server, shuffler, relay | ask, histogram, round |
|---|---|---|---|
| a misspelt name | of a column, a key, a section | | of a column |
| a wrong type | of a column, of a value in the file | | of a query |
| something left out | budget, path | | epsilon |
| a file that is absent or closed | configuration, data, state | state | the parties' file, the journal |
| an address that is taken | port, metrics | port | |
| another schema | | | named with its column |

Experiments have theirs in tests/integration/test_newcomers.py.
"""

from __future__ import annotations

import re
import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from localdp.accounting.epsilon import Epsilon
from localdp.domains import BitDomain, CategoryDomain, IntegerDomain, Records, Schema
from localdp.errors import CannotListen
from parties.command.main import app
from parties.listening import cannot_listen
from parties.simulation.launcher import Simulation
from tests.support.processes import localdp, somebody_without_rights

AGENT = """name = "north"
[data]
path = "people.csv"
[schema]
smoker = { kind = "bit" }
age = { kind = "integer", low = 0, high = 120 }
[budget]
total = 10
"""


def told(result: Result, code: int) -> str:
    """The one line on standard error."""
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    (only,) = result.stderr.splitlines()
    assert re.fullmatch(r"error (invalid_parameter: .+|\w+: .+ \(hint: .+\))", only), only
    assert "correct the parameter" not in only  # the message says what to do
    return only


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(one) for one in arguments])


def prepared(directory: Path, good: str = "", bad: str = "", people: str = "true,30\nfalse,41\n") -> Path:
    (directory / "people.csv").write_text("smoker,age\n" + people)
    path = directory / "agent.toml"
    assert good in AGENT
    path.write_text(AGENT.replace(good, bad) if good else AGENT)
    return path


CONFIGURED: dict[str, tuple[str, str, int, str]] = {
    "a misspelt column": (
        "age = {",
        "agee = {",
        1,
        "there is no column 'agee'; it has smoker, age; did you mean 'age'?",
    ),
    "a column of the wrong type": (
        '{ kind = "bit" }',
        '{ kind = "integer", low = 5, high = 9 }',
        1,
        "people.csv: column 'smoker': 2 cells are no number (integer from 5 to 9), first in line 2",
    ),
    "a kind that is not there": (
        'kind = "bit"',
        'kind = "boolean"',
        2,
        "agent.toml:5: schema.smoker: must have a kind among bit, category, integer, real",
    ),
    "no budget": (
        "total = 10\n",
        "",
        2,
        "agent.toml:7: budget.total: missing; write total = 10 under [budget]",
    ),
    "a misspelt key": ("total =", "totl =", 2, "agent.toml:8: budget.totl: unknown; did you mean 'total'?"),
    "a misspelt section": (
        "[budget]",
        "[budgett]",
        2,
        "agent.toml:7: budgett: unknown; did you mean 'budget'?",
    ),
    "a budget that is no number": (
        "total = 10",
        'total = "ten"',
        2,
        "budget.total: epsilon must be a number",
    ),
    "the table absent": ("people.csv", "persons.csv", 2, "there is no table at {}/persons.csv"),
    "another kind of file": (
        "people.csv",
        "people.doc",
        2,
        "a table is one of .csv, .tsv, .txt, .parquet, .arrow, .feather, .xlsx",
    ),
}


@pytest.mark.parametrize(("good", "bad", "code", "said"), CONFIGURED.values(), ids=CONFIGURED)
def test_a_mistake_in_a_configuration_is_one_line_and_nothing_is_made(
    good: str, bad: str, code: int, said: str, tmp_path: Path
) -> None:
    only = told(run("agent", "init", prepared(tmp_path, good, bad)), code)
    assert said.format(tmp_path) in only
    assert not (tmp_path / "state").exists()


def test_no_configuration_and_no_state_are_told_apart(tmp_path: Path) -> None:
    assert "agnt.toml: there is no such file" in told(run("agent", "init", tmp_path / "agnt.toml"), 2)
    only = told(run("agent", "run", prepared(tmp_path)), 2)
    assert "If this agent is new, run `localdp agent init`" in only
    assert "by `localdp agent init`" in told(run("budget", "show", tmp_path / "agent.toml"), 1)


ASKED: dict[str, tuple[tuple[str, ...], str]] = {
    "a misspelt column": (("ask", "smokr"), "there is no column 'smokr'; did you mean 'smoker'?"),
    "a misspelt column of a histogram": (
        ("histogram", "regoin"),
        "there is no column 'regoin'; did you mean 'region'?",
    ),
    "a misspelt label": (("ask", 'region == "nort"'), "did you mean 'north'?"),
    "a query of the wrong type": (("ask", "region > 3"), "compares a category of 4 labels with a number"),
    "a column of the wrong type": (("mean", "region"), "column 'region' has labels and no numbers"),
    "an empty epsilon": (("ask", "smoker", "--epsilon", ""), "epsilon must be a number"),
    "an epsilon of nothing": (("histogram", "smoker", "--epsilon", "0"), "epsilon must be at least"),
    "something else than parties": (
        ("ask", "smoker", "--connect", __file__),
        "`localdp parties up` makes such a file",
    ),
}


@pytest.mark.parametrize(("arguments", "said"), ASKED.values(), ids=ASKED)
def test_a_mistake_in_a_question_is_one_line(arguments: tuple[str, ...], said: str) -> None:
    small = ("--people", "40", "--parties", "1")
    assert said in told(run(*arguments, *small), 2)


@pytest.mark.parametrize("command", ["ask", "histogram"])
def test_an_epsilon_that_was_forgotten_is_one_line(command: str) -> None:
    result = localdp(Path.cwd(), command, "smoker", "--epsilon")
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.splitlines()[-1] == "Error: Option '--epsilon' requires an argument."


@pytest.mark.parametrize("command", [("ask",), ("histogram",), ("round", "--journal", "rounds.sqlite")])
def test_the_file_of_the_parties_absent_is_one_line(command: tuple[str, ...], tmp_path: Path) -> None:
    only = told(run(command[0], "smoker", *command[1:], "--connect", tmp_path / "parties.json"), 1)
    assert f"No such file or directory: {tmp_path / 'parties.json'}" in only


# Permissions.


@contextmanager
def somebody_else(directory: Path) -> Iterator[None]:
    """As somebody without rights, who may walk to a directory and not write there; a superuser may do anything."""
    for parent in (directory, *directory.parents):
        if parent.name.startswith(("pytest-", "popen-", "test_")):
            parent.chmod(0o755)
    with somebody_without_rights():
        yield


@pytest.mark.parametrize("closed", ["agent.toml", "people.csv"])
def test_a_file_that_may_not_be_read_is_named(closed: str, tmp_path: Path) -> None:
    path = prepared(tmp_path)
    assert run("agent", "init", path).exit_code == 0  # imports what it needs, while it may
    shutil.rmtree(tmp_path / "state")
    (tmp_path / closed).chmod(0o000)
    with somebody_else(tmp_path):
        only = told(run("agent", "init", path), 1)
    assert f"Permission denied: {tmp_path / closed}" in only


def test_a_directory_that_may_not_be_written_is_named(tmp_path: Path) -> None:
    path = prepared(tmp_path)
    assert run("agent", "init", path).exit_code == 0
    elsewhere = prepared(tmp_path, "[budget]", '[storage]\ndirectory = "other"\n[budget]')
    with somebody_else(tmp_path):
        only = told(run("agent", "init", elsewhere), 1)
    assert f"Permission denied: {tmp_path / 'other'}" in only


def test_a_ledger_that_may_not_be_read_is_named(tmp_path: Path) -> None:
    path = prepared(tmp_path)
    assert run("agent", "init", path).exit_code == 0
    (tmp_path / "state").chmod(0o755)
    (tmp_path / "state/secrets.json").chmod(0o644)
    import_module(
        "parties.agent.run"
    )  # while it may: somebody else may have no rights to Python's own modules
    with somebody_else(tmp_path):
        only = told(run("agent", "run", path), 1)
    assert (
        f"the ledger {tmp_path / 'state/ledger.sqlite'} could not be read or written (SQLITE_CANTOPEN"
        in only
    )
    assert "check the disk and the permissions of the file" in only


def test_a_state_and_a_journal_that_may_not_be_written_are_named(tmp_path: Path) -> None:
    parties = tmp_path / "parties.json"
    parties.write_text('{"agents": [{"name": "n", "address": "127.0.0.1:1"}], "share_servers": []}')
    parties.chmod(0o644)
    run("round", "smoker", "--connect", parties, "--journal", tmp_path / "here.sqlite", "--deadline", "1s")
    state, journal = tmp_path / "server.state", tmp_path / "rounds.sqlite"
    with somebody_else(tmp_path):
        server = told(run("share-server", "run", "--name", "s", "--state", state), 1)
        asked = told(run("round", "smoker", "--connect", parties, "--journal", journal), 1)
    secrets = f"{state}.secrets"
    assert (
        f"the share server's secrets {secrets} could not be read or written (Permission denied)" in server
    )
    assert f"the journal {journal} could not be read or written (Permission denied)" in asked


# Addresses.


@contextmanager
def taken() -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


def is_taken(only: str, address: str) -> bool:
    said = f"error cannot_listen: cannot listen on {address}: the port is in use by another process (hint: choose"
    return only.startswith(said) and "`ss -ltnp`" in only


def test_an_agents_port_that_is_taken_is_one_line(tmp_path: Path) -> None:
    prepared(tmp_path)
    with taken() as address:
        for section in (f'[listen]\naddress = "{address}"\n', f'[observe]\nmetrics = "{address}"\n'):
            (tmp_path / "agent.toml").write_text(AGENT + section)
            run("agent", "init", tmp_path / "agent.toml")
            assert is_taken(told(run("agent", "run", tmp_path / "agent.toml"), 3), address)


def test_the_port_of_a_share_server_or_of_a_relay_that_is_taken_is_one_line() -> None:
    with taken() as address:
        assert is_taken(told(run("share-server", "run", "--name", "s", "--listen", address), 3), address)
        assert is_taken(told(run("ask", "smoker", "--relay", address, "--expect", "n"), 3), address)


def test_a_shufflers_port_that_is_taken_is_one_line(tmp_path: Path) -> None:
    people = Records(Schema({"smoker": BitDomain()}), {"smoker": [True, False]})
    with Simulation([people], budget=Epsilon.requested(1)) as running, taken() as address:
        agent, ledger = f"{running.agents[0].name}={running.agents[0].address}", tmp_path / "ledger"
        result = run("shuffler", "run", "--agent", agent, "--listen", address, "--ledger", ledger, "--new")
        assert is_taken(told(result, 3), address)


@pytest.mark.parametrize(
    ("address", "code", "said"),
    [
        ("127.0.0.1:99999", 2, "a port is a number from 0 to 65535"),
        ("127.0.0.1", 2, "an address such as 127.0.0.1:7001"),
        ("192.0.2.1:7001", 2, "without TLS a server listens on loopback only"),
    ],
)
def test_an_address_that_is_none_is_one_line(address: str, code: int, said: str) -> None:
    assert said in told(run("share-server", "run", "--name", "s", "--listen", address), code)


@pytest.mark.parametrize(
    ("refused", "why"),
    [
        (PermissionError(13, ""), "ports below 1024 are for the superuser"),
        (OSError(99, ""), "the host is not an address of this machine"),
        (socket.gaierror(-2, ""), "the host is not known here"),
        (None, "the port is not to be had"),
    ],
)
def test_other_reasons_are_told_apart(refused: OSError | None, why: str) -> None:
    error = cannot_listen("example:80", refused)
    assert isinstance(error, CannotListen)
    assert str(error).startswith(f"cannot listen on example:80: {why}")


# Schemas.

SCHEMA = Schema({"smoker": BitDomain(), "age": IntegerDomain(0, 120), "ward": CategoryDomain(("A", "B"))})
OTHERS: dict[str, tuple[Schema, str]] = {
    "a column less": (
        Schema({"smokes": BitDomain(), "age": SCHEMA["age"], "ward": SCHEMA["ward"]}),
        "column 'smoker' is missing; did you mean 'smokes'?",
    ),
    "a column more": (Schema({**SCHEMA.columns, "bmi": BitDomain()}), "column 'bmi' is one too many"),
    "other bounds": (
        Schema({**SCHEMA.columns, "age": IntegerDomain(0, 99)}),
        "column 'age' is integer from 0 to 99 instead of integer from 0 to 120",
    ),
    "another kind": (
        Schema({**SCHEMA.columns, "age": BitDomain()}),
        "column 'age' is bit instead of integer from 0 to 120",
    ),
    "other labels": (
        Schema({**SCHEMA.columns, "ward": CategoryDomain(("A", "C"))}),
        "column 'ward' has other labels",
    ),
    "another order": (
        Schema({name: SCHEMA[name] for name in reversed(SCHEMA.names)}),
        "the columns have another order",
    ),
}


@pytest.mark.parametrize(("other", "said"), OTHERS.values(), ids=OTHERS)
def test_the_column_in_which_a_schema_differs_is_named(other: Schema, said: str) -> None:
    assert SCHEMA.difference(other) == said
    assert SCHEMA.difference(Schema(dict(SCHEMA.columns))) == ""
