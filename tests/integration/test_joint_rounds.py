"""Rounds of joint noise and of the noisy maximum when every message takes 40 ms, between three durable processes.

All channels lead through relays that hold back what passes (`tests/support/delay.py`), those of the collector as well.  A
round is one delay, and so is the way from the collector and the way back.  How many rounds there are is counted in
tests/unit/computing/test_joint_release.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest

from benchmarks.joint import ONE, release_seconds
from localdp.experiments.population import made_up_people
from localdp.randomness.keystream import KeystreamSource
from localdp.sharing.encoding import Encoding
from localdp.sharing.selection import Selection
from parties.coordinator import Peer
from parties.shares import collector
from parties.shares.collector import RemoteShareServers
from parties.simulation.launcher import Simulation
from tests.support.delay import delayed

DELAY_SECONDS = 0.040
CASES: list[tuple[Encoding, Selection | None, int, float]] = [
    (Encoding.count(), None, 20, 1.0),
    (Encoding.histogram(256), Selection("largest", 256), 70, 3.5),
]


@pytest.fixture(scope="module")
def running() -> Iterator[Simulation]:
    with Simulation(
        [made_up_people(1, KeystreamSource.from_system())], budget=ONE, servers=3, synced=True
    ) as started:
        yield started


def test_the_collector_hears_how_far_the_servers_are(
    running: Simulation, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard = list[str]()
    monkeypatch.setattr(collector, "FOLLOWED_SECONDS", 0.001)
    monkeypatch.setattr(running.shared, "_told", heard.append)
    release_seconds(running.shared, running.share_servers, Encoding.histogram(4096), None, turns=1)
    assert heard and set(heard) <= {f"the share servers compute together: round {n}" for n in range(1, 30)}


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("encoding", "selection", "rounds", "most"), CASES, ids=["count", "maximum of 256"]
)
def test_a_release_takes_its_rounds_and_hardly_more_when_every_message_is_late(
    running: Simulation, encoding: Encoding, selection: Selection | None, rounds: int, most: float
) -> None:
    at_once = release_seconds(running.shared, running.share_servers, encoding, selection)
    with delayed([peer.address for peer in running.share_servers], DELAY_SECONDS) as addresses:
        peers = [
            Peer(peer.name, address) for peer, address in zip(running.share_servers, addresses, strict=True)
        ]
        with closing(RemoteShareServers(running.parties, peers)) as slow:
            late = release_seconds(slow, peers, encoding, selection)
    print(
        f"{rounds} rounds: {at_once:.3f} s at once, {late:.3f} s with {DELAY_SECONDS * 1000:.0f} ms a message"
    )
    assert rounds * DELAY_SECONDS < late < most
    assert late < (rounds + 2 + 2) * DELAY_SECONDS + 3 * at_once  # a busy machine is late, too
