"""`localdp compare`: the separation of section 9.3, measured."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from localdp.errors import InvalidParameter
from localdp.oracles.compared import COMPARED
from localdp.oracles.models import models_with
from parties.command.arguments import (
    EpsilonOption,
    ExecutorOption,
    JsonOption,
    PartiesOption,
    PlanOption,
    ResumeOption,
    SchedulerOption,
    SeedOption,
    ServersOption,
    WorkersOption,
)
from parties.command.declaring import command
from parties.command.options import names, require_writable, whole_number, whole_numbers
from parties.command.output import (
    going_on,
    plain_path,
    print_ok,
    print_whole,
    stderr_console,
    stdout_console,
)
from parties.command.signals import terminate_like_ctrl_c

if TYPE_CHECKING:
    from localdp.experiments.comparison import Comparison
    from parties.executors.chosen import ChosenExecutor
    from parties.experiments.cells import Block, BlockResult
    from parties.experiments.definition import Experiment
    from parties.experiments.journal import SweepJournal

JOURNAL = "compare.jsonl"  # in the directory of results, while they are not whole


@command
def compare(
    epsilon: EpsilonOption = "1",
    people: Annotated[
        str, typer.Option(help="Numbers of people, separated by commas.")
    ] = "100,1000,1e4,1e5,1e6",
    trials: Annotated[str, typer.Option(help="How often each count is repeated.")] = "2000",
    models: Annotated[
        str, typer.Option(help="Which trust models; joint is shared with joint noise, on three servers.")
    ] = ",".join(COMPARED),
    transport: Annotated[
        Literal["process", "grpc"], typer.Option(help="Parties as objects or as processes.")
    ] = "process",
    noise_plan: PlanOption = "each-server",
    parties: PartiesOption = 4,
    servers: ServersOption = 2,
    workers: WorkersOption = 2,
    executor: ExecutorOption = None,
    scheduler: SchedulerOption = None,
    out: Annotated[Path | None, typer.Option(help="Directory for compare.json, .svg and .html.")] = None,
    resume: ResumeOption = False,
    json: JsonOption = False,
    insecure_seed: SeedOption = None,
) -> None:
    """Measure the error of one count under every trust model.

    It is the separation of section 9.3: sqrt(n) locally, constant with a shuffler or a curator, shared or not.
    """
    from localdp.accounting.epsilon import Epsilon
    from localdp.sharing.noise_plans import NoisePlan
    from parties.executors.chosen import ChosenExecutor
    from parties.experiments.comparing import comparison
    from parties.experiments.definition import PartiesPlan, Sweep

    sweep = Sweep(
        names(models),
        (Epsilon.requested(epsilon),),
        whole_numbers(people),
        (None,),
        whole_number(trials),
        () if insecure_seed is None else (insecure_seed,),
    )
    chosen = ChosenExecutor.named(executor, workers, scheduler)
    plan = PartiesPlan(
        parties, share_servers=servers, transport="processes" if transport == "grpc" else "in-process"
    )
    terminate_like_ctrl_c()
    experiment = comparison(sweep, plan, NoisePlan.parse(noise_plan))
    if out is None:
        if resume:
            raise InvalidParameter(
                "--resume goes on with what was kept in a directory: give the same --out"
            )
        _tell(_measured(experiment, transport, chosen, None), (), json)
    else:
        _tell(*_kept(experiment, transport, chosen, out, resume), json)


def _kept(
    experiment: Experiment, transport: str, chosen: ChosenExecutor, out: Path, resume: bool
) -> tuple[Comparison, Sequence[Path]]:
    """Measure and write files; what is finished is kept in a journal until all of it is."""
    from parties.experiments.journal import SweepJournal, header_of
    from parties.report.drawing import require_matplotlib
    from parties.report.writing import write_comparison

    require_matplotlib()
    require_writable(out)
    with going_on(), closing(SweepJournal(out, header_of(experiment), resume, JOURNAL)) as journal:
        measured = _measured(experiment, transport, chosen, journal)
        written = write_comparison(measured, out)
        journal.path.unlink()
    return measured, written


def _tell(measured: Comparison, written: Sequence[Path], json: bool) -> None:
    """The table or the envelope."""
    from parties.report.comparison import print_comparison

    if json:
        print_ok(measured.to_data())
        return
    print_comparison(measured, stdout_console())
    if written:
        print_whole(stdout_console(), f"Written: {', '.join(plain_path(path) for path in written)}")


def _measured(
    experiment: Experiment, transport: str, chosen: ChosenExecutor, journal: SweepJournal | None
) -> Comparison:
    """The experiment, with a progress bar on standard error that moves with every finished block of trials."""
    from localdp.experiments.comparison import Comparison
    from localdp.oracles.shuffler import DEFAULT_DELTA
    from parties.executors.chosen import HERE
    from parties.experiments.comparing import run_comparison
    from parties.view.waiting import trials_shown

    started, sweep = time.monotonic(), experiment.sweep
    total = len(sweep.people) * len(sweep.models) * sweep.trials
    with trials_shown(stderr_console(), total) as advance:

        def done(block: Block, _: BlockResult) -> None:
            advance(f"{block.cell.model}, n = {block.cell.people:,}", block.trials)

        # Processes answer one after the other, and are started once for each number of people.
        used = chosen if experiment.parties.transport == "in-process" else HERE
        points, privacy = run_comparison(experiment, journal=journal, done=done, chosen=used)
    return Comparison(
        epsilon=float(sweep.epsilons[0]),
        noise_plan=str(experiment.options[models_with("noise_plan")[0]]["noise_plan"]),
        servers=experiment.parties.share_servers,
        transport=transport,
        points=tuple(points),
        seconds=time.monotonic() - started,
        privacy=privacy,
        delta=float(DEFAULT_DELTA),
    )
