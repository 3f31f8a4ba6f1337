"""Differencing, shown: two counts that differ by one person, under every trust model, and two collections of shares.

Checked in tests/unit/experiments/test_attack_runs.py.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.ledger import MemoryLedger
from localdp.attacks.differencing import but_the_last, difference, guessed, report_difference
from localdp.attacks.subset_sums import guess_bound, random_bits
from localdp.cohorts import Cohort
from localdp.domains import BitDomain, Records, Schema
from localdp.errors import LocalDpError
from localdp.experiments.attack_trials import Range
from localdp.experiments.panels import Demonstration, Panel, Point
from localdp.oracles.bounds import shuffled_local_epsilon
from localdp.oracles.collecting import run_collection
from localdp.oracles.curator import CuratorOracle
from localdp.oracles.definition import StatisticalQueryOracle
from localdp.oracles.exact import ExactOracle
from localdp.oracles.lr import InProcessLROracle, LROracle
from localdp.oracles.shared import InProcessShareServers, SharedOracle, default_tier
from localdp.oracles.shuffler import DEFAULT_DELTA, Shuffler
from localdp.party.party import Party, Request
from localdp.party.policy import Policy
from localdp.randomizers.one_bit import OneBitRandomizer
from localdp.randomness.source import RandomSource, uniform_bytes
from localdp.sharing.collection import COLLECTION_ID_BYTES, Collection
from localdp.sharing.encoding import Encoding
from localdp.sharing.noise_plans import NoisePlan
from localdp.sharing.share_server import ShareServer
from localdp.sharing.vault import MemoryVault

PEOPLE = 50
EPSILONS = ("0.1", "0.3", "1", "3", "10")
MIXED = (100, 1000, 10_000)
QUERY = "secret"
GUESSED = "fraction of guesses about one person that are right"
NAIVE, SHUFFLED = "one identifier for both (broken)", "shuffler"
_PLENTY = Epsilon(10**12)

Make = Callable[[Records, Cohort, Epsilon, RandomSource], StatisticalQueryOracle]


def people(count: int, source: RandomSource) -> Records:
    """Everybody with a secret."""
    return Records.from_columns(Schema({"secret": BitDomain()}), {"secret": random_bits(count, source)})


def party_of(records: Records, source: RandomSource, policy: Policy | None = None) -> Party:
    """One party that holds everybody, and does not run out of budget."""
    secret = uniform_bytes(source, 32)
    policy = policy or Policy(largest_epsilon=Epsilon.requested(30))
    return Party("party", records, secret, MemoryLedger(records.people, _PLENTY), policy)


def exact(
    records: Records, cohort: Cohort, epsilon: Epsilon, source: RandomSource
) -> StatisticalQueryOracle:
    """Without privacy."""
    return ExactOracle(records.slice(cohort.start, cohort.stop))


def curator(
    records: Records, cohort: Cohort, epsilon: Epsilon, source: RandomSource
) -> StatisticalQueryOracle:
    """Noise by a trusted curator."""
    return CuratorOracle(records.slice(cohort.start, cohort.stop), epsilon, source)


def shares(
    records: Records, cohort: Cohort, epsilon: Epsilon, source: RandomSource
) -> StatisticalQueryOracle:
    """Noise by two share servers, in a collection of its own."""
    servers, tier = share_servers(records, source), default_tier(simulated=True)
    return SharedOracle(servers, epsilon, source, tier=tier, cohort=cohort)


def share_servers(
    records: Records, source: RandomSource, policy: Policy | None = None
) -> InProcessShareServers:
    """Two of them, with keys of their own."""
    keys = [uniform_bytes(source, 32) for _ in range(2)]
    servers = [ShareServer(f"server-{number}", MemoryVault(key)) for number, key in enumerate(keys)]
    return InProcessShareServers([party_of(records, source, policy)], servers)


MODELS: dict[str, Make] = {
    ExactOracle.model: exact,
    CuratorOracle.model: curator,
    "share servers": shares,
}


def count_trial(make: Make, epsilon: str, source: RandomSource) -> float:
    """Whether the difference of two counts tells the last person's bit."""
    records, amount = people(PEOPLE, source), Epsilon.requested(epsilon)
    gap = difference(lambda cohort: make(records, cohort, amount, source), QUERY, PEOPLE)
    return float(guessed(gap) == bool(records.column("secret")[-1]))


def shuffled_trial(series: str, count: int, source: RandomSource) -> float:
    """The same for mixed reports, each as revealing as mixing so many allows."""
    records = people(count, source)
    single = shuffled_local_epsilon(Epsilon.requested(1), DEFAULT_DELTA, count)
    reports: LROracle = InProcessLROracle([party_of(records, source)])
    request = Request.fresh(QUERY, OneBitRandomizer(single, 1), source)
    mixer = reports if series == NAIVE else Shuffler(reports, source)
    return float(guessed(report_difference(mixer, request, count)) == bool(records.column("secret")[-1]))


def differencing(tried: Range) -> Demonstration:
    """Both panels, and what is refused."""
    return Demonstration(
        "differencing",
        "Differences of two counts",
        (_counts(tried), _mixed(tried)),
        refusals(tried.keyring.source("attack", "refusals")),
    )


def _counts(tried: Range) -> Panel:
    points = [
        tried.point(name, float(epsilon), partial(count_trial, make, epsilon))
        for name, make in MODELS.items()
        for epsilon in EPSILONS
    ]
    points += [
        Point("at most, for both counts", float(epsilon), guess_bound(2 * float(epsilon)), 1)
        for epsilon in EPSILONS
    ]
    title = f"{PEOPLE} people and {PEOPLE - 1} of them"
    return Panel(title, "epsilon of each count", GUESSED, tuple(points))


def _mixed(tried: Range) -> Panel:
    points = [
        tried.point(series, count, partial(shuffled_trial, series, count))
        for series in (NAIVE, SHUFFLED)
        for count in MIXED
    ]
    points += [Point("at most, for both counts", count, guess_bound(2), 1) for count in MIXED]
    title = f"mixed reports, epsilon = 1 at delta = {float(DEFAULT_DELTA):g}"
    return Panel(title, "people who are mixed", GUESSED, tuple(points))


def refusals(source: RandomSource) -> tuple[str, ...]:
    """What share servers and parties say to a collection about one person less than its minimum batch."""
    records = people(PEOPLE, source)
    small = share_servers(records, source)
    strict = share_servers(records, source, Policy(minimum_batch=PEOPLE))
    return (
        f"a minimum batch of {PEOPLE}, asked about {PEOPLE - 1}: {_refusal(small, PEOPLE, source)}",
        f"a party whose policy wants {PEOPLE}, in a collection for 2: {_refusal(strict, 2, source)}",
    )


def _refusal(servers: InProcessShareServers, minimum_batch: int, source: RandomSource) -> str:
    """Of a collection that no oracle would begin: whoever attacks has a collector of their own."""
    collection_id = uniform_bytes(source, COLLECTION_ID_BYTES)
    collection = Collection(
        collection_id,
        QUERY,
        Encoding.count(),
        Epsilon.requested(1),
        NoisePlan.EACH_SERVER,
        servers.servers,
        servers.contributors,
        minimum_batch,
        servers.bind(collection_id),
        default_tier(simulated=True),
    )
    try:
        run_collection(servers, collection, but_the_last(PEOPLE))
    except LocalDpError as error:
        return f"{type(error).__name__}, {error}"
    return "answered"
