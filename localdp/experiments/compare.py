"""The separation of section 9.3 as an experiment: the error of one count under every trust model, as n grows.

For each n the same made-up people are counted many times: exactly, by a trusted curator, from randomized reports, from
shuffled ones, and by share servers.  Trials come in blocks; the analyst's coins of a block depend on the keyring, the
model, n and the block's number alone.  So blocks can run anywhere and in any order, and a run with the same keyring gives
the same numbers in process and over gRPC.

Every trial of the shuffled model really mixes everybody's reports.  That is affordable because mixed bits are drawn from
their number (`oracles/mixing.py`): one or two milliseconds for a million of them.

Checked end to end in tests/integration/test_compare.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.ledger import MemoryLedger
from localdp.accounting.shuffling import FEWEST_PEOPLE
from localdp.accounting.shuffling import MOST_PEOPLE as MOST_SHUFFLED
from localdp.domains import Records
from localdp.errors import InvalidParameter
from localdp.experiments.comparison import MODELS, Comparison, Row, fit_slopes, summarise
from localdp.experiments.keyring import Keyring
from localdp.experiments.population import dealt, made_up_people
from localdp.oracles import bounds
from localdp.oracles.collecting import ShareServers
from localdp.oracles.curator import CuratorOracle
from localdp.oracles.definition import StatisticalQueryOracle
from localdp.oracles.exact import ExactOracle
from localdp.oracles.local import LocalOracle
from localdp.oracles.lr import InProcessLROracle, LROracle
from localdp.oracles.shared import InProcessShareServers, SharedOracle, default_tier
from localdp.oracles.shuffled import ShuffledOracle
from localdp.oracles.shuffler import DEFAULT_DELTA, Mixer, Promise, Shuffler
from localdp.party.party import Party
from localdp.party.policy import Policy
from localdp.randomizers.definition import Floats
from localdp.randomness.keystream import KeystreamSource
from localdp.sharing.noise_plans import NoisePlan, ServerNoise
from localdp.sharing.share_server import ShareServer
from localdp.sharing.vault import MemoryVault

QUERY = "smoker"
TRIALS_PER_BLOCK = 50
MOST_PEOPLE = 10**8
MOST_TRIALS = 10**6


@dataclass(frozen=True, slots=True)
class Settings:
    """What is compared."""

    epsilon: Epsilon
    people: tuple[int, ...]
    trials: int
    models: tuple[str, ...] = MODELS
    plan: NoisePlan = NoisePlan.EACH_SERVER
    parties: int = 4
    servers: int = 2
    delta: Fraction = DEFAULT_DELTA  # of the shuffled model

    def __post_init__(self) -> None:
        Epsilon.requested(self.epsilon)
        unknown = set(self.models) - set(MODELS)
        if not self.models or unknown or len(set(self.models)) != len(self.models):
            raise InvalidParameter(f"models are some of {', '.join(MODELS)}, each once")
        if not self.people or any(not self.parties <= n <= MOST_PEOPLE for n in self.people):
            raise InvalidParameter(f"numbers of people lie between {self.parties} and {MOST_PEOPLE}")
        if len(set(self.people)) != len(self.people):
            raise InvalidParameter("each number of people is given once")
        if not 2 <= self.trials <= MOST_TRIALS:
            raise InvalidParameter(f"the number of trials lies between 2 and {MOST_TRIALS}")

        if self.promise is not None and not all(FEWEST_PEOPLE <= n <= MOST_SHUFFLED for n in self.people):
            raise InvalidParameter(
                f"a shuffler mixes the reports of {FEWEST_PEOPLE} to {MOST_SHUFFLED} people"
            )

    @property
    def promise(self) -> Promise | None:
        """What the shuffler promises: enough for every trial, about however few made-up people; None: there is none."""
        if "shuffled" not in self.models:
            return None
        return Promise(self.epsilon, self.delta, requests=self.trials, minimum_cohort=FEWEST_PEOPLE)

    def local_epsilon(self, people: int) -> Epsilon:
        """Of a single report behind the shuffler: the largest that mixing so many turns into the promise."""
        return bounds.shuffled_local_epsilon(self.epsilon, self.delta, people)

    def largest_request(self, people: int) -> Epsilon:
        """What parties must be willing to spend at a time."""
        return self.epsilon if self.promise is None else max(self.epsilon, self.local_epsilon(people))

    def budget(self, people: int) -> Epsilon:
        """What a made-up person must be allowed to spend to be counted in every trial of every protocol."""
        return (self.epsilon * 2 + self.largest_request(people)) * self.trials


class Federation(Protocol):
    """The parties and servers that hold one population."""

    @property
    def lr(self) -> LROracle:
        """The parties' LR oracle."""
        ...

    @property
    def share_servers(self) -> ShareServers:
        """The share servers, with the parties that contribute."""
        ...

    @property
    def mixer(self) -> Mixer | None:
        """The shuffler in front of the parties, if there is one."""
        ...


@dataclass(frozen=True, slots=True)
class InProcessFederation:
    """Parties and servers as objects of this process."""

    lr: InProcessLROracle
    share_servers: InProcessShareServers
    mixer: Shuffler | None


Federate = Callable[[Records, Settings, Keyring], AbstractContextManager[Federation]]


