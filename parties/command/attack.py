"""`localdp attack`: what an analyst learns from answers that are not private, and does not from those that are.

All on made-up people, in this process; nobody's agent is attacked.
Checked in tests/integration/test_attack_command.py.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from parties.command.arguments import JsonOption, OutOption, SeedOption
from parties.command.declaring import command

if TYPE_CHECKING:
    from collections.abc import Callable

    from localdp.experiments.attack_trials import Range
    from localdp.experiments.panels import Demonstration

_TRIALS = {"differencing": 400, "game": 400, "synthesis": 3}  # unless told; 10 of the others


@command
def attack(
    kind: Annotated[
        Literal[
            "reconstruction", "averaging", "differencing", "tracing", "synthesis", "overfitting", "game"
        ],
        typer.Argument(help="Which attack."),
    ],
    trials: Annotated[
        int | None, typer.Option(min=1, max=10_000, help="How often each point is tried.")
    ] = None,
    out: OutOption = None,
    json: JsonOption = False,
    insecure_seed: SeedOption = None,
) -> None:
    """Show an attack, and what stops it."""
    from parties.command.demonstration import run_trials

    attacked, usual = _demonstration(kind)
    run_trials(attacked, trials or usual, insecure_seed, out, json)


def _demonstration(kind: str) -> tuple[Callable[[Range], Demonstration], int]:
    """The attack, and how often it is tried unless told."""
    attacked: Callable[[Range], Demonstration] = getattr(
        import_module(f"localdp.experiments.attack_{kind}"), kind
    )
    return attacked, _TRIALS.get(kind, 10)
