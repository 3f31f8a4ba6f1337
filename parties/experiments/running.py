"""A run from its first block to its results, and on again after it was cut off.

    journal -> blocks that it does not have yet, on workers -> each kept as it ends -> results in the sweep's order

Claim.  After a kill -9, a Ctrl-C or a full disk, a run with `resume` runs exactly the blocks that are not in the journal;
with insecure seeds the results are those of a run that was never cut off.  The secrets of roles are never written down:
without seeds the blocks that are left have fresh ones.  What is written down is the public coins that people are made with.

Checked in tests/integration/test_run_command.py.
"""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from localdp.domains.dealing import dealt_out
from localdp.errors import InvalidParameter, LocalDpError, QueryRefused, SignalTooWeak, TooFewReports
from localdp.randomness.keyring import Keyring
from parties.executors.chosen import HERE, ChosenExecutor
from parties.executors.running import run_missing
from parties.experiments.cells import Block, BlockResult, Cell, SweepWork, blocks_of, cells_of
from parties.experiments.definition import Experiment
from parties.experiments.journal import SweepJournal, header_of, now
from parties.experiments.populations import population
from parties.experiments.processes import require_few_processes
from parties.experiments.results import Results, require_formats, results_of, write_results
from parties.experiments.trials import oracle_of_trial, run_block

Done = Callable[[Block, BlockResult], None]


@dataclass(frozen=True, slots=True)
class Run:
    """What was done."""

    results: Results
    written: list[Path]
    repeated: int  # blocks that were in the journal already


def seeded(experiment: Experiment, seed: int | None) -> Experiment:
    """The experiment with one insecure seed from the command line in place of the file's."""
    if seed is None:
        return experiment
    return replace(experiment, sweep=replace(experiment.sweep, insecure_seeds=(seed,)))


def run_experiment(
    experiment: Experiment,
    *,
    resume: bool = False,
    done: Done = lambda block, result: None,
    chosen: ChosenExecutor = HERE,
) -> Run:
    """Run every block that is not there yet, and write the results; `done` is told what each brought, also old ones."""
    require_formats(experiment.output.formats)
    require_few_processes(experiment, chosen.workers)
    preflight(experiment)
    started = time.monotonic()
    journal = SweepJournal(experiment.output.directory, header_of(experiment), resume)
    try:
        work = SweepWork(experiment, bytes.fromhex(journal.header.people_root), os.urandom(32))
        blocks = list(blocks_of(experiment))
        earlier = len(journal.blocks)
        run = functools.partial(run_block, work)
        run_missing(run, blocks, journal.blocks, journal.append, done, chosen)
        about = {
            "started": journal.header.started,
            "finished": now(),
            "seconds": round(time.monotonic() - started, 3),
            "jobs": chosen.workers,
            "blocks_from_earlier_runs": earlier,
            "data": experiment.data.about,
            # Whoever knows all rows but one could find the last one by it.
            "data_sha256": None if experiment.data.confidential else journal.header.data,
        }
        results = results_of(experiment, journal.blocks, about)
        written = write_results(results, experiment.output.directory, experiment.output.formats)
        return Run(results, written, earlier)
    finally:
        journal.close()


def preflight(experiment: Experiment) -> None:
    """Plan the first cell of every model and dimension: what can never be asked is refused before anything is run."""
    keyring = Keyring(bytes(32))
    work = SweepWork(experiment, bytes(32), bytes(32))
    seen: set[tuple[str, int | None]] = set()
    for cell in cells_of(experiment):
        if (cell.model, cell.dimension) in seen:
            continue
        seen.add((cell.model, cell.dimension))
        _plan(work, cell, keyring)


def _plan(work: SweepWork, cell: Cell, keyring: Keyring) -> None:
    experiment = work.experiment
    records = population(experiment.data, cell.people, cell.dimension, keyring)
    parts = dealt_out(records, experiment.parties.sizes or experiment.parties.number)
    try:
        oracle, _ = oracle_of_trial(work, cell, parts, records, 0)
        experiment.task.outlook(oracle)
    except (SignalTooWeak, TooFewReports):
        return  # an outcome of trials, and perhaps not of all cells
    except (InvalidParameter, QueryRefused) as error:
        raise InvalidParameter(f"{experiment.path}: {cell.model}: {error}") from error
    except LocalDpError:
        return
