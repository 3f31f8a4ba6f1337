"""Real agent processes under kill -9, at every step of a charge and a reply and from outside between any two replies.

Ten agents one after the other serve one ledger file, and each of them is killed while requests are on their way.  Whatever
was heard from any of them is the one report that there is, was charged, and is within the budget.
"""

from __future__ import annotations

import json
import os
import random
import signal
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import Popen
from typing import Any

import grpc
import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.ledger import MemoryLedger
from localdp.cohorts import Cohort
from localdp.errors import BudgetExhausted, LocalDpError, Unreachable
from localdp.party.party import Request
from parties import codec
from parties.serving import open_channel
from parties.simulation.roles import AgentRole, role_to_line, save_records
from parties.status import error_of
from parties.wire.v1 import oracle_pb2_grpc
from tests.support.federations import KEYRING, party, people, request
from tests.support.ledgers import entries_in, spent_by_day
from tests.support.processes import module, read_line, stage, wait_until

PEOPLE = 20
EVERYBODY = Cohort(0, PEOPLE)
KILLS = 10  # on one ledger
AFFORDABLE = 6
REQUESTS = [request(number) for number in range(8)]
COST = REQUESTS[0].randomizer.epsilon
BUDGET = COST * AFFORDABLE
MOST_STEPS = 30  # four requests take some forty


@dataclass
class Campaign:
    """One ledger, the agents that served it, and what was heard from them."""

    directory: Path
    nursery: Popen[bytes]
    variant: str = "sound"
    heard: dict[bytes, set[tuple[bool, ...]]] = field(default_factory=dict)
    kills: int = 0  # while requests were on their way
    answers: int = 0

    def __post_init__(self) -> None:
        self.directory.mkdir()
        save_records(people(PEOPLE), self.directory / "records.npz")
        self.ledger = self.directory / "ledger"

    @contextmanager
    def agent(self, steps: int) -> Iterator[tuple[int, Any]]:
        """A running agent that dies after so many steps: its process id, and a stub."""
        records = str(self.directory / "records.npz")
        limit = BUDGET.nanonats
        self.role = role = AgentRole(
            "party-0", KEYRING.party(0).hex(), records, str(self.ledger), limit, limit, {}
        )
        job = {"role": role_to_line(role), "variant": self.variant, "steps": steps}
        assert self.nursery.stdin is not None
        self.nursery.stdin.write((json.dumps(job) + "\n").encode())
        told = json.loads(read_line(self.nursery))
        with closing(open_channel(f"127.0.0.1:{told['port']}")) as channel:
            try:
                yield told["pid"], oracle_pb2_grpc.LocalRandomizerOracleServiceStub(channel)
                self.kills += _gone(told["pid"])
            finally:
                kill(told["pid"])

    def send(self, stub: Any, asked: list[Request], killed: int | None, after: int) -> None:
        """All at once; with `killed`, that process is killed after so many replies, while the others are on their way."""
        messages = [codec.request_to_wire(one, EVERYBODY) for one in asked]
        calls = [stub.Randomize(message, timeout=20) for message in messages]
        for number, (one, call) in enumerate(zip(asked, calls, strict=True)):
            if killed is not None and number == after:
                kill(killed)
            self._hear(one, call)

    def _hear(self, one: Request, call: Any) -> None:
        try:
            parts = [one.randomizer.unpack(part.packed, part.reports) for part in call]
        except grpc.RpcError as failure:
            told: LocalDpError = error_of(failure, "the agent")
            assert isinstance(told, Unreachable | BudgetExhausted), repr(told)
            return
        self.answers += 1
        reports = tuple(bool(bit) for part in parts for bit in part)
        self.heard.setdefault(one.request_id, set()).add(reports)

    def check(self) -> None:
        """The promise, by what was heard and what is in the file."""
        unkilled = party(people(PEOPLE), ledger=MemoryLedger(PEOPLE, COST * 100), budget=COST * 100)
        for one in REQUESTS:
            expected = tuple(bool(bit) for bit in unkilled.randomize(one, EVERYBODY))
            assert self.heard.get(one.request_id, {expected}) == {expected}, "two different reports"
        entries = entries_in(self.ledger, self.role.chain_key)
        spent = sum(spent_by_day(entries, PEOPLE).values(), np.zeros(PEOPLE, np.int64))
        assert int(spent.max()) <= BUDGET.nanonats, "more was spent than the budget"
        assert len(self.heard) * COST.nanonats <= int(spent.min()), (
            "something was answered that was not charged"
        )


def kill(pid: int) -> None:
    """kill -9, and wait until it is gone; its parent reaps it later."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    wait_until(lambda: _gone(pid), "the agent is gone")


def _gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def run_campaign(number: int, directory: Path, nursery: Popen[bytes], variant: str = "sound") -> Campaign:
    """Ten agents, one after the other; then one that lives, asked for everything again."""
    choice = random.Random(number)  # noqa: S311 - it chooses when to kill
    campaign = Campaign(directory / f"{variant} {number}", nursery, variant)
    for turn in range(KILLS):
        asked = choice.choices(REQUESTS, k=4)
        outside = turn % 2 == 0
        with campaign.agent(-1 if outside else choice.randrange(MOST_STEPS)) as (pid, stub):
            campaign.send(stub, asked, pid if outside else None, choice.randrange(4))
        campaign.check()
    with campaign.agent(-1) as (_, stub):
        campaign.send(stub, REQUESTS * 2, None, 0)
    campaign.check()
    return campaign


@contextmanager
def a_nursery(directory: Path) -> Iterator[Popen[bytes]]:
    """The process that starts agents."""
    with stage(directory) as made, module(made, "tests.fault.kill_nursery") as nursery:
        yield nursery


def test_agents_that_are_killed_keep_the_promise(tmp_path: Path) -> None:
    with a_nursery(tmp_path) as nursery:
        campaign = run_campaign(1, tmp_path, nursery)
    assert campaign.kills >= KILLS - 3  # a fuse may outlast the requests, when most of them are refused
    assert len(campaign.heard) == AFFORDABLE  # the last one, which lived, answered what was affordable


@pytest.mark.nightly
@pytest.mark.parametrize("part", range(4))
def test_two_hundred_agents_that_are_killed_keep_the_promise(tmp_path: Path, part: int) -> None:
    with a_nursery(tmp_path) as nursery:
        campaigns = [run_campaign(100 + 6 * part + number, tmp_path, nursery) for number in range(6)]
    assert sum(campaign.kills for campaign in campaigns) >= 50


@pytest.mark.parametrize(
    ("variant", "complaint"),
    [("charge-after-reply", "not charged"), ("fresh-coins", "two different reports")],
)
def test_the_killings_notice_an_agent_that_is_broken(tmp_path: Path, variant: str, complaint: str) -> None:
    with a_nursery(tmp_path) as nursery, pytest.raises(AssertionError, match=complaint):
        run_campaign(2, tmp_path, nursery, variant)


def test_the_budget_of_the_killings_is_a_whole_number_of_requests() -> None:
    assert Epsilon(COST.nanonats * AFFORDABLE) == BUDGET < COST * len(REQUESTS)
