"""The separation of section 9.3 as an experiment: the error of one count under every trust model, as n grows.

For each n the same made-up people are counted many times: exactly, by a trusted curator, from randomized reports, from
shuffled ones, and by share servers.  Parties and servers stay from one trial to the next, and a block of trials asks one
oracle, whose coins depend on the keyring, the model, n and the block's number alone.  So blocks can run anywhere and in any
order, and a run with the same seed gives the same numbers in process and over gRPC.

Every trial of the shuffled model really mixes everybody's reports.  That is affordable because mixed bits are drawn from
their number (`oracles/mixing.py`): one or two milliseconds for a million of them.

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
from localdp.oracles.lr import InProcessLROracle
from localdp.oracles.models import MODELS, OneCount, Parties, models_with, oracle_of
from localdp.oracles.shared import InProcessShareServers
from localdp.oracles.shuffler import DEFAULT_DELTA, Promise, Shuffler
from localdp.oracles.simulated import simulated_parties, simulated_servers
from localdp.randomness.keyring import Keyring
from localdp.randomness.keystream import KeystreamSource
from localdp.sharing.noise_plans import NoisePlan
from parties.durable import Data
from parties.experiments.cells import Block, BlockResult, Cell, SweepWork, blocks_of
from parties.experiments.definition import DataSource, Experiment, Faults, Output, PartiesPlan, Sweep
from parties.experiments.executors import Executor, executor_of, run_missing
from parties.experiments.journal import SweepJournal

QUERY = "smoker"
MOST_TRIALS = 10**6


def comparison(sweep: Sweep, parties: PartiesPlan, plan: NoisePlan) -> Experiment:
    """The experiment, checked."""
    if not sweep.models or set(sweep.models) - set(MODELS) or len(set(sweep.models)) != len(sweep.models):
        raise InvalidParameter(f"models are some of {', '.join(MODELS)}, each once")
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
    jobs: int = 1,
    done: Callable[[Block, BlockResult], None] = lambda block, result: None,
    executor: Callable[[int], Executor] = executor_of,
) -> tuple[list[Point], list[Data]]:
    """A point for each model and n, and what each model promises about one count; only what the journal lacks is run."""
    finished: dict[str, BlockResult] = {} if journal is None else journal.blocks
    keep = finished.__setitem__ if journal is None else journal.append
    people = os.urandom(32) if journal is None else bytes.fromhex(journal.header.people_root)
    run = functools.partial(run_counts, SweepWork(experiment, people, os.urandom(32)))
    try:
        run_missing(run, list(blocks_of(experiment)), finished, keep, jobs, done, executor)
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
    row = MODELS[model]
    return row.predicted_error(count), None if row.lower_bound is None else row.lower_bound(count)


def run_counts(work: SweepWork, block: Block) -> BlockResult:
    """The trials of a block: one oracle counts again and again."""
    cell, held = block.cell, _held.people_of(work, block.cell)
    number = block.first // work.experiment.task.trials_per_block
    source = work.noise(cell).source("block", cell.model, str(cell.people), str(number))
    options = work.experiment.options.get(cell.model, {})
    oracle = oracle_of(cell.model, held.parties, cell.epsilon, lambda _: source, options)
    counted = [work.experiment.task.measured(oracle, held.records, held.truth) for _ in range(block.trials)]
    rows = [{"trial": block.first + trial, **one.measures} for trial, one in enumerate(counted)]
    claim = counted[0].claim  # of one count
    return BlockResult(rows, claim.statement(), {}, None, claim.to_data())


@dataclass(frozen=True, slots=True)
class _People:
    records: Records
    truth: Any
    parties: Parties


class _Held:
    """The people of one n, with their parties: kept for the next blocks of this worker, and let go for another n."""

    def __init__(self) -> None:
        self._key: tuple[bytes, int] | None = None
        self._people: _People | None = None
        self._stack = ExitStack()

    def people_of(self, work: SweepWork, cell: Cell) -> _People:
        keyring = work.noise(cell)
        if self._people is None or self._key != (keyring.root, cell.people):
            self.let_go()
            records = made_up_people(cell.people, work.people(cell).source("people", str(cell.people)))
            truth = work.experiment.task.truth(records)
            self._people = _People(records, truth, self._parties(work.experiment, cell, records, keyring))
            self._key = (keyring.root, cell.people)
        return self._people

    def let_go(self) -> None:
        """Processes end."""
        self._people = None
        self._stack.close()

    def _parties(self, experiment: Experiment, cell: Cell, records: Records, keyring: Keyring) -> Parties:
        plan, promise = experiment.parties, promise_of(experiment)
        parts, (budget, largest) = dealt(records, plan.number), _allowed(experiment, cell)
        if plan.transport == "processes":
            from parties.federated.whereabouts import Launch, in_processes  # workers do without

            launch = Launch(tuple(parts), records, budget, largest, plan.share_servers, keyring, promise)
            place = in_processes(launch)
            self._stack.callback(place.close)
            return place.parties
        held = simulated_parties(parts, keyring, budget, largest)
        shared = InProcessShareServers(held, simulated_servers(plan.share_servers, keyring))
        lr, curator = InProcessLROracle(held), MemoryLedger(records.people, budget)
        coins = KeystreamSource(keyring.shuffler())
        mixer = None if promise is None else Shuffler(lr, coins, promise)
        return Parties(lr, shared, mixer, records, curator)


_held = _Held()


def mixes(sweep: Sweep) -> bool:
    """Whether there is a shuffler."""
    return any(MODELS[model].needs_mixer for model in sweep.models)


def promise_of(experiment: Experiment) -> Promise | None:
    """What the shuffler promises: enough for every trial, about however few made-up people; None: there is none."""
    sweep = experiment.sweep
    if not mixes(sweep):
        return None
    return Promise(sweep.epsilons[0], DEFAULT_DELTA, requests=sweep.trials, minimum_cohort=FEWEST_PEOPLE)


def _allowed(experiment: Experiment, cell: Cell) -> tuple[Epsilon, Epsilon]:
    """What a person may spend, to be counted in every trial of every protocol; and in one of them."""
    largest = cell.epsilon
    if promise_of(experiment) is not None:
        largest = max(largest, shuffled_local_epsilon(cell.epsilon, DEFAULT_DELTA, cell.people))
    return (cell.epsilon * 2 + largest) * experiment.sweep.trials, largest
