"""What every LR oracle promises (Definition 12.2), in process and over gRPC, with bit-identical reports."""

import numpy as np
import pytest

from localdp.cohorts import Cohort, Split
from localdp.errors import InvalidParameter, PolicyRefused, QueryRefused, UnknownIndex
from localdp.oracles.lr import InProcessLROracle, LROracle, tally_of
from localdp.party.party import Request
from localdp.randomizers.coordinate_sampling import CoordinateSampling
from localdp.randomizers.definition import LocalRandomizer, Reports
from localdp.randomizers.haar import HaarRanges
from localdp.randomizers.hybrid import HybridRandomizer
from localdp.randomizers.k_ary import KaryRandomizedResponse
from localdp.randomizers.local_hashing import OptimalLocalHashing
from localdp.randomizers.marginals import HadamardMarginals
from localdp.randomizers.memoised import memoised_optimized_unary
from localdp.randomizers.one_bit import OneBitRandomizer, binary_randomized_response
from localdp.randomizers.priv_unit import PrivUnit
from localdp.randomizers.projective_geometry import ProjectiveGeometryResponse
from localdp.randomizers.subset_selection import SubsetSelection
from localdp.randomizers.unary import OptimizedUnaryEncoding
from parties.simulation.launcher import Simulation
from tests.contract.conftest import PARTIES, PEOPLE
from tests.support.people import ONE, parties_of, population

COHORTS = [
    Cohort(0, PEOPLE),
    Cohort(0, 1),
    Cohort(900, 2100),
    Cohort(2999, 3000),
    Cohort(0, PEOPLE, Split(bytes(range(16)), 4, 2)),
]
QUERIES = ["smoker", 'age >= 65 and region in {"north", "west"}', "clip(bmi/60)"]


@pytest.fixture
def in_process() -> InProcessLROracle:
    return InProcessLROracle(parties_of(population(PEOPLE), PARTIES))


@pytest.fixture(params=["in process", "grpc"])
def oracle(
    request: pytest.FixtureRequest, in_process: InProcessLROracle, simulation: Simulation
) -> LROracle:
    return in_process if request.param == "in process" else simulation.parties


def request_of(query: str, name: str) -> Request:
    resolution = 1 << 16 if query.startswith("clip") else 1
    return Request(name.ljust(16, "-").encode(), query, OneBitRandomizer(ONE, resolution))


def reports_of(oracle: LROracle, request: Request, cohort: Cohort) -> Reports:
    return np.concatenate(list(oracle.reports(request, cohort)))


def test_an_oracle_says_who_is_there_and_what_may_be_asked(oracle: LROracle) -> None:
    assert oracle.people == PEOPLE
    assert oracle.schema == population(PEOPLE).schema


@pytest.mark.parametrize("cohort", COHORTS)
@pytest.mark.parametrize("query", QUERIES)
def test_reports_over_grpc_are_bit_identical_to_those_in_process(
    in_process: InProcessLROracle, simulation: Simulation, query: str, cohort: Cohort
) -> None:
    request = request_of(query, "identical")
    here, there = (reports_of(oracle, request, cohort) for oracle in (in_process, simulation.parties))
    assert (here == there).all()
    assert len(here) == cohort.size() or cohort.split is not None


EVERY_SHAPE: list[tuple[str, LocalRandomizer]] = [
    ("region", KaryRandomizedResponse(ONE, 4)),
    ("age", SubsetSelection(ONE, 121)),
    ("age", OptimizedUnaryEncoding(ONE, 121)),
    ("age", ProjectiveGeometryResponse(ONE, 121)),
    ("age", HaarRanges(ONE, 121)),
    ("age", OptimalLocalHashing(ONE)),
    ("region", memoised_optimized_unary(ONE * 2, ONE, 4)),
    ("clip(bmi/60)", HybridRandomizer(ONE)),
    ("vector(smoker, age >= 65)", HadamardMarginals(ONE, 2, 2)),
    ("parities(1, smoker, age >= 65; bmi > 25)", HadamardMarginals(ONE, 3, 1, labelled=True)),
    ("cells(region, which(age < 30, age < 60))", KaryRandomizedResponse(ONE, 12)),
    ("moments(ball(bmi/60, age/120), smoker)", PrivUnit(ONE, 5)),
    ("vector(smoker, clip(bmi/60))", CoordinateSampling(ONE, 2)),
    ("vector(smoker, clip(bmi/60))", PrivUnit(ONE, 2)),
]


