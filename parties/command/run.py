"""`localdp run`: an experiment from a file, forecast or run, and gone on with after it was cut off."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from parties.experiments.cells import Block
    from parties.experiments.definition import Experiment
    from parties.experiments.forecast import Forecast
    from parties.experiments.results import Results
    from parties.experiments.running import Run

MOST_JOBS = 64
_STEPS = 10  # lines of progress where there is no terminal


@dataclass(frozen=True, slots=True)
class RunOptions:
    """The command's options, as typed."""

    file: Path
    dry_run: bool
    resume: bool
    jobs: int | None
    out: Path | None
    insecure_seed: int | None
    json: bool


def run_command(
    file: Annotated[Path, typer.Argument(help="The experiment, in TOML: see docs/experiments.md.")],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what each cell would yield, cost and take.")
    ] = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with a run that was cut off; nothing is run twice.")
    ] = False,
    jobs: Annotated[
        int | None, typer.Option(min=1, max=MOST_JOBS, help="Worker processes; as many as processors.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Where results go, instead of where the file says.")
    ] = None,
    insecure_seed: Annotated[
        int | None,
        typer.Option(
            "--insecure-seed", min=0, help="Repeatable coins, hence NO privacy: for made-up people only."
        ),
    ] = None,
    json: Annotated[
        bool, typer.Option("--json", help="Print one JSON envelope on standard output.")
    ] = False,
) -> None:
    """Run an experiment from a file: sweeps over trust models, epsilons, people and dimensions, with many trials."""
    from parties.command.output import reporting

    with reporting(json):
        run_run(RunOptions(file, dry_run, resume, jobs, out, insecure_seed, json))


def run_run(options: RunOptions) -> None:
    """Read the file, then forecast it or run it."""
    from parties.command.signals import terminate_like_ctrl_c
    from parties.experiments.reading import load_experiment
    from parties.experiments.running import run_experiment, seeded

    experiment = seeded(load_experiment(options.file), options.insecure_seed)
    if options.out is not None:
        experiment = replace(experiment, output=replace(experiment.output, directory=options.out))
    terminate_like_ctrl_c()
    if options.dry_run:
        _forecast(experiment, options)
        return
    with progress_of(experiment) as done:
        jobs = options.jobs or min(MOST_JOBS, os.cpu_count() or 1)
        run = run_experiment(experiment, jobs=jobs, resume=options.resume, done=done)
    run.written.extend(_report(experiment.output.directory, run.written))
    _tell(run, options)


def _report(directory: Path, written: list[Path]) -> list[Path]:
    """The page of the results, where it can be drawn; the run is whole without it."""
    from localdp.errors import LocalDpError
    from parties.command.output import stderr_console
    from parties.report.experiment import write_experiment_report

    if find_spec("matplotlib") is None or directory / "results.json" not in written:
        return []
    try:
        return [write_experiment_report(directory)]
    except LocalDpError as error:
        stderr_console().print(f"no report: {error}", soft_wrap=True, markup=False)
        return []


def _forecast(experiment: Experiment, options: RunOptions) -> None:
    from parties.command.output import print_ok, stdout_console
    from parties.experiments.forecast import forecasts
    from parties.experiments.running import preflight

    preflight(experiment)
    cells = list(forecasts(experiment))
    seconds = sum(cell.seconds or 0.0 for cell in cells)
    if options.json:
        print_ok({"cells": [cell.to_data() for cell in cells], "seconds_on_one_worker": round(seconds, 3)})
        return
    console = stdout_console()
    console.print(_forecast_table(experiment, cells))
    for how in dict.fromkeys(
        f"{cell.model}: {cell.how}" for cell in cells if cell.predicted_standard_error is None
    ):
        console.print(how, soft_wrap=True)
    trials = sum(cell.trials for cell in cells)
    console.print(
        f"{len(cells)} cells, {trials:,} trials, about {seconds:,.0f} s on one worker. Nobody was asked.",
        soft_wrap=True,
    )


