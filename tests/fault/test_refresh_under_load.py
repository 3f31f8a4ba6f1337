"""An owner publishes another table again and again while clients ask, and owner and agent are killed (kill -9) in between.

All bits are 0 in one state of the table and 1 in the other, and epsilon is so large that hardly a report is flipped: with
e^-5 of 1 + e^-5, more than 60 of 640 with a chance below 1e-40.  An answer with 61 to 579 ones is therefore a mixture of
two states.  Each answer is of the epoch that its request names, and an epoch has one state, whatever was killed meanwhile.
"""

from __future__ import annotations

import os
import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import Popen

import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.cohorts import Cohort
from localdp.errors import Busy, DeadlineMissed, LocalDpError, RequestExpired, Unreachable
from localdp.party.party import Request
from localdp.randomizers.one_bit import OneBitRandomizer
from parties.agent.config import AgentConfig, load_config
from parties.agent.epochs import opened_epoch
from parties.agent.state import LEDGER_NAME, init_storage
from parties.coordinator import Peer, RemoteParties
from tests.support.processes import PATIENCE_SECONDS, Stage, module, read_line, stage, wait_until

ASKED, FLIPPED = 640, 60
RANDOMIZER = OneBitRandomizer(Epsilon.requested(5), 1)
TIMES = 6  # that each person can be asked
CLIENTS = 3
CONFIG = """
name = "clinic"
[data]
path = "patients.csv"
person = "patient"
[schema]
smoker = { kind = "bit" }
[budget]
total = 30
[policy]
largest_epsilon = 5
[observe]
log = "error"
"""


@dataclass
class Heard:
    """What clients were answered: the counts of ones by epoch, and what must not happen."""

    cohorts: Iterator[Cohort]
    counts: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    repeated: int = 0
    killed: int = 0  # publications
    wrong: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def answers(self) -> int:
        """How many there were."""
        with self.lock:
            return sum(map(len, self.counts.values()))

    def mixtures(self) -> list[tuple[int, int]]:
        """Answers that are of neither state, and epochs that have both."""
        with self.lock:
            told = {epoch: list(counts) for epoch, counts in self.counts.items()}
        return [
            (epoch, one)
            for epoch, counts in told.items()
            for one in counts
            if FLIPPED < one < ASKED - FLIPPED or (one > FLIPPED) != (counts[0] > FLIPPED)
        ]


def write_table(config: Path, bit: int, people: int) -> None:
    """The table in one of its two states, whole or not at all."""
    rows = "".join(f"p{person},{bit}\n" for person in range(people))
    part = config.with_name("patients.part")
    part.write_text(f"patient,smoker\n{rows}")
    part.replace(config.with_name("patients.csv"))


def ones(remote: RemoteParties, request: Request, cohort: Cohort) -> bytes:
    """The reports, a byte each."""
    return bytes(int(bit) for part in remote.reports(request, cohort) for bit in part)


def ask(address: list[str], storage: Path, heard: Heard, stop: threading.Event) -> None:
    """Ask whoever is there, each request twice, until told to stop."""
    while not stop.is_set():
        try:
            with closing(RemoteParties([Peer("clinic", address[-1])], PATIENCE_SECONDS)) as remote:
                while not stop.is_set():
                    ask_once(remote, storage, heard)
        except (Unreachable, DeadlineMissed, Busy):
            stop.wait(0.1)
        except (LocalDpError, StopIteration) as error:
            heard.wrong.append(repr(error))
            return


def ask_once(remote: RemoteParties, storage: Path, heard: Heard) -> None:
    """One request of the epoch that is open, and the same again."""
    opened = opened_epoch(storage / LEDGER_NAME)
    assert opened is not None
    with heard.lock:
        cohort = next(heard.cohorts)
    request = Request(os.urandom(16), "smoker", RANDOMIZER, epoch=opened.number)
    try:
        told = ones(remote, request, cohort)
        with heard.lock:
            heard.counts[opened.number].append(sum(told))
        if ones(remote, request, cohort) != told:
            heard.wrong.append("the same request has another answer")
        heard.repeated += 1
    except RequestExpired:
        return


