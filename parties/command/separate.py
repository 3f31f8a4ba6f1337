"""`localdp separate`: what one trust model can do and another cannot, measured and drawn (section 12.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from parties.command.arguments import (
    EpsilonOption,
    ExecutorOption,
    JsonOption,
    OutOption,
    SchedulerOption,
    SeedOption,
    WorkersOption,
)
from parties.command.compare import compare
from parties.command.declaring import command
from parties.command.output import stderr_console

if TYPE_CHECKING:
    from localdp.experiments.panels import Demonstration


@command
def separate(
    experiment: Annotated[
        Literal["parity", "masked-parity", "conjunctions", "packing", "boosting", "counters", "count"],
        typer.Argument(help="Which separation."),
    ],
    epsilon: EpsilonOption = "1",
    trials: Annotated[int, typer.Option(min=1, max=10_000, help="How often each point is repeated.")] = 20,
    workers: WorkersOption = 1,
    executor: ExecutorOption = None,
    scheduler: SchedulerOption = None,
    out: OutOption = None,
    json: JsonOption = False,
    insecure_seed: SeedOption = None,
) -> None:
    """Show what one trust model can do and another cannot."""
    from localdp.accounting.epsilon import Epsilon
    from localdp.experiments.all_separations import SEPARATIONS
    from localdp.experiments.separations import Lab
    from localdp.randomness.keyring import Keyring
    from parties.command.demonstration import run_demonstration
    from parties.executors.chosen import ChosenExecutor
    from parties.experiments.separating import run_separation
    from parties.view.waiting import trials_shown

    if experiment == "count":  # the separation of section 9.3 is a command of its own
        compare(
            epsilon=epsilon,
            trials=str(trials),
            workers=workers,
            executor=executor,
            scheduler=scheduler,
            out=out,
            json=json,
            insecure_seed=insecure_seed,
        )
        return
    separation = SEPARATIONS[experiment]()
    lab = Lab(Epsilon.requested(epsilon), Keyring.of_seed(insecure_seed))

    def run() -> Demonstration:
        with trials_shown(stderr_console(), len(separation.tried) * trials) as advance:
            return run_separation(
                separation,
                lab,
                trials,
                lambda tried: advance(f"{tried.series}, {tried.parameter}", 1),
                ChosenExecutor.named(executor, workers, scheduler),
            )

    run_demonstration(run, out, json)
