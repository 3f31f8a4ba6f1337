"""`localdp agent backup` and `restore` as an owner uses them: beside a running agent, and after a lost disk."""

from __future__ import annotations

import inspect
import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from localdp.cohorts import Cohort
from localdp.errors import InvalidParameter, RolledBack
from parties.agent.config import load_config
from parties.agent.epochs import opened_epoch
from parties.agent.state import init_storage, publish
from parties.command.agent import agent_backup, agent_restore
from parties.coordinator import Peer, RemoteParties
from parties.witness.record import WitnessRecord
from tests.integration.test_witness import witness_at
from tests.support.agents import failed, running, succeeded, write_agent
from tests.support.federations import request
from tests.support.processes import localdp, stage

PEOPLE = 40
run_backup, run_restore = inspect.unwrap(agent_backup), inspect.unwrap(agent_restore)


def ask(address: str, number: int) -> None:
    """One nat of everybody's budget."""
    with closing(RemoteParties([Peer("clinic", address)], 20.0)) as remote:
        list(remote.reports(request(number), Cohort(0, PEOPLE)))


def spent(directory: Path, config: Path) -> float:
    """In the epoch that is open; after a restore, in the next one."""
    if opened_epoch(directory / "state" / "ledger.sqlite") is None:
        succeeded(directory, "agent", "publish", str(config))
    return float(succeeded(directory, "budget", "show", str(config))["spent_most"])


def test_an_agent_comes_back_from_its_backup_and_nobody_gains_by_it(tmp_path: Path) -> None:
    config, copy = write_agent(tmp_path, people=PEOPLE), str(tmp_path / "north.backup")
    restore = ("agent", "restore", str(config), copy)
    succeeded(tmp_path, "agent", "init", str(config))
    with stage(tmp_path) as made:
        with running(made, config) as (process, address):
            ask(address, 1)
            told = succeeded(tmp_path, "agent", "backup", str(config), "--out", copy)  # while it runs
            assert told["out"] == copy and told["entries"] > 0
            ask(address, 2)
            assert "stop it first" in failed(tmp_path, *restore, "--charge-loss")["message"]
            process.kill()
            process.wait(20)
        assert spent(tmp_path, config) == 2.0
        assert "--charge-loss" in failed(tmp_path, *restore)["message"]
        assert succeeded(tmp_path, *restore, "--charge-loss")["loss"] == 1.0
        assert spent(tmp_path, config) == 2.0
        shutil.rmtree(tmp_path / "state")
        assert "--loss" in failed(tmp_path, *restore)["message"]
        assert "from 0 on" in failed(tmp_path, *restore, "--loss", "minus two")["message"]
        assert "from 0 on" in failed(tmp_path, *restore, "--loss", "-1")["message"]
        result = localdp(tmp_path, *restore, "--loss", "0.5")
        assert result.returncode == 0 and "everybody was charged epsilon 0.5" in result.stdout
    assert spent(tmp_path, config) == 1.5
    history = succeeded(tmp_path, "budget", "history", str(config))["entries"]
    (loss,) = [entry for entry in history if entry["kind"] == "loss"]
    assert loss["epsilon_nanonats"] == 5 * 10**8
    shown = localdp(tmp_path, "budget", "history", str(config))
    assert "everybody was charged for a loss" in shown.stdout


def test_the_copy_that_the_documents_once_asked_for_is_refused(tmp_path: Path) -> None:
    config, state = write_agent(tmp_path, people=PEOPLE), tmp_path / "state"
    succeeded(tmp_path, "agent", "init", str(config))
    with stage(tmp_path) as made:
        with running(made, config) as (process, address):
            ask(address, 1)
            (tmp_path / "copy").mkdir()
            for path in (state / "secrets.json", state / "ledger.sqlite", *state.glob("epoch-*.npz")):
                shutil.copy2(path, tmp_path / "copy" / path.name)
            process.kill()
            process.wait(20)
        shutil.rmtree(state)
        (tmp_path / "copy").rename(state)
        told = failed(tmp_path, "agent", "run", str(config))
    assert told["error_code"] == "rolled_back" and "mark is missing" in told["message"]


def test_a_backup_of_nothing_is_refused_in_one_line(tmp_path: Path) -> None:
    config = write_agent(tmp_path, people=PEOPLE)
    assert failed(tmp_path, "agent", "backup", str(config), "--out", str(tmp_path / "b"))
    succeeded(tmp_path, "agent", "init", str(config))
    assert "not a backup" in failed(tmp_path, "agent", "restore", str(config), str(config))["message"]
    assert failed(tmp_path, "agent", "restore", str(config), str(tmp_path / "nowhere"))


# With a witness, which the commands ask.


@contextmanager
def witnessed_agent(directory: Path) -> Iterator[tuple[Path, Path]]:
    """An agent with a witness beside it, and the backup of its first day; it has gone on since."""
    with witness_at(directory / "witness") as (peer, key):
        lines = f'[witness]\naddress = "{peer.address}"\npublic_key = "{key.hex()}"\n'
        config, copy = write_agent(directory, people=PEOPLE, more=lines), directory / "old.backup"
        init_storage(load_config(config))
        run_backup(config, copy, json=True)
        shutil.copytree(directory / "state", directory / "old state")
        publish(load_config(config))
        yield config, copy


def rolled_back(directory: Path) -> None:
    """Everything is an old copy: keys, ledger and mark agree."""
    shutil.rmtree(directory / "state")
    shutil.copytree(directory / "old state", directory / "state")


def lost(directory: Path) -> None:
    """A new machine."""
    shutil.rmtree(directory / "state")


@pytest.mark.parametrize("accident", [rolled_back, lost])
def test_a_restore_asks_the_witness_and_then_names_what_its_operator_does(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], accident: Callable[[Path], None]
) -> None:
    with witnessed_agent(tmp_path) as (config, copy):
        accident(tmp_path)
        for charge_loss in (False, True):
            with pytest.raises(InvalidParameter, match="--loss EPSILON"):
                run_restore(config, copy, charge_loss, None, json=False)
        capsys.readouterr()
        run_restore(config, copy, False, "1", json=False)
        forget = "localdp witness forget --state DIR clinic"
        assert forget in " ".join(capsys.readouterr().out.split())
        with pytest.raises(RolledBack) as refused:
            publish(load_config(config))
        assert forget in str(refused.value) and "agent restore" not in str(refused.value)
        with closing(WitnessRecord(tmp_path / "witness")) as record:
            record.forget("clinic")
        publish(load_config(config))
        run_backup(config, tmp_path / "new.backup", json=True)


def test_on_a_new_machine_the_witness_is_asked_by_the_keys_of_the_backup(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with witnessed_agent(tmp_path) as (config, copy):
        newest = tmp_path / "new.backup"
        run_backup(config, newest, json=True)
        lost(tmp_path)
        for backup, forget in ((newest, False), (copy, True)):
            capsys.readouterr()
            run_restore(config, backup, False, "0", json=True)
            assert json.loads(capsys.readouterr().out)["data"]["witness_must_forget"] is forget


@pytest.mark.parametrize("loss", ["1e999999", "1000001", "-1", "nan", "inf", "two", ""])
def test_a_loss_that_makes_no_sense_is_refused_in_words(tmp_path: Path, loss: str) -> None:
    with pytest.raises(InvalidParameter, match="from 0 on and at most 1000000"):
        run_restore(write_agent(tmp_path), tmp_path / "backup", False, loss, json=True)
    assert not (tmp_path / "state").exists()
