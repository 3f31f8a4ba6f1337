"""What every algorithm promises: it runs on every oracle, says what it cost, and over gRPC gives the same bits."""

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.algorithms.definition import OF_ARRAYS, Learner
from localdp.algorithms.games.auction import AuctionPrice
from localdp.algorithms.games.equilibrium import EquilibriumSelection
from localdp.algorithms.games.facilities import TruthfulFacilities
from localdp.algorithms.games.two_outcomes import TwoOutcomes
from localdp.algorithms.learners.boosting import StumpBooster
from localdp.algorithms.learners.conjunction import ConjunctionLearner
from localdp.algorithms.learners.decision_tree import DecisionTree
from localdp.algorithms.learners.finite_class import FiniteClass
from localdp.algorithms.learners.halfspace import HalfspaceLearner
from localdp.algorithms.learners.k_means import KMeans
from localdp.algorithms.learners.linear_regression import LinearRegression
from localdp.algorithms.learners.logistic import LogisticRegression
from localdp.algorithms.learners.naive_bayes import NaiveBayes
from localdp.algorithms.learners.pca import PCA
from localdp.algorithms.online.experts import FollowedExperts, SimplexPoint
from localdp.algorithms.parity.learner import ParityLearner
from localdp.algorithms.parity.masked import MaskedParityLearner, OneRoundMaskedParityLearner
from localdp.algorithms.release.iterative import IterativeConstruction
from localdp.algorithms.release.marginals import MarginalRelease
from localdp.algorithms.release.projected import ProjectedRelease
from localdp.algorithms.release.ranges import RangeRelease
from localdp.algorithms.scikit_learn import NotFitted
from localdp.algorithms.stability.sample_and_aggregate import SampleAndAggregate
from localdp.algorithms.stability.stable import StableMean, StableMedian, StableScale
from localdp.algorithms.stability.winners import SampleAndVote, StableWinner
from localdp.algorithms.streams.continual_count import ContinualCount
from localdp.algorithms.streams.factorised_count import FactorisedCount
from localdp.domains import BitDomain, RealDomain, Records, Schema
from localdp.domains.dealing import dealt
from localdp.errors import InvalidParameter, LocalDpError, QueryRefused
from localdp.oracles.adversarial import AdversarialOracle
from localdp.oracles.curator import CuratorOracle
from localdp.oracles.definition import StatisticalQueryOracle
from localdp.oracles.exact import ExactOracle
from localdp.oracles.local import LocalOracle
from localdp.oracles.lr import InProcessLROracle
from localdp.oracles.recording import CountingOracle, RecordingOracle, ReplayingOracle
from localdp.oracles.shared import InProcessShareServers, SharedOracle
from localdp.oracles.shuffled import ShuffledOracle, Shuffler
from parties.simulation.launcher import Simulation
from tests.support.people import KEYRING, ONE, PLENTY, parties_of, servers_of

PEOPLE, PARTIES = 3000, 2
BITS, NUMBERS = ["b0", "b1", "b2", "b3"], ["x0", "x1", "x2"]


def people() -> Records:
    """Four fair bits, three numbers, and labels that depend on them."""
    generator = np.random.default_rng(11)
    bits = {name: generator.random(PEOPLE) < 0.5 for name in BITS}
    numbers = {name: generator.uniform(-0.6, 0.6, PEOPLE) for name in NUMBERS}
    columns: dict[str, Any] = {**bits, **numbers}
    columns["both"] = bits["b0"] & bits["b2"]
    columns["odd"] = bits["b0"] ^ bits["b1"]
    columns["side"] = numbers["x0"] - 0.5 * numbers["x1"] > 0
    columns["slope"] = np.clip(0.8 * numbers["x0"] - 0.4 * numbers["x1"], -1, 1)
    columns["switch"], columns["index"] = generator.random(PEOPLE) < 0.5, generator.random(PEOPLE) < 0.5
    real = {**dict.fromkeys(NUMBERS, RealDomain(-1.0, 1.0)), "slope": RealDomain(-1.0, 1.0)}
    schema = Schema({name: real.get(name, BitDomain()) for name in columns})
    return Records(schema, columns)


