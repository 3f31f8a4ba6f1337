"""A share server that is killed before the release, and an agent whose people can pay for two collections and no more."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.errors import BudgetExhausted, Unreachable
from localdp.oracles.shared import SharedOracle
from localdp.randomness.keystream import KeystreamSource
from localdp.sharing.collection import Collection
from localdp.sharing.storage import Published
from parties.coordinator import Peer, RemoteParties
from parties.repeating import Patience
from parties.shares.collector import RemoteShareServers
from tests.fault.test_forgetful_servers import PEOPLE, SECONDS, Process, made_agent, process
from tests.support.agents import running
from tests.support.processes import stage, wait_until

HALF = Epsilon.requested("0.005")  # of what each person has
PATIENT = Patience(attempts=40, longest_pause_seconds=0.5)


class Interrupted(RemoteShareServers):
    """The helper is killed right before the release, if it is told here."""

    helper: Process | None = None
    back: threading.Thread | None = None

    def release(self, collection: Collection, accepted: bytes, signed: Sequence[bytes]) -> list[Published]:
        if self.helper is not None:
            self.helper.stop(signal.SIGKILL)
            self.helper = None
            if self.back is not None:
                self.back.start()
        return super().release(collection, accepted, signed)


@contextmanager
def federation(directory: Path) -> Iterator[tuple[list[Peer], Process, RemoteParties]]:
    """Two share servers and an agent, each a process."""
    with (
        stage(directory) as place,
        process(place, "server-0") as leader,
        process(place, "server-1") as helper,
    ):
        servers = {one.name: one.address for one in (leader, helper)}
        with (
            running(place, made_agent(directory, np.arange(PEOPLE) % 2 == 0, servers)) as (_, agent),
            closing(RemoteParties([Peer("clinic", agent)])) as parties,
        ):
            yield [Peer(name, address) for name, address in servers.items()], helper, parties


def insisted(oracle: SharedOracle) -> int:
    """Ask again until it is answered, as whoever gets impatient would: a channel does not dial again at once."""
    told: list[int] = []

    def is_answered() -> bool:
        with suppress(Unreachable):
            told.append(oracle.answer(["smoker"])[0].reports)
        return bool(told)

    wait_until(is_answered, "the share servers answer")
    return told[0]


def test_a_server_that_is_killed_before_the_release_costs_nobody_a_second_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(
        "LOCALDP_NO_NUMBA", "1"
    )  # processes that live for a second have nothing to compile for
    with federation(tmp_path) as (peers, helper, parties):
        with closing(Interrupted(parties, peers, SECONDS, patience=Patience(attempts=1))) as hasty:
            oracle = SharedOracle(hasty, HALF, KeystreamSource.from_system())
            hasty.helper = helper
            with pytest.raises(Unreachable, match="server-1"):
                oracle.answer(["smoker"])
            helper.start()
            assert insisted(oracle) == PEOPLE
            assert oracle.cost.rounds == 1 and oracle.cost.epsilon_promised == HALF
        with closing(Interrupted(parties, peers, SECONDS, patience=PATIENT)) as patient:
            oracle = SharedOracle(patient, HALF, KeystreamSource.from_system())
            patient.helper, patient.back = helper, threading.Thread(target=helper.start)
            assert oracle.answer(["smoker"])[0].reports == PEOPLE  # nobody noticed
            patient.back.join(SECONDS)
            assert patient.repeated > 0
            with pytest.raises(BudgetExhausted):  # both halves are spent
                oracle.answer(["smoker"])
