"""`localdp run`: an experiment from a file or a table of the package, forecast or run, and gone on with if cut off."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import asdict, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from parties.command.arguments import (
    ExecutorOption,
    JsonOption,
    ResumeOption,
    SchedulerOption,
    SeedOption,
    WorkersOption,
)
from parties.command.declaring import command
from parties.command.output import (
    going_on,
    plain_path,
    print_ok,
    print_prose,
    print_whole,
    stderr_console,
    stdout_console,
)
from parties.durable import Data

if TYPE_CHECKING:
    from rich.table import Table

    from parties.executors.chosen import ChosenExecutor
    from parties.experiments.definition import Experiment
    from parties.experiments.forecast import Forecast
    from parties.experiments.results import Results
    from parties.experiments.running import Run

_DIMENSION = "dim."  # a column of its own only where there is one
_SPARE = ("bytes", "refused", "trials", "predicted")  # where a terminal is narrow


@command
def run(
    file: Annotated[
        Path,
        typer.Argument(
            readable=False,
            help="The experiment, in TOML: see docs/experiments.md. Or a learner, such as k-means: its table.",
        ),
    ],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what each cell would yield, cost and take.")
    ] = False,
    resume: ResumeOption = False,
    workers: WorkersOption = None,
    executor: ExecutorOption = None,
    scheduler: SchedulerOption = None,
    out: Annotated[
        Path | None, typer.Option(help="Where results go, instead of where the file says.")
    ] = None,
    insecure_seed: SeedOption = None,
    json: JsonOption = False,
) -> None:
    """Run an experiment from a file.

    Experiments sweep over trust models, epsilons, people and dimensions, with many trials.
    """
    from parties.command.signals import terminate_like_ctrl_c
    from parties.executors.chosen import ChosenExecutor
    from parties.experiments.running import seeded

    name, loaded = _loaded(file)
    experiments = [seeded(one, insecure_seed) for one in _elsewhere(loaded, out)]
    terminate_like_ctrl_c()
    if dry_run:
        _several([_forecast(experiment, json) for experiment in experiments], json)
        return
    chosen = ChosenExecutor.named(executor, workers, scheduler)
    with going_on():
        runs = [_finished(experiment, chosen, resume, json) for experiment in experiments]
    if name is not None:
        _tell_table(name, experiments, runs, json)
        return
    _several([_tell(finished, json) for finished in runs], json)


def _several(told: list[Data], json: bool) -> None:
    """One envelope for machines, whatever the number of experiments; people have been told already."""
    if json:
        print_ok(told[0] if len(told) == 1 else {"experiments": told})


def _loaded(file: Path) -> tuple[str | None, tuple[Experiment, ...]]:
    """The experiments of a file; or of a table of the package, with its name."""
    from parties.experiments.learner_figures import NAMES, definition
    from parties.experiments.reading import load_experiments

    if str(file) in NAMES and not file.exists():
        return str(file), definition(str(file))
    return None, load_experiments(file)


def _elsewhere(experiments: tuple[Experiment, ...], out: Path | None) -> list[Experiment]:
    """The experiments with results where the command line says; each in a directory of its own if there are several."""
    if out is None:
        return list(experiments)
    places = [out if one.part is None else out / one.part for one in experiments]
    return [
        replace(one, output=replace(one.output, directory=place))
        for one, place in zip(experiments, places, strict=True)
    ]


def _finished(experiment: Experiment, chosen: ChosenExecutor, resume: bool, json: bool) -> Run:
    """The run of one experiment, with its report."""
    from parties.experiments.running import run_experiment
    from parties.view.experiments import experiment_shown

    with experiment_shown(experiment, stderr_console(), json) as done:
        finished = run_experiment(experiment, resume=resume, done=done, chosen=chosen)
    finished.written.extend(_report(experiment.output.directory, finished.written, json))
    return finished


def _report(directory: Path, written: list[Path], json: bool) -> list[Path]:
    """The page of the results, where it can be drawn; the run is whole without it."""
    from localdp.errors import LocalDpError
    from parties.report import write_experiment_report
    from parties.view.screen import tell
    from parties.view.waiting import waiting

    if find_spec("matplotlib") is None or directory / "results.json" not in written:
        return []
    console = stderr_console()
    drawing = nullcontext() if json else waiting(console, "drawing the report")
    try:
        with drawing:
            return [write_experiment_report(directory)]
    except LocalDpError as error:
        tell(console, f"no report: {error}", json)
        return []


def _forecast(experiment: Experiment, json: bool) -> Data:
    """What each cell would yield, as data; and in words, unless it is for machines."""
    from parties.experiments.forecast import caveats, forecasts
    from parties.experiments.running import preflight
    from parties.report.fitting import print_fitting
    from parties.view.waiting import waiting

    with waiting(stderr_console(), "planning"):
        preflight(experiment)
        cells = list(forecasts(experiment))
    seconds = sum(cell.seconds or 0.0 for cell in cells)
    about = {"seconds_on_one_worker": round(seconds, 3), "caveats": list(caveats(experiment))}
    told: Data = {"cells": [cell.to_data() for cell in cells], **about}
    if json:
        return told
    console = stdout_console()
    print_fitting(console, _forecast_table(experiment, cells), _SPARE)
    for how in dict.fromkeys(
        f"{cell.model}: {cell.how}" for cell in cells if cell.predicted_standard_error is None
    ):
        print_prose(console, how)
    for caveat in caveats(experiment):
        print_prose(console, caveat)
    trials = sum(cell.trials for cell in cells)
    total = f"{len(cells)} cells, {trials:,} trials, about {seconds:,.0f} s on one worker."
    print_prose(console, f"{total} Nobody was asked.")
    return told


def _forecast_table(experiment: Experiment, cells: list[Forecast]) -> Table:
    dimensions = any(cell.dimension is not None for cell in cells)
    table = _table(experiment.path.name, dimensions, "predicted", "seconds", "bytes")
    table.caption = "seconds: all trials of the cell, on one worker; bytes: one trial"
    for cell in cells:
        moved = "-" if cell.bytes_per_trial is None else f"{cell.bytes_per_trial:,}"
        shown = [_shown(cell.predicted_standard_error), _shown(cell.seconds), moved]
        table.add_row(*_where(cell.to_data(), dimensions), *shown)
    return table


def _table(title: str, dimensions: bool, *further: str) -> Table:
    """An empty table of cells."""
    where = ("epsilon", "people", *([_DIMENSION] if dimensions else []))
    return _empty(title, ("model",), *where, *further)


def _empty(title: str, words: tuple[str, ...], *numbers: str) -> Table:
    """An empty table, for numbers that are never cut short (`print_fitting`)."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(
        box=SIMPLE_HEAD, title=title, pad_edge=False, title_justify="left", caption_justify="left"
    )
    for name in words:
        table.add_column(name, no_wrap=True)
    for name in numbers:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def _where(cell: Data, dimensions: bool) -> list[str]:
    where = [cell["model"], f"{cell['epsilon']:g}", f"{cell['people']:,}"]
    return [*where, _shown(cell["dimension"])] if dimensions else where


