"""Budgets are of one party's people, whom one column names: no column of others, and no second name, is read as theirs."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from localdp.cohorts import Cohort
from localdp.errors import BudgetExhausted, InvalidParameter, InvalidRecord, StorageFailed
from localdp.sharing.collection import Collection, Contributor
from parties.agent.config import AgentConfig, load_config
from parties.agent.state import LEDGER_NAME, AgentState, init_storage, publish
from tests.support.federations import collection_of, request

CONFIG = """
name = "north"
data.path = "visits.csv"
data.person = "patient"
data.rows = "sample"
schema.smoker = { kind = "bit" }
budget.total = 1
"""
ROWS = [(0, 0), (1, 1), (2, 2), (0, 3), (1, 4), (2, 5)]  # patient, visit; each patient is a visit, too


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """An agent that knows people by the column `patient`."""
    (tmp_path / "visits.csv").write_text(
        "patient,visit,smoker\n" + "".join(f"{patient},{visit},true\n" for patient, visit in ROWS)
    )
    (tmp_path / "agent.toml").write_text(CONFIG)
    init_storage(load_config(tmp_path / "agent.toml"))
    return tmp_path / "agent.toml"


def charge(config: AgentConfig, people: Cohort, number: int = 1) -> None:
    with closing(AgentState(config)) as state:
        state.party.randomize(request(number, "smoker"), people)


def changed(path: Path, old: str, new: str) -> AgentConfig:
    path.write_text(path.read_text().replace(old, new))
    return load_config(path)


def of_the_version_before(config: AgentConfig) -> None:
    """As that version wrote it down: what the numbers count, and no more."""
    with closing(sqlite3.connect(config.storage / LEDGER_NAME)) as file, file:
        assert file.execute("UPDATE indices SET meaning = 'person'").rowcount == 1


def test_once_somebody_was_charged_people_are_known_by_the_same_column(path: Path) -> None:
    charge(load_config(path), Cohort(0, 3))
    visits = changed(path, '"patient"', '"visit"')
    with pytest.raises(InvalidRecord, match='person, by "patient"') as refused:
        publish(visits)
    assert "data.person" in str(refused.value)
    with pytest.raises(InvalidParameter, match=r"data\.person"):
        AgentState(visits)
    with pytest.raises(BudgetExhausted):  # and nothing has changed for anybody
        charge(changed(path, '"visit"', '"patient"'), Cohort(0, 1), 2)


def test_before_anybody_was_charged_the_column_may_be_another_one(path: Path) -> None:
    visits = changed(path, '"patient"', '"visit"')
    with pytest.raises(InvalidParameter, match="localdp agent publish"):
        AgentState(visits)
    publish(visits)
    charge(visits, Cohort(0, 6))


def test_a_state_that_does_not_say_which_column_says_so_from_its_next_start_on(path: Path) -> None:
    config = load_config(path)
    of_the_version_before(config)
    charge(config, Cohort(0, 3))
    with pytest.raises(InvalidRecord, match="visit"):
        publish(changed(path, '"patient"', '"visit"'))


# A collection counts a party's people under the party's name.

BOTH = (Contributor("north", 3), Contributor("south", 3))


def twice() -> Collection:
    """A collection that names one agent twice, under two names."""
    return collection_of((), parties=BOTH)


def test_a_renamed_party_does_not_contribute_twice_at_one_charge(path: Path) -> None:
    with closing(AgentState(load_config(path))) as state:
        state.party.share(twice(), Cohort(0, 3))
    south = changed(path, '"north"', '"south"')
    for act in (AgentState, publish):
        with pytest.raises((InvalidParameter, InvalidRecord), match="name"):
            act(south)
    with closing(AgentState(changed(path, '"south"', '"north"'))) as state:
        assert state.party.ledger.spent().tolist() == [10**9] * 3


def test_two_processes_on_one_state_have_one_name(path: Path) -> None:
    with closing(AgentState(load_config(path))) as north:
        south = changed(path, '"north"', '"south"')
        with pytest.raises(InvalidParameter, match="name"):
            AgentState(south)
        publish(south)  # nobody was charged yet, so the owner may still choose
        north.refresh()
        with pytest.raises(StorageFailed, match="another meaning"):
            north.party.share(twice(), Cohort(0, 3))
        with closing(AgentState(south)) as renamed:
            renamed.party.share(twice(), Cohort(0, 3))


def test_a_state_that_does_not_say_whose_it_is_says_so_from_its_next_start_on(path: Path) -> None:
    config = load_config(path)
    of_the_version_before(config)
    with closing(AgentState(config)) as state:
        state.party.share(twice(), Cohort(0, 3))
    with pytest.raises(InvalidParameter, match="name"):
        AgentState(changed(path, '"north"', '"south"'))
