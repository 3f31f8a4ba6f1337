"""A coordinator that lies, probes and swamps: a refusal by name, nobody charged, and the agent goes on.

Each hostile call goes to two live agents whose records differ in every value, and both must say the same: what an agent
refuses, and how, says nothing about records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import grpc
import numpy as np
import pytest
from google.protobuf.message import Message

from localdp.accounting.epsilon import Epsilon
from localdp.cohorts import Cohort, Split
from localdp.domains import Records
from localdp.party.party import Party, Request
from localdp.party.policy import Policy
from localdp.randomizers.finite_channel import FiniteChannel
from localdp.randomizers.memoised import memoised_symmetric_unary
from parties import codec
from parties.agent.ledger import SqliteLedger
from parties.agent.service import SERVICE_NAME, AgentService
from parties.status import error_of
from parties.wire.v1 import collection_pb2, oracle_pb2_grpc
from parties.wire.v1 import oracle_pb2 as pb
from tests.support.federations import KEYRING, ONE, Loopback, collection_of, loopback, people, request
from tests.support.ledgers import charges_in, entries_in, sqlite_ledger

PEOPLE = 40
LARGEST = Epsilon.requested(2)
BUDGET = Epsilon.requested(5)
EVERYBODY = Cohort(0, PEOPLE)
Edit = Callable[[Any], object]


class Agent(NamedTuple):
    """A live agent, and its ledger."""

    stub: Any
    channel: Any  # a grpc.Channel, for bytes of the test's choice
    ledger: Path


def opposite(records: Records) -> Records:
    """Records that differ from these in every value."""
    columns = {
        "smoker": ~records.column("smoker"),
        "age": 120 - records.column("age") + (records.column("age") == 60),
        "region": (records.column("region") + 1) % 4,
        "bmi": 70.0 - records.column("bmi") + (records.column("bmi") == 35.0),
    }
    return Records.from_columns(records.schema, columns)


@pytest.fixture(scope="module")
def agents(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Agent]]:
    directory, records = tmp_path_factory.mktemp("agents"), people(PEOPLE)
    with loopback() as threads:
        made = [_agent(threads, directory, one) for one in (records, opposite(records))]
        yield [agent for agent, _ in made]
        for agent, ledger in made:
            agent.channel.close()
            ledger.close()


def _agent(threads: Loopback, directory: Path, records: Records) -> tuple[Agent, SqliteLedger]:
    path = directory / records.fingerprint().hex()
    ledger = sqlite_ledger(path, PEOPLE, BUDGET)
    party = Party("party-0", records, KEYRING.party(0), ledger, Policy(largest_epsilon=LARGEST))
    service = AgentService(party, {"server-0": "127.0.0.1:1", "server-1": "127.0.0.1:1"})
    channel = grpc.insecure_channel(threads.serve(SERVICE_NAME, service))
    return Agent(oracle_pb2_grpc.LocalRandomizerOracleServiceStub(channel), channel, path), ledger


def told(agent: Agent, call: Callable[[Agent], object]) -> tuple[str, str, str]:
    """How a call is refused: code, name and text; nothing is charged, and the agent goes on."""
    before = entries_in(agent.ledger)
    with pytest.raises(grpc.RpcError) as caught:
        call(agent)
    assert entries_in(agent.ledger) == before, "a refused call was charged"
    assert agent.stub.Describe(pb.DescribeRequest(), timeout=20).people == PEOPLE
    error = error_of(caught.value, "it")
    return caught.value.code().name, type(error).__name__, str(error)


def refused(agents: list[Agent], call: Callable[[Agent], object]) -> tuple[str, str]:
    """Both agents refuse in the same words; returns code and name."""
    first, second = (told(agent, call) for agent in agents)
    assert first == second, "a refusal depends on records"
    assert len(first[2]) < 300
    return first[:2]


def ask(message: Any) -> Callable[[Agent], object]:
    """A call of Randomize."""
    return lambda agent: list(agent.stub.Randomize(message, timeout=20))


def message_of(edit: Edit, one: Request | None = None, cohort: Cohort = EVERYBODY) -> Any:
    """A valid request, edited."""
    message = codec.request_to_wire(one or request(1), cohort)
    edit(message)
    return message


CHANNEL = Request(b"x" * 16, "smoker", FiniteChannel(((3, 1), (1, 3))))
MEMORY = Request(b"x" * 16, "region", memoised_symmetric_unary(LARGEST, ONE, 4))


def weights(*rows: tuple[int, ...]) -> Edit:
    """Another matrix for the channel."""

    def edit(message: Any) -> None:
        del message.randomizer.finite_channel.rows[:]
        for row in rows:
            message.randomizer.finite_channel.rows.add(weights=row)

    return edit


FORGED: dict[str, tuple[Request, Edit, str]] = {
    "epsilon zero": (
        request(1),
        lambda m: setattr(m.randomizer.one_bit, "epsilon_nanonats", 0),
        "InvalidParameter",
    ),
    "all of 64 bits": (
        request(1),
        lambda m: setattr(m.randomizer.one_bit, "epsilon_nanonats", 2**64 - 1),
        "InvalidParameter",
    ),
    "above the policy": (
        request(1),
        lambda m: setattr(m.randomizer.one_bit, "epsilon_nanonats", LARGEST.nanonats + 10),
        "PolicyRefused",
    ),
    "no randomizer": (request(1), lambda m: m.ClearField("randomizer"), "InvalidParameter"),
    "a channel of a larger epsilon": (CHANNEL, weights((1000, 1), (1, 1000)), "PolicyRefused"),
    "a channel that tells the truth": (CHANNEL, weights((1, 0), (0, 1)), "InvalidParameter"),
    "a channel that tells it once in 2**60": (
        CHANNEL,
        weights((2**60, 1), (2**60 + 1, 0)),
        "InvalidParameter",
    ),
    "a channel whose rows differ in total": (CHANNEL, weights((3, 1), (1, 4)), "InvalidParameter"),
    "a channel beyond 64 bits": (CHANNEL, weights((2**64 - 1, 1), (1, 2**64 - 1)), "PolicyRefused"),
    "a channel that says nothing": (CHANNEL, weights((1, 1), (1, 1)), "InvalidParameter"),
    "a channel without rows": (CHANNEL, weights(), "InvalidParameter"),
    "a channel of other inputs": (CHANNEL, weights((3, 1, 1), (1, 3, 1), (1, 1, 3)), "InvalidParameter"),
    "a cheap report of a dear permanent answer": (
        MEMORY,
        lambda m: setattr(m.randomizer.memoised_unary, "permanent_nanonats", 20 * 10**9),
        "PolicyRefused",
    ),
}


@pytest.mark.parametrize("name", FORGED)
def test_an_epsilon_is_what_the_law_has_and_never_what_is_said(agents: list[Agent], name: str) -> None:
    one, edit, expected = FORGED[name]
    assert refused(agents, ask(message_of(edit, one)))[1] == expected


def test_fields_that_nobody_knows_change_nothing_of_what_is_charged(agents: list[Agent]) -> None:
    claim = b"\xf8\x3f\x01"  # field 1023, a varint: "this costs 1"
    for number, agent in enumerate(agents):
        asked = Request(bytes([100 + number]) * 16, "smoker", FiniteChannel(((3, 1), (1, 3))))
        raw = codec.request_to_wire(asked, Cohort(0, 1)).SerializeToString() + claim
        replies = [*agent.channel.unary_stream(f"/{SERVICE_NAME}/Randomize")(raw, timeout=20)]
        assert replies
        assert charges_in(agent.ledger)[-1].cost == asked.randomizer.epsilon > ONE


COHORTS: dict[str, tuple[Edit, str]] = {
    "one person too many": (lambda m: setattr(m.cohort, "stop", PEOPLE + 1), "UnknownIndex"),
    "one person, beyond": (
        lambda m: m.cohort.MergeFrom(type(m.cohort)(start=PEOPLE, stop=PEOPLE + 1)),
        "UnknownIndex",
    ),
    "all people there could be": (lambda m: setattr(m.cohort, "stop", 1 << 32), "UnknownIndex"),
    "more than there could be": (lambda m: setattr(m.cohort, "stop", 2**64 - 1), "InvalidParameter"),
    "backwards": (lambda m: setattr(m.cohort, "start", PEOPLE + 1), "InvalidParameter"),
    "a split into none": (lambda m: m.cohort.split.SetInParent(), "InvalidParameter"),
    "a split of a short seed": (
        lambda m: m.cohort.split.MergeFrom(type(m.cohort.split)(seed=b"s", parts=2, part=1)),
        "InvalidParameter",
    ),
    "a part that there is not": (
        lambda m: m.cohort.split.MergeFrom(type(m.cohort.split)(seed=bytes(16), parts=2, part=2)),
        "InvalidParameter",
    ),
    "a split beyond all people": (
        lambda m: m.cohort.MergeFrom(codec.cohort_to_wire(Cohort(0, 1 << 32, Split(bytes(16), 65536, 1)))),
        "UnknownIndex",
    ),
}


@pytest.mark.parametrize("name", COHORTS)
def test_probing_for_people_who_are_not_there_finds_nothing(agents: list[Agent], name: str) -> None:
    edit, expected = COHORTS[name]
    assert refused(agents, ask(message_of(edit)))[1] == expected


QUERIES = {
    "nothing": "",
    "a column that there is not": "salary",
    "a column of an endless name": "s" * 50_000,
    "a column of control characters": "sm\0ok\x1b[2Jer",
    "forty levels": "not " * 40 + "smoker",
    "five thousand operands": " and ".join(["smoker"] * 5_000),
    "two million bytes": " and ".join(["smoker"] * 200_000),
    "four bytes a character": "\U0001f600" * 60_000,
    "a number without end": "9" * 50_000,
    "numbers without end": "+".join(["1"] * 32_000),
    "a denominator of zero": "1/0",
    "a vector where a bit is asked for": "vector(smoker, smoker)",
    "a bare number of years": "age",
    "a label": '"north"',
    "a comparison of nothing": " == ",
    "members without end": "region in {" + ",".join(['"north"'] * 7_000) + "}",
}


@pytest.mark.parametrize("name", QUERIES)
def test_a_query_that_is_hostile_is_refused_before_anything_is_charged(
    agents: list[Agent], name: str
) -> None:
    message = message_of(lambda m: setattr(m, "query", QUERIES[name]))
    code, error = refused(agents, ask(message))
    assert (code, error) in {("INVALID_ARGUMENT", "QueryRefused"), ("INVALID_ARGUMENT", "InvalidParameter")}


@pytest.mark.parametrize("identifier", [b"", b"x" * 15, b"x" * 65, bytes(10**6)])
def test_an_identifier_of_another_length_is_refused(agents: list[Agent], identifier: bytes) -> None:
    message = message_of(lambda m: setattr(m, "request_id", identifier))
    assert refused(agents, ask(message)) == ("INVALID_ARGUMENT", "InvalidParameter")


def test_a_message_beyond_four_mebibytes_is_refused(agents: list[Agent]) -> None:
    message = message_of(lambda m: setattr(m, "request_id", bytes(5 << 20)))
    assert refused(agents, ask(message))[0] == "RESOURCE_EXHAUSTED"


def test_a_message_nested_beyond_what_protobuf_takes_is_refused(agents: list[Agent]) -> None:
    begin, end = bytes([15 << 3 | 3]), bytes([15 << 3 | 4])  # groups, of a field that nobody knows
    raw = begin * 3_000 + end * 3_000

    def call(agent: Agent) -> object:
        return list(agent.channel.unary_stream(f"/{SERVICE_NAME}/Randomize")(raw, timeout=20))

    assert refused(agents, call)[0] == "INVALID_ARGUMENT"


def contribution(**changes: Any) -> Callable[[Agent], object]:
    """A call of Contribute, edited."""
    holder = Party("party-0", people(PEOPLE), KEYRING.party(0), _NoLedger())
    collection = codec.collection_to_wire(collection_of([holder]))
    for name, value in changes.items():
        if isinstance(value, list):
            del getattr(collection, name)[:]
            getattr(collection, name).extend(value)
        elif isinstance(value, Message):
            getattr(collection, name).CopyFrom(value)
        else:
            setattr(collection, name, value)
    message = pb.ContributeRequest(collection=collection, cohort=codec.cohort_to_wire(EVERYBODY))
    return lambda agent: agent.stub.Contribute(message, timeout=20)


class _NoLedger:
    limit = ONE

    def charge(self, charge: object) -> Any:
        raise AssertionError

    def require(self, charge: object) -> None:
        raise AssertionError

    def was_heard(self, charge: object) -> bool:
        raise AssertionError

    def spent(self) -> Any:
        return np.zeros(PEOPLE, np.int64)


@pytest.mark.parametrize(
    "changes",
    [
        {"servers": ["server-0", "mallory"]},
        {"servers": ["server-0"]},
        {"servers": ["server-0", "server-0"]},
        {"servers": []},
        {"epsilon_nanonats": 0},
        {"epsilon_nanonats": 2**64 - 1},
        {"epsilon_nanonats": LARGEST.nanonats + 1},
        {"minimum_batch": 0},
        {"minimum_batch": 1},
        {"noise_plan": 0},
        {"noise_plan": 77},
        {"parties": []},
        {"encoding": collection_pb2.Encoding()},
        {"encoding": collection_pb2.Encoding(kind="ENCODING_KIND_SUM", length=1, bound=2, sensitivity=2)},
        {"tier": 0},
        {"keys": [b"mallory"]},
        {"collection_id": b""},
    ],
    ids=str,
)
def test_a_collection_that_would_reveal_more_is_refused(
    agents: list[Agent], changes: dict[str, Any]
) -> None:
    assert refused(agents, contribution(**changes))[0] in ("INVALID_ARGUMENT", "PERMISSION_DENIED")


def test_a_method_that_there_is_not_is_refused(agents: list[Agent]) -> None:
    def call(agent: Agent) -> object:
        return agent.channel.unary_unary(f"/{SERVICE_NAME}/Reveal")(b"", timeout=20)

    assert refused(agents, call)[0] == "UNIMPLEMENTED"


def test_an_exhausted_budget_is_told_in_the_same_words_whatever_the_records(agents: list[Agent]) -> None:
    person = Cohort(PEOPLE - 1, PEOPLE)
    for agent in agents:
        for number in range(50, 52):
            ask(codec.request_to_wire(request(number, epsilon=LARGEST), person))(agent)
    again = ask(codec.request_to_wire(request(52, epsilon=LARGEST), EVERYBODY))
    assert refused(agents, again) == ("RESOURCE_EXHAUSTED", "BudgetExhausted")


def test_the_same_identifier_for_another_question_is_another_charge(agents: list[Agent]) -> None:
    for agent in agents:
        before = len(entries_in(agent.ledger))
        for query in ("smoker", "age >= 50", "smoker"):
            ask(codec.request_to_wire(request(70, query, Epsilon.requested("0.1")), Cohort(0, 5)))(agent)
        assert len(entries_in(agent.ledger)) == before + 2


def test_an_empty_cohort_leaves_no_trace_however_often_it_is_asked(agents: list[Agent]) -> None:
    for agent in agents:
        before = entries_in(agent.ledger)
        for number in range(80, 100):
            assert ask(codec.request_to_wire(request(number), Cohort(7, 7)))(agent) == []
        assert entries_in(agent.ledger) == before


def test_a_ledger_of_an_agent_under_attack_is_opened_again(agents: list[Agent]) -> None:
    for agent in agents:
        with closing(sqlite_ledger(agent.ledger, PEOPLE, BUDGET)) as ledger:
            assert int(ledger.spent().max()) <= BUDGET.nanonats
