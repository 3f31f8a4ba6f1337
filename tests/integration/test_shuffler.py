"""A shuffler between real agents and an aggregator: waiting, refusing, repeating, certificates, and the command line."""

from __future__ import annotations

import json
import signal
import subprocess
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import grpc
import numpy as np
import pytest

from localdp.accounting.ledger import MemoryLedger
from localdp.cohorts import Cohort
from localdp.errors import (
    BudgetExhausted,
    InvalidParameter,
    MalformedReport,
    PolicyRefused,
    Unreachable,
)
from localdp.oracles.shuffled import ShuffledOracle
from localdp.oracles.shuffler import Promise, Shuffler
from localdp.party.party import Party
from localdp.party.policy import Policy
from localdp.randomizers.definition import Reports
from localdp.randomness.keystream import KeystreamSource
from localdp.sharing.flooded_round import FloodedQuestion
from parties.agent.service import SERVICE_NAME as AGENT_SERVICE
from parties.agent.service import AgentService
from parties.command.arguments import Asking
from parties.command.asking import federation_of
from parties.coordinator import Peer, RemoteParties
from parties.flood_codec import question_from_wire
from parties.identity import load_identity, make_authority, make_identity
from parties.repeating import Patience
from parties.shuffler import service
from parties.shuffler.client import RemoteShuffler
from parties.shuffler.service import SERVICE_NAME, ShufflerService
from parties.wire.v1 import flooding_pb2 as pb_of_floods
from parties.wire.v1 import shuffler_pb2 as pb
from tests.integration.test_command_line import parties_up
from tests.support.federations import (
    KEYRING,
    ONE,
    Served,
    loopback,
    parties_of,
    party,
    people,
    request,
    served,
)
from tests.support.flaky import Absences, FlakyAgent
from tests.support.flooding import plan_of, question_of
from tests.support.processes import COMMAND, Stage, envelope, localdp, read_line, stage

PEOPLE = people(90)
EVERYBODY = Cohort(0, 90)
PROMISE = Promise(ONE, requests=100, minimum_cohort=2)
WAIT_SECONDS = 20.0

Wrap = Callable[[Party, dict[str, str]], AgentService]


class Held(AgentService):
    """An agent that answers when it is let go."""

    def __init__(self, party: Party, servers: dict[str, str], go: threading.Event) -> None:
        super().__init__(party, servers)
        self._go = go

    async def Randomize(self, request: Any, context: Any) -> AsyncIterator[Any]:  # noqa: N802
        import asyncio

        await asyncio.to_thread(self._go.wait, WAIT_SECONDS)
        async for part in super().Randomize(request, context):
            yield part


@contextmanager
def mixing(
    wrap_agent: Wrap = AgentService,
    holders: list[Party] | None = None,
    secret: bytes = KEYRING.shuffler(),
    promise: Promise = PROMISE,
) -> Iterator[tuple[RemoteShuffler, Served]]:
    """Three agents, a shuffler, and the aggregator's side of it."""
    with served(holders or parties_of(PEOPLE, 3), wrap_agent=wrap_agent) as made:
        shuffler = Shuffler(made.remote, KeystreamSource(secret), promise)
        address = made.loopback.serve(SERVICE_NAME, ShufflerService("mixer", shuffler))
        patience = Patience(attempts=1)
        with closing(RemoteShuffler(Peer("mixer", address), WAIT_SECONDS, patience=patience)) as remote:
            yield remote, made


def mixed_of(remote: RemoteShuffler, number: int = 0) -> Reports:
    return np.concatenate(list(remote.reports(request(number), EVERYBODY)))


def test_nothing_is_sent_before_everybody_has_answered() -> None:
    go = threading.Event()

    def slow(one: Party, servers: dict[str, str]) -> AgentService:
        return Held(one, servers, go) if one.name == "party-1" else AgentService(one, servers)

    with mixing(slow) as (remote, _):
        answers: list[Reports] = []
        asking = threading.Thread(target=lambda: answers.extend(remote.reports(request(), EVERYBODY)))
        asking.start()
        asking.join(0.5)
        assert not answers
        assert remote.bytes_moved == 0
        go.set()
        asking.join(WAIT_SECONDS)
        assert sum(map(len, answers)) == 90


