"""The shared curator: answers of numbers, in both tiers, are the exact ones plus the noise that is on record."""

from __future__ import annotations

import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.cohorts import Cohort
from localdp.errors import ShareMismatch, TooFewReports
from localdp.oracles.collecting import run_collection
from localdp.oracles.exact import ExactOracle
from localdp.oracles.shared import InProcessShareServers, SharedOracle
from localdp.sharing.collection import Collection, Tier
from localdp.sharing.encoding import Encoding
from localdp.sharing.noise_plans import NoisePlan
from localdp.sharing.storage import Holding
from tests.support.people import KEYRING, parties_of, population, servers_of

PEOPLE = 40
QUIET = Epsilon.requested(30)


def shared(servers: int = 2) -> InProcessShareServers:
    return InProcessShareServers(parties_of(population(PEOPLE), 3), servers_of(servers))


@pytest.mark.parametrize("tier", ["additive", "prio3"])
@pytest.mark.parametrize("servers", [2, 3])
def test_the_answer_is_the_exact_one_but_for_noise(tier: Tier, servers: int) -> None:
    oracle = SharedOracle(shared(servers), QUIET, KEYRING.source("quiet"), tier=tier)
    exact = ExactOracle(population(PEOPLE))
    for query in ("smoker", "clip(0.01*age)"):
        (answer,), (truth,) = oracle.answer([query]), exact.answer([query])
        assert answer.reports == PEOPLE
        assert abs(answer.value - truth.value) <= 6 * answer.standard_error + 1e-9


def test_both_tiers_have_the_same_law() -> None:
    variances = {
        tier: SharedOracle(shared(), QUIET, KEYRING.source(tier), tier=tier)
        .answer(["smoker"])[0]
        .variance_empirical
        for tier in ("additive", "prio3")
    }
    assert variances["additive"] == variances["prio3"]


def test_the_bytes_of_a_round_are_those_of_its_reports() -> None:
    for tier, size in (("additive", 16), ("prio3", 112)):
        oracle = SharedOracle(shared(), QUIET, KEYRING.source(tier), tier=tier)  # type: ignore[arg-type]
        oracle.answer(["smoker"])
        assert oracle.cost.bytes_moved == PEOPLE * size


def test_what_servers_said_to_each_other_is_in_the_cost_where_they_compute_together() -> None:
    source, one = KEYRING.source("said"), Epsilon.requested(1)
    joint = SharedOracle(shared(3), one, source, plan=NoisePlan.JOINT, tier="additive")
    joint.answer(["smoker"])
    assert (joint.cost.server_rounds, joint.cost.server_bytes) == (20, 27_075)
    joint.in_rounds(2).answer(["smoker", "age >= 65"])  # a collection for each; of a view
    assert joint.cost.server_rounds == 3 * 20
    apart = SharedOracle(shared(3), one, source, tier="additive")
    apart.answer(["smoker"])
    assert (apart.cost.server_rounds, apart.cost.server_bytes) == (0, 0)


def collection_for(servers: InProcessShareServers, minimum: int = 2) -> Collection:
    return Collection(
        bytes(16),
        "smoker",
        Encoding.count(),
        QUIET,
        NoisePlan.EACH_SERVER,
        servers.servers,
        servers.contributors,
        minimum,
        servers.bind(bytes(16)),
    )


def test_a_collection_gives_one_sum_for_each_entry_and_how_many_reports_are_in_it() -> None:
    servers = shared()
    sums, reports = run_collection(servers, collection_for(servers), Cohort(0, 30))
    assert sums.shape == (1,) and sums.dtype == np.int64
    assert reports == 30


def test_below_the_minimum_batch_there_is_no_answer() -> None:
    servers = shared()
    with pytest.raises(TooFewReports):
        run_collection(servers, collection_for(servers, PEOPLE), Cohort(0, PEOPLE - 1))


class Never(InProcessShareServers):
    """Nobody may be asked."""

    def open(self, collection: Collection) -> bool:
        raise AssertionError("a collection was opened")


@pytest.mark.parametrize("cohort", [None, Cohort(0, PEOPLE - 1)])
def test_a_batch_that_cannot_be_full_is_refused_before_anybody_is_asked(cohort: Cohort | None) -> None:
    some = parties_of(population(PEOPLE), 3)
    people = PEOPLE if cohort is None else cohort.stop
    oracle = SharedOracle(
        Never(some, servers_of(2)), QUIET, KEYRING.source("few"), minimum_batch=people + 1, cohort=cohort
    )
    for view in (oracle, oracle.in_rounds(2)):
        for ask in (view.answer, view.plan):
            with pytest.raises(TooFewReports, match=f"{people} people who are asked; nobody was charged"):
                ask(["smoker"])
        with pytest.raises(TooFewReports):
            view.answer_vectors(["region"])
    assert not any(party.ledger.spent().any() for party in some)
    assert oracle.cost.epsilon_promised.nanonats == 0


class Lying(InProcessShareServers):
    """The leader says that it agreed, and the others know nothing of it."""

    def agree(self, collection: Collection) -> Holding:
        return Holding(PEOPLE, b"whatever", 1, True)


def test_a_leader_that_speaks_for_the_others_is_not_believed() -> None:
    servers = Lying(parties_of(population(PEOPLE), 3), servers_of(2))
    with pytest.raises(ShareMismatch):
        run_collection(servers, collection_for(servers), Cohort(0, PEOPLE))


@pytest.mark.parametrize("tier", ["additive", "prio3"])
def test_a_vector_is_one_collection_and_all_its_entries_are_right_but_for_noise(tier: Tier) -> None:
    queries = ["region", "vector(smoker, clip(0.01*age))", "parities(2, smoker, age >= 40)"]
    oracle = SharedOracle(shared(), QUIET, KEYRING.source("vectors", tier), tier=tier)
    answers = [oracle.answer_vectors([query])[0] for query in queries]
    for answer, truth in zip(answers, ExactOracle(population(PEOPLE)).answer_vectors(queries), strict=True):
        assert answer.reports == PEOPLE
        assert (np.abs(answer.values - truth.values) <= 8 * answer.standard_errors + 1e-9).all()


def test_the_claim_says_what_a_malicious_party_can_do() -> None:
    bare = SharedOracle(shared(), QUIET, KEYRING.source("claims"), tier="additive").claim.statement()
    proved = SharedOracle(
        shared(), QUIET, KEYRING.source("claims")
    ).claim.statement()  # unless told otherwise
    assert "A malicious party can spoil the sum: nothing is proved." in bare
    assert "A malicious party can answer falsely for its own people, each entry in its range" in proved
