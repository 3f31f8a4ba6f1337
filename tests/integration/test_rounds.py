"""Rounds over real gRPC: who answers is used, who does not is counted, nobody delays the others or pays twice."""

from __future__ import annotations

import functools
import json
import math
import time
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.ledger import MemoryLedger
from localdp.cohorts import Cohort, Split
from localdp.domains import BitDomain, Records, Schema
from localdp.errors import InvalidParameter, QueryRefused, QuorumMissed
from localdp.oracles.local import LocalOracle
from localdp.oracles.lr import InProcessLROracle, tally_of
from localdp.oracles.slots import number_slots
from localdp.party.party import Party
from localdp.party.policy import Policy
from localdp.queries.asked import checked_round
from localdp.randomizers.k_ary import KaryRandomizedResponse
from parties.agent.service import AgentService
from parties.coordinator import Peer
from parties.rounds.partial import RoundResult
from parties.rounds.plan import Headcount, Quorum
from parties.wire.v1 import oracle_pb2
from tests.support.federations import KEYRING, ONE, parties_of, party, people, request
from tests.support.processes import envelope, localdp
from tests.support.rounds import (
    LyingAgent,
    Served,
    SlowAgent,
    Wrap,
    black_hole,
    enrol_peers,
    enrolled,
    nobody,
    sound,
)

BRIEFLY = 1.5  # seconds, until whoever hangs is given up
SEVENTY = Quorum.of_text("0.7")
SMOKERS = request().randomizer
COST = SMOKERS.epsilon.nanonats


def ask(served: Served, seconds: float = 20.0, quorum: Quorum = SEVENTY) -> RoundResult:
    return served.rounds.ask("smoker", SMOKERS, deadline_seconds=seconds, quorum=quorum)


def test_a_complete_round_gives_the_answer_of_the_local_oracle_bit_for_bit(tmp_path: Path) -> None:
    coins = KEYRING.source("complete")
    queries = ["smoker", "clip(0.01*age)"]
    twin = LocalOracle(InProcessLROracle(parties_of(people(200), 5)), ONE, KEYRING.source("complete"))
    expected = [twin.answer([query])[0] for query in queries]

    def identifier() -> bytes:
        coins.raw(np.uint8, 16)  # the coins of the split, which a round of one query does not use
        return coins.raw(np.uint8, 16).tobytes()

    with enrolled(tmp_path / "j", parties_of(people(200), 5), identifiers=identifier) as served:
        checked = checked_round(queries, served.rounds.roster.schema)
        results = [
            served.rounds.ask(slot.text, slot.randomizer, deadline_seconds=20.0)
            for query in checked
            for slot in number_slots([query], ONE, 200)
        ]
    assert [result.answer for result in results] == expected
    assert all(result.complete and result.missing == {} for result in results)


def test_with_thirty_percent_dead_a_round_ends_at_its_deadline_with_the_right_standard_error(
    tmp_path: Path,
) -> None:
    deadline = 3.0  # the sound ones need a tenth of it on an idle machine
    with (
        enrolled(tmp_path / "j", parties_of(people(1200), 30), [SlowAgent] * 3) as served,
        ExitStack() as holes,
    ):
        for number in range(3, 6):
            served.move(number, holes.enter_context(black_hole()))
        for number in range(6, 9):
            served.move(number, nobody())
        started = time.monotonic()
        result = ask(served, deadline)
        seconds = time.monotonic() - started
    assert deadline <= seconds < deadline + 3.0
    assert (result.asked, result.answered) == (Headcount(30, 1200), Headcount(21, 840))
    assert result.missing == {"deadline_missed": Headcount(6, 240), "unreachable": Headcount(3, 120)}
    noise = math.e / (math.e - 1) ** 2 / 840  # of randomized response at epsilon = 1, n = 840
    value = result.answer.value
    assert result.answer_of_answered.variance_empirical == pytest.approx(noise)
    assert result.answer.variance_empirical == pytest.approx(
        noise + (1 - 840 / 1200) * value * (1 - value) / 840
    )
    assert (result.answer.people, result.answer.reports) == (1200, 840)


def _twice(part: oracle_pb2.RandomizeResponse) -> list[oracle_pb2.RandomizeResponse]:
    return [part, part]


def _endless(part: oracle_pb2.RandomizeResponse) -> list[oracle_pb2.RandomizeResponse]:
    return [oracle_pb2.RandomizeResponse(reports=0, packed=b"")] * 10_000


def _none(part: oracle_pb2.RandomizeResponse) -> list[oracle_pb2.RandomizeResponse]:
    return []


def _fewer(part: oracle_pb2.RandomizeResponse) -> list[oracle_pb2.RandomizeResponse]:
    return [oracle_pb2.RandomizeResponse(reports=8, packed=part.packed[:1])]