def people_of(people: int, keyring: Keyring) -> Records:
    """The made-up people that are counted at this n."""
    return made_up_people(people, keyring.source("people", str(people)))


@contextmanager
def in_process(records: Records, settings: Settings, keyring: Keyring) -> Iterator[InProcessFederation]:
    """Deal the people to parties in this process."""
    policy = Policy(largest_epsilon=settings.largest_request(records.people))
    budget = settings.budget(records.people)
    parties = [
        Party(
            f"party-{number}",
            part,
            keyring.party(number),
            MemoryLedger(part.people, budget),
            policy,
        )
        for number, part in enumerate(dealt(records, settings.parties))
    ]
    servers = [
        ShareServer(f"server-{number}", MemoryVault(keyring.server(number)))
        for number in range(settings.servers)
    ]
    lr, promise = InProcessLROracle(parties), settings.promise
    mixer = None if promise is None else Shuffler(lr, KeystreamSource(keyring.shuffler()), promise)
    yield InProcessFederation(lr, InProcessShareServers(parties, servers), mixer)


@dataclass(frozen=True, slots=True)
class Block:
    """Some trials of one model at one n: the unit of work."""

    model: str
    people: int
    number: int
    trials: int


def blocks_of(settings: Settings, people: int) -> Iterator[Block]:
    """All blocks at one n."""
    for model in settings.models:
        for first in range(0, settings.trials, TRIALS_PER_BLOCK):
            trials = min(TRIALS_PER_BLOCK, settings.trials - first)
            yield Block(model, people, first // TRIALS_PER_BLOCK, trials)


def run_block(
    block: Block, records: Records, federation: Federation, settings: Settings, keyring: Keyring
) -> Floats:
    """The errors of a block's counts."""
    truth = ExactOracle(records).answer([QUERY])[0].count
    oracle = _oracle(block, records, federation, settings, keyring)
    return np.array([oracle.answer([QUERY])[0].count - truth for _ in range(block.trials)])


def _oracle(
    block: Block, records: Records, federation: Federation, settings: Settings, keyring: Keyring
) -> StatisticalQueryOracle:
    source = keyring.source("block", block.model, str(block.people), str(block.number))
    if block.model == "exact":
        return ExactOracle(records)
    if block.model == "curator":
        return CuratorOracle(records, settings.epsilon, source, budget=settings.epsilon * block.trials)
    if block.model == "local":
        return LocalOracle(federation.lr, settings.epsilon, source)
    if block.model == "shuffled":
        assert federation.mixer is not None  # both follow from the settings
        return ShuffledOracle(federation.mixer, settings.epsilon, source, delta=settings.delta)
    tier = default_tier(simulated=True)
    return SharedOracle(federation.share_servers, settings.epsilon, source, plan=settings.plan, tier=tier)


def predicted_error(model: str, settings: Settings, people: int) -> float:
    """Expected absolute error of the count."""
    epsilon = float(settings.epsilon)
    if model == "exact":
        return 0.0
    if model == "local":
        return bounds.randomized_response_error(epsilon, people)
    if model == "shuffled":
        return bounds.randomized_response_error(float(settings.local_epsilon(people)), people)
    if model == "shared" and settings.plan == NoisePlan.EACH_SERVER:
        return bounds.each_server_error(epsilon, settings.servers)
    if model == "shared":
        return ServerNoise(settings.plan, settings.epsilon, 1, settings.servers).total.mean_absolute()
    return bounds.curator_error(epsilon)


def lower_bound(model: str, settings: Settings, people: int) -> float | None:
    """What no protocol of the same kind can beat; the curator's bound is for pure epsilon, without a delta."""
    if model in ("exact", "shuffled"):
        return None
    if model == "local":
        return bounds.local_lower_bound(float(settings.epsilon), people)
    return bounds.curator_error(float(settings.epsilon))


def row_of(model: str, people: int, errors: Floats, settings: Settings) -> Row:
    """One line of the result."""
    mean, spread = summarise(np.abs(errors))
    return Row(
        model=model,
        people=people,
        trials=len(errors),
        mean_abs_error=mean,
        standard_error=spread,
        predicted=predicted_error(model, settings, people),
        lower_bound=lower_bound(model, settings, people),
    )


def comparison_of(settings: Settings, transport: str, rows: list[Row], seconds: float) -> Comparison:
    """The rows with their slopes and parameters."""
    return Comparison(
        epsilon=float(settings.epsilon),
        noise_plan=settings.plan.value,
        servers=settings.servers,
        transport=transport,
        rows=tuple(rows),
        slopes=fit_slopes(rows),
        seconds=seconds,
        delta=float(settings.delta),
    )


def run_comparison(
    settings: Settings,
    keyring: Keyring,
    federate: Federate = in_process,
    done: Callable[[Block], None] = lambda block: None,
) -> list[Row]:
    """The whole experiment, one block after the other: the reference that parallel runs agree with."""
    rows = []
    for people in settings.people:
        records = people_of(people, keyring)
        errors: dict[str, list[Floats]] = {model: [] for model in settings.models}
        with federate(records, settings, keyring) as federation:
            for block in blocks_of(settings, people):
                errors[block.model].append(run_block(block, records, federation, settings, keyring))
                done(block)
        rows += [row_of(model, people, np.concatenate(parts), settings) for model, parts in errors.items()]
    return rows
