"""The separation of section 9.3 as an experiment: the error of one count under every trust model, as n grows.

For each n the same made-up people are counted many times: exactly, by a trusted curator, from randomized reports, from
shuffled ones, and by share servers.  Parties and servers stay from one trial to the next, and a block of trials asks one
oracle, whose coins depend on the keyring, the model, n and the block's number alone.  So blocks can run anywhere and in any
order, and a run with the same seed gives the same numbers in process and over gRPC.

Every trial of the shuffled model really mixes everybody's reports.  That is affordable because mixed bits are drawn from
their number (`oracles/mixing.py`): one or two milliseconds for a million of them.  Flooded messages are mixed too, but are
sealed only where they travel, one by one: also where the other parties are processes, those of that model are objects.

Checked end to end in tests/integration/test_compare.py.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.ledger import MemoryLedger
from localdp.accounting.shuffling import FEWEST_PEOPLE
from localdp.accounting.shuffling import MOST_PEOPLE as MOST_SHUFFLED
from localdp.domains import Records
from localdp.domains.dealing import dealt
from localdp.errors import InvalidParameter
from localdp.experiments.catalogue import CountTask
from localdp.experiments.comparison import summarise
from localdp.experiments.panels import Point
from localdp.experiments.population import MOST_PEOPLE, made_up_people
from localdp.oracles.bounds import shuffled_local_epsilon
from localdp.oracles.compared import COMPARED, compared_named
from localdp.oracles.lr import InProcessLROracle
from localdp.oracles.models import OneCount, Parties, TrustModel, models_with, oracle_of
from localdp.oracles.shared import InProcessShareServers
from localdp.oracles.shuffler import DEFAULT_DELTA, Promise, Shuffler
from localdp.oracles.simulated import simulated_parties, simulated_servers
from localdp.randomness.keyring import Keyring
from localdp.randomness.keystream import KeystreamSource
from localdp.sharing.noise_plans import NoisePlan
from parties.durable import Data
from parties.executors.chosen import HERE, ChosenExecutor
from parties.executors.running import run_missing
from parties.experiments.cells import Block, BlockResult, Cell, SweepWork, blocks_of
from parties.experiments.definition import DataSource, Experiment, Faults, Output, PartiesPlan, Sweep
from parties.experiments.journal import SweepJournal

QUERY = "smoker"
MOST_TRIALS = 10**6


def comparison(sweep: Sweep, parties: PartiesPlan, plan: NoisePlan) -> Experiment:
    """The experiment, checked."""
    if not sweep.models or set(sweep.models) - set(COMPARED) or len(set(sweep.models)) != len(sweep.models):
        raise InvalidParameter(f"models are some of {', '.join(COMPARED)}, each once")
    if not sweep.people or any(not parties.number <= n <= MOST_PEOPLE for n in sweep.people):
        raise InvalidParameter(f"numbers of people lie between {parties.number} and {MOST_PEOPLE}")
    if len(set(sweep.people)) != len(sweep.people):
        raise InvalidParameter("each number of people is given once")
    if not 2 <= sweep.trials <= MOST_TRIALS:
        raise InvalidParameter(f"the number of trials lies between 2 and {MOST_TRIALS}")
    if mixes(sweep) and not all(FEWEST_PEOPLE <= n <= MOST_SHUFFLED for n in sweep.people):
        raise InvalidParameter(f"a shuffler mixes the reports of {FEWEST_PEOPLE} to {MOST_SHUFFLED} people")
    return Experiment(
        Path("compare"),
        f"{sweep} {parties} {plan.value}",  # by which a journal knows it again
        DataSource(name="made-up"),
        parties,
        Faults(),
        sweep,
        CountTask(QUERY),
        Output(Path("out")),
        {model: {"noise_plan": plan} for model in models_with("noise_plan")},
    )


def run_comparison(
    experiment: Experiment,
    *,
    journal: SweepJournal | None = None,
    done: Callable[[Block, BlockResult], None] = lambda block, result: None,
    chosen: ChosenExecutor = HERE,
) -> tuple[list[Point], list[Data]]:
    """A point for each model and n, and what each model promises about one count; only what the journal lacks is run."""
    finished: dict[str, BlockResult] = {} if journal is None else journal.blocks
    keep = finished.__setitem__ if journal is None else journal.append
    people = os.urandom(32) if journal is None else bytes.fromhex(journal.header.people_root)
    run = functools.partial(run_counts, SweepWork(experiment, people, os.urandom(32)))
    try:
        run_missing(run, list(blocks_of(experiment)), finished, keep, done, chosen)
    finally:
        _held.let_go()
    claims: dict[str, Data | None] = {}
    errors: dict[Cell, list[float]] = {}
    for block in blocks_of(experiment):
        errors.setdefault(block.cell, []).extend(row["error"] for row in finished[block.name].rows)
        claims[block.cell.model] = finished[block.name].claim
    points = [_point(experiment, cell, some) for cell, some in errors.items()]
    return points, [claim for claim in claims.values() if claim is not None]


def _point(experiment: Experiment, cell: Cell, errors: Sequence[float]) -> Point:
    mean, spread = summarise(np.array(errors))
    predicted, bound = theory(experiment, cell.model, cell.people)
    return Point(cell.model, cell.people, mean, len(errors), spread, predicted, bound)


def theory(experiment: Experiment, model: str, people: int) -> tuple[float, float | None]:
    """The error that is predicted, and what no protocol of the same kind can beat."""
    epsilon, options = experiment.sweep.epsilons[0], experiment.options.get(model, {})
    count = OneCount(people, epsilon, experiment.parties.share_servers, options)
    row = compared_named(model)
    return row.predicted_error(count), None if row.lower_bound is None else row.lower_bound(count)


def run_counts(work: SweepWork, block: Block) -> BlockResult:
    """The trials of a block: one oracle counts again and again."""
    cell, held = block.cell, _held.people_of(work, block.cell)
    number = block.first // work.experiment.task.trials_per_block
    source = work.noise(cell).source("block", cell.model, str(cell.people), str(number))
    options = work.experiment.options.get(cell.model, {})
    row = compared_named(cell.model)
    oracle = oracle_of(row, held.parties_for(row), cell.epsilon, lambda _: source, options)
    counted = [work.experiment.task.measured(oracle, held.records, held.truth) for _ in range(block.trials)]
    rows = [{"trial": block.first + trial, **one.measures} for trial, one in enumerate(counted)]
    claim = counted[0].claim  # of one count
    return BlockResult(rows, claim.statement(), {}, None, claim.to_data())


@dataclass(frozen=True, slots=True)
class _People:
    records: Records
    truth: Any
    parties: Parties
    here: Parties  # the same as objects of this process, for a model whose messages would take minutes to seal

    def parties_for(self, row: TrustModel) -> Parties:
        """Whom an oracle of this model asks."""
        return self.here if row.sealed else self.parties


class _Held:
    """The people of one n, with their parties: kept for the next blocks of this worker, and let go for another n.

    Or for another number of share servers: parties split their answers over all that they know.
    """

    def __init__(self) -> None:
        self._key: tuple[bytes, int, int] | None = None
        self._people: _People | None = None
        self._stack = ExitStack()

    def people_of(self, work: SweepWork, cell: Cell) -> _People:
        keyring = work.noise(cell)
        key = keyring.root, cell.people, servers_of(work.experiment, cell)
        if self._people is None or self._key != key:
            self.let_go()
            records = made_up_people(cell.people, work.people(cell).source("people", str(cell.people)))
            truth = work.experiment.task.truth(records)
            parts, plan = dealt(records, work.experiment.parties.number), work.experiment.parties
            here = self._objects(work.experiment, cell, records, parts, keyring)
            there = (
                self._processes(work.experiment, cell, records, parts, keyring)
                if plan.transport == "processes"
                else here
            )
            self._people = _People(records, truth, there, here)
            self._key = key
        return self._people

    def let_go(self) -> None:
        """Processes end."""
        self._people = None
        self._stack.close()

    def _processes(
        self,
        experiment: Experiment,
        cell: Cell,
        records: Records,
        parts: Sequence[Records],
        keyring: Keyring,
    ) -> Parties:
        from parties.federated.whereabouts import Launch, in_processes  # workers do without

        (budget, largest), servers = _allowed(experiment, cell), servers_of(experiment, cell)
        promise = promise_of(experiment)
        place = in_processes(Launch(tuple(parts), records, budget, largest, servers, keyring, promise))
        self._stack.callback(place.close)
        return place.parties

    def _objects(
        self,
        experiment: Experiment,
        cell: Cell,
        records: Records,
        parts: Sequence[Records],
        keyring: Keyring,
    ) -> Parties:
        (budget, largest), promise = _allowed(experiment, cell), promise_of(experiment)
        held = simulated_parties(parts, keyring, budget, largest)
        servers = simulated_servers(servers_of(experiment, cell), keyring)
        shared, lr = InProcessShareServers(held, servers), InProcessLROracle(held)
        coins = KeystreamSource(keyring.shuffler())
        mixer = None if promise is None else Shuffler(lr, coins, promise)
        return Parties(lr, shared, mixer, records, MemoryLedger(records.people, budget))


_held = _Held()


def mixes(sweep: Sweep) -> bool:
    """Whether there is a shuffler."""
    return any(COMPARED[model].needs_mixer for model in sweep.models)


def servers_of(experiment: Experiment, cell: Cell) -> int:
    """How many share servers the parties of a cell split their answers over."""
    return COMPARED[cell.model].share_servers or experiment.parties.share_servers


def promise_of(experiment: Experiment) -> Promise | None:
    """What the shuffler promises: enough for every trial, about however few made-up people; None: there is none."""
    sweep = experiment.sweep
    if not mixes(sweep):
        return None
    mixing = sum(COMPARED[model].needs_mixer for model in sweep.models)
    requests = mixing * sweep.trials
    return Promise(sweep.epsilons[0], DEFAULT_DELTA, requests=requests, minimum_cohort=FEWEST_PEOPLE)


def _allowed(experiment: Experiment, cell: Cell) -> tuple[Epsilon, Epsilon]:
    """What a person may spend, to be counted in every trial of every protocol; and in one of them."""
    largest = cell.epsilon
    if promise_of(experiment) is not None:
        largest = max(largest, shuffled_local_epsilon(cell.epsilon, DEFAULT_DELTA, cell.people))
    asking = sum(COMPARED[model].needs_agents for model in experiment.sweep.models)
    return (cell.epsilon * asking + largest) * experiment.sweep.trials, largest