def _tell(run: Run, json: bool) -> Data:
    """What a run brought, as data; and in words, unless it is for machines."""
    from parties.report.fitting import print_fitting

    told: Data = {
        "provenance": run.results.provenance,
        "cells": run.results.cells,
        "written": [str(path) for path in run.written],
    }
    if json:
        return told
    console = stdout_console()
    print_fitting(console, _result_table(run.results), _SPARE)
    provenance = run.results.provenance
    for why, trials in provenance["refusals"].items():
        parties = provenance["parties_refusing"][why]
        console.print(
            f"refused, {why}: {trials:,} trials{f', by up to {parties} parties each' if parties else ''}"
        )
    for promise in _promises(run.results):
        print_prose(console, promise)
    print_prose(console, str(provenance["privacy"]))
    print_whole(console, f"Written: {', '.join(map(plain_path, run.written))}")
    return told


def _tell_table(name: str, experiments: list[Experiment], runs: list[Run], json: bool) -> None:
    """What a table of the package gave, beside what is stored of it."""
    from parties.experiments.learner_figures import figures_of, learner_of, measure_of, stored
    from parties.report.fitting import print_fitting

    known, found = stored(name), {}
    for experiment, run in zip(experiments, runs, strict=True):
        found[experiment.data.about] = figures_of(learner_of(experiment), run.results.trials)
    if json:
        figures = {
            one: {column: asdict(each) for column, each in row.items()} for one, row in found.items()
        }
        print_ok({"measure": measure_of(name), "sets": figures})
        return
    table = _empty(f"{measure_of(name)}: mean and spread over the seeds", ("set", "model"), "now", "stored")
    for chosen, row in found.items():
        for column, figure in row.items():
            before = known.get(chosen, {}).get(column)
            table.add_row(chosen, column.replace("_", "-"), figure.text, before.text if before else "-")
    print_fitting(stdout_console(), table, ())
    print_prose(stdout_console(), str(runs[0].results.provenance["privacy"]))


def _promises(results: Results) -> list[str]:
    """What each trust model promises, at its largest epsilon."""
    told = {}
    for cell in sorted(results.cells, key=lambda cell: float(cell["epsilon"])):
        if cell["privacy"] is not None:
            told[cell["model"]] = cell["privacy"]
    return list(told.values())


def _result_table(results: Results) -> Table:
    measure = _measure(results)
    kind = "mean" if measure == "score" else "root_mean_square"
    dimensions = any(cell["dimension"] is not None for cell in results.cells)
    title = f"{measure}: {kind.replace('_', ' ')}"
    table = _table(title, dimensions, "trials", "refused", "predicted", "measured")
    for cell in results.cells:
        found = cell["measures"].get(measure)
        refused = sum(one["trials"] for one in cell["refused"].values())
        shown = [f"{cell['trials']:,}", f"{refused:,}", _shown(cell["predicted_standard_error"])]
        table.add_row(*_where(cell, dimensions), *shown, _shown(None if found is None else found[kind]))
    return table


def _measure(results: Results) -> str:
    """The one to show: an error, or a score."""
    known = ("error", "root_mean_square_error", "score")
    return next((one for one in known for cell in results.cells if one in cell["measures"]), "error")


def _shown(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}"