@pytest.mark.parametrize("late", ["party-0", "party-2"])
def test_the_answer_is_the_same_whoever_was_late(late: str) -> None:
    go = threading.Event()

    def slow(one: Party, servers: dict[str, str]) -> AgentService:
        return Held(one, servers, go) if one.name == late else AgentService(one, servers)

    with mixing() as (prompt, _):
        expected = mixed_of(prompt)
    with mixing(slow) as (remote, _):
        timer = threading.Timer(0.2, go.set)
        timer.start()
        assert mixed_of(remote).tobytes() == expected.tobytes()
        timer.join()


def test_if_one_person_cannot_pay_nobody_is_shown_and_no_party_is_named() -> None:
    holders = parties_of(PEOPLE, 3)
    holders[2] = party(holders[2].records, 2, MemoryLedger(30, ONE.divided_by(2)))
    with mixing(holders=holders) as (remote, _):
        with pytest.raises(BudgetExhausted) as refusal:
            next(remote.reports(request(), EVERYBODY))
        assert remote.bytes_moved == 0
        assert "party" not in str(refusal.value).replace("every party", "")
        assert not any(letter.isdigit() for letter in str(refusal.value))


def test_an_agent_that_breaks_off_for_good_leaves_nothing_to_see() -> None:
    def broken(one: Party, servers: dict[str, str]) -> AgentService:
        return (
            FlakyAgent(one, Absences(100, "Randomize"))
            if one.name == "party-1"
            else AgentService(one, servers)
        )

    with mixing(broken) as (remote, _):
        with pytest.raises(Unreachable) as failure:
            next(remote.reports(request(), EVERYBODY))
        assert "party-1" not in str(failure.value)
        assert remote.bytes_moved == 0


def test_a_call_that_is_repeated_has_the_same_bytes_and_charges_once() -> None:
    with mixing() as (remote, _):
        first, again = mixed_of(remote), mixed_of(remote)
        assert first.tobytes() == again.tobytes()
        # A budget of 20 has room for 19 more; had the repetition been charged, for 18.
        for number in range(1, 20):
            mixed_of(remote, number)
        with pytest.raises(BudgetExhausted):
            mixed_of(remote, 20)
        assert mixed_of(remote).tobytes() == first.tobytes()


def test_behind_a_shuffler_requests_about_a_person_add_up_and_the_last_one_is_refused_by_name() -> None:
    holders = parties_of(PEOPLE, 3)
    with mixing(holders=holders, promise=Promise(ONE, requests=2, minimum_cohort=2)) as (remote, _):
        first = mixed_of(remote, 0)
        mixed_of(remote, 1)
        spent = [holder.ledger.spent().tolist() for holder in holders]
        with pytest.raises(BudgetExhausted, match="promises about a person in all: epsilon 2"):
            mixed_of(remote, 2)
        assert [holder.ledger.spent().tolist() for holder in holders] == spent
        assert mixed_of(remote, 0).tobytes() == first.tobytes()


def test_what_a_shuffler_says_of_itself_reaches_the_oracle_and_its_claim() -> None:
    promise = Promise(ONE, Fraction(1, 3 * 10**6), colluding=1, requests=7, minimum_cohort=30)
    with mixing(promise=promise) as (remote, _):
        told = replace(promise, delta=Fraction(333334, 10**12))  # never smaller than it is
        assert (remote.promise, remote.hiding, remote.people) == (told, 60, 90)
        oracle = ShuffledOracle(remote, ONE, KEYRING.source("told"), delta=promise.delta)
        assert oracle.answer(["smoker"])[0].reports == 90
        assert "no more than 1 of the other parties" in oracle.claim.statement()
        assert "the analyst and anybody else" in oracle.claim.statement()


def test_an_agent_that_answers_by_content_is_refused_at_start() -> None:
    holders = parties_of(PEOPLE, 3)
    holders[1].policy = Policy(by_content=True)
    with (
        pytest.raises(PolicyRefused, match="party-1 answers by content"),
        mixing(holders=holders),
    ):
        pass


