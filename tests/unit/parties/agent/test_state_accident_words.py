"""What an owner is told when a file of the state is gone, damaged or another's: each message names what helps."""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from localdp.cohorts import Cohort
from localdp.errors import InvalidParameter, LocalDpError, RolledBack
from parties.agent.backup import make_backup
from parties.agent.config import AgentConfig, load_config
from parties.agent.ledger import SqliteLedger
from parties.agent.mark import mark_path
from parties.agent.same_file import COMPANIONS, LOCK_SUFFIX
from parties.agent.secret_file import FILE_NAME, load_secrets
from parties.agent.state import ANSWERS_NAME, LEDGER_NAME, AgentState, init_storage, publish
from tests.support.agents import write_agent
from tests.support.ledgers import NAT, a_ledger_of_four_charges, charge, sqlite_ledger

FIRST_LAYOUT = Path(__file__).parents[3] / "vectors" / "first_layout"
RESTORE = "localdp agent restore"


def made(directory: Path) -> AgentConfig:
    directory.mkdir(exist_ok=True)
    config = load_config(write_agent(directory, people=3))
    init_storage(config)
    return config


def damaged(ledger: Path) -> None:
    with ledger.open("r+b") as file:
        file.write(b"?" * 2000)


def another_agents_keys(state: Path) -> None:
    other = made(state.parent / "other")
    shutil.copy2(other.storage / FILE_NAME, state / FILE_NAME)


ACCIDENTS: dict[str, tuple[Callable[[Path], object], str]] = {
    "the keys are gone": (lambda state: (state / FILE_NAME).unlink(), "cannot be opened"),
    "the ledger is gone": (lambda state: (state / LEDGER_NAME).unlink(), "no ledger"),
    "the ledger is damaged": (lambda state: damaged(state / LEDGER_NAME), "damaged"),
    "the mark is gone": (lambda state: mark_path(state / LEDGER_NAME).unlink(), "mark is missing"),
    "the mark is damaged": (lambda state: mark_path(state / LEDGER_NAME).write_bytes(b"?"), "mark is"),
}


@pytest.mark.parametrize("accident", ACCIDENTS)
def test_a_start_and_a_backup_after_an_accident_name_the_restore(tmp_path: Path, accident: str) -> None:
    config = made(tmp_path)
    happens, told = ACCIDENTS[accident]
    happens(config.storage)
    with pytest.raises(LocalDpError, match=RESTORE) as start:
        AgentState(config)
    with pytest.raises(LocalDpError, match=RESTORE) as backup:
        make_backup(config.storage / LEDGER_NAME, config.name, tmp_path / "backup")
    assert told in str(start.value) or told in str(backup.value)


def test_keys_of_another_agent_are_called_that(tmp_path: Path) -> None:
    config = made(tmp_path)
    another_agents_keys(config.storage)
    with pytest.raises(LocalDpError, match=f"not this ledger's.*{RESTORE}"):
        publish(config)
    with pytest.raises(LocalDpError, match=f"not this ledger's.*{RESTORE}"):
        make_backup(config.storage / LEDGER_NAME, config.name, tmp_path / "backup")


def test_a_chain_that_is_not_of_these_keys_says_so_at_its_first_entry(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    a_ledger_of_four_charges(path)
    mark_path(path).unlink()
    other = tmp_path / "other.sqlite"
    with closing(SqliteLedger(other, 8, NAT, chain_key=b"another key" * 3)):
        mark_path(other).rename(mark_path(path))
    with pytest.raises(LocalDpError, match=f"not this ledger's.*{RESTORE}"):
        SqliteLedger(path, 8, NAT, chain_key=b"another key" * 3)


def test_a_mark_that_was_replaced_while_the_agent_ran_is_not_followed_by_a_start(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    with closing(sqlite_ledger(path, 3, NAT * 9)) as ledger:
        old = mark_path(path).read_bytes()
        ledger.charge(charge(1, Cohort(0, 3)))
        mark_path(path).write_bytes(old)
        with pytest.raises(RolledBack, match=f"Do not start the agent again.*{RESTORE}"):
            ledger.charge(charge(2, Cohort(0, 3)))


def test_a_backup_of_the_first_layout_asks_for_a_first_start(tmp_path: Path) -> None:
    config = made(tmp_path)
    with zipfile.ZipFile(FIRST_LAYOUT / "plain.zip") as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(LEDGER_NAME)]
        (config.storage / LEDGER_NAME).write_bytes(archive.read(name))
    mark_path(config.storage / LEDGER_NAME).unlink()
    with pytest.raises(InvalidParameter, match="start the agent once first"):
        make_backup(config.storage / LEDGER_NAME, config.name, tmp_path / "backup")


def test_nothing_is_made_where_a_part_of_a_state_is_left(tmp_path: Path) -> None:
    config = made(tmp_path)
    (config.storage / ANSWERS_NAME).touch()
    for suffix in COMPANIONS:  # which are there while it is open
        for name in (LEDGER_NAME, ANSWERS_NAME):
            (config.storage / (name + suffix)).touch()
    parts = [path for path in config.storage.iterdir() if path.suffix != LOCK_SUFFIX]
    assert len(parts) == 10
    for path in parts:
        path.rename(tmp_path / path.name)
    for path in parts:
        (tmp_path / path.name).rename(path)
        with pytest.raises(InvalidParameter, match="holds an agent's state already"):
            init_storage(config)
        path.rename(tmp_path / path.name)
    init_storage(config)  # locks are no part of it


def test_where_nothing_was_ever_made_the_keys_are_made_by_init(tmp_path: Path) -> None:
    with pytest.raises(InvalidParameter, match="localdp agent init"):
        load_secrets(tmp_path)
