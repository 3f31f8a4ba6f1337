"""`localdp separate`: what one trust model can do and another cannot, measured and drawn (section 12.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from parties.command.arguments import EpsilonOption, JsonOption, OutOption, SeedOption
from parties.command.compare import compare
from parties.command.declaring import command
from parties.command.output import stderr_console

if TYPE_CHECKING:
    from localdp.experiments.panels import Demonstration


@command
def separate(
    experiment: Annotated[
        Literal["parity", "masked-parity", "conjunctions", "count"],
        typer.Argument(help="Which separation."),
    ],
    epsilon: EpsilonOption = "1",
    trials: Annotated[int, typer.Option(min=1, max=10_000, help="How often each point is repeated.")] = 20,
    out: OutOption = None,
    json: JsonOption = False,
    insecure_seed: SeedOption = None,
) -> None:
    """Show what one trust model can do and another cannot."""
    from localdp.accounting.epsilon import Epsilon
    from localdp.experiments.separations import SEPARATIONS, Lab
    from localdp.randomness.keyring import Keyring
    from parties.command.demonstration import run_demonstration
    from parties.experiments.separating import run_separation
    from parties.view.waiting import trials_shown

    if experiment == "count":  # the separation of section 9.3 is a command of its own
        compare(epsilon=epsilon, trials=str(trials), out=out, json=json, insecure_seed=insecure_seed)
        return
    separation = SEPARATIONS[experiment]()
    lab = Lab(Epsilon.requested(epsilon), Keyring.of_seed(insecure_seed))

    def run() -> Demonstration:
        with trials_shown(stderr_console(), len(separation.tried) * trials) as advance:
            return run_separation(
                separation, lab, trials, lambda tried: advance(f"{tried.series}, {tried.parameter}", 1)
            )

    run_demonstration(run, out, json)
