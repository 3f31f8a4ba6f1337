"""`localdp separate`: what one trust model can do and another cannot, measured and drawn (section 12.1)."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from localdp.oracles.models import MODELS
from parties.command.arguments import JsonOption, SeedOption


class Experiment(str, Enum):
    """The separations."""

    parity = "parity"
    masked_parity = "masked-parity"
    conjunctions = "conjunctions"
    counting = "count"


_SERIES = {Experiment.parity: 2, Experiment.masked_parity: 3, Experiment.conjunctions: 2}
_PARAMETERS = {Experiment.parity: 5, Experiment.masked_parity: 3, Experiment.conjunctions: 5}


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
    from parties.command.output import reporting

    with reporting(json):
        if experiment is Experiment.counting:
            _count(epsilon, trials, out, json, insecure_seed)
        else:
            _run(experiment, epsilon, trials, out, json, insecure_seed)


def _count(epsilon: str, trials: int, out: Path | None, json: bool, insecure_seed: int | None) -> None:
    """The separation of section 9.3 is an experiment of its own."""
    from parties.command.compare import CompareOptions, run_compare

    run_compare(
        CompareOptions(
            epsilon=epsilon,
            people="100,1000,1e4,1e5,1e6",
            trials=str(trials),
            models=",".join(MODELS),
            transport="process",
            noise_plan="each-server",
            parties=4,
            servers=2,
            jobs=2,
            out=out,
            json=json,
            insecure_seed=insecure_seed,
        )
    )


def _run(
    experiment: Experiment,
    epsilon: str,
    trials: int,
    out: Path | None,
    json: bool,
    insecure_seed: int | None,
) -> None:
    from localdp.accounting.epsilon import Epsilon
    from localdp.experiments.separations import (
        Lab,
        Separation,
        conjunction_separation,
        masked_parity_separation,
        parity_separation,
    )
    from parties.command.compare import keyring_of
    from parties.command.options import require_writable
    from parties.command.output import print_ok, print_whole, stderr_console, stdout_console
    from parties.command.signals import terminate_like_ctrl_c
    from parties.report.plot import require_matplotlib
    from parties.report.separation import print_separation, write_separation
    from parties.view.bars import trials_shown

    if out is not None:
        require_matplotlib()
        require_writable(out)
    terminate_like_ctrl_c()
    runs: dict[Experiment, Callable[[Lab], Separation]] = {
        Experiment.parity: parity_separation,
        Experiment.masked_parity: masked_parity_separation,
        Experiment.conjunctions: conjunction_separation,
    }
    with trials_shown(stderr_console(), _SERIES[experiment] * _PARAMETERS[experiment] * trials) as advance:
        coins = keyring_of(insecure_seed)
        lab = Lab(Epsilon.requested(epsilon), trials, coins, lambda what: advance(what, 1))
        separation = runs[experiment](lab)
    paths = write_separation(separation, out) if out is not None else ()
    if json:
        print_ok(separation.to_data())
        return
    print_separation(separation, stdout_console())
    if paths:
        print_whole(stdout_console(), f"Written: {', '.join(map(str, paths))}")
