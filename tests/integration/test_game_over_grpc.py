"""The game of Definition 3.7 over real gRPC: the same coins give the same transcript, and the agent's ledger ends it."""

from __future__ import annotations

from contextlib import closing

import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.ledger import MemoryLedger
from localdp.attacks.composition_game import (
    OTHERS,
    SCHEMA,
    Adversary,
    AllAtOnce,
    Enter,
    StepByStep,
    Transcript,
    guess,
    play,
)
from localdp.attacks.subset_sums import guess_bound
from localdp.domains import Records
from localdp.oracles.lr import InProcessLROracle, LROracle
from localdp.party.party import Party
from localdp.party.policy import Policy
from localdp.randomness.hazmat import SeededSource
from parties.agent.service import SERVICE_NAME, AgentService
from parties.coordinator import Peer, RemoteParties
from tests.support.federations import Loopback, loopback

ONE, PLENTY = Epsilon.requested(1), Epsilon(10**12)


def party_of(number: int, limit: Epsilon) -> Party:
    nobody = Records(SCHEMA, {"secret": np.zeros(OTHERS + 1, np.bool_)})
    ledger, policy = MemoryLedger(OTHERS + 1, limit), Policy(largest_epsilon=Epsilon.requested(30))
    return Party("party", nobody, number.to_bytes(32, "big"), ledger, policy)


def entering(party: Party, reached: LROracle) -> Enter:
    def enter(records: Records) -> LROracle:
        party.enter(party.epoch.next(records))
        return reached

    return enter


def here(adversary: Adversary, number: int, limit: Epsilon) -> Transcript:
    party = party_of(number, limit)
    return play(adversary, number % 2, entering(party, InProcessLROracle([party])), SeededSource(number))


def there(threads: Loopback, adversary: Adversary, number: int, limit: Epsilon) -> Transcript:
    party = party_of(number, limit)
    address = threads.serve(SERVICE_NAME, AgentService(party, {}))
    with closing(RemoteParties([Peer("party", address)])) as remote:
        return play(adversary, number % 2, entering(party, remote), SeededSource(number))


def test_over_grpc_the_transcript_is_that_of_the_same_party_in_process() -> None:
    with loopback() as threads:
        for number in range(6):
            for adversary in (AllAtOnce(ONE), StepByStep(ONE, 20)):
                heard = there(threads, adversary, number, ONE)
                assert heard == here(adversary, number, ONE)
        assert heard[-1].report is None  # the agent's ledger refused


@pytest.mark.nightly
def test_over_grpc_the_game_is_won_as_often_as_the_ledger_allows_and_always_without() -> None:
    # n = 400 games: four deviations of a fraction of 0.731 are 0.089.
    with loopback() as threads:
        games = [guess(there(threads, AllAtOnce(ONE), number, ONE)) == number % 2 for number in range(400)]
        assert guess_bound(1) - 0.089 < np.mean(games) < guess_bound(1) + 0.089
        assert all(
            guess(there(threads, AllAtOnce(ONE, 64), number, PLENTY)) == number % 2 for number in range(6)
        )
