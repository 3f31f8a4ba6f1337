"""Processes and ledgers as their owner sees them: up to date, in bounded time, and never by person."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.ledger import Charge
from localdp.cohorts import Cohort
from parties.view import owned
from parties.view.owned import LedgerReader, Owned, Watch, is_alive
from parties.view.rounds import PartyView
from tests.support.ledgers import sqlite_ledger

LIMIT = Epsilon.requested(5)


def charge(name: bytes, start: int, stop: int, cost: float) -> Charge:
    return Charge(name.ljust(32), bytes(32), Cohort(start, stop), Epsilon.requested(cost), "smoker")


def test_a_ledger_is_read_while_its_agent_writes(tmp_path: Path) -> None:
    path = tmp_path / "party-0.ledger"
    ledger = sqlite_ledger(path, 10, LIMIT)
    reader = LedgerReader(path, 10, LIMIT)
    assert reader.look() == (0, 5.0, 5.0)
    ledger.charge(charge(b"a", 0, 10, 1))
    assert reader.look() == (1, 4.0, 4.0)
    ledger.charge(charge(b"b", 0, 4, 0.5))
    ledger.charge(charge(b"c", 0, 1, 2.5))
    assert reader.look() == reader.look() == (3, 1.0, 4.0)
    ledger.close()
    assert LedgerReader(path, 10, LIMIT).look() == (3, 1.0, 4.0)


def test_reading_a_ledger_changes_nothing_in_it(tmp_path: Path) -> None:
    path = tmp_path / "party-0.ledger"
    ledger = sqlite_ledger(path, 10, LIMIT)
    ledger.charge(charge(b"a", 0, 10, 1))
    ledger.close()
    before = path.read_bytes()
    LedgerReader(path, 10, LIMIT).look()
    assert path.read_bytes() == before


def test_a_ledger_that_cannot_be_read_is_told_as_unknown(tmp_path: Path) -> None:
    (tmp_path / "text.ledger").write_text("something else")
    watch = Watch(
        [
            Owned("missing", "agent", 10, LIMIT, tmp_path / "missing.ledger", 1),
            Owned("text", "agent", 10, LIMIT, tmp_path / "text.ledger", 1),
            Owned("server", "share server", process_id=2),
        ],
        alive=lambda process_id: process_id == 1,
    )
    assert list(watch.look()) == [
        PartyView("missing", "agent", True, 10),
        PartyView("text", "agent", True, 10),
        PartyView("server", "share server", False),
    ]


def test_many_are_looked_at_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(owned, "MOST_AT_A_LOOK", 4)
    watch = Watch(
        [Owned(str(number), "agent", process_id=number) for number in range(10)], alive=lambda _: True
    )
    looks = [[party.name for party in watch.look()] for _ in range(5)]
    assert looks == [list("0123"), list("4567"), list("8901"), list("2345"), list("6789")]
    assert list(Watch([]).look()) == []


def test_a_process_that_was_killed_is_gone_before_its_parent_has_noticed() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        assert is_alive(process.pid)
        os.kill(process.pid, signal.SIGKILL)
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # ended, and not asked about yet
        assert not is_alive(process.pid)
    assert not is_alive(process.pid)
