"""Agents and shufflers of flooded rounds under kill -9, between any two steps of a round.

An agent that was killed sends the same messages again, and nobody pays twice.  A shuffler that was killed has released a
round once or not at all: when the next one finds a party gone, so that it would release fewer messages, it refuses if the
analyst has heard, or could have heard, anything of the release with everybody.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import Popen
from typing import Any

import grpc
import numpy as np
import pytest

from localdp.cohorts import Cohort
from localdp.domains import Records
from localdp.sharing.flooded_batch import SEALED_BYTES, opened_codes, packed_codes
from localdp.sharing.flooded_round import FloodedRound
from parties import codec
from parties.flood_codec import flood_to_wire, question_to_wire
from parties.serving import open_channel
from parties.simulation.roles import AgentRole, ShufflerRole, role_to_line, save_records
from parties.wire.v1 import oracle_pb2_grpc, shuffler_pb2, shuffler_pb2_grpc
from tests.fault.test_kill_nine import a_nursery, kill
from tests.support.flooding import SECRET, plan_of, question_of, round_at
from tests.support.ledgers import entries_in, spent_by_day
from tests.support.people import KEYRING, ONE, population
from tests.support.processes import read_line

PEOPLE = 20  # of each agent
PLAN = plan_of(2 * PEOPLE, PEOPLE)
NAMES = ("party-0", "party-1")
STEPS = 30  # more than a round has, for an agent and for a shuffler
MANY = ONE * 1000

Said = tuple[int, int]  # people and messages, as a shuffler says


def round_number(number: int) -> FloodedRound:
    return round_at(question_of(PLAN, number=number), *((name, PEOPLE) for name in NAMES))


@dataclass
class Heard:
    """What an analyst heard of one round, from whatever shuffler."""

    said: set[Said] = field(default_factory=set)
    sealed: set[bytes] = field(default_factory=set)

    def require_one_release(self) -> None:
        assert len(self.said) <= 1 and len(self.sealed) <= max(
            (told[1] for told in self.said), default=0
        ), "released twice"


@dataclass
class Round:
    """Two agents and a shuffler with their files, and processes that serve from these one after the other."""

    directory: Path
    nursery: Popen[bytes]
    variant: str = "sound"  # of the shuffler
    agents: str = "sound"

    def __post_init__(self) -> None:
        self.directory.mkdir()
        self.heard: dict[int, Heard] = {}
        for number, name in enumerate(NAMES):
            records: Records = population(2 * PEOPLE).slice(number * PEOPLE, (number + 1) * PEOPLE)
            save_records(records, self.directory / f"{name}.npz")

    def role(self, number: int) -> AgentRole:
        """Of an agent that pays for many rounds."""
        name, secret = NAMES[number], KEYRING.party(number).hex()
        files = str(self.directory / f"{name}.npz"), str(self.directory / f"{name}.ledger")
        return AgentRole(name, secret, *files, MANY.nanonats, MANY.nanonats, {})

    def start(self, role: Any, variant: str, steps: int = -1, **more: str) -> tuple[int, str]:
        """A process that dies after so many steps: its id, and its address."""
        job = {"role": role_to_line(role), "variant": variant, "steps": steps, **more}
        assert self.nursery.stdin is not None
        self.nursery.stdin.write((json.dumps(job) + "\n").encode())
        told = json.loads(read_line(self.nursery))
        return told["pid"], f"127.0.0.1:{told['port']}"

    @contextmanager
    def agent(self, number: int, steps: int = -1) -> Iterator[tuple[int, str]]:
        pid, address = self.start(self.role(number), self.agents, steps)
        try:
            yield pid, address
        finally:
            kill(pid)

    @contextmanager
    def mixer(
        self, addresses: list[str], steps: int = -1
    ) -> Iterator[tuple[int, shuffler_pb2_grpc.ShufflerServiceStub]]:
        promise = ONE.nanonats, "1/1000", 0, 1000, 10
        role = ShufflerRole("mixer", bytes(32).hex(), dict(zip(NAMES, addresses, strict=True)), *promise)
        pid, address = self.start(role, self.variant, steps, ledger=str(self.directory / "promised"))
        try:
            with closing(open_channel(address)) as channel:
                yield pid, shuffler_pb2_grpc.ShufflerServiceStub(channel)
        finally:
            kill(pid)

    def ask(self, stub: shuffler_pb2_grpc.ShufflerServiceStub, number: int) -> bool:
        """Ask for a round; whether all of it came."""
        question = question_to_wire(round_number(number).question)
        everybody = [codec.cohort_to_wire(Cohort(0, 2 * PEOPLE))]
        asked = shuffler_pb2.ShuffleFloodedRequest(question=question, cohorts=everybody)
        heard = self.heard.setdefault(number, Heard())
        try:
            for one in stub.ShuffleFlooded(asked, timeout=20):
                heard.said.add((one.people, one.messages))
                rows = range(0, len(one.packed), SEALED_BYTES)
                heard.sealed |= {one.packed[place : place + SEALED_BYTES] for place in rows}
        except grpc.RpcError:
            return False
        return True

    def spent(self, number: int) -> int:
        """What each person of an agent has paid, in nanonats."""
        role = self.role(number)
        entries = entries_in(Path(role.ledger), role.chain_key)
        spent = sum(spent_by_day(entries, PEOPLE).values(), np.zeros(PEOPLE, np.int64))
        assert spent.min() == spent.max()
        return int(spent.max())

    def flood(self, address: str, number: int) -> bytes:
        """What an agent sends of a round, as far as it comes."""
        told = b""
        with closing(open_channel(address)) as channel:
            stub = oracle_pb2_grpc.LocalRandomizerOracleServiceStub(channel)
            try:
                for one in stub.Flood(flood_to_wire(round_number(number), Cohort(0, PEOPLE)), timeout=20):
                    told += one.packed
            except grpc.RpcError:
                pass
        return told


def agent_killed_at(step: int, tried: Round) -> None:
    """A round of an agent that dies at this step, and the same one of the next agent."""
    before, cost = _paid(tried), ONE.nanonats
    with tried.agent(0, step) as (_, address):
        first = tried.flood(address, step + 1)
    assert _paid(tried) >= before + (cost if first else 0), "something was sent that was not charged"
    with tried.agent(0) as (_, address):
        again = tried.flood(address, step + 1)
    assert len(again) == SEALED_BYTES * PLAN.size(PEOPLE)
    assert again.startswith(first), "two different batches"
    assert _paid(tried) == before + cost


def _paid(tried: Round) -> int:
    return tried.spent(0) if Path(tried.role(0).ledger).exists() else 0


def shuffler_killed_at(step: int, tried: Round) -> None:
    """One dies at this step, the next one finds a party gone, and the third one has everybody again."""
    number = step + 1
    with tried.agent(0) as (_, first):
        with tried.agent(1) as (gone, second):
            with tried.mixer([first, second], step) as (_, stub):
                tried.ask(stub, number)
            with tried.mixer([first, second]) as (_, stub):
                kill(gone)
                fewer = tried.ask(stub, number)
        with tried.agent(1) as (_, second), tried.mixer([first, second]) as (_, stub):
            everybody = tried.ask(stub, number)
    tried.heard[number].require_one_release()
    assert fewer != everybody  # exactly one of them, and always the same messages


@pytest.fixture
def nursery(tmp_path: Path) -> Iterator[Popen[bytes]]:
    with a_nursery(tmp_path) as made:
        yield made


def _agents_killed(tmp_path: Path, nursery: Popen[bytes], steps: range) -> None:
    tried = Round(tmp_path / "agents", nursery)
    for step in steps:
        agent_killed_at(step, tried)


def _shufflers_killed(tmp_path: Path, nursery: Popen[bytes], steps: range) -> None:
    tried = Round(tmp_path / "shufflers", nursery)
    for step in steps:
        shuffler_killed_at(step, tried)
    assert [tried.spent(number) for number in (0, 1)] == [len(steps) * ONE.nanonats] * 2


def test_an_agent_that_is_killed_sends_the_same_messages_at_no_further_charge(
    tmp_path: Path, nursery: Popen[bytes]
) -> None:
    _agents_killed(tmp_path, nursery, range(0, STEPS, 5))


def test_a_shuffler_that_is_killed_releases_a_round_once(tmp_path: Path, nursery: Popen[bytes]) -> None:
    _shufflers_killed(tmp_path, nursery, range(3, STEPS, 9))


@pytest.mark.nightly
def test_agents_and_shufflers_that_are_killed_at_any_step(tmp_path: Path, nursery: Popen[bytes]) -> None:
    _agents_killed(tmp_path, nursery, range(STEPS))
    _shufflers_killed(tmp_path, nursery, range(STEPS))


@pytest.mark.parametrize(
    ("variant", "complaint"), [("charge-after-reply", "not charged"), ("fresh-coins", "two different")]
)
def test_the_killings_notice_a_broken_agent(
    tmp_path: Path, nursery: Popen[bytes], variant: str, complaint: str
) -> None:
    with pytest.raises(AssertionError, match=complaint):
        agent_killed_at(-1, Round(tmp_path / variant, nursery, agents=variant))


@pytest.mark.parametrize("variant", ["forgetful", "late"])
def test_the_killings_notice_a_broken_shuffler(tmp_path: Path, nursery: Popen[bytes], variant: str) -> None:
    with pytest.raises(AssertionError, match="released twice"):
        shuffler_killed_at(-1, Round(tmp_path / variant, nursery, variant))


def test_two_shufflers_and_two_analysts_at_once_release_a_round_once(
    tmp_path: Path, nursery: Popen[bytes]
) -> None:
    """One shuffler has both parties, and the other one finds one gone; they share their ledger."""
    tried = Round(tmp_path / "both", nursery)
    with ExitStack() as stack, ThreadPoolExecutor(4) as pool:
        (_, first), (_, second) = (stack.enter_context(tried.agent(number)) for number in (0, 1))
        gone, other = tried.start(tried.role(1), "sound")
        stubs = [stack.enter_context(tried.mixer([first, one]))[1] for one in (second, other)]
        kill(gone)
        for number in range(3):
            told = list(pool.map(lambda stub, number=number: tried.ask(stub, number), stubs * 2))
            assert any(told)
            tried.heard[number].require_one_release()
            assert told[0] == told[2] and told[1] == told[3] and told[0] != told[1]


def _memory_of(pid: int) -> list[bytes]:
    """All that a process may write to, piece by piece."""
    told = []
    with Path(f"/proc/{pid}/mem").open("rb", 0) as memory:
        for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
            place, rights = line.split()[:2]
            start, stop = (int(one, 16) for one in place.split("-"))
            if rights.startswith("rw") and "[v" not in line:  # the kernel's own are not read
                told.append(os.pread(memory.fileno(), stop - start, start))
    return told


def _marks(sealed: bytes, digest: bytes) -> list[bytes]:
    """Codes of an agent around a place where they change, in both forms that they have."""
    rows = np.frombuffer(sealed, np.uint8).reshape(-1, SEALED_BYTES)
    codes = opened_codes(SECRET, digest, rows)
    (place, *_) = np.flatnonzero((codes[:-1] != codes[1:]) & (codes[:-1] > 0))
    some = codes[place - 9 : place + 11]
    assert len(some) == 20
    return [some.tobytes(), packed_codes(some)]


@pytest.mark.parametrize("variant", ["sound", "reading"])
def test_no_plaintext_in_the_memory_or_on_the_disk_of_a_shuffler(
    tmp_path: Path, nursery: Popen[bytes], variant: str
) -> None:
    """One that reads messages, with the analyst's key, is found out."""
    tried = Round(tmp_path / variant, nursery, variant)
    with tried.agent(0) as (_, first), tried.agent(1) as (_, second):
        with tried.mixer([first, second]) as (pid, stub):
            assert tried.ask(stub, 0)
            memory = _memory_of(pid)
        marks = _marks(tried.flood(first, 0), round_number(0).digest)
    disk = [path.read_bytes() for path in tried.directory.glob("promised*")]
    digest = round_number(0).digest
    assert _is_in(memory, digest) and _is_in(disk, digest)  # what is there is found
    assert any(_is_in(memory, mark) for mark in marks) == (variant == "reading")
    assert not any(_is_in(disk, mark) for mark in marks)


def _is_in(pieces: list[bytes], mark: bytes) -> bool:
    return any(mark in piece for piece in pieces)
