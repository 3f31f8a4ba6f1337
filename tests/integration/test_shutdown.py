"""SIGTERM while a round streams: what was begun is finished, nothing new is begun, and the process ends well."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from pathlib import Path

import pytest

from localdp.cohorts import Cohort
from localdp.errors import Unreachable
from localdp.party.party import Request
from localdp.randomizers.unary import SymmetricUnaryEncoding
from parties.coordinator import Peer, RemoteParties
from parties.relay.limits import WINDOW_PARTS
from parties.relay.server import RelayServer
from tests.support.agents import running, succeeded, write_agent
from tests.support.federations import ONE
from tests.support.processes import stage

PEOPLE = 400_000  # 16 bytes each: six messages
SECONDS = 20.0

Process = subprocess.Popen[bytes]


@contextmanager
def dialled(directory: Path) -> Iterator[tuple[Process, Callable[[], RemoteParties]]]:
    """An agent that listens."""
    config = write_agent(directory, people=PEOPLE)
    succeeded(directory, "agent", "init", "agent.toml")
    with stage(directory) as made, running(made, config) as (process, address):
        yield process, lambda: RemoteParties([Peer("clinic", address)], SECONDS)


@contextmanager
def attached(directory: Path) -> Iterator[tuple[Process, Callable[[], RemoteParties]]]:
    """An agent that dials."""
    with ExitStack() as stack:
        relay = stack.enter_context(RelayServer())
        config = write_agent(directory, people=PEOPLE, more=f'[dial]\ncoordinator = "{relay.address}"\n')
        succeeded(directory, "agent", "init", "agent.toml")
        made = stack.enter_context(stage(directory))
        process, _ = stack.enter_context(running(made, config))
        relay.wait_for(["clinic"], SECONDS)
        yield process, lambda: relay.parties(["clinic"], SECONDS)


@pytest.mark.parametrize("reached", [dialled, attached])
def test_a_round_that_streams_when_the_agent_is_told_to_end_comes_whole(
    reached: Callable[[Path], AbstractContextManager[tuple[Process, Callable[[], RemoteParties]]]],
    tmp_path: Path,
) -> None:
    asked = Request(bytes(16), "age", SymmetricUnaryEncoding(ONE, 121))
    with reached(tmp_path) as (process, parties), closing(parties()) as remote:
        answers = remote.reports(asked, Cohort(0, PEOPLE))
        received = [len(next(answers))]
        process.send_signal(signal.SIGTERM)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.5)  # it has not finished yet, and does not go
        received += [len(part) for part in answers]
        assert len(received) > 1 + WINDOW_PARTS and sum(received) == PEOPLE
        assert process.wait(SECONDS) == 0
        with pytest.raises(Unreachable):
            parties()
        assert process.stderr is not None
        assert b"Traceback" not in process.stderr.read()
    told = succeeded(tmp_path, "budget", "show", "agent.toml")
    assert (told["uses"], told["people_with_nothing_left"]) == (1, 0)
