"""`localdp attack`: what an analyst learns from answers that are not private, and does not from those that are.

All on made-up people, in this process; nobody's agent is attacked.
Checked in tests/integration/test_attack_command.py.
"""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from parties.command.arguments import JsonOption, SeedOption

if TYPE_CHECKING:
    from collections.abc import Callable

    from localdp.experiments.attack_trials import Range
    from localdp.experiments.panels import Demonstration


class Kind(str, Enum):
    """The attacks."""

    reconstruction = "reconstruction"
    averaging = "averaging"
    differencing = "differencing"


def attack(
    kind: Annotated[Kind, typer.Argument(help="Which attack.")],
    trials: Annotated[
        int | None, typer.Option(min=1, max=10_000, help="How often each point is tried.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Directory for the numbers (.json) and the plot (.svg).")
    ] = None,
    json: JsonOption = False,
    insecure_seed: SeedOption = None,
) -> None:
    """Show an attack and what stops it: reconstruction, averaging, differencing."""
    from parties.command.output import reporting

    with reporting(json):
        _run(kind, trials, out, json, insecure_seed)


def _run(kind: Kind, trials: int | None, out: Path | None, json: bool, insecure_seed: int | None) -> None:
    from localdp.experiments.attack_trials import Range
    from localdp.experiments.keyring import Keyring
    from parties.command.demonstration import run_demonstration
    from parties.command.output import stderr_console

    attacked, usual = _demonstration(kind)

    def run() -> Demonstration:
        with stderr_console().status("starting") as status:
            return attacked(Range(Keyring.of_seed(insecure_seed), trials or usual, status.update))

    run_demonstration(run, out, json)


def _demonstration(kind: Kind) -> tuple[Callable[[Range], Demonstration], int]:
    """The attack, and how often it is tried unless told."""
    if kind is Kind.averaging:
        from localdp.experiments.attack_averaging import averaging

        return averaging, 10
    if kind is Kind.differencing:
        from localdp.experiments.attack_differencing import differencing

        return differencing, 400
    from localdp.experiments.attack_reconstruction import reconstruction

    return reconstruction, 10
