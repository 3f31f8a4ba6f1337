"""What a run would yield and take, cell by cell, before it is begun.

Predicted errors are those of the oracles' plans, and nobody is asked for them; faults are none of a plan's business, which
`caveats` says.  Time and bytes are measured on a few trials
of each trust model, on one worker, with two numbers of people, `FEW` and `MANY` at most; a line through both gives the
time of every cell: an estimate, right to a factor of two or so on a quiet machine.  Trials that take long are not
repeated, so that a forecast is quick itself.

Checked in tests/unit/parties/experiments/test_experiment_forecast.py.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace

from localdp.domains import Records
from localdp.domains.dealing import dealt_out
from localdp.errors import LocalDpError
from localdp.experiments.catalogue import LearnerTask
from localdp.experiments.faults import Faulty
from localdp.experiments.outlook import Outlook
from localdp.oracles.models import model_named
from parties.durable import Data
from parties.experiments.cells import Cell, SweepWork, cells_of
from parties.experiments.definition import Experiment
from parties.experiments.populations import population
from parties.experiments.trials import oracle_of_trial, processes_of, setting_of_trial
from parties.status import reason

FEW, MANY = 1000, 20_000
_REPEATED = 3  # of which the quickest counts
_ENOUGH_SECONDS = 0.2  # after which no trial is repeated


@dataclass(frozen=True, slots=True)
class Forecast:
    """One cell, before it is run."""

    model: str
    epsilon: float
    people: int
    dimension: int | None
    seed: int | None
    trials: int
    predicted_standard_error: float | None
    rounds: int | None
    how: str  # the randomizer or the noise; or why trials will be refused
    seconds: float | None  # of all trials, on one worker
    bytes_per_trial: int | None

    def to_data(self) -> Data:
        """As plain data."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class _Probe:
    """What a trial takes: a constant and a part for each person."""

    seconds: float
    seconds_per_person: float
    bytes_per_person: float


def forecasts(experiment: Experiment) -> Iterator[Forecast]:
    """Every cell, in order."""
    work = SweepWork(experiment, os.urandom(32), os.urandom(32))
    probes: dict[tuple[str, int | None], _Probe | None] = {}
    for cell in cells_of(experiment):
        key = (cell.model, cell.dimension)
        if key not in probes:
            probes[key] = _probed(work, replace(cell, people=max(experiment.sweep.people)))
        records = population(experiment.data, cell.people, cell.dimension, work.people(cell))
        yield _forecast(work, cell, records, probes[key])


def caveats(experiment: Experiment) -> tuple[str, ...]:
    """What predictions leave out."""
    count = experiment.parties.count
    away, late, cheating = experiment.faults.counts(count)
    told = []
    if away or late:
        told.append(
            f"Predicted for everybody's answers: {away} of {count} parties are away and {late} late, so errors are larger."
        )
    if cheating:
        told.append(
            f"Predicted without cheaters: what those {cheating} of {count} parties add that cheat is not in these errors."
        )
    mixed = [model for model in experiment.sweep.models if model_named(model).needs_mixer]
    if experiment.parties.budget is not None and mixed:
        told.append(
            f"{mixed[0]}: parties charge a person what one report reveals before mixing, which is more than epsilon; where "
            f"that exceeds budget = {experiment.parties.budget}, trials will be refused."
        )
    return tuple(told)


def _forecast(work: SweepWork, cell: Cell, records: Records, probe: _Probe | None) -> Forecast:
    outlook, trials = _outlook(work, cell, records), work.experiment.sweep.trials
    seconds = None if probe is None else trials * (probe.seconds + probe.seconds_per_person * cell.people)
    return Forecast(
        cell.model,
        float(cell.epsilon),
        cell.people,
        cell.dimension,
        cell.seed,
        trials,
        outlook.standard_error,
        outlook.rounds or None,
        outlook.how,
        None if seconds is None else round(seconds, 3),
        None if probe is None else round(probe.bytes_per_person * cell.people),
    )


def _outlook(work: SweepWork, cell: Cell, records: Records) -> Outlook:
    try:
        oracle, _ = oracle_of_trial(work, cell, _parts(work, records), records, 0)
        return work.experiment.task.outlook(oracle)
    except LocalDpError as error:
        return Outlook(0, None, f"refused, {reason(type(error)).lower()}: {error}")


def _parts(work: SweepWork, records: Records) -> tuple[Records, ...]:
    plan = work.experiment.parties
    if plan.sizes is not None and sum(plan.sizes) == records.people:
        return dealt_out(records, plan.sizes)
    return dealt_out(records, min(plan.count, records.people))


def _probed(work: SweepWork, cell: Cell) -> _Probe | None:
    """A few trials with the largest epsilon of the sweep, whatever the budget; None if they are refused."""
    experiment = work.experiment
    if (
        experiment.parties.transport == "in-process"
    ):  # elsewhere a budget takes time: every trial has fresh processes
        work = replace(
            work, experiment=replace(experiment, parties=replace(experiment.parties, budget=None))
        )
    cell = replace(cell, epsilon=max(experiment.sweep.epsilons))
    records = population(experiment.data, cell.people, cell.dimension, work.people(cell))
    few, many = min(FEW, records.people), min(MANY, records.people)
    try:
        short, _ = _measured(work, cell, records.slice(0, few), least=2)  # the first one warms up
        long, moved = _measured(work, cell, records.slice(0, many))
    except LocalDpError:
        return None
    if few == many:
        return _Probe(long, 0.0, moved / many)
    slope = max(0.0, (long - short) / (many - few))
    return _Probe(max(0.0, short - slope * few), slope, moved / many)


def _measured(work: SweepWork, cell: Cell, records: Records, least: int = 1) -> tuple[float, int]:
    """Seconds and bytes of one trial on these people, whatever its signal."""
    task = work.experiment.task
    if isinstance(task, LearnerTask):
        task = replace(task, parameters={**task.parameters, "check_signal": False})
    truth, moved, parts = task.truth(records), 0, _parts(work, records)
    taken: list[float] = []
    with ExitStack() as stack:
        started = time.perf_counter()
        processes = processes_of(work, cell, stack)
        starting = 0.0
        if processes is not None and processes.lasting:  # they start once for a whole block
            processes.of_trial(parts, Faulty())
            starting = (time.perf_counter() - started) / task.trials_per_block
        for trial in range(_REPEATED):
            if trial >= least and sum(taken) > _ENOUGH_SECONDS:
                break
            started = time.perf_counter()
            setting = setting_of_trial(work, cell, parts, records, trial, processes)
            moved = task.measured(setting.oracle, records, truth).cost.bytes_moved
            taken.append(time.perf_counter() - started)
    return starting + min(taken), moved