RECORDS = people()
# What a trust model cannot carry is refused there in words, and nobody is asked.
_BLOCKS, _RECORDS = "a block is one person", "by whoever sees all records"
NOT_LOCAL = {
    "sample and aggregate": _BLOCKS,
    "sample and aggregate by a histogram": _BLOCKS,
    "sample and aggregate by a median": _BLOCKS,
    "a choice by blocks": _BLOCKS,
    "votes of blocks": _BLOCKS,
}
CURATOR_ONLY = (
    "winner by distance",
    "votes of subsamples",
    "scale",
    "stable median",
    "stable mean",
    "factorised stream",
)
ALGORITHMS: dict[str, Callable[[], Learner]] = {
    "conjunction": lambda: ConjunctionLearner("both", BITS, check_signal=False),
    "boosting": lambda: StumpBooster("both", BITS, rounds=3, check_signal=False),
    "tree": lambda: DecisionTree("odd", BITS, depth=2, check_signal=False),
    "naive Bayes": lambda: NaiveBayes("both", BITS, check_signal=False),
    "finite class": lambda: FiniteClass(["b0", "b0 and b2", "b1 or b3"], "both", check_signal=False),
    "halfspace": lambda: HalfspaceLearner("side", NUMBERS, check_signal=False),
    "logistic": lambda: LogisticRegression("side", NUMBERS, check_signal=False),
    "linear regression": lambda: LinearRegression("slope", NUMBERS, check_signal=False),
    "PCA": lambda: PCA(2, NUMBERS, check_signal=False),
    "k-means": lambda: KMeans(2, ["x0", "x1"], check_signal=False),
    "parity": lambda: ParityLearner("odd", BITS, check_signal=False),
    "masked parity": lambda: MaskedParityLearner(
        ["b0", "b1"], ["index"], "switch", "odd", check_signal=False
    ),
    "masked parity in one round": lambda: OneRoundMaskedParityLearner(
        ["b0", "b1"], ["index"], "switch", "odd", check_signal=False
    ),
    "projected answers": lambda: ProjectedRelease(
        ["b0", "b1", "b0 and b2", "b1 or b3"], BITS, check_signal=False
    ),
    "experts": lambda: FollowedExperts(["both", "odd", "b0"], 4, check_signal=False),
    "experts by selection": lambda: FollowedExperts(
        ["both", "odd", "b0"], 4, by="selection", check_signal=False
    ),
    "linear losses": lambda: SimplexPoint(["x0", "slope", "b1"], 4, check_signal=False),
    "factorised stream": lambda: FactorisedCount("b0", 8, check_signal=False),
    "marginals": lambda: MarginalRelease(BITS, 2, check_signal=False),
    "ranges": lambda: RangeRelease("x0", -1.0, 1.0, 16, check_signal=False),
    "stream by a tree": lambda: ContinualCount("b0", 8, layout="tree"),
    "stream": lambda: ContinualCount("vector(b0, b1)", 6),
    "equilibrium": lambda: EquilibriumSelection(
        ["b0", "clip(x0)"], [0.1, 0.2], [1, 1], luck="clip(x1 + 0.6)", rounds=4, check_signal=False
    ),
    "auction": lambda: AuctionPrice("slope", 16, check_signal=False),
    "facilities": lambda: TruthfulFacilities("x0 + 0.6", 2, 4, check_signal=False),
    "two outcomes": lambda: TwoOutcomes("b0", "clip(x0)", check_signal=False),
    "sample and aggregate": lambda: SampleAndAggregate(
        "slope(slope, x0, x1)", -2, 2, blocks=40, by="mean", check_signal=False
    ),
    "sample and aggregate by a histogram": lambda: SampleAndAggregate(
        "median(x0)", -1, 1, blocks=40, by="histogram", bins=8, check_signal=False
    ),
    "sample and aggregate by a median": lambda: SampleAndAggregate(
        "logistic(side, x0)", -9, 9, blocks=40, by="median", check_signal=False
    ),
    "a choice by blocks": lambda: SampleAndAggregate("best(both, b0, b1)", blocks=40, check_signal=False),
    "winner by distance": lambda: StableWinner("which(b0 and b1)", "distance", check_signal=False),
    "winner": lambda: StableWinner("cells(b0, both)"),
    "winner of a histogram": lambda: StableWinner("cells(b0, both)", "histogram"),
    "votes of blocks": lambda: SampleAndVote("mean(x0)", -1, 1, bins=2, blocks=40, check_signal=False),
    "votes of subsamples": lambda: SampleAndVote(
        "best(both, b0, b1)", blocks=2000, repeated=True, check_signal=False
    ),
    "scale": lambda: StableScale("x0", check_signal=False),
    "stable median": lambda: StableMedian("x0", 0.5, check_signal=False),
    "stable mean": lambda: StableMean("slope", 0.5, check_signal=False),
    "iterative construction": lambda: IterativeConstruction(
        ["b0", "b1", "b0 and b2", "b1 or b3"], BITS, check_signal=False
    ),
}


