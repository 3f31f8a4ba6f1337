"""`localdp separate`: what one trust model can do and another cannot, measured and drawn (section 12.1)."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from parties.command.arguments import JsonOption, SeedOption


class Experiment(str, Enum):
    """The separations."""

    parity = "parity"
    masked_parity = "masked-parity"
    conjunctions = "conjunctions"
    counting = "count"


def separate(
    experiment: Annotated[Experiment, typer.Argument(help="Which separation.")],
    epsilon: Annotated[
        str, typer.Option("--epsilon", "-e", help="Privacy loss per person, in nats.")
    ] = "1",
    trials: Annotated[int, typer.Option(min=1, max=10_000, help="How often each point is repeated.")] = 20,
    out: Annotated[
        Path | None, typer.Option(help="Directory for the numbers (.json) and the plot (.svg).")
    ] = None,
    json: JsonOption = False,
    insecure_seed: SeedOption = None,
) -> None:
    """Show what one trust model can do and another cannot: parity, masked-parity, conjunctions, count."""
    from parties.command.compare import compare
    from parties.command.output import reporting

    if experiment is Experiment.counting:  # the separation of section 9.3 is a command of its own
        compare(epsilon, trials=str(trials), out=out, json=json, insecure_seed=insecure_seed)
        return
    with reporting(json):
        _run(experiment, epsilon, trials, out, json, insecure_seed)


def _run(
    experiment: Experiment,
    epsilon: str,
    trials: int,
    out: Path | None,
    json: bool,
    insecure_seed: int | None,
) -> None:
    from localdp.accounting.epsilon import Epsilon
    from localdp.experiments.keyring import Keyring
    from localdp.experiments.panels import Demonstration
    from localdp.experiments.separations import SEPARATIONS, Lab
    from parties.command.demonstration import run_demonstration
    from parties.command.output import stderr_console
    from parties.experiments.separating import run_separation
    from parties.view.bars import trials_shown

    separation = SEPARATIONS[experiment.value]()
    lab = Lab(Epsilon.requested(epsilon), Keyring.of_seed(insecure_seed))

    def run() -> Demonstration:
        with trials_shown(stderr_console(), len(separation.tried) * trials) as advance:
            return run_separation(
                separation, lab, trials, lambda tried: advance(f"{tried.series}, {tried.parameter}", 1)
            )

    run_demonstration(run, out, json)
