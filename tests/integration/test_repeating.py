"""Peers that are away for a moment, over real gRPC: they are asked again, answer once, and nobody pays twice."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from localdp.accounting.ledger import MemoryLedger
from localdp.cohorts import Cohort
from localdp.errors import BudgetExhausted, LocalDpError, MalformedReport, Unreachable
from localdp.oracles.collecting import run_collection
from localdp.oracles.lr import InProcessLROracle, tally_of
from localdp.party.party import Draw, Party, Request
from parties.agent import plan
from parties.agent.service import SERVICE_NAME, AgentService
from parties.coordinator import Peer, RemoteParties
from parties.repeating import Patience
from parties.rounds.round import Rounds
from parties.shares.collector import RemoteShareServers
from parties.shares.service import SERVICE_NAME as SHARE_SERVICE
from tests.support.broken_parties import FreshSecrets
from tests.support.federations import (
    Loopback,
    collection_of,
    loopback,
    parties_of,
    party,
    people,
    request,
    share_servers_of,
)
from tests.support.flaky import Absences, FlakyAgent, FlakyShareServer
from tests.support.rounds import enrol_peers

PEOPLE = 60
EVERYBODY = Cohort(0, PEOPLE)
ASKED = request(1)
COST = ASKED.randomizer.epsilon.nanonats
QUICK = Patience(4, 0.05, 0.2)


@pytest.fixture(autouse=True)
def small_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight people a message, so that few people make a stream."""
    monkeypatch.setattr(plan, "PEOPLE_PER_PART", 8)


@contextmanager
def asked_of(
    holder: Party, absences: Absences, messages: int = 0, patience: Patience = QUICK, seconds: float = 20.0
) -> Iterator[RemoteParties]:
    """A coordinator of one agent, which is away for a while."""
    with loopback() as threads:
        address = threads.serve(SERVICE_NAME, FlakyAgent(holder, absences, messages))
        with closing(RemoteParties([Peer(holder.name, address)], seconds, patience=patience)) as remote:
            yield remote


def reports(remote: RemoteParties) -> list[bool]:
    return [bool(bit) for part in remote.reports(ASKED, EVERYBODY) for bit in part]


def expected() -> list[bool]:
    return [bool(bit) for bit in party(people(PEOPLE)).randomize(ASKED, EVERYBODY)]