def _forecast_table(experiment: Experiment, cells: list[Forecast]) -> Any:
    table = _table(experiment.path.name, "predicted", "seconds", "bytes")
    for cell in cells:
        moved = "-" if cell.bytes_per_trial is None else f"{cell.bytes_per_trial:,}"
        shown = [_shown(cell.predicted_standard_error), _shown(cell.seconds), moved]
        table.add_row(*_where(cell.to_data()), *shown)
    return table


def _table(title: str, *further: str) -> Any:
    """A table whose numbers are never cut short, also where lines have 80 characters."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, title=title, title_justify="left", pad_edge=False)
    table.add_column("model", no_wrap=True)
    for name in ("epsilon", "people", "dim.", *further):
        table.add_column(name, justify="right", no_wrap=True)
    return table


def _where(cell: dict[str, Any]) -> list[str]:
    return [cell["model"], f"{cell['epsilon']:g}", f"{cell['people']:,}", _shown(cell["dimension"])]


def _tell(run: Run, options: RunOptions) -> None:
    from parties.command.output import print_ok, stdout_console

    data = run.results.to_data()
    if options.json:
        print_ok(
            {
                "provenance": data["provenance"],
                "cells": data["cells"],
                "written": [str(path) for path in run.written],
            }
        )
        return
    console = stdout_console()
    console.print(_result_table(run.results))
    provenance = run.results.provenance
    for why, trials in provenance["refusals"].items():
        console.print(f"refused, {why}: {trials:,} trials")
    for promise in _promises(run.results):
        console.print(promise, soft_wrap=True)
    console.print(str(provenance["privacy"]), soft_wrap=True)
    console.print(f"Written: {', '.join(map(str, run.written))}", soft_wrap=True)


def _promises(results: Results) -> list[str]:
    """What each trust model promises, at its largest epsilon."""
    told = {}
    for cell in sorted(results.cells, key=lambda cell: float(cell["epsilon"])):
        if cell["privacy"] is not None:
            told[cell["model"]] = cell["privacy"]
    return list(told.values())


def _result_table(results: Results) -> Any:
    measure = _measure(results)
    kind = "mean" if measure == "score" else "root_mean_square"
    table = _table(f"{measure}: {kind.replace('_', ' ')}", "trials", "refused", "predicted", "measured")
    for cell in results.cells:
        found = cell["measures"].get(measure)
        refused = sum(one["trials"] for one in cell["refused"].values())
        shown = [f"{cell['trials']:,}", f"{refused:,}", _shown(cell["predicted_standard_error"])]
        table.add_row(*_where(cell), *shown, _shown(None if found is None else found[kind]))
    return table


def _measure(results: Results) -> str:
    """The one to show: an error, or a score."""
    known = ("error", "root_mean_square_error", "score")
    return next((one for one in known for cell in results.cells if one in cell["measures"]), "error")


def _shown(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}"


@contextmanager
def progress_of(experiment: Experiment) -> Iterator[Callable[[Block], None]]:
    """A bar on a terminal, a line every tenth of the way elsewhere; on standard error."""
    from parties.command.output import stderr_console
    from parties.experiments.cells import cells_of

    total = experiment.sweep.trials * sum(1 for _ in cells_of(experiment))
    console = stderr_console()
    if not console.is_terminal:
        yield _lines(console, total)
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("trials"))
    with Progress(*columns, TimeRemainingColumn(), console=console, transient=True) as progress:
        task = progress.add_task("starting", total=total)

        def done(block: Block) -> None:
            progress.update(
                task, advance=block.trials, description=f"{block.cell.model}, n = {block.cell.people:,}"
            )

        yield done


def _lines(console: Any, total: int) -> Callable[[Block], None]:
    finished = 0

    def done(block: Block) -> None:
        nonlocal finished
        before, finished = finished, finished + block.trials
        if finished * _STEPS // total > before * _STEPS // total:
            console.print(f"{finished:,} of {total:,} trials", soft_wrap=True)

    return done