def exact(purpose: str) -> StatisticalQueryOracle:
    return ExactOracle(RECORDS)


def adversarial(purpose: str) -> StatisticalQueryOracle:
    return AdversarialOracle(RECORDS, 0.001, "alternate")


def curator(purpose: str) -> StatisticalQueryOracle:
    return CuratorOracle(RECORDS, ONE, KEYRING.source("curator", purpose))


def local(purpose: str) -> StatisticalQueryOracle:
    return LocalOracle(
        InProcessLROracle(parties_of(RECORDS, PARTIES)), ONE, KEYRING.source("local", purpose)
    )


def shuffled(purpose: str) -> StatisticalQueryOracle:
    mixing = Shuffler(InProcessLROracle(parties_of(RECORDS, PARTIES)), KEYRING.source("mixing", purpose))
    return ShuffledOracle(mixing, ONE, KEYRING.source("shuffled", purpose))


def shared(purpose: str) -> StatisticalQueryOracle:
    servers = InProcessShareServers(parties_of(RECORDS, PARTIES), servers_of(2))
    return SharedOracle(servers, ONE, KEYRING.source("shared", purpose), tier="additive")


ORACLES: dict[str, Callable[[str], StatisticalQueryOracle]] = {
    "exact": exact,
    "adversarial": adversarial,
    "curator": curator,
    "local": local,
    "shuffled": shuffled,
    "shared": shared,
}


@pytest.fixture(scope="module")
def simulation() -> Iterator[Simulation]:
    parts = dealt(RECORDS, PARTIES)
    with Simulation(
        parts, budget=PLENTY, keyring=KEYRING, largest_request=Epsilon.requested(30)
    ) as running:
        yield running


def learned(algorithm: Learner) -> dict[str, Any]:
    """What a fit has set, other than the account of costs."""
    accounts = ("cost_", "claim_", "plan_")
    return {
        name: value
        for name, value in vars(algorithm).items()
        if name.endswith("_") and name not in accounts
    }


def same(here: Any, there: Any) -> bool:
    if isinstance(here, np.ndarray):
        return np.array_equal(here, there)
    if isinstance(here, list | tuple):
        return len(here) == len(there) and all(same(a, b) for a, b in zip(here, there, strict=True))
    if isinstance(here, dict):
        return here.keys() == there.keys() and all(same(here[key], there[key]) for key in here)
    return type(here) is type(there) and (here == there or repr(here) == repr(there))


def refusal(name: str, oracle: str) -> str | None:
    """Why a trust model does not carry an algorithm, if it does not."""
    if oracle in ("local", "shuffled") and name in NOT_LOCAL:
        return NOT_LOCAL[name]
    return _RECORDS if oracle in ("local", "shuffled", "shared") and name in CURATOR_ONLY else None


@pytest.mark.parametrize("oracle", ORACLES)
@pytest.mark.parametrize("name", ALGORITHMS)
def test_an_algorithm_runs_on_every_oracle_and_says_what_it_cost(name: str, oracle: str) -> None:
    counting = CountingOracle(ORACLES[oracle](name))
    algorithm = ALGORITHMS[name]()
    if why := refusal(name, oracle):
        with pytest.raises(QueryRefused, match=why):
            algorithm.fit(counting)
        assert counting.cost.rounds == 0
        return
    assert algorithm.fit(counting) is algorithm
    assert learned(algorithm)
    assert algorithm.cost_.rounds == counting.counts.rounds >= 1
    assert algorithm.cost_.rounds <= sum(counting.counts.rounds_announced)
    assert algorithm.cost_.epsilon_promised <= ONE
    assert algorithm.claim_.statement()
    assert str(algorithm.plan_)