def _garbage(part: oracle_pb2.RandomizeResponse) -> list[oracle_pb2.RandomizeResponse]:
    return [oracle_pb2.RandomizeResponse(reports=part.reports, packed=b"\xff" * 100)]


def test_whoever_lies_or_refuses_is_counted_by_reason_and_the_rest_is_used(tmp_path: Path) -> None:
    holders = parties_of(people(100), 10)
    holders[4] = party(holders[4].records, 4, budget=Epsilon(1))
    holders[4].policy = Policy(largest_epsilon=Epsilon.requested(10))
    holders[5].policy = Policy(largest_epsilon=Epsilon.requested("0.5"))
    liars = [functools.partial(LyingAgent, lie=lie) for lie in (_twice, _endless, _none, _garbage)]
    kinds: list[Wrap] = [*liars, *[sound] * 5, functools.partial(LyingAgent, lie=_fewer)]
    with enrolled(tmp_path / "j", holders, kinds, identifiers=lambda: request(0).request_id) as served:
        served.move(6, served.peers[7].address)  # party 7 answers for party 6: its people would count twice
        other = Schema({"smoker": BitDomain()})
        strange = Records.from_columns(other, {"smoker": np.zeros(10, dtype=np.bool_)})
        served.parties[8].enter(served.parties[8].epoch.next(strange))
        result = ask(served, quorum=Quorum.of_text("0.1"))
    assert result.missing == {
        "another_party": Headcount(1, 10),
        "budget_exhausted": Headcount(1, 10),
        "malformed_report": Headcount(5, 50),
        "policy_refused": Headcount(1, 10),
        "schema_differs": Headcount(1, 10),
    }
    assert result.answered == Headcount(1, 10)
    twin = InProcessLROracle(parties_of(people(100), 10))
    assert result.tally.sums.tolist() == tally_of(twin, request(0), Cohort(70, 80)).sums.tolist()


def test_a_missed_quorum_is_no_answer_and_going_on_costs_nobody_twice(tmp_path: Path) -> None:
    with enrolled(tmp_path / "j", parties_of(people(40), 4), [SlowAgent] * 2) as served:
        with pytest.raises(QuorumMissed, match=r"20 of 40 people .*2 deadline_missed.* stays open"):
            ask(served, BRIEFLY)
        assert [served.spent(number) for number in range(4)] == [{COST}] * 4  # the slow ones had charged
        slow = [agent for agent in served.agents if isinstance(agent, SlowAgent)]
        for agent in slow:
            served.loopback.loop.call_soon_threadsafe(agent.let_go.set)
        begun = served.rounds.unfinished("smoker", SMOKERS)
        assert begun is not None
        resumed = served.rounds.resume(begun.round_id, deadline_seconds=20.0)
        assert [served.spent(number) for number in range(4)] == [{COST}] * 4
        again = served.rounds.resume(begun.round_id, deadline_seconds=20.0)
        asked = begun.request
    expected = tally_of(InProcessLROracle(parties_of(people(40), 4)), asked, Cohort(0, 40))
    assert resumed.complete and resumed.tally.sums.tolist() == expected.sums.tolist()
    assert again.answer == resumed.answer


def test_an_answer_that_comes_after_the_deadline_is_never_mixed_in(tmp_path: Path) -> None:
    with enrolled(tmp_path / "j", parties_of(people(40), 4), [SlowAgent]) as served:
        ended = ask(served, BRIEFLY)
        slow = served.agents[0]
        assert isinstance(slow, SlowAgent) and slow.asked == 1
        served.loopback.loop.call_soon_threadsafe(slow.let_go.set)
        again = served.rounds.resume(ended.round_id, deadline_seconds=20.0)
        assert slow.asked == 1  # a round that has ended asks nobody
    assert (again.answer, again.missing) == (ended.answer, ended.missing)
    assert again.answered == Headcount(3, 30)


def test_an_interrupted_coordinator_hangs_up_and_its_round_can_go_on(tmp_path: Path) -> None:
    def interrupted(step: str) -> None:
        if step == "received":
            raise KeyboardInterrupt

    with enrolled(tmp_path / "j", parties_of(people(40), 4), [SlowAgent]) as served:
        served.rounds._step = interrupted
        started = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            ask(served, 600.0)
        assert time.monotonic() - started < 60.0
        served.rounds._step = lambda step: None
        (left,) = served.rounds.journal.unfinished()
        assert (
            served.rounds.resume(left.round_id, deadline_seconds=BRIEFLY, quorum=SEVENTY).answered.parties
            == 3
        )


def test_a_round_of_part_of_the_people_is_extrapolated_to_all_of_them(tmp_path: Path) -> None:
    cohort = Cohort(0, 90, Split(b"public coins 16b", 3, 1))
    with enrolled(tmp_path / "j", parties_of(people(90), 3)) as served:
        result = served.rounds.ask("smoker", SMOKERS, deadline_seconds=20.0, cohort=cohort)
    assert result.complete
    assert result.answer.people == 90
    assert result.answer.reports == result.asked.people < 60


