"""`localdp agent`, `keys` and `budget` as an owner uses them: the life of an agent, and what a newcomer gets wrong."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from localdp.cohorts import Cohort
from localdp.errors import BudgetExhausted, PolicyRefused
from localdp.party.party import Request
from parties.coordinator import Peer, RemoteParties
from tests.support.agents import failed, running, succeeded, write_agent
from tests.support.federations import request
from tests.support.processes import localdp, stage

PEOPLE = 40
EVERYBODY = Cohort(0, PEOPLE)


def asked(address: str, one: Request, cohort: Cohort = EVERYBODY) -> NDArray[np.bool_]:
    """The reports of an agent at that address."""
    with closing(RemoteParties([Peer("clinic", address)], 20.0)) as remote:
        return np.concatenate(list(remote.reports(one, cohort)))


def test_the_life_of_an_agent(tmp_path: Path) -> None:
    config = write_agent(tmp_path, people=PEOPLE, budget="per_day = 3", policy="minimum_cohort = 20")
    assert succeeded(tmp_path, "agent", "init", str(config)) == {"storage": str(tmp_path / "state")}
    with stage(tmp_path) as made:
        with running(made, config) as (process, address):
            first = asked(address, request(1))
            with pytest.raises(PolicyRefused):
                asked(address, request(2), Cohort(0, 19))
            process.send_signal(signal.SIGTERM)
            assert process.wait(20) == 0
        assert succeeded(tmp_path, "keys", "rotate", str(config)) == {"current": "key-2"}
        with running(made, config) as (process, address):
            assert (asked(address, request(1)) == first).all()  # drawn with the key of before
            asked(address, request(2))
            asked(address, request(3))
            with pytest.raises(BudgetExhausted, match="day's budget of 3"):
                asked(address, request(4))
            shown = succeeded(tmp_path, "budget", "show", str(config))  # while it runs
    assert (shown["uses"], shown["spent_most"], shown["remaining_least"]) == (3, 3.0, 1.0)
    history = succeeded(tmp_path, "budget", "history", str(config), "--last", "2")["entries"]
    assert [entry["kind"] for entry in history] == ["charge", "charge"]
    assert all(entry["key"].startswith("key-2:") for entry in history)
    assert_register_is_verified(tmp_path, config)


def assert_register_is_verified(directory: Path, config: Path) -> None:
    """Exported, whole; and refused once an entry says something else."""
    out = directory / "register.json"
    exported = succeeded(directory, "budget", "export", str(config), "--out", str(out))
    key = exported["public_key"]
    verified = succeeded(directory, "budget", "verify", str(out), "--public-key", key)
    assert verified == {"entries": 5, "verified": True}  # with the settings and the epoch
    register = json.loads(out.read_text())
    register["entries"][0]["time"] = "2001-01-01T00:00:00+00:00"
    out.write_text(json.dumps(register))
    assert failed(directory, "budget", "verify", str(out), "--public-key", key)["exit_code"] == 2
    assert failed(directory, "budget", "verify", str(config), "--public-key", key)["exit_code"] == 2


EACH = 'person = "patient"\nrows = "each"\nmost_rows = 4'


@pytest.fixture(scope="module")
def rows_each(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Path, str]]:
    """A running agent of four people with three rows each, all of which answer."""
    directory = tmp_path_factory.mktemp("agent")
    config = write_agent(
        directory, people=4, rows_each=3, data='person = "patient"\nrows = "each"\nmost_rows = 3'
    )
    succeeded(directory, "agent", "init", str(config))
    with stage(directory) as made, running(made, config) as (_, address):
        yield directory, config, address


def test_a_real_agent_charges_every_row_to_its_share(rows_each: tuple[Path, Path, str]) -> None:
    directory, config, address = rows_each
    assert len(asked(address, request(1), Cohort(0, 11))) == 11  # three nats of each person's four
    with pytest.raises(BudgetExhausted, match="1 of 2 people"):
        asked(address, request(2), Cohort(10, 12))
    assert len(asked(address, request(2), Cohort(11, 12))) == 1  # another row of the same person
    shown = succeeded(directory, "budget", "show", str(config))
    assert (shown["people"], round(shown["budget"], 6)) == (12, 1.333333)


def test_a_port_in_use_is_told(rows_each: tuple[Path, Path, str], tmp_path: Path) -> None:
    _, _, address = rows_each
    config = write_agent(tmp_path, more=f'\n[listen]\naddress = "{address}"\n')
    succeeded(tmp_path, "agent", "init", str(config))
    told = failed(tmp_path, "agent", "run", str(config))
    assert (told["error_code"], told["exit_code"]) == ("cannot_listen", 3)
    assert "in use" in told["message"]


def test_a_second_init_changes_nothing_and_says_so_in_words(tmp_path: Path) -> None:
    config = write_agent(tmp_path)
    made = localdp(tmp_path, "agent", "init", str(config))
    assert made.returncode == 0 and "secret keys" in made.stdout
    before = {path.name: path.read_bytes() for path in (tmp_path / "state").iterdir()}
    again = localdp(tmp_path, "agent", "init", str(config))
    assert again.returncode == 2 and "not overwritten" in again.stderr and not again.stdout
    assert {path.name: path.read_bytes() for path in (tmp_path / "state").iterdir()} == before


def test_an_agent_that_was_never_made_does_not_run(tmp_path: Path) -> None:
    config = write_agent(tmp_path)
    for command in (["agent", "run"], ["keys", "rotate"], ["budget", "show"]):
        told = failed(tmp_path, *command, str(config))
        assert "agent init" in told["message"] or "no ledger" in told["message"]
    assert not (tmp_path / "state").exists()


WRONG: dict[str, tuple[Callable[[Path], object], str]] = {
    "no such configuration": (lambda config: config.unlink(), "agent.toml"),
    "no such table": (lambda config: (config.parent / "patients.csv").unlink(), "patients.csv"),
    "not TOML": (lambda config: config.write_text("name = clinic"), "agent.toml:1: not TOML"),
    "a column that the table has not": (
        lambda config: config.write_text(config.read_text().replace("age =", "years =")),
        "'years'",
    ),
    "a place that is no directory": (
        lambda config: config.write_text(
            config.read_text() + '\n[storage]\ndirectory = "patients.csv/state"\n'
        ),
        "patients.csv",
    ),
}


@pytest.mark.parametrize("mistake", WRONG)
def test_what_a_newcomer_gets_wrong_is_told_and_makes_nothing(tmp_path: Path, mistake: str) -> None:
    config = write_agent(tmp_path)
    spoil, words = WRONG[mistake]
    spoil(config)
    told = failed(tmp_path, "agent", "init", str(config))
    assert words in told["message"] and told["hint"]
    assert not (tmp_path / "state").exists()


def test_keys_that_others_can_read_are_told(tmp_path: Path) -> None:
    config = write_agent(tmp_path)
    succeeded(tmp_path, "agent", "init", str(config))
    (tmp_path / "state" / "secrets.json").chmod(0o644)
    assert "chmod 600" in failed(tmp_path, "agent", "run", str(config))["message"]


def test_certificates_are_made_once(tmp_path: Path) -> None:
    made = succeeded(tmp_path, "keys", "init", "keys", "--names", "analyst,clinic")
    assert [Path(path).name for path in made["identities"]] == ["analyst", "clinic"]
    succeeded(tmp_path, "keys", "issue", "keys", "auditor")
    assert "not overwritten" in failed(tmp_path, "keys", "init", "keys")["message"]
    assert "not overwritten" in failed(tmp_path, "keys", "issue", "keys", "auditor")["message"]
