"""An agent's limits as a caller meets them: known before anything is charged, and times that tell nothing."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from contextlib import aclosing, suppress
from pathlib import Path
from typing import Any, cast

import grpc
import pytest

from localdp.accounting.ledger import Charge, MemoryLedger
from localdp.cohorts import Cohort
from localdp.errors import InvalidParameter, PolicyRefused
from localdp.party.party import Party, Request
from localdp.party.policy import Policy
from localdp.queries import parser, vector_query
from localdp.randomizers.k_ary import KaryRandomizedResponse
from localdp.randomizers.priv_unit import PrivUnit
from parties import codec
from parties.agent.answers import Keeping, KeptAnswers
from parties.agent.progress import Progress, Unread
from parties.agent.service import AgentService
from parties.agent.undecoded import Undecoded
from parties.agent.work import Places, WorkLimits
from parties.observability.observer import Observer
from parties.wire.v1 import oracle_pb2 as pb
from tests.support import waitless
from tests.support.broken_work import NoPlaces, impatient, sound
from tests.support.callers import Context
from tests.support.federations import BUDGET, KEYRING, ONE, party, people, request

PEOPLE = 40
ASKED = codec.request_to_wire(request(), Cohort(0, PEOPLE))
NORMALS = Request(bytes(16), f"ball({', '.join(['smoker'] * 2047)})", PrivUnit(ONE, 2047, candidates=2048))
HEAVY = codec.request_to_wire(NORMALS, Cohort(0, PEOPLE))


def run(agent: AgentService, work: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    """Run it, and close the agent."""

    async def main() -> Any:
        try:
            return await work()
        finally:
            await agent.close()

    return asyncio.run(main())


async def reports(agent: AgentService, message: pb.RandomizeRequest, caller: str = "") -> int | str:
    """How many reports came, or the words of the refusal."""
    context: Any = Context(caller)
    try:
        return int(sum([part.reports async for part in agent.Randomize(message, context)]))
    except grpc.aio.AbortError:
        return f"{context.code.name}: {context.text}"


async def quote(agent: AgentService, message: pb.RandomizeRequest) -> pb.QuoteResponse:
    context: Any = Context("")
    answer: pb.QuoteResponse = await agent.Quote(pb.QuoteRequest(randomize=message), context)
    return answer


def test_a_quote_tells_the_work_and_when_the_answer_leaves() -> None:
    agent = sound(party(people(PEOPLE)), WorkLimits(quantum_seconds=0.02))

    async def asked() -> list[pb.QuoteResponse]:
        first = [await quote(agent, ASKED), await quote(agent, HEAVY)]
        await reports(agent, ASKED)
        return [*first, await quote(agent, ASKED)]

    light, heavy, again = run(agent, asked)
    assert light == again, "a quote says whether somebody has paid"
    assert 0 < light.work_nanoseconds < 0.05e9 and heavy.work_nanoseconds > 0.5e9
    assert light.answer_nanoseconds == 20_000_000  # the charge with the only part
    assert heavy.answer_nanoseconds % 20_000_000 == 0
    assert heavy.answer_nanoseconds > heavy.work_nanoseconds


def test_a_query_is_parsed_and_checked_once_for_a_quote_an_answer_and_its_repetition(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """However long it is: the steps of an answer are priced without it."""
    done: list[object] = []

    def noted(what: str, really: Callable[..., Any]) -> Callable[..., Any]:
        def call(*asked: Any) -> Any:
            done.append(what)
            return really(*asked)

        return call

    for where, what in ((parser, "_Parser"), (vector_query, "shape_of")):
        monkeypatch.setattr(where, what, noted(what, getattr(where, what)))
    asked = Request(bytes(16), "which(smoker, age < 37, age < 73)", KaryRandomizedResponse(ONE, 4))
    message = codec.request_to_wire(asked, Cohort(0, PEOPLE))
    parser._parsed.cache_clear()
    done.clear()
    agent = sound(party(people(PEOPLE)), WorkLimits(quantum_seconds=0.0))

    async def thrice() -> list[Any]:
        return [await quote(agent, message), await reports(agent, message), await reports(agent, message)]

    assert run(agent, thrice)[1:] == [PEOPLE, PEOPLE]
    assert sorted(map(str, done)) == ["_Parser", "shape_of"]


def test_what_was_charged_before_is_looked_up_while_a_call_is_read() -> None:
    """It takes the longer the more often a request was charged, so it has no place in a step with a price."""
    holder, told = party(people(PEOPLE)), list[object]()

    class Noting(MemoryLedger):
        def require(self, charge: Charge) -> None:
            told.append("step")
            super().require(charge)

    holder.ledger = Noting(PEOPLE, BUDGET)
    agent = AgentService(holder, {}, recall=told.append)
    run(agent, lambda: quote(agent, ASKED))
    assert told == [holder.name_of(request()), "step"]


def test_an_agent_describes_its_epoch_its_memory_and_its_quantum(tmp_path: Path) -> None:
    context: Any = Context("")
    holder = party(people(PEOPLE))
    kept = KeptAnswers(tmp_path / "answers", Keeping(600))
    agent = AgentService(holder, {}, limits=WorkLimits(), kept=kept)
    told = run(agent, lambda: agent.Describe(pb.DescribeRequest(), context))
    assert (told.epoch, told.keep_seconds, told.quantum_nanoseconds) == (1, 600, 10_000_000)
    plain = AgentService(holder, {})
    assert run(plain, lambda: plain.Describe(pb.DescribeRequest(), context)).quantum_nanoseconds == 0


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ({"request_seconds": 0.1}, "s of work, and the party allows 0.1 s a request"),
        ({"piece_seconds": 0.001}, "that cannot be cut"),
        ({"caller_seconds": 0.5}, "for a caller within 3600 s"),
        ({"total_seconds": 0.5}, "ask later"),
    ],
)
def test_too_much_work_is_refused_before_anybody_pays(limits: dict[str, Any], words: str) -> None:
    holder = party(people(PEOPLE))
    agent = sound(holder, WorkLimits(quantum_seconds=0.0, **limits))

    async def asked() -> list[Any]:
        context: Any = Context("")
        refused = await reports(agent, HEAVY)
        try:
            await agent.Quote(pb.QuoteRequest(randomize=HEAVY), context)
        except grpc.aio.AbortError:
            return [refused, f"{context.code.name}: {context.text}"]
        return [refused, None]

    for refused in run(agent, asked):
        assert refused.startswith("RESOURCE_EXHAUSTED") and words in refused
    assert not holder.ledger.spent().any()


def test_a_callers_work_is_its_own() -> None:
    agent = sound(party(people(PEOPLE)), WorkLimits(quantum_seconds=0.0, caller_seconds=0.05))

    async def asked() -> tuple[list[Any], Any]:
        loud = [
            await reports(agent, codec.request_to_wire(request(n), Cohort(0, 9)), "a") for n in range(9)
        ]
        return loud, await reports(agent, ASKED, "b")

    loud, other = run(agent, asked)
    assert loud[0] == 9 and loud[-1].startswith("RESOURCE_EXHAUSTED") and other == PEOPLE


def test_what_is_not_begun_is_not_counted() -> None:
    holder = party(people(PEOPLE))
    agent = sound(holder, WorkLimits(quantum_seconds=0.0))

    async def asked() -> float:
        gone: Any = Context("a", seconds=0.0)
        with pytest.raises(grpc.aio.AbortError):
            await anext(agent.Randomize(HEAVY, gone))
        await reports(agent, ASKED, "b")
        return agent._desk.accounts.used("a")

    assert run(agent, asked) == 0.0 < agent._desk.accounts.used("b") < 0.1
    assert holder.ledger.spent().max() == ONE.nanonats


class Registered(dict[str, Any]):
    """A server that keeps the handlers of a service."""

    def add_generic_rpc_handlers(self, handlers: Any) -> None:
        """Nothing is needed of it."""

    def add_registered_method_handlers(self, service: str, handlers: Any) -> None:
        self.update(handlers)


def test_a_message_is_read_by_the_worker_and_not_by_the_event_loop() -> None:
    server: Any = Registered()
    AgentService(party(people(4)), {}).register(server)
    waiting = server["Randomize"].request_deserializer(ASKED.SerializeToString())
    assert isinstance(waiting, Undecoded) and waiting.ByteSize() == ASKED.ByteSize()
    assert waiting.decoded() == ASKED
    with pytest.raises(InvalidParameter, match="not a message"):
        server["Randomize"].request_deserializer(b"\xff").decoded()


@pytest.mark.parametrize("private", [False, True])
def test_whoever_may_not_ask_is_not_admitted_and_may_be_told_what_could_be_asked(private: bool) -> None:
    policy = Policy(largest_epsilon=BUDGET, aggregators=frozenset({"analyst"}), private_description=private)
    holder = Party("party-0", people(4), KEYRING.party(0), MemoryLedger(4, BUDGET), policy)
    agent, admitted = AgentService(holder, {}), set[str]()
    for method in ("Describe", "Randomize", "Quote", "Contribute", "ContributeSealed", "Budgets"):
        analyst, mallory = cast("Any", Context("analyst")), cast("Any", Context("mallory"))
        agent.admit(method, analyst)
        with suppress(PolicyRefused):
            agent.admit(method, mallory)
            admitted.add(method)
    assert admitted == (set() if private else {"Describe"})


def busy(make: Callable[[Party, WorkLimits], AgentService]) -> Any:
    """What a caller hears who holds an answer and asks for another one, and what somebody else hears."""
    agent = make(party(people(PEOPLE)), WorkLimits(quantum_seconds=0.0, answers_of_caller=1))

    async def asked() -> Any:
        context: Any = Context("a")
        answer: Any = agent.Randomize(ASKED, context)
        async with aclosing(answer) as held:
            await anext(held)
            second, other = await reports(agent, ASKED, "a"), await reports(agent, ASKED, "b")
        for _ in range(50):  # what was held is closed by the loop
            await asyncio.sleep(0)
        return second, other, await reports(agent, ASKED, "a")

    return run(agent, asked)


def test_answers_in_progress_are_bounded() -> None:
    second, other, later = busy(sound)
    assert "1 answers in progress for this caller" in second and other == later == PEOPLE
    assert busy(NoPlaces)[0] == PEOPLE


def answered_after(make: Callable[[Party, WorkLimits], AgentService]) -> float:
    agent = make(party(people(PEOPLE)), WorkLimits(quantum_seconds=0.15))

    async def asked() -> float:
        began = time.monotonic()
        assert await reports(agent, ASKED) == PEOPLE
        return time.monotonic() - began

    return float(run(agent, asked))


def test_an_answer_leaves_at_a_multiple_of_the_quantum() -> None:
    """A charge with one part: one quantum, however soon they are done."""
    assert 0.15 <= answered_after(sound) < 0.3
    assert answered_after(impatient) < 0.15


def test_a_refusal_of_the_party_takes_as_long_as_a_charge() -> None:
    holder = party(people(PEOPLE), budget=ONE)
    agent = sound(holder, WorkLimits(quantum_seconds=0.1))

    async def asked() -> tuple[Any, float]:
        await reports(agent, ASKED)
        began = time.monotonic()
        refused = await reports(agent, codec.request_to_wire(request(7), Cohort(0, PEOPLE)))
        return refused, time.monotonic() - began

    refused, seconds = run(agent, asked)
    assert refused.startswith("RESOURCE_EXHAUSTED") and 0.1 <= seconds < 0.2


def test_late_steps_are_counted_and_told_once_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    observer = Observer("agent", "party-0")
    agent = AgentService(party(people(PEOPLE)), {}, observer=observer, limits=WorkLimits())
    for _ in range(3):
        agent._desk.late()
    run(agent, lambda: asyncio.sleep(0))
    assert "localdp_late_steps_total 3" in observer.exposition()
    assert sum(record.getMessage() == "late" for record in caplog.records) <= 1


class Handed(Context):
    """A context that keeps what it was aborted with."""

    async def abort(self, code: grpc.StatusCode, text: str, trailing_metadata: Any = ()) -> None:
        await asyncio.sleep(0)
        await super().abort(code, text, trailing_metadata)


def test_an_answer_that_nobody_reads_is_aborted_and_makes_room() -> None:
    async def stalled() -> tuple[Handed, Places]:
        context, places = Handed("a"), Places("answers", 1, 1)
        with places.take("a") as place:
            progress = Progress(context, place, 0.02)  # type: ignore[arg-type]
            with progress.expected():
                pass
            with pytest.raises(Unread), progress.expected():
                await asyncio.sleep(0.06)
            places.take("b").__exit__()
        return context, places

    (context, places), _ = waitless.run(stalled())
    assert context.code is grpc.StatusCode.DEADLINE_EXCEEDED and "0.02 s" in context.text
    assert places._taken == 0