def test_any_randomizer_that_can_be_summed_up_makes_a_round(tmp_path: Path) -> None:
    with enrolled(tmp_path / "j", parties_of(people(400), 4), identifiers=lambda: bytes(16)) as served:
        served.move(3, nobody())
        randomizer = KaryRandomizedResponse(Epsilon.requested(3), 4)
        result = served.rounds.ask("region", randomizer, deadline_seconds=20.0, quorum=SEVENTY)
        (plan,) = [served.rounds.journal.plan(result.round_id)]
    expected = tally_of(InProcessLROracle(parties_of(people(400), 4)), plan.request, Cohort(0, 300))
    assert result.tally.sums.tolist() == expected.sums.tolist()
    found = result.frequencies
    assert found.reports == 300
    assert np.all(found.variance_empirical > result.estimate.variance_empirical)


def test_a_question_that_nobody_could_answer_is_asked_of_nobody(tmp_path: Path) -> None:
    with enrolled(tmp_path / "j", parties_of(people(20), 2)) as served:
        with pytest.raises(QueryRefused):
            served.rounds.ask("smokr", SMOKERS, deadline_seconds=5.0)
        with pytest.raises(InvalidParameter):
            served.rounds.ask("smoker", SMOKERS, deadline_seconds=0.0)
        assert served.rounds.journal.unfinished() == []
        assert [served.spent(number) for number in range(2)] == [{0}] * 2


def test_who_is_withdrawn_is_not_asked(tmp_path: Path) -> None:
    with enrolled(tmp_path / "j", parties_of(people(30), 3)) as served:
        served.move(1, nobody())
        served.rounds.roster.withdraw("party-1")
        assert ask(served, quorum=Quorum.of_text(1)).asked == Headcount(2, 20)
        assert served.spent(1) == {0}


def test_a_party_withdrawn_in_the_middle_is_missing_and_so_is_one_of_another_schema_from_the_start(
    tmp_path: Path,
) -> None:
    stranger_records = Records.from_columns(
        Schema({"smoker": BitDomain()}), {"smoker": np.ones(5, np.bool_)}
    )
    stranger = Party("stranger", stranger_records, bytes(32), MemoryLedger(5, ONE))
    with enrolled(tmp_path / "j", parties_of(people(30), 3), [SlowAgent]) as served:
        address = served.loopback.serve(
            "parties.wire.v1.LocalRandomizerOracleService", AgentService(stranger, {})
        )
        refused = enrol_peers(served.rounds.roster, [Peer("stranger", address), Peer("ghost", nobody())])
        assert refused == {"schema_differs": Headcount(1), "unreachable": Headcount(1)}
        with pytest.raises(QuorumMissed):
            ask(served, BRIEFLY)
        served.rounds.roster.withdraw("party-0")
        begun = served.rounds.unfinished("smoker", SMOKERS)
        assert begun is not None
        result = served.rounds.resume(begun.round_id, deadline_seconds=20.0, quorum=Quorum.of_text("0.6"))
    assert result.missing == {"withdrawn": Headcount(1, 10)}


def test_the_command_answers_from_a_quorum_and_goes_on_with_what_it_left_open(tmp_path: Path) -> None:
    with enrolled(tmp_path / "own", parties_of(people(40), 4)) as served:
        state = tmp_path / "parties.json"

        def write(dead: int) -> None:
            places = [nobody() if n < dead else peer.address for n, peer in enumerate(served.peers)]
            agents = [{"name": p.name, "address": a} for p, a in zip(served.peers, places, strict=True)]
            state.write_text(json.dumps({"agents": agents, "share_servers": []}))

        def run(*more: str) -> dict[str, object]:
            flags = (
                "--connect",
                str(state),
                "--journal",
                str(tmp_path / "j"),
                "--json",
                "--deadline",
                "20s",
            )
            return envelope(localdp(tmp_path, "round", "smoker", *flags, *more))

        write(0)
        whole = run("--quorum", "1")
        for number in range(2):  # known from before, and dead now
            served.loopback.run(served.loopback._servers[number].stop(0))
        missed = run()
        half = run("--quorum", "0.5", "--quorum-of", "parties")
        spent = [served.spent(number) for number in range(4)]
    assert whole["exit_code"] == 0
    assert (missed["exit_code"], missed["error_code"]) == (4, "quorum_missed")
    data = half["data"]
    assert isinstance(data, dict)
    assert data["answered"] == {"parties": 2, "people": 20, "unknown": 0}
    assert data["missing"] == {"unreachable": {"parties": 2, "people": 20, "unknown": 0}}
    assert (data["people"], data["of_answered"]["people"]) == (40, 20)
    assert data["assumption"] == "those who did not answer are missing at random"
    assert spent == [
        {COST},
        {COST},
        {2 * COST},
        {2 * COST},
    ]  # the second round was asked twice, charged once
