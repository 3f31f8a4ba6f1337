"""Quotas of a ledger in a file: with several processes, after kill -9, by a checkpoint or without, and when they change."""

from __future__ import annotations

import itertools
import json
import sqlite3
from contextlib import ExitStack, closing
from pathlib import Path
from subprocess import Popen

import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.ledger import Charge
from localdp.accounting.quotas import Quotas
from localdp.cohorts import Cohort
from localdp.errors import BudgetExhausted
from parties.agent import ledger as ledger_module
from parties.agent.checkpoint import Saved, last_checkpoint
from tests.support.ledgers import sqlite_ledger
from tests.support.processes import Stage, module, read_line, stage

NAT = 10**9
PEOPLE = 5
SHARES = {"ada": 50 * NAT, "bob": 30 * NAT}
QUOTAS = Quotas({name: Epsilon(nanonats) for name, nanonats in SHARES.items()}, Epsilon(20 * NAT))
BUDGET = 100 * NAT
_numbers = itertools.count()


def asking(stack: ExitStack, made: Stage, path: Path, name: str, caller: str) -> Popen[bytes]:
    """A process that asks for this analyst until it is refused."""
    words = (str(path), str(PEOPLE), str(BUDGET), name, caller, json.dumps(SHARES))
    process = stack.enter_context(module(made, "tests.fault.charging_process", *words))
    assert read_line(process) == "ready\n"
    assert process.stdin is not None
    process.stdin.write(b"\n")
    return process


def granted(process: Popen[bytes]) -> int:
    assert process.stdout is not None
    return process.stdout.read().decode().split().count("granted")


def left(path: Path, caller: str, quotas: Quotas = QUOTAS) -> int:
    """How many nats somebody gets who asks until refused, of whoever opens the file now."""
    with closing(sqlite_ledger(path, PEOPLE, Epsilon(BUDGET), quotas=quotas)) as ledger:
        for number in range(BUDGET // NAT + 1):
            request = b"later %d" % next(_numbers)
            try:
                ledger.charge(Charge(request, b"r", Cohort(0, PEOPLE), Epsilon(NAT), "a test", caller))
            except BudgetExhausted:
                return number
    raise AssertionError


def test_processes_that_race_for_an_analyst_together_get_its_quota_and_no_more(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    with stage(tmp_path) as made, ExitStack() as stack:
        adas = [asking(stack, made, path, f"ada {number}", "ada") for number in range(2)]
        bob = asking(stack, made, path, "bob", "bob")
        assert granted(bob) == 30
        assert sum(map(granted, adas)) == 50
    assert [left(path, caller) for caller in ("ada", "bob", "eve")] == [0, 0, 20]


def test_what_an_analyst_used_is_known_after_kill_9(tmp_path: Path) -> None:
    path, heard = tmp_path / "ledger", 12
    with stage(tmp_path) as made, ExitStack() as stack:
        process = asking(stack, made, path, "victim", "ada")
        for _ in range(heard):
            assert read_line(process) == "granted\n"
        process.kill()
        process.wait()
        said = heard + granted(process)
    assert left(path, "ada") in (50 - said, 50 - said - 1)  # one may be on disk whose word was not heard
    assert left(path, "bob") == 30


@pytest.mark.parametrize("checkpoint", [True, False])
def test_what_an_analyst_used_is_known_at_the_next_start(
    checkpoint: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger_module, "_WORTH_A_CHECKPOINT", 0 if checkpoint else 1 << 62)
    path = tmp_path / "ledger"
    assert left(path, "bob") == 30
    read, real = list[Saved | None](), last_checkpoint

    def watched(file: sqlite3.Connection) -> Saved | None:
        read.append(real(file))
        return read[-1]

    monkeypatch.setattr(ledger_module, "last_checkpoint", watched)
    assert [left(path, caller) for caller in ("bob", "ada", "eve")] == [0, 50, 20]
    assert (read[0] is not None) is checkpoint
    if read[0] is not None:
        assert set(read[0].sums.accounts) == {"ada", "bob", ""}


def test_quotas_that_change_count_what_was_used_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger_module, "_WORTH_A_CHECKPOINT", 0)
    path = tmp_path / "ledger"
    assert left(path, "bob") == 30
    assert left(path, "eve") == 20
    more = Quotas({"bob": Epsilon(35 * NAT), "eve": Epsilon(25 * NAT)}, Epsilon(10 * NAT))
    assert [left(path, caller, more) for caller in ("bob", "eve", "ada")] == [5, 5, 10]