def test_bytes_that_are_no_message_are_refused_by_name() -> None:
    with mixing() as (_, made):
        shuffler = Shuffler(made.remote, KeystreamSource(bytes(32)), PROMISE)
        address = made.loopback.serve(SERVICE_NAME, ShufflerService("raw", shuffler))
        with grpc.insecure_channel(address) as channel:
            call: Any = channel.unary_stream(f"/{SERVICE_NAME}/Shuffle")
            for junk in (b"\xff\xff\xff", pb.ShuffleRequest().SerializeToString()):
                with pytest.raises(grpc.RpcError) as refused:
                    list(call(junk, timeout=10))
                assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT


class Short(ShufflerService):
    """A shuffler that loses reports."""

    async def Shuffle(self, request: Any, context: Any) -> AsyncIterator[Any]:  # noqa: N802
        yield pb.ShuffleResponse(reports=8, packed=b"\0")


class Endless(ShufflerService):
    """A shuffler that never stops."""

    async def Shuffle(self, request: Any, context: Any) -> AsyncIterator[Any]:  # noqa: N802
        while True:
            yield pb.ShuffleResponse(reports=80, packed=bytes(10))


@pytest.mark.parametrize("lying", [Short, Endless])
def test_a_shuffler_that_sends_another_number_of_reports_is_not_believed(
    lying: type[ShufflerService],
) -> None:
    with mixing() as (_, made):
        service = lying("liar", Shuffler(made.remote, KeystreamSource(bytes(32)), PROMISE))
        address = made.loopback.serve(SERVICE_NAME, service)
        with (
            closing(RemoteShuffler(Peer("liar", address), WAIT_SECONDS)) as remote,
            pytest.raises(MalformedReport),
        ):
            mixed_of(remote)


def test_a_shuffler_is_who_it_says_and_serves_only_with_a_promise() -> None:
    with mixing() as (_, made):
        address = made.loopback.serve(
            SERVICE_NAME,
            ShufflerService("mixer", Shuffler(made.remote, KeystreamSource(bytes(32)), PROMISE)),
        )
        with pytest.raises(InvalidParameter):
            RemoteShuffler(Peer("other", address), WAIT_SECONDS)
        with pytest.raises(InvalidParameter):
            ShufflerService("mixer", Shuffler(made.remote, KeystreamSource(bytes(32))))
    with pytest.raises(Unreachable):
        RemoteShuffler(Peer("mixer", "127.0.0.1:1"), 5, patience=Patience(attempts=1))


@contextmanager
def shuffler_process(made: Stage, *options: str) -> Iterator[Peer]:
    """`localdp shuffler run` as a process."""
    command = [str(COMMAND), "shuffler", "run", "--name", "mixer", "--json", *options]
    process = made.popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, bufsize=0)
    assert process.stdout is not None
    try:
        yield Peer("mixer", json.loads(read_line(process))["data"]["address"])
        process.send_signal(signal.SIGTERM)
        assert process.wait(WAIT_SECONDS) == 0
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_the_command_serves_until_it_is_told_to_stop(tmp_path: Path) -> None:
    with stage(tmp_path) as made, loopback() as loop:
        named = [
            f"--agent={one.name}={loop.serve(AGENT_SERVICE, AgentService(one, {}))}"
            for one in parties_of(PEOPLE, 2)
        ]
        book = tmp_path / "promised"
        limits = ("--requests", "2", "--minimum-cohort", "80", "--ledger", str(book))
        options = (*named, "--epsilon", "0.5", "--delta", "1e-7", *limits)
        half, delta = ONE.divided_by(2), Fraction(1, 10**7)
        for run in range(3):  # what was promised outlives the process, and its secret
            with (
                shuffler_process(made, *options, *(["--new"] if run == 0 else [])) as peer,
                closing(RemoteShuffler(peer, WAIT_SECONDS)) as remote,
            ):
                assert remote.promise == Promise(half, delta, requests=2, minimum_cohort=80)
                oracle = ShuffledOracle(remote, half, KEYRING.source("half"), delta=delta)
                if run == 2:
                    with pytest.raises(BudgetExhausted, match="epsilon 1 at delta 2e-07"):
                        oracle.answer(["smoker"])
                else:
                    assert oracle.answer(["smoker"])[0].reports == 90


