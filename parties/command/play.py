"""`localdp play`: games whose rules are private mechanisms (chapter 10), on made-up people in this process.

Checked in tests/integration/test_play_command.py.
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

_TRIALS = {"roads": 3, "surveyor": 100, "two-outcomes": 100}  # unless told; 10 of the others


@command
def play(
    game: Annotated[
        Literal["roads", "auction", "facilities", "payments", "surveyor", "two-outcomes"],
        typer.Argument(help="Which game."),
    ],
    trials: Annotated[
        int | None, typer.Option(min=1, max=10_000, help="How often each point is tried.")
    ] = None,
    out: OutOption = None,
    json: JsonOption = False,
    insecure_seed: SeedOption = None,
) -> None:
    """Play a game that is private, and show what nobody gains by deviating."""
    from parties.command.demonstration import run_trials

    module = import_module(f"localdp.experiments.play_{game.replace('-', '_')}")
    played: Callable[[Range], Demonstration] = getattr(module, game.replace("-", "_"))
    run_trials(played, trials or _TRIALS.get(game, 10), insecure_seed, out, json)
