"""`localdp simulate`: a crowd of any size asked under a trust model, on one process or a cluster."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from localdp.errors import InvalidParameter
from localdp.oracles.models import DEFAULT_MODEL, ModelName
from parties.command.arguments import (
    EpsilonOption,
    ExecutorOption,
    JsonOption,
    PlanOption,
    SchedulerOption,
    SeedOption,
    ServersOption,
    WorkersOption,
)
from parties.command.declaring import command
from parties.command.output import print_ok, print_prose, stderr_console, stdout_console

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from localdp.experiments.crowd_answers import CrowdAnswer
    from parties.experiments.simulating import Simulated

_CROWD = "The crowd"
_SHOWN = 10  # inputs


@command
def simulate(
    people: Annotated[
        str | None,
        typer.Option(rich_help_panel=_CROWD, help="How many: 1e6, or as many as the table has."),
    ] = None,
    inputs: Annotated[
        str, typer.Option(rich_help_panel=_CROWD, help="How many different inputs there are.")
    ] = "2",
    law: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=_CROWD,
            help="How they are spread: uniform, zipf, or the share who have the second of two; 0.3 or zipf.",
        ),
    ] = None,
    table: Annotated[
        Path | None,
        typer.Option(
            readable=False, rich_help_panel=_CROWD, help="People of a table instead: CSV, Parquet."
        ),
    ] = None,
    schema: Annotated[
        Path | None,
        typer.Option(readable=False, rich_help_panel=_CROWD, help="A TOML file with its [schema]."),
    ] = None,
    query: Annotated[
        str | None,
        typer.Option(rich_help_panel=_CROWD, help="What its people are asked, such as 'age >= 65'."),
    ] = None,
    randomizer: Annotated[
        str, typer.Option(help="What makes reports, such as k-ary or projective-geometry.")
    ] = "one-bit",
    model: Annotated[ModelName, typer.Option(help="Which trust model answers.")] = DEFAULT_MODEL,
    epsilon: EpsilonOption = "1",
    noise_plan: PlanOption = "each-server",
    servers: ServersOption = 2,
    executor: ExecutorOption = None,
    workers: WorkersOption = None,
    scheduler: SchedulerOption = None,
    json: JsonOption = False,
    insecure_seed: SeedOption = None,
) -> None:
    """Ask a crowd of any size, in constant memory; Ctrl-C shows the estimate so far."""
    from localdp.oracles.models import MODELS
    from parties.command.options import whole_number
    from parties.command.signals import stopped_by_ctrl_c
    from parties.executors.chosen import ChosenExecutor
    from parties.experiments.simulating import simulate_crowd
    from parties.view.waiting import waiting

    if (table is None) != (query is None) or (table is None) != (schema is None):
        raise InvalidParameter("of a table give all three: --table, --schema and --query")
    chosen = ChosenExecutor.named(executor, workers, scheduler)
    options = {"noise_plan": noise_plan} if "noise_plan" in MODELS[model].options else {}
    with stopped_by_ctrl_c() as stop, waiting(stderr_console(), "asking") as tell:
        done = simulate_crowd(
            None if people is None else whole_number(people),
            randomizer=randomizer,
            inputs=whole_number(inputs),
            law=law,
            data=table,
            schema=schema,
            query=query,
            epsilon=epsilon,
            model=model,
            servers=servers,
            insecure_seed=insecure_seed,
            chosen=chosen,
            told=lambda answer: tell(_so_far(answer)),
            stop=stop,
            **options,
        )
    if json:
        print_ok(done.to_data())
    else:
        _tell(done, stdout_console())


def _so_far(answer: CrowdAnswer) -> str:
    from localdp.experiments.crowd_answers import HALF_OF_95
    from parties.report.wording import with_error_bar

    place = int(answer.values.argmax())
    named = "the mean" if len(answer.values) == 1 else f"input {place}"
    half = HALF_OF_95 * float(answer.standard_errors[place])
    return f"{answer.people:,} people: {named} {with_error_bar(float(answer.values[place]), half)}"


def _tell(done: Simulated, console: Console) -> None:
    from parties.report.fitting import print_fitting

    asked = f"{done.answer.people:,} people {done.about}, model {done.model}, epsilon {done.epsilon}"
    print_prose(console, f"{asked}, {done.seconds:.1f} s")
    if done.answer.people < done.wanted:
        print_prose(console, f"stopped: {done.wanted - done.answer.people:,} people were not asked")
    if done.report is not None:
        print_prose(console, f"a report: {done.report.canonical}, {done.report.report_bits} bits")
    print_fitting(console, _table(done), ())
    error = done.root_mean_square_error
    print_prose(console, f"root mean square error of {len(done.truth):,} estimates: {error:.3g}")


def _table(done: Simulated) -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    from parties.report.wording import with_error_bar

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("of", no_wrap=True)
    for heading in ("estimate", "truth"):
        table.add_column(heading, justify="right", no_wrap=True)
    for place, value, half, true in done.largest(_SHOWN):
        named = "mean" if len(done.truth) == 1 else f"input {place}"
        table.add_row(named, with_error_bar(value, half), f"{true:.6g}")
    return table
