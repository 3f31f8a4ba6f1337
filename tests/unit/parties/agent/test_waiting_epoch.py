"""An epoch that is prepared and opened later: until then nothing changes, and it follows one epoch alone."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest

from localdp.cohorts import Cohort
from localdp.errors import InvalidParameter, InvalidRecord, RequestExpired
from parties.agent.by_hand import open_waiting, prepare_to_wait
from parties.agent.config import AgentConfig, load_config
from parties.agent.state import AgentState, init_storage, publish
from parties.agent.waiting_epoch import FILE_NAME
from tests.support.agents import succeeded, write_agent
from tests.support.federations import request

EVERYBODY = Cohort(0, 40)
NONE = "no epoch waits to be opened"


@pytest.fixture
def config(tmp_path: Path) -> AgentConfig:
    made = load_config(write_agent(tmp_path, data='person = "patient"'))
    init_storage(made)
    return made


def somebody_new(config: AgentConfig, name: str = "p40") -> None:
    config.data.write_text(f"{config.data.read_text()}{name},True,50\n")


def copies(config: AgentConfig) -> int:
    return len(list(config.storage.glob("epoch-*")))


def test_nothing_changes_until_what_was_prepared_is_opened(config: AgentConfig) -> None:
    with closing(AgentState(config)) as agent:
        before = agent.party.randomize(request(1), EVERYBODY)
        somebody_new(config)
        prepare_to_wait(config)
        somebody_new(config, "p41")  # too late for this epoch
        agent.refresh()
        assert (agent.party.epoch.number, agent.party.people) == (1, 40)
        assert (agent.party.randomize(request(1), EVERYBODY) == before).all()
    with closing(AgentState(config)) as agent:  # a start keeps what waits
        assert agent.party.epoch.number == 1 and copies(config) == 2
        assert open_waiting(config).number == 2
        agent.refresh()
        assert (agent.party.epoch.number, agent.party.people) == (2, 41)
        with pytest.raises(RequestExpired):
            agent.party.randomize(request(1), EVERYBODY)
    assert copies(config) == 1 and not (config.storage / FILE_NAME).exists()
    publish(config)
    with closing(AgentState(config)) as agent:
        assert agent.party.people == 42


def test_a_second_preparation_takes_the_place_of_the_first(config: AgentConfig) -> None:
    prepare_to_wait(config)
    somebody_new(config)
    prepare_to_wait(config)
    assert copies(config) == 2
    open_waiting(config)
    with pytest.raises(InvalidParameter, match=NONE):
        open_waiting(config)
    with closing(AgentState(config)) as agent:
        assert (agent.party.epoch.number, agent.party.people) == (2, 41)


def test_what_waits_is_forgotten_when_another_epoch_opens(config: AgentConfig) -> None:
    prepare_to_wait(config)
    waited = (config.storage / FILE_NAME).read_text()
    somebody_new(config)
    publish(config)
    assert copies(config) == 1 and not (config.storage / FILE_NAME).exists()
    (config.storage / FILE_NAME).write_text(waited)  # put back, it follows an epoch that has ended
    with pytest.raises(InvalidParameter, match=NONE):
        open_waiting(config)


def test_a_table_that_is_refused_leaves_what_waited_before(config: AgentConfig) -> None:
    prepare_to_wait(config)
    config.data.write_text(config.data.read_text().replace("p3,True", "p3,what"))
    with pytest.raises(InvalidRecord):
        prepare_to_wait(config)
    assert copies(config) == 2 and open_waiting(config).number == 2


@pytest.mark.parametrize("key", ["pin", "after", "people", "numbers"])
def test_what_was_changed_on_the_disk_is_not_opened(config: AgentConfig, key: str) -> None:
    somebody_new(config)
    prepare_to_wait(config)
    path = config.storage / FILE_NAME
    assert path.stat().st_mode & 0o077 == 0
    told = json.loads(path.read_text())
    body = json.loads(told["body"])
    body[key] = None if key == "numbers" else body[key] * 2
    path.write_text(json.dumps({**told, "body": json.dumps(body)}))
    with pytest.raises(InvalidParameter, match=NONE):
        open_waiting(config)


def test_people_known_by_another_column_are_prepared_again(config: AgentConfig, tmp_path: Path) -> None:
    prepare_to_wait(config)
    other = load_config(write_agent(tmp_path, data='person = "age"\nrows = "sample"'))
    with pytest.raises(InvalidParameter, match="prepare it again"):
        open_waiting(other)


def test_both_steps_by_command(config: AgentConfig, tmp_path: Path) -> None:
    somebody_new(config)
    assert succeeded(tmp_path, "agent", "publish", "agent.toml", "--prepare")["changes"]["newcomers"] == 1
    assert succeeded(tmp_path, "agent", "publish", "agent.toml", "--open")["epoch"] == 2
