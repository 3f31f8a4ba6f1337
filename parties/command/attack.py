"""`localdp attack`: what an analyst learns from answers that are not private, and does not from those that are.

All on made-up people, in this process; nobody's agent is attacked.
Checked in tests/integration/test_attack_command.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from parties.command.arguments import JsonOption, OutOption, SeedOption
from parties.command.declaring import command
from parties.command.output import stderr_console

if TYPE_CHECKING:
    from collections.abc import Callable

    from localdp.experiments.attack_trials import Range
    from localdp.experiments.panels import Demonstration


@command
def attack(
    kind: Annotated[
        Literal["reconstruction", "averaging", "differencing"], typer.Argument(help="Which attack.")
    ],
    trials: Annotated[
        int | None, typer.Option(min=1, max=10_000, help="How often each point is tried.")
    ] = None,
    out: OutOption = None,
    json: JsonOption = False,
    insecure_seed: SeedOption = None,
) -> None:
    """Show an attack, and what stops it."""
    from localdp.experiments.attack_trials import Range
    from localdp.randomness.keyring import Keyring
    from parties.command.demonstration import run_demonstration
    from parties.view.waiting import waiting

    attacked, usual = _demonstration(kind)

    def run() -> Demonstration:
        with waiting(stderr_console(), "starting") as tell:
            return attacked(Range(Keyring.of_seed(insecure_seed), trials or usual, tell))

    run_demonstration(run, out, json)


def _demonstration(kind: str) -> tuple[Callable[[Range], Demonstration], int]:
    """The attack, and how often it is tried unless told."""
    if kind == "averaging":
        from localdp.experiments.attack_averaging import averaging

        return averaging, 10
    if kind == "differencing":
        from localdp.experiments.attack_differencing import differencing

        return differencing, 400
    from localdp.experiments.attack_reconstruction import reconstruction

    return reconstruction, 10