def test_the_command_refuses_agents_that_answer_by_content_in_one_clear_line(tmp_path: Path) -> None:
    holder = party(PEOPLE, 0)
    holder.policy = Policy(by_content=True)
    with loopback() as loop:
        agent = f"--agent={holder.name}={loop.serve(AGENT_SERVICE, AgentService(holder, {}))}"
        told = envelope(localdp(tmp_path, "shuffler", "run", agent, "--new", "--json"))
    assert told["exit_code"] == 1
    assert "party-0 answers by content" in told["message"]


def test_behind_certificates_agents_answer_the_shuffler_and_it_answers_the_analyst(tmp_path: Path) -> None:
    make_authority(tmp_path / "ca")
    for name in ("analyst", "mallory", "party-0", "mixer"):
        make_identity(tmp_path / "ca", tmp_path / name, name, ("127.0.0.1",))
    known = {name: load_identity(tmp_path / name) for name in ("analyst", "mallory", "party-0", "mixer")}
    holder = party(PEOPLE, 0)
    holder.policy = Policy(aggregators=frozenset({"mixer"}))
    with loopback() as loop, ExitStack() as stack:
        agent = Peer(
            "party-0", loop.serve(AGENT_SERVICE, AgentService(holder, {}), identity=known["party-0"])
        )
        behind = stack.enter_context(closing(RemoteParties([agent], WAIT_SECONDS, known["mixer"])))
        service = ShufflerService(
            "mixer",
            Shuffler(behind, KeystreamSource(bytes(32)), PROMISE),
            aggregators=frozenset({"analyst"}),
        )
        peer = Peer("mixer", loop.serve(SERVICE_NAME, service, identity=known["mixer"]))
        with closing(RemoteShuffler(peer, WAIT_SECONDS, known["analyst"])) as remote:
            assert len(mixed_of(remote)) == 90
        _refused(RemoteShuffler(peer, WAIT_SECONDS, known["mallory"]))
        _refused(RemoteParties([agent], WAIT_SECONDS, known["analyst"]))


def _refused(oracle: RemoteShuffler | RemoteParties) -> None:
    with closing(oracle), pytest.raises(PolicyRefused):
        list(oracle.reports(request(), EVERYBODY))


def test_parties_with_a_shuffler_answer_in_the_shuffled_model(tmp_path: Path) -> None:
    with stage(tmp_path) as made, parties_up(made, "--shuffler", "--budget", "2") as state:
        ask = ("ask", "smoker", "--connect", str(state), "--model", "shuffled", "--json")
        told = envelope(localdp(tmp_path, *ask))
        assert told["exit_code"] == 0, told
        assert (told["data"]["model"], told["data"]["reports"]) == ("shuffled", 60)
        assert "shuffler must mix" in told["data"]["privacy"]
        assert "other parties must not tell the analyst what they sent" in told["data"]["privacy"]
        # 60 people: 1.30 nats each, of 2; so a second question cannot be paid for.
        assert envelope(localdp(tmp_path, *ask))["exit_code"] == 5


def test_without_a_shuffler_the_shuffled_model_is_refused(tmp_path: Path) -> None:
    state = tmp_path / "state.json"
    state.write_text(json.dumps({"agents": [{"name": "a", "address": "127.0.0.1:1"}], "share_servers": []}))
    with pytest.raises(InvalidParameter, match="--shuffler"):
        federation_of(Asking(model="shuffled", connect=state), lambda schema: None)


def test_a_flooded_question_is_checked_beside_the_loop_that_answers_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """To work out what its noise hides takes a second or more where a person moves a sum by 255."""
    threads = list[str]()

    def watched(message: pb_of_floods.FloodedQuestion) -> FloodedQuestion:
        threads.append(threading.current_thread().name)
        return question_from_wire(message)

    monkeypatch.setattr(service, "question_from_wire", watched)
    with mixing() as (remote, _), pytest.raises(PolicyRefused):
        remote.sealed(question_of(plan_of(90, epsilon="3")), [EVERYBODY])
    assert threads and all(name.startswith("shuffler") for name in threads)