@pytest.mark.parametrize("messages", [0, 1, 3], ids=["at once", "after one message", "after three"])
def test_an_agent_that_is_away_twice_is_asked_three_times_and_answers_whole(messages: int) -> None:
    holder, absences = party(people(PEOPLE)), Absences(2, "Randomize")
    with asked_of(holder, absences, messages) as remote:
        assert reports(remote) == expected()
        assert (absences.made["Randomize"], remote.repeated) == (3, 2)
        assert remote.bytes_moved == -(-PEOPLE // 8)  # each byte once, whatever was sent in vain
    assert set(holder.ledger.spent().tolist()) == {COST}


def test_a_tally_counts_nobody_twice() -> None:
    absences = Absences(2, "Randomize")
    with asked_of(party(people(PEOPLE)), absences, 4) as remote:
        tally = tally_of(remote, ASKED, EVERYBODY)
    twin = tally_of(InProcessLROracle([party(people(PEOPLE))]), ASKED, EVERYBODY)
    assert (tally.reports, tally.sums.tolist()) == (twin.reports, twin.sums.tolist())


def test_one_that_stays_away_is_unreachable_after_the_stated_attempts_and_in_time() -> None:
    absences, seconds = Absences(1000, "Randomize"), 20.0
    with asked_of(party(people(PEOPLE)), absences, 2, seconds=seconds) as remote:
        began = time.monotonic()
        with pytest.raises(Unreachable, match="party-0 cannot be reached"):
            reports(remote)
        assert time.monotonic() - began < seconds / 2  # the pauses are 0.35 s at most
    assert absences.made["Randomize"] == QUICK.attempts


def test_a_deadline_ends_the_attempts() -> None:
    absences = Absences(1000, "Randomize")
    patience = Patience(100, 0.2, 0.2)
    with asked_of(party(people(PEOPLE)), absences, patience=patience, seconds=1.0) as remote:
        began = time.monotonic()
        with pytest.raises(LocalDpError):
            reports(remote)
        assert time.monotonic() - began < 3.0
    assert 2 <= absences.made["Randomize"] <= 11


def test_a_refusal_is_not_repeated() -> None:
    spent = party(people(PEOPLE), ledger=MemoryLedger(PEOPLE, ASKED.randomizer.epsilon))
    spent.randomize(request(2), EVERYBODY)
    absences = Absences(0)
    with asked_of(spent, absences) as remote, pytest.raises(BudgetExhausted):
        reports(remote)
    assert absences.made["Randomize"] == 1


class FreshCoins(Party):
    """Broken: another key for every call."""

    calls = 0

    def charged(self, request: Request, cohort: Cohort, caller: str = "") -> Draw:
        self.calls += 1
        self._secrets = FreshSecrets("", {"": self.calls.to_bytes(32, "big")}, bytes(32))
        return super().charged(request, cohort, caller)


def test_an_agent_that_answers_otherwise_the_second_time_is_noticed() -> None:
    sound = party(people(PEOPLE))
    broken = FreshCoins(sound.name, sound.records, bytes(32), sound.ledger, sound.policy)
    with (
        asked_of(broken, Absences(1, "Randomize"), 5) as remote,
        pytest.raises(MalformedReport, match="answered the same request with other reports"),
    ):
        reports(remote)


def test_an_agent_that_is_away_when_it_is_introduced_is_asked_again() -> None:
    absences = Absences(2, "Describe")
    with asked_of(party(people(PEOPLE)), absences) as remote:
        assert remote.people == PEOPLE
    assert absences.made["Describe"] == 3


def test_a_round_asks_again_from_the_health_check_on_and_its_answer_is_whole(tmp_path: Path) -> None:
    holder, steps = party(people(PEOPLE)), list[str]()
    absences = Absences(2, "Randomize")
    with loopback() as threads, closing(_rounds(tmp_path, steps)) as rounds:
        address = threads.serve(SERVICE_NAME, FlakyAgent(holder, absences, 3))
        assert enrol_peers(rounds.roster, [Peer(holder.name, address)]) == {}
        described = absences.made["Describe"]
        result = rounds.ask("smoker", ASKED.randomizer, deadline_seconds=20.0)
        assert rounds.repeated == 2
    assert result.complete and absences.made["Describe"] == described + 3
    assert steps == [
        "planned",
        "asking",
        "again",
        "asking",
        "again",
        "asking",
        "received",
        "recorded",
        "ended",
    ]
    twin = tally_of(InProcessLROracle([party(people(PEOPLE))]), ASKED, EVERYBODY)
    assert result.tally.sums.tolist() == twin.sums.tolist()
    assert set(holder.ledger.spent().tolist()) == {COST}


def _rounds(directory: Path, steps: list[str]) -> Rounds:
    return Rounds(
        directory / "journal", identifiers=lambda: ASKED.request_id, step=steps.append, patience=QUICK
    )


@contextmanager
def share_servers(threads: Loopback, holder: Party, absences: Absences) -> Iterator[RemoteShareServers]:
    """Two share servers, the first of which is away for a while, and one agent that is, too."""
    services = [
        FlakyShareServer(server, away)
        for server, away in zip(share_servers_of(2), (absences, Absences(0)), strict=True)
    ]
    peers = [
        Peer(f"server-{number}", threads.serve(SHARE_SERVICE, one)) for number, one in enumerate(services)
    ]
    agent = FlakyAgent(holder, absences, share_servers={peer.name: peer.address for peer in peers})
    address = threads.serve(SERVICE_NAME, agent)
    with (
        closing(RemoteParties([Peer(holder.name, address)], 20.0, patience=QUICK)) as remote,
        closing(RemoteShareServers(remote, peers, 20.0, patience=QUICK)) as servers,
    ):
        yield servers


def test_every_call_of_a_collection_may_be_cut_off_twice_and_the_sum_stays_the_same() -> None:
    methods = ("OpenCollection", "Contribute", "GetHolding", "Release")
    results = []
    for failures in (0, 2):
        absences, holder = Absences(failures, *methods), party(people(PEOPLE))
        collection = collection_of([holder])
        with loopback() as threads, share_servers(threads, holder, absences) as servers:
            results.append(run_collection(servers, collection, EVERYBODY))
            assert servers.repeated == 3 * failures
        assert all(absences.made[method] == 1 + failures for method in methods)
        assert set(holder.ledger.spent().tolist()) == {collection.epsilon.nanonats}
    assert [(sums.tolist(), reports) for sums, reports in results[:1]] == [
        (sums.tolist(), PEOPLE) for sums, _ in results[1:]
    ]


class Garbled(AgentService):
    """Sends as many reports as it is asked for, in too many bytes."""

    async def Randomize(self, request: Any, context: Any) -> Any:  # noqa: N802
        async for message in super().Randomize(request, context):
            message.packed += b"x"
            yield message


def test_whose_bytes_are_no_reports_is_named() -> None:
    sound, garbled = parties_of(people(20), 2)
    with loopback() as threads:
        services = {sound.name: AgentService(sound, {}), garbled.name: Garbled(garbled, {})}
        peers = [Peer(name, threads.serve(SERVICE_NAME, one)) for name, one in services.items()]
        with (
            closing(RemoteParties(peers)) as parties,
            pytest.raises(MalformedReport, match=r"^party party-1: .* bytes"),
        ):
            list(parties.reports(request(1), Cohort(0, 20)))
