"""A server that lies while three draw joint noise over gRPC: the analyst hears all of them, and honest ones note suspects.

The liar says what it likes to the analyst, too.  So the analyst is told what each of the three says, and not what the first
one says: where that is the liar, two honest servers would stand accused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import pytest

from localdp.cohorts import Cohort
from localdp.computing.dialogue import SERVERS, Dialogue, Exchange
from localdp.computing.joint_release import joint_release
from localdp.errors import ComputationAborted
from localdp.oracles.collecting import run_collection
from localdp.sharing.collection import Collection
from localdp.sharing.joint_terms import JointTerms
from localdp.sharing.noise_plans import NoisePlan
from localdp.sharing.share_server import ShareServer
from localdp.sharing.storage import Published
from parties.shares import joint
from parties.shares.service import ShareService
from tests.support.federations import Served, collection_of, party, people, served

PEOPLE = 8
EVERYBODY = Cohort(0, PEOPLE)
NAMES = tuple(f"server-{number}" for number in range(SERVERS))


def flipped(octets: bytes) -> bytes:
    return octets[:-1] + bytes([octets[-1] ^ 1])


@dataclass
class Liar:
    """Which server lies, at which of its messages, and what it makes of it."""

    server: int = -1
    number: int = 0
    change: Callable[[bytes], bytes] = flipped
    services: list[ShareService] = field(default_factory=list)

    def wrap(self, _number: int, server: ShareServer) -> ShareService:
        self.services.append(ShareService(server))
        return self.services[-1]

    def part(self, terms: JointTerms, *arguments: object) -> Dialogue[Published]:
        """A server's part; the liar's with another message to the server before it."""
        dialogue = joint_release(terms, *arguments)  # type: ignore[arg-type]
        told, number = None, 0
        while True:
            try:
                said: Exchange = next(dialogue) if told is None else dialogue.send(told)
            except StopIteration as end:
                result: Published = end.value
                return result
            if (terms.server, number) == (self.server, self.number):
                said = replace(said, to_previous=self.change(said.to_previous))
            told, number = (yield said), number + 1

    def named(self, number: int) -> set[int]:
        """Whom a server has in its metrics."""
        told = self.services[number]._observer.exposition()
        return {one for one, name in enumerate(NAMES) if f'named_total{{server="{name}"}}' in told}


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Liar, Served]]:
    liar = Liar()
    monkeypatch.setattr(joint, "joint_release", liar.part)
    with served([party(people(PEOPLE))], wrap_server=liar.wrap, servers=SERVERS) as federation:
        yield liar, federation


def joint_collection(federation: Served) -> Collection:
    return collection_of(
        federation.parties, servers=NAMES, plan=NoisePlan.JOINT, binding=federation.shared.bind(bytes(16))
    )


@pytest.mark.parametrize("server", range(SERVERS))
def test_the_analyst_hears_every_server_and_the_honest_ones_have_it_in_their_metrics(
    stage: tuple[Liar, Served], server: int
) -> None:
    liar, federation = stage
    collection = joint_collection(federation)
    honest = [number for number in range(SERVERS) if number != server]
    liar.server, liar.number = server, 3  # a gate of a comparison
    with pytest.raises(ComputationAborted) as stopped:
        run_collection(federation.shared, collection, EVERYBODY)
    for number in honest:
        _, _, said = str(stopped.value).partition(
            f"share server {NAMES[number]}: the proof of share server "
        )
        assert f"share server {NAMES[server]}" in said.partition(" is dishonest")[0]
        assert server in liar.named(number) and number not in liar.named(number)
    liar.server = -1
    assert run_collection(federation.shared, collection, EVERYBODY)[1] == PEOPLE


def test_who_says_something_of_another_length_is_named_alone(stage: tuple[Liar, Served]) -> None:
    liar, federation = stage
    liar.server, liar.number, liar.change = 2, 3, lambda octets: octets[:-1]
    with pytest.raises(ComputationAborted, match="share server server-2 says something else"):
        run_collection(federation.shared, joint_collection(federation), EVERYBODY)
    assert liar.named(1) == {2}
