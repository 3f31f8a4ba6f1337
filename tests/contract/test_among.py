"""Views of some of the people (`among`): who is asked, who pays, and what is counted, for every oracle."""

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.ledger import MemoryLedger
from localdp.errors import BudgetExhausted, InvalidParameter
from localdp.oracles.account import Account
from localdp.oracles.adversarial import AdversarialOracle
from localdp.oracles.curator import CuratorOracle
from localdp.oracles.definition import StatisticalQueryOracle
from localdp.oracles.exact import ExactOracle
from localdp.oracles.local import LocalOracle
from localdp.oracles.lr import InProcessLROracle
from localdp.oracles.recording import CountingOracle, RecordingOracle, ReplayingOracle
from localdp.oracles.shared import InProcessShareServers, SharedOracle
from localdp.oracles.shuffled import ShuffledOracle, Shuffler
from localdp.sharing.noise_plans import PLANS, NoisePlan
from parties.simulation.launcher import Simulation
from tests.contract.conftest import PARTIES, PEOPLE
from tests.support.people import KEYRING, ONE, PLENTY, parties_of, population, servers_of

RECORDS = population(PEOPLE)
SOME = (range(40, 900), range(1500, 2700))  # of all three parties
Make = Callable[[Epsilon], StatisticalQueryOracle]


def local(epsilon: Epsilon) -> StatisticalQueryOracle:
    parties = InProcessLROracle(parties_of(RECORDS, PARTIES))
    return LocalOracle(parties, epsilon, KEYRING.source("among", "local"))


def shared(plan: NoisePlan) -> Make:
    servers = 3 if plan.is_joint else 2

    def make(epsilon: Epsilon) -> StatisticalQueryOracle:
        behind = InProcessShareServers(parties_of(RECORDS, PARTIES), servers_of(servers))
        source = KEYRING.source("among", plan.value)
        return SharedOracle(behind, epsilon, source, plan=plan, tier="additive")

    return make


def shuffled(epsilon: Epsilon) -> StatisticalQueryOracle:
    mixing = Shuffler(InProcessLROracle(parties_of(RECORDS, PARTIES)), KEYRING.source("among", "mixing"))
    return ShuffledOracle(mixing, epsilon, KEYRING.source("among", "shuffled"))


def curator(epsilon: Epsilon) -> StatisticalQueryOracle:
    return CuratorOracle(RECORDS, epsilon, KEYRING.source("among", "curator"), budget=PLENTY)


MODELS: dict[str, Make] = {
    "exact": lambda epsilon: ExactOracle(RECORDS),
    "adversarial": lambda epsilon: AdversarialOracle(RECORDS, 0.0),
    "recorded": lambda epsilon: RecordingOracle(curator(epsilon)),
    "counted": lambda epsilon: CountingOracle(curator(epsilon)),
    "curator": curator,
    "local": local,
    "shuffled": shuffled,
    **{f"shared {plan.value}": shared(plan) for plan in PLANS},
}


@pytest.fixture(params=[*MODELS, "local over grpc", "shared over grpc"])
def make(request: pytest.FixtureRequest, simulation: Simulation) -> Make:
    if request.param == "local over grpc":
        return lambda epsilon: LocalOracle(simulation.parties, epsilon, KEYRING.source("among", "local"))
    if request.param == "shared over grpc":
        source, plan = KEYRING.source("among", "each-server"), NoisePlan.EACH_SERVER
        return lambda epsilon: SharedOracle(simulation.shared, epsilon, source, plan=plan, tier="additive")
    return MODELS[request.param]


def truth(ranges: tuple[range, ...]) -> float:
    smokers = RECORDS.column("smoker")
    return float(np.concatenate([smokers[one.start : one.stop] for one in ranges]).mean())


def test_an_answer_is_about_these_people_and_nobody_else(make: Make) -> None:
    for ranges in (SOME, (range(1000),), (range(PEOPLE),)):
        (answer,) = make(ONE).among(ranges).answer(["smoker"])
        assert answer.people == answer.reports == sum(map(len, ranges))
        assert abs(answer.value - truth(ranges)) <= 6 * answer.standard_error + 1e-12


