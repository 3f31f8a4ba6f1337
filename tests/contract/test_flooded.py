"""What every flooded round promises, in process and over gRPC: sums near the truth, once, from enough people, unread."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import grpc
import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.cohorts import Cohort
from localdp.domains.dealing import dealt
from localdp.errors import InvalidParameter, LocalDpError, TooFewReports
from localdp.oracles.exact import ExactOracle
from localdp.oracles.flood_mixing import round_of
from localdp.oracles.flooded import FloodedOracle
from localdp.oracles.lr import InProcessLROracle
from localdp.oracles.shuffler import Mixer, Promise, Shuffler
from localdp.randomness.keystream import KeystreamSource
from localdp.sharing.flooded_batch import SEALED_BYTES, added, opened_codes
from localdp.sharing.flooded_round import FloodedRound
from parties import codec
from parties.flood_codec import question_to_wire
from parties.simulation.launcher import Simulation
from parties.wire.v1 import shuffler_pb2, shuffler_pb2_grpc
from tests.contract.conftest import PARTIES, PEOPLE
from tests.support.flooding import SECRET, plan_of, question_of
from tests.support.people import KEYRING, ONE, PLENTY, parties_of, population

PROMISE = Promise(Epsilon.requested(4), Fraction(1, 1000), requests=10_000, minimum_cohort=50)
EVERYBODY = [Cohort(0, PEOPLE)]


@pytest.fixture(scope="module")
def running() -> Iterator[Simulation]:
    """Three agents, with a shuffler in front of them."""
    with Simulation(
        dealt(population(PEOPLE), PARTIES), budget=PLENTY, keyring=KEYRING, shuffler=PROMISE
    ) as simulation:
        yield simulation


@pytest.fixture
def here() -> Shuffler:
    lr = InProcessLROracle(parties_of(population(PEOPLE), PARTIES))
    return Shuffler(lr, KeystreamSource(KEYRING.shuffler()), PROMISE)


def remote(running: Simulation) -> Mixer:
    assert running.mixer is not None
    return running.mixer


@pytest.fixture(params=["in process", "grpc"])
def mixer(request: pytest.FixtureRequest, here: Shuffler, running: Simulation) -> Mixer:
    return here if request.param == "in process" else remote(running)


def oracle(mixer: Mixer, purpose: str, epsilon: Epsilon = ONE) -> FloodedOracle:
    source, delta = KEYRING.source("flooded", purpose), Fraction(1, 1000)
    return FloodedOracle(mixer, epsilon, source, delta=delta, extra=Fraction(1, 100))


def test_answers_lie_within_six_standard_errors_in_their_order(mixer: Mixer) -> None:
    queries = ["smoker", 'age >= 65 or region == "east"']
    asked, truth = oracle(mixer, "order"), ExactOracle(population(PEOPLE)).answer(queries)
    for answer, exact in zip(asked.answer(queries), truth, strict=True):
        assert answer.query == exact.query
        assert abs(answer.value - exact.value) <= 6 * answer.standard_error
    assert (asked.cost.rounds, asked.cost.queries, asked.cost.epsilon_promised) == (1, 2, ONE)
    assert asked.claim.delta == Fraction(1, 1000)


def test_the_same_question_has_the_same_sums_in_process_and_over_grpc(
    here: Shuffler, running: Simulation
) -> None:
    """Over gRPC the question gets a key, which is in its digest, so that noise differs and values do not."""
    plan = plan_of(PEOPLE)
    sums = [
        added(one.flooded(question_of(plan, b""), EVERYBODY).messages, 1)[0]
        for one in (here, remote(running))
    ]
    truth = int(population(PEOPLE).column("smoker").sum())
    assert all(abs(int(total) - truth) < 60 for total in sums)


def test_histograms_and_views_of_some_people(mixer: Mixer) -> None:
    asked = oracle(mixer, "views", Epsilon.requested(4))
    (shares,) = asked.answer_vectors(["region"])
    (exact,) = ExactOracle(population(PEOPLE)).answer_vectors(["region"])
    assert (np.abs(shares.values - exact.values) <= 6 * shares.standard_errors).all()
    some = asked.among([range(0, PEOPLE // 2)])
    assert some.answer(["smoker"])[0].reports == PEOPLE // 2


@pytest.fixture
def stub(running: Simulation) -> Iterator[shuffler_pb2_grpc.ShufflerServiceStub]:
    assert running.shuffler is not None
    with grpc.insecure_channel(running.shuffler.address) as channel:
        yield shuffler_pb2_grpc.ShufflerServiceStub(channel)


def request_of(honest: int | None = None, number: int = 7) -> shuffler_pb2.ShuffleFloodedRequest:
    question = question_of(plan_of(PEOPLE, honest), number=number)
    cohorts = [codec.cohort_to_wire(cohort) for cohort in EVERYBODY]
    return shuffler_pb2.ShuffleFloodedRequest(question=question_to_wire(question), cohorts=cohorts)


def test_a_repeated_request_has_the_same_bytes_and_no_message_is_readable_without_the_key(
    stub: shuffler_pb2_grpc.ShufflerServiceStub, running: Simulation
) -> None:
    first, again = (list(stub.ShuffleFlooded(request_of())) for _ in range(2))
    assert [one.SerializeToString() for one in first] == [one.SerializeToString() for one in again]
    assert {(one.people, one.messages) for one in first} == {(PEOPLE, sum(one.reports for one in first))}
    sealed = np.frombuffer(b"".join(one.packed for one in first), np.uint8).reshape(-1, SEALED_BYTES)
    asked = round_of(question_of(plan_of(PEOPLE), number=7), EVERYBODY, running.parties.contributors)
    assert first[0].roster == asked.roster
    codes = opened_codes(SECRET, asked.digest, sealed)
    truth = int(population(PEOPLE).column("smoker").sum())
    assert abs(int(added(codes, 1)[0]) - truth) < 60
    assert not opened_codes(bytes([5] * 32), asked.digest, sealed).any()


def agents_bytes(running: Simulation, asked: FloodedRound) -> list[bytes]:
    """What each agent sends, as a shuffler sees it."""
    told = running.parties.flooded(asked, range(len(asked.parts)))
    return [messages.tobytes() for _, messages in told if not isinstance(messages, LocalDpError)]


def test_an_agent_sends_the_same_messages_again_and_as_many_for_every_query(running: Simulation) -> None:
    asked = [
        round_of(
            question_of(plan_of(PEOPLE), query=query, number=9), EVERYBODY, running.parties.contributors
        )
        for query in ("smoker", "age >= 0", "age < 0")
    ]
    sent = [agents_bytes(running, one) for one in asked]
    assert agents_bytes(running, asked[0]) == sent[0]
    lengths = [[len(one) for one in some] for some in sent]
    assert lengths == [[SEALED_BYTES * asked[0].plan.size(part.people) for part in asked[0].parts]] * 3


def test_a_round_without_a_key_does_not_travel(running: Simulation) -> None:
    asked = round_of(question_of(plan_of(PEOPLE), b""), EVERYBODY, running.parties.contributors)
    assert all(isinstance(one, InvalidParameter) for one in running.parties.granted_flooded(asked))
    assert all(
        isinstance(one, InvalidParameter) for _, one in running.parties.flooded(asked, range(PARTIES))
    )


def test_a_promise_is_enforced_by_the_shuffler_itself(
    stub: shuffler_pb2_grpc.ShufflerServiceStub,
) -> None:
    with pytest.raises(grpc.RpcError) as refused:
        list(stub.ShuffleFlooded(request_of(honest=49, number=8)))
    assert refused.value.code() is grpc.StatusCode.FAILED_PRECONDITION
    assert "at least 50 honest people" in str(refused.value.details())


def test_too_few_people_are_refused_in_process(here: Shuffler) -> None:
    with pytest.raises(TooFewReports):
        here.flooded(question_of(plan_of(PEOPLE, 49), b""), EVERYBODY)
