"""`localdp compare`: the separation of section 9.3, measured."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from localdp.oracles.models import MODELS, models_with
from parties.command.arguments import (
    EpsilonOption,
    JsonOption,
    PartiesOption,
    PlanOption,
    SeedOption,
    ServersOption,
)
from parties.command.declaring import command
from parties.command.options import names, require_writable, whole_number, whole_numbers
from parties.command.output import plain_path, print_ok, print_whole, stderr_console, stdout_console
from parties.command.signals import terminate_like_ctrl_c

if TYPE_CHECKING:
    from localdp.experiments.comparison import Comparison
    from parties.experiments.cells import Block, BlockResult
    from parties.experiments.definition import Experiment


@command
def compare(
    epsilon: EpsilonOption = "1",
    people: Annotated[
        str, typer.Option(help="Numbers of people, separated by commas.")
    ] = "100,1000,1e4,1e5,1e6",
    trials: Annotated[str, typer.Option(help="How often each count is repeated.")] = "2000",
    models: Annotated[str, typer.Option(help="Which trust models.")] = ",".join(MODELS),
    transport: Annotated[
        Literal["process", "grpc"], typer.Option(help="Parties as objects or as processes.")
    ] = "process",
    noise_plan: PlanOption = "each-server",
    parties: PartiesOption = 4,
    servers: ServersOption = 2,
    jobs: Annotated[
        int, typer.Option(min=1, max=64, help="Worker processes, with --transport process.")
    ] = 2,
    out: Annotated[Path | None, typer.Option(help="Directory for compare.json, .svg and .html.")] = None,
    json: JsonOption = False,
    insecure_seed: SeedOption = None,
) -> None:
    """Show the separation of section 9.3: error sqrt(n) locally, constant with a shuffler or a curator, shared or not."""
    from localdp.accounting.epsilon import Epsilon
    from localdp.sharing.noise_plans import NoisePlan
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
    plan = PartiesPlan(
        parties, share_servers=servers, transport="processes" if transport == "grpc" else "in-process"
    )
    _run(comparison(sweep, plan, NoisePlan.parse(noise_plan)), transport, jobs, out, json)


def _run(experiment: Experiment, transport: str, jobs: int, out: Path | None, json: bool) -> None:
    """Run, then print the table or the envelope, and write the files."""
    from parties.report.comparison import print_comparison
    from parties.report.drawing import require_matplotlib
    from parties.report.writing import write_comparison

    terminate_like_ctrl_c()
    if out is not None:
        require_matplotlib()
        require_writable(out)
    measured = _measured(experiment, transport, jobs)
    paths = () if out is None else write_comparison(measured, out)
    if json:
        print_ok(measured.to_data())
        return
    print_comparison(measured, stdout_console())
    if paths:
        print_whole(stdout_console(), f"Written: {', '.join(plain_path(path) for path in paths)}")


def _measured(experiment: Experiment, transport: str, jobs: int) -> Comparison:
    """The experiment, with a progress bar on standard error that moves with every finished block of trials."""
    from localdp.experiments.comparison import Comparison
    from localdp.oracles.shuffler import DEFAULT_DELTA
    from parties.experiments.comparing import run_comparison
    from parties.view.bars import trials_shown

    started, sweep = time.monotonic(), experiment.sweep
    total = len(sweep.people) * len(sweep.models) * sweep.trials
    with trials_shown(stderr_console(), total) as advance:

        def done(block: Block, _: BlockResult) -> None:
            advance(f"{block.cell.model}, n = {block.cell.people:,}", block.trials)

        # Processes answer one after the other, and are started once for each number of people.
        workers = jobs if experiment.parties.transport == "in-process" else 1
        points, privacy = run_comparison(experiment, jobs=workers, done=done)
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
