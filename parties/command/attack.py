"""`localdp attack`: what an analyst learns from answers that are not private, and does not from those that are.

All on made-up people, in this process; nobody's agent is attacked.
Checked in tests/integration/test_attack_command.py.
"""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from parties.command.arguments import JsonOption, OutOption, SeedOption
from parties.command.declaring import command

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

    run_trials("attack", kind, trials or _TRIALS.get(kind, 10), insecure_seed, out, json)
