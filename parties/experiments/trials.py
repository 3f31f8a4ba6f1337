"""One block of trials: fresh parties with fresh budgets for each, on people who are made once.

Every trial is a run of its own, as if the people had never been asked anything before: a new ledger, new share servers, new
request identifiers.  What is refused, because a budget or a signal does not suffice, is the trial's outcome.

Checked in tests/unit/parties/experiments/test_experiment_trials.py.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from localdp.accounting.claim import PrivacyClaim
from localdp.accounting.ledger import MemoryLedger
from localdp.algorithms.definition import Measures
from localdp.domains import Records
from localdp.domains.dealing import dealt_out, joined
from localdp.errors import BudgetExhausted, LocalDpError, PolicyRefused
from localdp.experiments.catalogue import Measured
from localdp.experiments.faults import Faulty, FaultyShareServers
from localdp.oracles.definition import StatisticalQueryOracle
from localdp.oracles.lr import LROracle
from localdp.oracles.models import Parties, model_named, oracle_of
from localdp.randomness.source import RandomSource
from parties.experiments.cells import Block, BlockResult, Cell, Row, SweepWork
from parties.experiments.counterparts import counterparts_of
from parties.experiments.definition import Experiment
from parties.experiments.populations import population
from parties.experiments.processes import BROKEN, CountingShareServers, Processes, needs_processes
from parties.experiments.settings import (
    Setting,
    as_told,
    fewest_honest,
    in_this_process,
    limit_of,
)
from parties.status import reason

_POPULATIONS = 2  # kept in a worker


@dataclass(frozen=True, slots=True)
class _Population:
    records: Records
    parts: tuple[Records, ...]
    truth: Any
    beside: Measures  # what baselines reach on these people


_made: OrderedDict[tuple[str, bytes, int, int | None], _Population] = OrderedDict()


def run_block(work: SweepWork, block: Block) -> BlockResult:
    """All trials of a block, in order."""
    people = _population(work, block.cell)
    claim: PrivacyClaim | None = None
    rows: list[Row] = []
    refusals: dict[str, str] = {}
    with ExitStack() as stack:
        processes = processes_of(work, block.cell, stack)
        for trial in range(block.first, block.first + block.trials):
            row, outcome = _trial(work, block.cell, people, trial, processes)
            rows.append({"trial": trial, **row})
            if isinstance(outcome, LocalDpError):
                refusals.setdefault(row["refused"], str(outcome))
            else:
                claim = claim or outcome
    predicted = _predicted(work, block.cell, people) if block.first == 0 else None
    if claim is None:
        return BlockResult(rows, None, refusals, predicted)
    return BlockResult(rows, claim.statement(), refusals, predicted, claim.to_data())


def oracle_of_trial(
    work: SweepWork, cell: Cell, parts: tuple[Records, ...], records: Records, trial: int
) -> tuple[StatisticalQueryOracle, Faulty]:
    """The oracle of one trial, over fresh parties, and who of them is faulty."""
    setting = setting_of_trial(work, cell, parts, records, trial)
    return setting.oracle, setting.faulty


def setting_of_trial(
    work: SweepWork,
    cell: Cell,
    parts: tuple[Records, ...],
    records: Records,
    trial: int,
    processes: Processes | None = None,
) -> Setting:
    """One trial over fresh parties, in this process unless there are others."""
    experiment, keyring = work.experiment, work.noise(cell)

    def coins(purpose: str) -> RandomSource:
        return keyring.source("trial", cell.name, str(trial), purpose)

    count, options = experiment.parties.count, experiment.options.get(cell.model, {})
    model = model_named(cell.model)
    at_hand = model.needs_records
    faulty = Faulty.drawn(count, *experiment.faults.counts(count), coins("faults"))
    told = as_told(experiment, records, parts, faulty)
    if at_hand:  # whoever has the records beforehand misses nobody
        faulty = Faulty(cheating=faulty.cheating)
    lr, shares = in_this_process(experiment, model, keyring, told, faulty)
    reports: LROracle = lr
    uploads: FaultyShareServers | CountingShareServers = shares
    if processes is not None:
        reports, uploads = processes.of_trial(told, faulty)
    handed = joined(told) if faulty.cheating and at_hand else records
    ledger = MemoryLedger(records.people, limit_of(experiment))
    honest = fewest_honest(experiment, parts)
    parties = Parties(reports, uploads, records=handed, curator=ledger, honest=honest)
    oracle = oracle_of(model, parties, cell.epsilon, coins, options)
    return Setting(oracle, faulty, uploads.rejections, lr, shares)


def processes_of(work: SweepWork, cell: Cell, stack: ExitStack) -> Processes | None:
    """The processes of a block, which end with the stack; None: its parties are in this one."""
    if not needs_processes(work.experiment, cell.model):
        return None
    return stack.enter_context(Processes(work.experiment, work.noise(cell)))


def _trial(
    work: SweepWork, cell: Cell, people: _Population, trial: int, processes: Processes | None
) -> tuple[Row, PrivacyClaim | LocalDpError]:
    """What one trial brought, and what is promised about it; or why it was refused."""
    setting: Setting | None = None
    try:
        setting = setting_of_trial(work, cell, people.parts, people.records, trial, processes)
        told = work.experiment.task.measured(setting.oracle, people.records, people.truth)
    except LocalDpError as error:
        row: Row = {"refused": reason(type(error)).lower()}
        if processes is not None:
            if isinstance(error, BROKEN):
                raise
            # Processes tell of one refusal.  The same trial in this process is refused by the same parties.
            again, why = _trial(work, cell, people, trial, None)
            return (again, why) if again.get("refused") == row["refused"] else (row, error)
        if setting is not None and setting.refusing:
            row["parties_refusing"] = setting.refusing
        return row, _explained(error, work.experiment, cell, setting)
    return _answered(told) | dict(people.beside) | _faulty_people(
        setting, people.parts, cell.model
    ), told.claim


def _explained(
    error: LocalDpError, experiment: Experiment, cell: Cell, setting: Setting | None
) -> LocalDpError:
    """A shuffler passes on no party's words; here it is known that a report costs more than the mixed ones."""
    budget, asked = experiment.parties.budget, setting and setting.lr.asked
    mixed = model_named(cell.model).needs_mixer
    if not mixed or budget is None or not isinstance(error, BudgetExhausted | PolicyRefused):
        return error
    cost = "" if asked is None else f", {asked} nats"
    return type(error)(
        f"a party cannot see that reports are mixed, so it charges a person what one report reveals{cost}, and not "
        f"epsilon = {cell.epsilon}, which is promised after mixing; parties.budget is {budget}: write a larger one, or none"
    )


