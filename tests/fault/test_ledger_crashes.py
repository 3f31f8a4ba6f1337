"""One ledger file under several processes, under kill -9 and on a full disk: it never grants more than it keeps."""

from __future__ import annotations

import random
import shutil
from contextlib import ExitStack, closing
from pathlib import Path
from subprocess import Popen

import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.errors import StorageFailed
from tests.support.ledgers import sqlite_ledger
from tests.support.processes import Stage, module, read_line, stage

NAT = 10**9
PEOPLE = 5
RACERS = 4


def spent(path: Path) -> list[int]:
    """What a process that opens the file now finds, in nats."""
    with closing(sqlite_ledger(path, PEOPLE, Epsilon(NAT))) as ledger:
        return [int(nanonats) // NAT for nanonats in ledger.spent()]


def ready(stack: ExitStack, made: Stage, path: Path, limit: int, name: str, *more: str) -> Popen[bytes]:
    """A charging process that is ready to begin."""
    process = stack.enter_context(
        module(made, "tests.fault.charging_process", str(path), str(PEOPLE), str(limit * NAT), name, *more)
    )
    assert read_line(process) == "ready\n"
    return process


def begin(process: Popen[bytes]) -> None:
    """Let it charge."""
    assert process.stdin is not None
    process.stdin.write(b"\n")


def words(process: Popen[bytes]) -> list[str]:
    """All that it says until its end."""
    assert process.stdout is not None
    return process.stdout.read().decode().split()


def test_processes_that_race_for_one_file_together_get_exactly_the_budget(tmp_path: Path) -> None:
    path, limit = tmp_path / "ledger", 101
    with stage(tmp_path) as made, ExitStack() as stack:
        racers = [ready(stack, made, path, limit, f"racer {number}") for number in range(RACERS)]
        for racer in racers:
            begin(racer)
        said = [words(racer) for racer in racers]
    assert all(lines[-1] == "BudgetExhausted" for lines in said)
    assert sum(lines.count("granted") for lines in said) == limit
    assert spent(path) == [limit] * PEOPLE


def test_a_charge_that_was_granted_survives_kill_9(tmp_path: Path) -> None:
    path, heard = tmp_path / "ledger", 25
    with stage(tmp_path) as made, ExitStack() as stack:
        process = ready(stack, made, path, 10**6, "victim")
        begin(process)
        for _ in range(heard):
            assert read_line(process) == "granted\n"
        process.kill()
        process.wait()
        granted = heard + words(process).count("granted")
    # One more may have been written whose word was not heard: budget is lost then, never privacy.
    assert spent(path)[0] in (granted, granted + 1)
    assert len(set(spent(path))) == 1


def test_on_a_full_disk_the_ledger_refuses_and_keeps_what_it_granted(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    with stage(tmp_path) as made, ExitStack() as stack:
        process = ready(stack, made, path, 10**6, "hungry", str(200_000))
        begin(process)
        said = words(process)
    assert said[-1] == "StorageFailed"
    granted = said.count("granted")
    assert granted > 0
    assert spent(path)[0] in (granted, granted + 1)


@pytest.mark.nightly
def test_through_many_kills_and_copies_no_budget_is_spent_twice(tmp_path: Path) -> None:
    state, copy, granted = tmp_path / "state", tmp_path / "copy", 0
    state.mkdir()
    choice = random.Random(5)  # noqa: S311 - it chooses moments
    with stage(tmp_path) as made, ExitStack() as stack:
        for turn in range(60):
            process = ready(stack, made, state / "ledger", 10**6, f"victim {turn}")
            begin(process)
            for _ in range(choice.randrange(1, 12)):
                assert read_line(process) == "granted\n"
                granted += 1
            if turn % 5 == 0:
                shutil.rmtree(copy, ignore_errors=True)
                shutil.copytree(state, copy)  # while it charges
            process.kill()
            process.wait()
            granted += words(process).count("granted")
            assert granted <= spent(state / "ledger")[0] <= granted + turn + 1
            if turn % 5 == 1:
                put_back(copy, state)
    assert granted > 200


def put_back(copy: Path, state: Path) -> None:
    """The ledger of an older copy, with and without its log, is refused; then the newest is put back."""
    for names in (("ledger", "ledger-wal"), ("ledger",)):
        aside = state.with_name("aside")
        shutil.copytree(state, aside)
        for name in ("ledger", "ledger-wal", "ledger-shm"):
            (state / name).unlink(missing_ok=True)
        for name in names:
            if (copy / name).exists():
                shutil.copy(copy / name, state / name)
        with pytest.raises(StorageFailed):
            spent(state / "ledger")
        shutil.rmtree(state)
        aside.rename(state)
