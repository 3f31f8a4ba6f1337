"""One block of trials: fresh parties with fresh budgets for each, on people who are made once.

Every trial is a run of its own, as if the people had never been asked anything before: a new ledger, new share servers, new
request identifiers.  What is refused, because a budget or a signal does not suffice, is the trial's outcome.

Checked in tests/unit/parties/test_experiment_trials.py.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any

from localdp.accounting.claim import PrivacyClaim
from localdp.accounting.epsilon import Epsilon
from localdp.accounting.ledger import LARGEST_LIMIT_NANONATS, MemoryLedger
from localdp.domains import Records
from localdp.errors import LocalDpError
from localdp.experiments.faults import IncompleteLROracle, IncompleteShareServers, Missing
from localdp.experiments.keyring import Keyring
from localdp.experiments.promises import NEIGHBOURS
from localdp.oracles.definition import StatisticalQueryOracle
from localdp.oracles.party import Party
from localdp.oracles.policy import Policy
from localdp.randomness.source import RandomSource
from localdp.sharing.share_server import ShareServer
from parties.experiments.cells import Block, Cell
from parties.experiments.definition import Experiment
from parties.experiments.populations import population
from parties.federated.models import Sides, oracle_on
from parties.federated.places import dealt_out
from parties.simulation.launcher import party_name, server_name
from parties.status import reason

_POPULATIONS = 2  # kept in a worker
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Work:
    """What workers need beside the block."""

    experiment: Experiment
    people_root: (
        bytes  # of the coins that people are made or drawn with: public, and the same after a resumption
    )
    noise_root: bytes = field(
        repr=False
    )  # of the parties', servers' and analyst's secrets: never written down

    def people(self, cell: Cell) -> Keyring:
        """The coins that people are made with."""
        return Keyring(self.people_root) if cell.seed is None else Keyring.insecurely_seeded(cell.seed)

    def noise(self, cell: Cell) -> Keyring:
        """The secrets of a trial's roles."""
        return Keyring(self.noise_root) if cell.seed is None else Keyring.insecurely_seeded(cell.seed)


@dataclass(frozen=True, slots=True)
class BlockResult:
    """What a block brought."""

    rows: list[Row]  # one for each trial
    promise: str | None  # in words, of one trial; None: all were refused
    refusals: dict[str, str]  # by reason, the first message of each
    predicted: float | None  # standard error of one entry, from the plan; of a cell's first block only
    claim: dict[str, Any] | None = None  # the promise as data


@dataclass(frozen=True, slots=True)
class _Population:
    records: Records
    parts: tuple[Records, ...]
    truth: Any


_made: OrderedDict[tuple[str, bytes, int, int | None], _Population] = OrderedDict()


def run_block(work: Work, block: Block) -> BlockResult:
    """All trials of a block, in order."""
    people = _population(work, block.cell)
    claim: PrivacyClaim | None = None
    rows: list[Row] = []
    refusals: dict[str, str] = {}
    for trial in range(block.first, block.first + block.trials):
        row: Row = {"trial": trial}
        try:
            told, missing = _trial(work, block.cell, people, trial)
        except LocalDpError as error:
            row["refused"] = reason(type(error)).lower()
            refusals.setdefault(row["refused"], str(error))
        else:
            claim = claim or told.claim
            row |= {name: _finite(value) for name, value in told.measures.items()}
            row |= {"rounds": told.cost.rounds, "queries": told.cost.queries}
            row |= {"bytes_moved": told.cost.bytes_moved}
            row |= {"epsilon_spent": float(told.cost.epsilon_per_person), "reports": told.reports}
            row |= _missing_people(missing, people.parts)
        rows.append(row)
    predicted = _predicted(work, block.cell, people) if block.first == 0 else None
    if claim is None:
        return BlockResult(rows, None, refusals, predicted)
    return BlockResult(rows, claim.statement(), refusals, predicted, _claim_data(claim))


def oracle_of_trial(
    work: Work, cell: Cell, parts: tuple[Records, ...], records: Records, trial: int
) -> tuple[StatisticalQueryOracle, Missing]:
    """The oracle of one trial, over fresh parties, and who of them is missing."""
    experiment, keyring = work.experiment, work.noise(cell)

    def coins(purpose: str) -> RandomSource:
        return keyring.source("trial", cell.name, str(trial), purpose)

    plan = experiment.parties
    limit = plan.budget or Epsilon(LARGEST_LIMIT_NANONATS)
    away, late = experiment.faults.counts(plan.count)
    missing = Missing.drawn(plan.count, away, late, coins("faults"))
    policy = Policy(largest_epsilon=limit)
    parties = [
        Party(party_name(number), part, keyring.party(number), MemoryLedger(part.people, limit), policy)
        for number, part in enumerate(parts)
    ]
    servers = [ShareServer(server_name(one), keyring.server(one)) for one in range(plan.share_servers)]
    sides = Sides(
        IncompleteLROracle(parties, missing),
        IncompleteShareServers(parties, servers, missing),
        records,
        MemoryLedger(records.people, limit),
    )
    options = experiment.options.get(cell.model, {})
    return oracle_on(sides, cell.model, cell.epsilon, coins, options), missing


def _claim_data(claim: PrivacyClaim) -> dict[str, Any]:
    return {
        "epsilon": None if claim.epsilon is None else float(claim.epsilon),
        "delta": float(claim.delta),
        "neighbours": NEIGHBOURS,
        "strength": claim.strength.value,
        "against": claim.against,
        "honest": claim.honest,
    }


def _trial(work: Work, cell: Cell, people: _Population, trial: int) -> tuple[Any, Missing]:
    oracle, missing = oracle_of_trial(work, cell, people.parts, people.records, trial)
    told = work.experiment.task.measured(oracle, people.records, people.truth)
    # A curator has everybody's records beforehand: nobody can be away.
    return told, Missing() if cell.model in ("exact", "curator") else missing


def _predicted(work: Work, cell: Cell, people: _Population) -> float | None:
    try:
        oracle, _ = oracle_of_trial(work, cell, people.parts, people.records, 0)
        error = work.experiment.task.outlook(oracle).standard_error
    except LocalDpError:
        return None
    return None if error is None else _finite(error)


def _population(work: Work, cell: Cell) -> _Population:
    """The people of a cell, kept for the next blocks of this worker."""
    keyring = work.people(cell)
    key = (work.experiment.digest, keyring.root, cell.people, cell.dimension)
    if key not in _made:
        while len(_made) >= _POPULATIONS:
            _made.popitem(last=False)
        plan = work.experiment.parties
        records = population(work.experiment.data, cell.people, cell.dimension, keyring)
        parts = dealt_out(records, plan.sizes or plan.number)
        _made[key] = _Population(records, parts, work.experiment.task.truth(records))
    return _made[key]


def _missing_people(missing: Missing, parts: tuple[Records, ...]) -> Row:
    if not missing.anybody:
        return {}
    away, late = (sum(parts[number].people for number in some) for some in (missing.away, missing.late))
    return {"people_unreachable": away, "people_late": late}


def _finite(value: float) -> float | None:
    """JSON has no other numbers."""
    return float(value) if math.isfinite(value) else None