def _answered(told: Measured) -> Row:
    row: Row = {name: _finite(value) for name, value in told.measures.items()}
    row |= {"rounds": told.cost.rounds, "queries": told.cost.queries, "bytes_moved": told.cost.bytes_moved}
    row |= {"epsilon_promised": float(told.cost.epsilon_promised), "reports": told.reports}
    return row | {"epsilon_charged": float(told.cost.epsilon_charged)}


def _predicted(work: SweepWork, cell: Cell, people: _Population) -> float | None:
    try:
        oracle, _ = oracle_of_trial(work, cell, people.parts, people.records, 0)
        error = work.experiment.task.outlook(oracle).standard_error
    except LocalDpError:
        return None
    return None if error is None else _finite(error)


def _population(work: SweepWork, cell: Cell) -> _Population:
    """The people of a cell, kept for the next blocks of this worker."""
    keyring = work.people(cell)
    key = (work.experiment.digest, keyring.root, cell.people, cell.dimension)
    if key not in _made:
        while len(_made) >= _POPULATIONS:
            _made.popitem(last=False)
        plan = work.experiment.parties
        records = population(work.experiment.data, cell.people, cell.dimension, keyring)
        parts = dealt_out(records, plan.sizes or plan.number)
        task = work.experiment.task
        truth = task.truth(records)
        beside = counterparts_of(task, records, truth) if work.experiment.baselines else {}
        _made[key] = _Population(records, parts, truth, beside)
    return _made[key]


def _faulty_people(setting: Setting, parts: tuple[Records, ...], model: str) -> Row:
    """How many people were missing or with cheating parties, and what was noticed of these."""
    faulty, row = setting.faulty, Row()
    if faulty.away or faulty.late:
        row |= {
            "people_unreachable": _people(parts, faulty.away),
            "people_late": _people(parts, faulty.late),
        }
    if faulty.cheating:
        row["people_cheating"] = _people(parts, faulty.cheating)
        if model_named(model).needs_share_servers:  # nobody else can notice
            row["reports_rejected"] = setting.rejections.rejected
    return row


def _people(parts: tuple[Records, ...], some: Iterable[int]) -> int:
    return sum(parts[number].people for number in some)


def _finite(value: float) -> float | None:
    """JSON has no other numbers."""
    return float(value) if math.isfinite(value) else None