@pytest.mark.parametrize(
    ("query", "randomizer"), EVERY_SHAPE, ids=lambda part: getattr(part, "canonical", part)
)
def test_reports_of_every_shape_are_bit_identical_over_grpc(
    in_process: InProcessLROracle, simulation: Simulation, query: str, randomizer: LocalRandomizer
) -> None:
    request = Request(b"every shape-----", query, randomizer)
    for cohort in (Cohort(0, PEOPLE), Cohort(700, 1300, Split(bytes(range(16)), 2, 1))):
        here, there = (reports_of(oracle, request, cohort) for oracle in (in_process, simulation.parties))
        assert here.dtype == there.dtype
        assert here.tobytes() == there.tobytes()


def test_the_same_request_has_the_same_reports(oracle: LROracle) -> None:
    request = request_of("smoker", "again")
    first, second = (reports_of(oracle, request, Cohort(0, PEOPLE)) for _ in range(2))
    assert (first == second).all()


def test_different_requests_have_different_reports(oracle: LROracle) -> None:
    first, second = (
        reports_of(oracle, request_of("smoker", name), Cohort(0, PEOPLE)) for name in ("one", "two")
    )
    assert (first != second).any()


def test_each_person_gives_one_report_in_the_order_of_their_index(oracle: LROracle) -> None:
    # At epsilon 30 a bit is flipped once in 10**13 draws: the reports are the records.
    request = Request(b"almost the truth", "smoker", binary_randomized_response(30))
    truth = population(PEOPLE).column("smoker")
    assert (reports_of(oracle, request, Cohort(950, 2050)) == truth[950:2050]).all()


def test_a_tally_is_the_number_of_ones(oracle: LROracle) -> None:
    request = request_of("smoker", "tally")
    tally = tally_of(oracle, request, Cohort(0, PEOPLE))
    assert tally.reports == PEOPLE
    assert tally.sums.tolist() == [int(reports_of(oracle, request, Cohort(0, PEOPLE)).sum())]


def test_the_bytes_that_moved_are_those_of_the_packed_reports(oracle: LROracle) -> None:
    before = oracle.bytes_moved
    reports_of(oracle, request_of("smoker", "bytes"), Cohort(0, PEOPLE))
    assert oracle.bytes_moved - before == PEOPLE // 8


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
    oracle: LROracle, query: str, cohort: Cohort, error: type[Exception]
) -> None:
    with pytest.raises(error):
        tally_of(oracle, request_of(query, "wrong"), cohort)


def test_a_value_between_0_and_1_does_not_pass_for_a_bit(oracle: LROracle) -> None:
    request = Request(b"a clipped number", "clip(bmi/60)", binary_randomized_response(1))
    with pytest.raises(InvalidParameter, match="grid"):
        tally_of(oracle, request, Cohort(0, 10))


def test_policy_refusals_arrive_as_such(simulation: Simulation) -> None:
    # The agents allow requests up to epsilon 30, so it takes a stricter party to see one.
    party = parties_of(population(PEOPLE), 1)[0]
    strict = type(party.policy)(largest_epsilon=ONE.divided_by(2))
    party.policy = strict
    with pytest.raises(PolicyRefused):
        tally_of(InProcessLROracle([party]), request_of("smoker", "strict"), Cohort(0, 10))