@contextmanager
def agent(made: Stage, variant: str, config: Path) -> Iterator[tuple[Popen[bytes], str]]:
    """An agent that serves."""
    with module(made, "tests.fault.refresh_process", variant, str(config)) as process:
        yield process, read_line(process).strip()


def answered(heard: Heard, further: int) -> None:
    """Wait until clients were answered so often again, or something went wrong."""
    enough = heard.answers + further
    wait_until(lambda: bool(heard.wrong) or heard.answers >= enough, "clients were answered")


def published(owner: Popen[bytes], fraction: float) -> str:
    """Have the table published, or the publication killed after a part of its lines."""
    assert owner.stdin is not None
    owner.stdin.write(b"%.6f\n" % fraction)
    return read_line(owner, 120).strip()  # by night the table has 640,000 people, and clients ask meanwhile


def prepared(directory: Path, people: int) -> tuple[Path, AgentConfig, Heard]:
    """An agent's state, and whom clients will ask."""
    path = directory / "agent.toml"
    path.write_text(CONFIG)
    write_table(path, 0, people)
    config = load_config(path)
    init_storage(config)
    starts = [start for _ in range(TIMES) for start in range(0, people - ASKED + 1, ASKED)]
    return path, config, Heard(Cohort(start, start + ASKED) for start in starts)


def refreshed(directory: Path, variant: str, rounds: int, deaths: int) -> Heard:
    """Publish so often while clients ask; every second publication is killed, and in `deaths` rounds so is the agent."""
    people = ASKED * 10 * rounds
    path, config, heard = prepared(directory, people)
    stop, address = threading.Event(), list[str]()
    with stage(directory) as made, ExitStack() as stack:
        owner = stack.enter_context(module(made, "tests.fault.refresh_process", "publish", str(path)))
        process, bound = stack.enter_context(agent(made, variant, path))
        address.append(bound)
        clients = [
            threading.Thread(target=ask, args=(address, config.storage, heard, stop))
            for _ in range(CLIENTS)
        ]
        for one in clients:
            one.start()
        try:
            for number in range(rounds):
                answered(heard, CLIENTS)
                if heard.mixtures():
                    break
                write_table(path, (number + 1) % 2, people)
                if number % 2:
                    heard.killed += published(owner, (number * 0.381966) % 1) == "killed"
                if number % max(1, rounds // max(1, deaths)) == 1 and len(address) <= deaths:
                    process.kill()
                    process.wait()
                    process, bound = stack.enter_context(agent(made, variant, path))
                    address.append(bound)
                assert published(owner, 1) == "open"
            answered(heard, 2 * CLIENTS)
        finally:
            stop.set()
            for one in clients:
                one.join(2 * PATIENCE_SECONDS)
    return heard


def check(heard: Heard, rounds: int) -> None:
    """Every answer is of one state, and the state is the epoch's."""
    assert heard.wrong == []
    assert heard.mixtures() == []
    assert heard.repeated and heard.killed and heard.answers >= rounds * CLIENTS
    states = {counts[0] > FLIPPED for counts in heard.counts.values()}
    assert states == {False, True}


def test_nobody_is_answered_from_a_mixture_of_two_tables(tmp_path: Path) -> None:
    check(refreshed(tmp_path, "sound", rounds=4, deaths=1), rounds=4)


@pytest.mark.nightly
def test_nor_in_a_hundred_publications_with_many_deaths(tmp_path: Path) -> None:
    check(refreshed(tmp_path, "sound", rounds=100, deaths=20), rounds=100)


@pytest.mark.nightly  # a mixture is rare: 1 answer of 38
def test_an_agent_that_swaps_its_columns_while_it_answers_is_noticed(tmp_path: Path) -> None:
    assert refreshed(tmp_path, "swapping", rounds=12, deaths=0).mixtures()