def test_people_in_different_views_pay_for_one_of_them(make: Make) -> None:
    oracle = make(ONE)
    for start, stop in pairwise(range(0, PEOPLE + 1, 1000)):
        oracle.among((range(start, stop),)).answer(["smoker"])
    spends = oracle.claim.epsilon is not None
    assert oracle.cost.rounds == 3
    assert oracle.cost.epsilon_promised == (ONE if spends else Epsilon(0))


def test_views_at_a_part_of_the_price_add_up_to_one_round_and_no_more(make: Make) -> None:
    oracle = make(ONE)
    for _ in range(4):
        oracle.among((range(2000),), 4).answer(["smoker"])
    if oracle.claim.epsilon is None:
        return
    assert oracle.cost.epsilon_promised == ONE.divided_by(4) * 4
    with pytest.raises(BudgetExhausted):
        oracle.among((range(1999, 2001),), 4)  # the first of these two has been in four of them
    oracle.among((range(2000, 2100),), 4).answer(["smoker"])


def test_a_view_has_one_round(make: Make) -> None:
    view = make(ONE).among(SOME)
    view.answer(["smoker"])
    with pytest.raises(BudgetExhausted):
        view.answer(["smoker"])


@pytest.mark.parametrize(
    "ranges",
    [
        (),
        (range(0),),
        (range(5, 3),),
        (range(3), range(2, 5)),
        (range(PEOPLE - 1, PEOPLE + 1),),
        (range(0, 9, 2),),
    ],
)
def test_what_are_no_ranges_of_these_people_is_refused(make: Make, ranges: tuple[range, ...]) -> None:
    with pytest.raises(InvalidParameter):
        make(ONE).among(ranges)


def test_a_plan_is_for_as_many_people_as_there_are_in_the_view(make: Make) -> None:
    oracle = make(ONE)
    few, many = (
        oracle.among((range(200),)).plan(["smoker"]),
        oracle.among((range(200, PEOPLE),)).plan(["smoker"]),
    )
    assert few.people == 200
    assert many.rows[0].standard_error <= few.rows[0].standard_error


def test_over_grpc_the_same_coins_give_the_same_bits(simulation: Simulation) -> None:
    plan = NoisePlan.EACH_SERVER
    remote = SharedOracle(
        simulation.shared, ONE, KEYRING.source("among", plan.value), plan=plan, tier="additive"
    )
    pairs: list[tuple[StatisticalQueryOracle, StatisticalQueryOracle]] = [
        (local(ONE), LocalOracle(simulation.parties, ONE, KEYRING.source("among", "local"))),
        (shared(plan)(ONE), remote),
    ]
    for here, there in pairs:
        for ranges in (SOME, (range(7, 39),)):
            assert here.among(ranges, 2).answer(["smoker"]) == there.among(ranges, 2).answer(["smoker"])
        assert here.cost == there.cost


def test_a_recorded_view_is_played_again() -> None:
    recording = RecordingOracle(curator(ONE))
    told = [recording.among((range(start, start + 50),)).answer(["smoker"]) for start in (0, 50)]
    replaying = ReplayingOracle(curator(ONE), recording.transcript)
    assert told == [replaying.among((range(start, start + 50),)).answer(["smoker"]) for start in (0, 50)]


def test_ledgers_of_all_others_stay_as_they_are() -> None:
    ledger = MemoryLedger(PEOPLE, ONE)
    oracle = CuratorOracle(RECORDS, ONE, KEYRING.source("among", "ledger"), ledger=ledger)
    oracle.among(SOME, 2).answer(["smoker"])
    spent = np.zeros(PEOPLE, np.int64)
    for one in SOME:
        spent[one.start : one.stop] = ONE.divided_by(2).nanonats
    assert ledger.spent().tolist() == spent.tolist()
    parties = parties_of(RECORDS, PARTIES)
    reports = InProcessLROracle(parties)
    LocalOracle(reports, ONE, KEYRING.source("among", "paid")).among(SOME).answer(["smoker"])
    paid = np.concatenate([party.ledger.spent() for party in parties]) > 0
    assert paid.tolist() == (spent > 0).tolist()


def test_an_account_that_forgot_whom_a_view_is_about_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The broken twin: every view is booked as if it were about everybody."""
    real = Account._book_some
    monkeypatch.setattr(
        Account,
        "_book_some",
        lambda self, people, *rest: real(self, (range(PEOPLE),), *rest),
    )
    with pytest.raises((AssertionError, BudgetExhausted)):
        test_people_in_different_views_pay_for_one_of_them(MODELS["curator"])
