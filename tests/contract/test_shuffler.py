"""What every shuffler promises, in process and over gRPC: the reports of the parties, mixed, and the same bits in both."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.cohorts import Cohort, Split
from localdp.domains.dealing import dealt
from localdp.errors import InvalidParameter, PolicyRefused, QueryRefused, TooFewReports, UnknownIndex
from localdp.oracles.exact import ExactOracle
from localdp.oracles.lr import InProcessLROracle, tally_of
from localdp.oracles.shuffled import ShuffledOracle
from localdp.oracles.shuffler import Mixer, Promise, Shuffler
from localdp.party.party import Request
from localdp.randomizers.definition import LocalRandomizer, Reports
from localdp.randomizers.one_bit import OneBitRandomizer, binary_randomized_response
from localdp.randomness.keystream import KeystreamSource
from parties.simulation.launcher import Simulation
from tests.contract.conftest import PARTIES, PEOPLE
from tests.contract.test_lr_oracle import COHORTS, EVERY_SHAPE, QUERIES, reports_of, request_of
from tests.support.people import KEYRING, ONE, PLENTY, parties_of, population

PROMISE = Promise(Epsilon.requested(2), requests=10_000, minimum_cohort=50)
MIXED_COHORTS = [cohort for cohort in COHORTS if cohort.stop - cohort.start > 1]


@pytest.fixture(scope="module")
def running() -> Iterator[Simulation]:
    """Three agents, with a shuffler in front of them."""
    with Simulation(
        dealt(population(PEOPLE), PARTIES),
        budget=PLENTY,
        keyring=KEYRING,
        largest_request=Epsilon.requested(30),
        shuffler=PROMISE,
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


def multiset(reports: Reports) -> list[bytes]:
    return sorted(report.tobytes() for report in reports)


def test_a_shuffler_says_how_many_there_are_what_may_be_asked_and_what_it_promises(mixer: Mixer) -> None:
    assert mixer.people == PEOPLE
    assert mixer.schema == population(PEOPLE).schema
    assert mixer.promise == PROMISE
    assert mixer.hiding == PEOPLE


@pytest.mark.parametrize("cohort", MIXED_COHORTS)
@pytest.mark.parametrize("query", QUERIES)
def test_the_reports_are_those_of_the_parties_in_another_order(
    here: Shuffler, running: Simulation, query: str, cohort: Cohort
) -> None:
    request = request_of(query, "mixed")
    there = reports_of(remote(running), request, cohort)
    plain = reports_of(running.parties, here.request_for(request, cohort), cohort)
    assert multiset(there) == multiset(plain)
    assert len(plain) < 10 or (there != plain).any()
    assert there.tobytes() == reports_of(here, request, cohort).tobytes()


@pytest.mark.parametrize(
    ("query", "randomizer"),
    [shape for shape in EVERY_SHAPE if "memoised" not in shape[1].canonical],
    ids=lambda part: getattr(part, "canonical", part),
)
def test_reports_of_every_shape_are_mixed_whole_and_bit_identical_over_grpc(
    here: Shuffler, running: Simulation, query: str, randomizer: LocalRandomizer
) -> None:
    request = Request(b"every shape-----", query, randomizer)
    for cohort in (Cohort(0, PEOPLE), Cohort(700, 1300, Split(bytes(range(16)), 2, 1))):
        there = reports_of(remote(running), request, cohort)
        plain = reports_of(running.parties, here.request_for(request, cohort), cohort)
        assert multiset(there) == multiset(plain)
        assert there.tobytes() != plain.tobytes()
        assert there.tobytes() == reports_of(here, request, cohort).tobytes()


def test_the_same_request_has_the_same_bytes_and_another_one_others(mixer: Mixer) -> None:
    first, again, other = (
        reports_of(mixer, request_of("smoker", name), Cohort(0, PEOPLE)) for name in ("one", "one", "two")
    )
    assert first.tobytes() == again.tobytes()
    assert first.tobytes() != other.tobytes()


def test_no_report_is_lost_or_made_up(mixer: Mixer) -> None:
    # 4.8 nats is what 3,000 people may say behind the promise: 1 bit in 123 is flipped; the sum is right to 5 of 5 sd.
    request = Request(b"almost the truth", "smoker", binary_randomized_response("4.8"))
    tally = tally_of(mixer, request, Cohort(0, PEOPLE))
    assert tally.reports == PEOPLE
    truth = int(population(PEOPLE).column("smoker").sum())
    assert abs(int(tally.sums[0]) - truth) < 0.01 * PEOPLE + 5 * 5


def test_the_bytes_that_moved_are_those_of_the_packed_reports(mixer: Mixer) -> None:
    before = mixer.bytes_moved
    reports_of(mixer, request_of("smoker", "bytes"), Cohort(0, PEOPLE))
    assert mixer.bytes_moved - before == PEOPLE // 8


@pytest.mark.parametrize(
    ("query", "cohort", "error"),
    [
        ("smokr", Cohort(0, 10), QueryRefused),
        ("region == 3", Cohort(0, 10), QueryRefused),
        ("smoker", Cohort(0, PEOPLE + 1), UnknownIndex),
        ("smoker", Cohort(5, 5), InvalidParameter),
    ],
)
def test_what_is_wrong_is_refused_with_the_same_error_everywhere(
    mixer: Mixer, query: str, cohort: Cohort, error: type[Exception]
) -> None:
    with pytest.raises(error):
        tally_of(mixer, request_of(query, "wrong"), cohort)


def test_a_report_that_is_too_revealing_for_its_cohort_is_refused_everywhere(mixer: Mixer) -> None:
    request = Request(b"much too much---", "smoker", OneBitRandomizer(Epsilon.requested(7), 1))
    with pytest.raises(TooFewReports):
        tally_of(mixer, request, Cohort(0, PEOPLE))
    with pytest.raises(TooFewReports):
        tally_of(mixer, Request(b"alone-----------", "smoker", OneBitRandomizer(ONE * 3, 1)), Cohort(7, 8))


@pytest.mark.parametrize(
    "cohort", [Cohort(7, 8), Cohort(0, 49), Cohort(0, PEOPLE, Split(bytes(16), 100, 0))]
)
def test_a_request_about_few_is_refused_everywhere(mixer: Mixer, cohort: Cohort) -> None:
    with pytest.raises(TooFewReports, match="at least 50 people"):
        tally_of(mixer, request_of("smoker", "few"), cohort)


def test_an_oracle_on_either_gives_the_same_answer(here: Shuffler, running: Simulation) -> None:
    answers = [
        ShuffledOracle(one, ONE, KEYRING.source("analyst")).answer(["smoker", "age >= 65", "clip(bmi/60)"])
        for one in (here, remote(running))
    ]
    assert answers[0] == answers[1]
    exact = ExactOracle(population(PEOPLE)).answer(["smoker"])[0]
    assert abs(answers[0][0].value - exact.value) < 6 * answers[0][0].standard_error
    with pytest.raises(PolicyRefused):
        ShuffledOracle(remote(running), ONE * 3, KEYRING.source("analyst"))


def test_a_mixed_stream_may_be_read_in_any_parts(mixer: Mixer) -> None:
    parts = list(mixer.reports(request_of("smoker", "parts"), Cohort(0, PEOPLE)))
    assert sum(map(len, parts)) == PEOPLE
    assert all(part.dtype == np.bool_ for part in parts)
