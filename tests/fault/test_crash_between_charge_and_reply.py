"""kill -9 between charge and reply: the retry gets the one report there is, and it was charged once.

The same check runs against a sound agent and against three broken ones; it must fail on each of those.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np
import pytest

from localdp.accounting.ledger import MemoryLedger
from localdp.cohorts import Cohort
from localdp.errors import BudgetExhausted, Unreachable
from localdp.party.party import Request
from parties.coordinator import Peer, RemoteParties
from parties.simulation.roles import AgentRole, role_to_line, save_records
from tests.support.federations import KEYRING, party, people, request
from tests.support.ledgers import sqlite_ledger
from tests.support.processes import Stage, module, read_line, stage, wait_until

PEOPLE = 200
EVERYBODY = Cohort(0, PEOPLE)
ASKED, OTHER = request(1), request(2)
COST = ASKED.randomizer.epsilon  # and the budget: one request's worth


def role_in(directory: Path) -> AgentRole:
    """An agent whose people can afford one request."""
    records, ledger = directory / "records.npz", directory / "ledger"
    save_records(people(PEOPLE), records)
    return AgentRole(
        "party-0", KEYRING.party(0).hex(), str(records), str(ledger), COST.nanonats, COST.nanonats, {}
    )


@contextmanager
def agent(made: Stage, variant: str, life: str, role: AgentRole) -> Iterator[RemoteParties]:
    """A running agent; on the way out it must be dead if it was to die."""
    with module(made, "tests.fault.agent_process", variant, life, role_to_line(role)) as process:
        address = f"127.0.0.1:{int(read_line(process))}"
        with closing(RemoteParties([Peer("party-0", address)], timeout_seconds=20.0)) as remote:
            yield remote
            if life == "dying":
                wait_until(lambda: process.poll() == -9, "the agent has killed itself")


def reports(remote: RemoteParties, asked: Request) -> list[bool]:
    """The cohort's reports."""
    return [bool(bit) for part in remote.reports(asked, EVERYBODY) for bit in part]


def check_crash_between_charge_and_reply(variant: str, directory: Path) -> None:
    """Ask an agent that dies when it has charged; restart it; ask again."""
    role = role_in(directory)
    with stage(directory) as made:
        with agent(made, variant, "dying", role) as remote:
            try:
                answered: list[bool] | None = reports(remote, ASKED)
            except Unreachable:
                answered = None
            assert answered is None, (
                "it answered although it dies with the charge: it answers before it charges"
            )
        with agent(made, variant, "live", role) as remote:
            try:
                reports(remote, OTHER)
                refused = False
            except BudgetExhausted:
                refused = True
            assert refused, "another request was answered: the charge did not survive"
            retried = [reports(remote, ASKED) for _ in range(2)]
    unkilled = party(people(PEOPLE), ledger=MemoryLedger(PEOPLE, COST), budget=COST)
    expected = [bool(bit) for bit in unkilled.randomize(ASKED, EVERYBODY)]
    assert retried == [expected, expected], "the retried request got another report"
    with closing(sqlite_ledger(Path(role.ledger), PEOPLE, COST, chain_key=role.chain_key)) as ledger:
        assert np.array_equal(ledger.spent(), np.full(PEOPLE, COST.nanonats)), (
            "charged more or less than once"
        )


def test_a_request_cut_off_between_charge_and_reply_is_answered_on_retry_and_charged_once(
    tmp_path: Path,
) -> None:
    check_crash_between_charge_and_reply("sound", tmp_path)


@pytest.mark.parametrize(
    ("variant", "complaint"),
    [
        ("charge-after-reply", "it answers before it charges"),
        ("forgetful-ledger", "the charge did not survive"),
        ("fresh-coins", "another report"),
    ],
)
def test_the_check_notices_an_agent_that_is_broken(tmp_path: Path, variant: str, complaint: str) -> None:
    with pytest.raises(AssertionError, match=complaint):
        check_crash_between_charge_and_reply(variant, tmp_path)
