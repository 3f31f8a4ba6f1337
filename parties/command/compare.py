"""`localdp compare`: the separation of section 9.3, measured."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from localdp.accounting.epsilon import Epsilon
from localdp.experiments.comparison import Comparison, fit_slopes
from localdp.oracles.shuffler import DEFAULT_DELTA
from localdp.sharing.noise_plans import NoisePlan
from parties.command.options import names, require_writable, whole_number, whole_numbers
from parties.command.output import plain_path, print_ok, print_whole, stderr_console, stdout_console
from parties.command.signals import terminate_like_ctrl_c
from parties.experiments.cells import Block, BlockResult
from parties.experiments.comparing import comparison, run_comparison
from parties.experiments.definition import Experiment, PartiesPlan, Sweep, Transport
from parties.report.comparison import print_comparison
from parties.report.drawing import require_matplotlib
from parties.report.writing import write_comparison
from parties.view.bars import trials_shown


@dataclass(frozen=True, slots=True)
class CompareOptions:
    """The command's options, as typed."""

    epsilon: str
    people: str
    trials: str
    models: str
    transport: str
    noise_plan: str
    parties: int
    servers: int
    jobs: int
    out: Path | None
    json: bool
    insecure_seed: int | None

    def experiment(self) -> Experiment:
        """The options, checked."""
        seeds = () if self.insecure_seed is None else (self.insecure_seed,)
        sweep = Sweep(
            names(self.models),
            (Epsilon.requested(self.epsilon),),
            whole_numbers(self.people),
            (None,),
            whole_number(self.trials),
            seeds,
        )
        transport: Transport = "processes" if self.transport == "grpc" else "in-process"
        parties = PartiesPlan(self.parties, share_servers=self.servers, transport=transport)
        return comparison(sweep, parties, NoisePlan.parse(self.noise_plan))


def run_compare(options: CompareOptions) -> None:
    """Run, then print the table or the envelope, and write the files."""
    experiment = options.experiment()
    terminate_like_ctrl_c()
    if options.out is not None:
        require_matplotlib()
        require_writable(options.out)
    measured = _measured(options, experiment)
    paths = write_comparison(measured, options.out) if options.out is not None else ()
    if options.json:
        print_ok(measured.to_data())
        return
    print_comparison(measured, stdout_console())
    if paths:
        print_whole(stdout_console(), f"Written: {', '.join(plain_path(path) for path in paths)}")


def _measured(options: CompareOptions, experiment: Experiment) -> Comparison:
    """The experiment, with a progress bar on standard error that moves with every finished block of trials."""
    started, sweep = time.monotonic(), experiment.sweep
    total = len(sweep.people) * len(sweep.models) * sweep.trials
    with trials_shown(stderr_console(), total) as advance:

        def done(block: Block, _: BlockResult) -> None:
            advance(f"{block.cell.model}, n = {block.cell.people:,}", block.trials)

        # Processes answer one after the other, and are started once for each number of people.
        jobs = options.jobs if experiment.parties.transport == "in-process" else 1
        rows, privacy = run_comparison(experiment, jobs=jobs, done=done)
    return Comparison(
        epsilon=float(sweep.epsilons[0]),
        noise_plan=options.noise_plan,
        servers=options.servers,
        transport=options.transport,
        rows=tuple(rows),
        slopes=fit_slopes(rows),
        seconds=time.monotonic() - started,
        privacy=privacy,
        delta=float(DEFAULT_DELTA),
    )