@pytest.mark.parametrize("name", [name for name in ALGORITHMS if name not in CURATOR_ONLY])
def test_the_same_coins_give_the_same_result_in_process_and_over_grpc(
    name: str, simulation: Simulation
) -> None:
    if name not in NOT_LOCAL:
        here = ALGORITHMS[name]().fit(local(name))
        there = ALGORITHMS[name]().fit(LocalOracle(simulation.parties, ONE, KEYRING.source("local", name)))
        assert same(learned(here), learned(there))
    here = ALGORITHMS[name]().fit(shared(name))
    coins = KEYRING.source("shared", name)
    there = ALGORITHMS[name]().fit(SharedOracle(simulation.shared, ONE, coins, tier="additive"))
    assert same(learned(here), learned(there))


@pytest.mark.parametrize("name", CURATOR_ONLY)
def test_what_needs_all_records_is_refused_over_grpc(name: str, simulation: Simulation) -> None:
    for oracle in (
        LocalOracle(simulation.parties, ONE, KEYRING.source("local", name)),
        SharedOracle(simulation.shared, ONE, KEYRING.source("shared", name), tier="additive"),
    ):
        with pytest.raises(QueryRefused, match=_RECORDS):
            ALGORITHMS[name]().fit(oracle)
        assert oracle.cost.rounds == 0


@pytest.mark.parametrize("name", [name for name in ALGORITHMS if name not in CURATOR_ONLY])
def test_a_replayed_transcript_gives_the_same_result_without_asking(name: str) -> None:
    oracle = shared if name in NOT_LOCAL else local
    recording = RecordingOracle(oracle(name))
    first = ALGORITHMS[name]().fit(recording)
    # What an oracle plans may decide how many rounds there are, so the replay plans like the original.
    again = ALGORITHMS[name]().fit(ReplayingOracle(oracle(name), recording.transcript))
    assert same(learned(first), learned(again))
    assert again.cost_.rounds == 0


@pytest.mark.parametrize("name", ALGORITHMS)
def test_the_conventions_of_estimators(name: str) -> None:
    algorithm = ALGORITHMS[name]()
    parameters = algorithm.get_params()
    assert list(parameters) == list(inspect.signature(type(algorithm)).parameters)
    assert all(getattr(algorithm, key) is value for key, value in parameters.items())
    assert not learned(algorithm)
    twin = type(algorithm)(**parameters)
    assert same(twin.get_params(), parameters)
    assert algorithm.set_params(check_signal=True).get_params()["check_signal"] is True
    with pytest.raises(InvalidParameter):
        algorithm.set_params(chekc_signal=True)
    assert repr(algorithm).startswith(type(algorithm).__name__)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_what_was_not_learned_cannot_be_used(name: str) -> None:
    algorithm: Any = ALGORITHMS[name]()
    for method in ("predict", "transform", "marginal"):
        if hasattr(algorithm, method):
            with pytest.raises(NotFitted):
                getattr(algorithm, method)(np.zeros((2, 4)))


@pytest.mark.parametrize("name", ALGORITHMS)
def test_an_algorithm_about_columns_that_are_not_there_asks_nothing(name: str) -> None:
    schema = Schema({"other": BitDomain()})
    oracle = ExactOracle(Records(schema, {"other": np.ones(10, np.bool_)}))
    with pytest.raises(LocalDpError):
        ALGORITHMS[name]().fit(oracle)
    assert oracle.cost.rounds == 0


@pytest.mark.parametrize("name", ALGORITHMS)
def test_an_oracle_has_its_epsilon_and_its_labels_already(name: str) -> None:
    told = [key for key in OF_ARRAYS if key in ALGORITHMS[name]().get_params()]
    oracle = exact(name)
    for key in told:
        algorithm = ALGORITHMS[name]().set_params(**{key: "exact" if key == "model" else (0, 1)})
        with pytest.raises(InvalidParameter, match=f"{key} is for arrays at hand"):
            algorithm.fit(oracle)
    with pytest.raises(InvalidParameter, match="y is for arrays at hand"):
        ALGORITHMS[name]().fit(oracle, np.ones(PEOPLE))
    assert oracle.cost.rounds == 0
