"""Epochs of an agent: they open when its owner says so, and by nothing else; what they answer from stands still."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from localdp.cohorts import Cohort
from localdp.errors import InvalidRecord, RequestExpired, StorageFailed, Unreachable
from localdp.party.epoch import Epoch
from parties.agent.config import AgentConfig, load_config
from parties.agent.epochs import load_epoch, opened_epoch
from parties.agent.state import (
    LEDGER_NAME,
    AgentState,
    init_storage,
    is_overdue,
    publish,
    publish_by_calendar,
)
from tests.support.agents import write_agent
from tests.support.federations import request
from tests.support.ledgers import FaithfulWitness

EVERYBODY = Cohort(0, 40)


@pytest.fixture
def config(tmp_path: Path) -> AgentConfig:
    made = load_config(write_agent(tmp_path, data='person = "patient"'))
    init_storage(made)
    return made


@pytest.fixture
def state(config: AgentConfig) -> Iterator[AgentState]:
    opened = AgentState(config)
    yield opened
    opened.close()


def change(config: AgentConfig) -> None:
    """Another value for somebody."""
    table = config.data.read_text()
    assert "p3,True" in table
    config.data.write_text(table.replace("p3,True", "p3,False"))


def copies(config: AgentConfig) -> list[str]:
    return sorted(path.name for path in config.storage.glob("epoch-*"))


def test_a_new_agent_has_an_open_epoch_and_one_copy_of_its_records(
    config: AgentConfig, state: AgentState
) -> None:
    assert state.party.epoch.number == 1
    assert len(copies(config)) == 1
    assert (config.storage / copies(config)[0]).stat().st_mode & 0o077 == 0


def test_an_epoch_that_opens_while_the_one_before_it_is_loaded_keeps_its_copy(
    config: AgentConfig, state: AgentState, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slow(*arguments: Any) -> Epoch:
        loaded = load_epoch(*arguments)
        monkeypatch.undo()
        publish(config)
        return loaded

    publish(config)
    monkeypatch.setattr("parties.agent.state.load_epoch", slow)
    state.refresh()
    assert state.party.epoch.number == 2
    state.refresh()
    assert state.party.epoch.number == 3


@pytest.mark.parametrize("accident", ["changed", "deleted", "nonsense"])
def test_whatever_becomes_of_the_table_nothing_changes_until_it_is_published(
    config: AgentConfig, state: AgentState, accident: str
) -> None:
    before = state.party.randomize(request(1), EVERYBODY)
    if accident == "changed":
        change(config)
    elif accident == "deleted":
        config.data.unlink()
    else:
        config.data.write_text("what is this")
    state.refresh()
    assert (state.party.randomize(request(1), EVERYBODY) == before).all()
    restarted = AgentState(config)
    assert restarted.party.epoch.number == 1
    assert (restarted.party.randomize(request(1), EVERYBODY) == before).all()
    restarted.close()


@pytest.mark.parametrize("changes", [False, True])
def test_a_published_epoch_is_entered_by_a_running_agent_whether_or_not_anything_changed(
    config: AgentConfig, state: AgentState, changes: bool
) -> None:
    state.party.randomize(request(1), EVERYBODY)
    if changes:
        change(config)
    assert publish(config).number == 2
    with pytest.raises(RequestExpired):
        state.party.randomize(request(2), EVERYBODY)  # the old epoch, which the ledger knows has ended
    state.refresh()
    assert state.party.epoch.number == 2
    assert bool(state.party.records.column("smoker")[3]) is not changes
    with pytest.raises(RequestExpired):
        state.party.randomize(request(1), EVERYBODY)
    state.party.randomize(request(2), EVERYBODY)
    assert len(copies(config)) == 1


def test_newcomers_are_asked_in_the_next_epoch(config: AgentConfig, state: AgentState) -> None:
    state.party.randomize(request(1), EVERYBODY)
    with config.data.open("a") as table:
        table.write("p40,True,50\r\n")
    publish(config)
    state.refresh()
    assert state.party.people == 41
    state.party.randomize(request(2), Cohort(0, 41))
    spent = state.party.ledger.spent()
    assert len(spent) == 41 and spent[40] < spent[0]


def with_a_newcomer(config: AgentConfig) -> None:
    """The table has one person more, and is published."""
    with config.data.open("a") as table:
        table.write("p40,True,50\r\n")
    publish(config)


def test_an_agent_whose_witness_is_away_enters_the_epoch_and_answers_when_it_is_back(
    config: AgentConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    witness = FaithfulWitness()
    monkeypatch.setattr("parties.agent.state.witness_of", lambda config, secrets: witness)
    with closing(AgentState(config)) as state:
        with_a_newcomer(config)
        witness.away = True
        state.refresh()
        with pytest.raises(Unreachable):
            state.party.randomize(request(1), Cohort(0, 41))
        witness.away = False
        state.refresh()
        state.party.randomize(request(1), Cohort(0, 41))
        assert state.party.people == 41 and len(state.party.ledger.spent()) == 41


def test_two_processes_enter_an_epoch_whichever_of_them_charges_the_newcomer(config: AgentConfig) -> None:
    with closing(AgentState(config)) as one, closing(AgentState(config)) as other:
        with_a_newcomer(config)
        other.refresh()
        other.party.randomize(request(1), Cohort(40, 41))
        one.refresh()
        assert one.party.epoch.number == 2
        one.party.randomize(request(2), Cohort(0, 41))
        assert one.party.ledger.spent().tolist() == other.party.ledger.spent().tolist()
        assert one.party.ledger.spent()[40] == 2 * one.party.ledger.spent()[0]


def test_a_table_that_cannot_be_read_is_not_published_by_hand(config: AgentConfig) -> None:
    config.data.write_text("patient,smoker\np1,true\n")
    with pytest.raises(InvalidRecord):
        publish(config)
    opened = opened_epoch(config.storage / LEDGER_NAME)
    assert opened is not None and opened.number == 1


def test_a_calendar_opens_an_epoch_on_the_records_of_before_if_the_table_cannot_be_read(
    config: AgentConfig, state: AgentState
) -> None:
    config.data.unlink()
    publish_by_calendar(config)
    state.refresh()
    assert state.party.epoch.number == 2
    assert len(copies(config)) == 1


def test_an_epoch_is_overdue_when_the_calendar_has_passed(tmp_path: Path) -> None:
    more = '\n[epochs]\nopen = "daily 03:00"\n'
    config = load_config(write_agent(tmp_path, data='person = "patient"', more=more))
    init_storage(config)
    opened = opened_epoch(config.storage / LEDGER_NAME)
    assert opened is not None
    assert not is_overdue(config, opened, opened.opened_at)
    assert is_overdue(config, opened, opened.opened_at + 86_400)
    assert is_overdue(config, None)


@pytest.mark.parametrize("harm", ["gone", "changed", "cut", "another epoch's"])
def test_a_copy_that_was_lost_or_changed_is_noticed(config: AgentConfig, harm: str) -> None:
    (name,) = copies(config)
    path = config.storage / name
    content = path.read_bytes()
    if harm == "gone":
        path.unlink()
    elif harm == "cut":
        path.write_bytes(content[: len(content) // 2])
    elif harm == "changed":
        place = content.index(b"\x01", content.index(b"0.npy") + 128)
        path.write_bytes(content[:place] + b"\x00" + content[place + 1 :])
    else:
        change(config)
        publish(config)
        (newer,) = set(copies(config)) - {name}
        (config.storage / newer).write_bytes(content)
    with pytest.raises(StorageFailed, match="localdp agent publish"):
        AgentState(config)
    publish(config)
    AgentState(config).close()


def test_a_crash_before_the_ledger_knows_of_an_epoch_leaves_the_one_of_before(
    config: AgentConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    change(config)

    def dies(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("parties.agent.ledger.SqliteLedger.open_epoch", dies)
    monkeypatch.setattr("parties.agent.state.drop_epochs", dies)
    with pytest.raises(KeyboardInterrupt):
        publish(config)
    assert len(copies(config)) == 2
    monkeypatch.undo()
    state = AgentState(config)
    assert state.party.epoch.number == 1 and bool(state.party.records.column("smoker")[3])
    assert len(copies(config)) == 1
    state.close()


def test_what_an_epoch_answers_from_is_the_table_to_the_last_bit(config: AgentConfig) -> None:
    state = AgentState(config)
    ages = [(37 * person) % 100 for person in range(40)]
    assert np.array_equal(state.party.records.column("age"), ages)
    assert os.listdir(config.storage)
    state.close()
