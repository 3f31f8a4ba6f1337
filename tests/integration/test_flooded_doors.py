"""Flooded rounds at an agent's doors: who may ask, under which numbers and in which epoch, and how much is on the wire."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from fractions import Fraction

import grpc
import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.flood_plan import FloodPlan
from localdp.accounting.ledger import Ledger, MemoryLedger
from localdp.cohorts import Cohort
from localdp.domains import Records
from localdp.errors import BudgetExhausted, LocalDpError, PolicyRefused, RequestExpired
from localdp.party.party import Party
from localdp.party.policy import Policy
from localdp.queries.asked import query_of
from localdp.queries.in_messages import InMessages
from localdp.sharing.flooded_batch import SEALED_BYTES, Messages
from localdp.sharing.flooded_round import FloodedQuestion, FloodedRound
from parties.agent.service import SERVICE_NAME, AgentService
from parties.coordinator import Peer, RemoteParties
from parties.flood_codec import flood_to_wire
from parties.identity import Identity, load_identity, make_authority, make_identity
from parties.serving import open_channel
from parties.status import error_of
from parties.wire.v1 import oracle_pb2_grpc
from tests.support.broken_epochs import WithoutEpochs
from tests.support.federations import Loopback, loopback
from tests.support.flooding import plan_of, question_of, round_at
from tests.support.people import KEYRING, ONE, population

PEOPLE = 40
ALL = Cohort(0, PEOPLE)
NAMES = ("mixer", "other-mixer", "analyst", "clinic")
ACCEPTS = Policy(shuffler="mixer", largest_delta_flooded=Fraction(1, 1000))


def asked(number: int = 0) -> FloodedRound:
    return round_at(question_of(plan_of(PEOPLE + 60), number=number), ("clinic", PEOPLE), ("north", 60))


def clinic(records: Records, policy: Policy = ACCEPTS, budget: Epsilon = ONE) -> Party:
    return Party("clinic", records, KEYRING.party(0), MemoryLedger(PEOPLE, budget), policy)


@pytest.fixture
def loop() -> Iterator[Loopback]:
    with loopback() as made:
        yield made


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Identity]:
    directory = tmp_path_factory.mktemp("keys")
    make_authority(directory / "ca")
    for name in NAMES:
        make_identity(directory / "ca", directory / name, name, ("127.0.0.1",))
    return {name: load_identity(directory / name) for name in NAMES}


def told(parties: RemoteParties) -> Messages | LocalDpError:
    """What the clinic says to a call, or why it does not."""
    ((_, messages),) = parties.flooded(asked(), [0])
    return messages


@pytest.mark.parametrize("caller", ["other-mixer", "analyst"])
def test_only_the_shuffler_that_the_owner_named_is_answered(
    loop: Loopback, known: dict[str, Identity], caller: str
) -> None:
    one = clinic(population(PEOPLE))
    address = loop.serve(SERVICE_NAME, AgentService(one, {}), identity=known["clinic"])
    with ExitStack() as stack:
        named, another = (
            stack.enter_context(closing(RemoteParties([Peer("clinic", address)], 20, known[name])))
            for name in ("mixer", caller)
        )
        refused = told(another)
        assert isinstance(refused, PolicyRefused) and "shuffler that its owner named" in str(refused)
        assert not one.ledger.spent().any()
        answer = told(named)
        assert isinstance(answer, np.ndarray) and answer.shape == (asked().plan.size(PEOPLE), SEALED_BYTES)
        assert isinstance(told(another), PolicyRefused)  # nor is it given what was paid for


@pytest.mark.parametrize(
    "policy",
    [Policy(shuffler="mixer"), replace(ACCEPTS, second_key=bytes(32)), replace(ACCEPTS, aggregators=frozenset())],
    ids=["no flooded round", "another second shuffler", "nobody"],
)  # fmt: skip
def test_who_may_not_ask_keeps_an_agent_from_nothing(
    loop: Loopback, monkeypatch: pytest.MonkeyPatch, policy: Policy
) -> None:
    """What noise hides is worked out, which takes up to 20 seconds, for those alone who may ask: also in a quote."""
    worked: list[object] = []
    address = loop.serve(SERVICE_NAME, AgentService(clinic(population(PEOPLE), policy), {}))
    alone = round_at(question_of(plan_of(PEOPLE)), ("clinic", PEOPLE))
    with closing(RemoteParties([Peer("clinic", address)], 20)) as parties:
        monkeypatch.setattr(FloodPlan, "__post_init__", worked.append)
        (quoted,), ((_, messages),) = parties.granted_flooded(alone), parties.flooded(alone, [0])
        assert isinstance(quoted, PolicyRefused) and isinstance(messages, PolicyRefused)
        assert not worked


def _n(question: FloodedQuestion) -> FloodedRound:
    return round_at(question_of(plan_of(PEOPLE + 400, 100)), ("clinic", PEOPLE), ("north", 400))


def _h(question: FloodedQuestion) -> FloodedRound:
    return round_at(question_of(plan_of(PEOPLE + 60, 90)), ("clinic", PEOPLE), ("north", 60))


def _list(question: FloodedQuestion) -> FloodedRound:
    return round_at(question, ("clinic", PEOPLE), ("south", 60))


def _key(question: FloodedQuestion) -> FloodedRound:
    return round_at(question_of(question.plan, b"\x09" + bytes(31)), ("clinic", PEOPLE), ("north", 60))


@pytest.mark.parametrize("changed", [_n, _h, _list, _key])
def test_another_round_under_the_same_identifier_is_refused_or_is_another_charge(
    loop: Loopback, changed: Callable[[FloodedQuestion], FloodedRound]
) -> None:
    """With a budget for one it is refused; with one for two there is no key pair that both have."""
    first, second = asked(), changed(asked().question)
    assert first.question.round_id == second.question.round_id
    poor, rich = clinic(population(PEOPLE)), clinic(population(PEOPLE), budget=ONE * 2)
    for one, cost in ((poor, ONE), (rich, ONE * 2)):
        address = loop.serve(SERVICE_NAME, AgentService(one, {}))
        sent = [on_the_wire(address, which) for which in (first, second, first)]
        assert sent[0] == sent[2] and one.ledger.spent().tolist() == [cost.nanonats] * PEOPLE
        assert bool(sent[1]) == (one is rich)
        assert not key_pairs(sent[0]) & key_pairs(sent[1])


def key_pairs(sent: list[bytes]) -> set[bytes]:
    """The public keys that messages were sealed with, one for each."""
    whole = b"".join(sent)
    return {whole[place : place + 32] for place in range(0, len(whole), SEALED_BYTES)}


def on_the_wire(address: str, which: FloodedRound) -> list[bytes]:
    """The messages of each response; nothing where it is refused."""
    with closing(open_channel(address)) as channel:
        stub = oracle_pb2_grpc.LocalRandomizerOracleServiceStub(channel)
        try:
            return [one.packed for one in stub.Flood(flood_to_wire(which, ALL), timeout=20)]
        except grpc.RpcError as failure:
            refusal = error_of(failure, "the agent")
    if not isinstance(refusal, BudgetExhausted | RequestExpired):
        raise refusal
    return []


@pytest.mark.parametrize("query", ["smoker", "region", "vector(smoker, age >= 65)", "clip(age/100)"])
def test_what_is_on_the_wire_has_one_length_whatever_the_values_are(loop: Loopback, query: str) -> None:
    """Every response, byte by byte, of people who all say 0 and of people who all say as much as they can."""
    lengths, schema = list[list[int]](), population(PEOPLE).schema
    plan = plan_of(PEOPLE + 60, sums=InMessages.of(query_of(query, schema)).flooded)
    which = round_at(question_of(plan, query=query), ("clinic", PEOPLE), ("north", 60))
    for value in (False, True):
        columns = {name: population(PEOPLE).column(name) for name in schema.names}
        columns |= {"smoker": np.full(PEOPLE, value), "age": np.full(PEOPLE, 100 * value)}
        address = loop.serve(SERVICE_NAME, AgentService(clinic(Records.from_columns(schema, columns)), {}))
        lengths.append([len(part) for part in on_the_wire(address, which)])
    assert lengths[0] == lengths[1] and lengths[0]


def over_two_epochs(loop: Loopback, ledger: Ledger) -> None:
    """A round that is charged, an epoch later, and asked for then: no messages but those that were paid for."""
    one = Party("clinic", population(PEOPLE), KEYRING.party(0), ledger, ACCEPTS)
    before = one.flooded(asked(), ALL, "mixer")  # charged, and nothing drawn yet
    one.enter(one.epoch.next(population(PEOPLE)))
    address = loop.serve(SERVICE_NAME, AgentService(one, {}))
    after = on_the_wire(address, asked())
    drawn = [before(ALL).messages(0, asked().plan.size(PEOPLE)).tobytes()]
    paid = int(ledger.spent().max())
    assert len({tuple(sent) for sent in (drawn, after) if sent}) * ONE.nanonats <= paid, "not paid for"
    anew = on_the_wire(address, asked(1))
    assert anew and not key_pairs(drawn) & key_pairs(anew)
    assert ledger.spent().tolist() == [paid + ONE.nanonats] * PEOPLE


def test_a_new_epoch_between_a_charge_and_its_messages_gives_nothing_for_free(loop: Loopback) -> None:
    over_two_epochs(loop, MemoryLedger(PEOPLE, ONE * 2))


def test_a_ledger_that_knows_no_epochs_is_caught(loop: Loopback) -> None:
    with pytest.raises(AssertionError, match="not paid for"):
        over_two_epochs(loop, WithoutEpochs(PEOPLE, ONE * 2))
