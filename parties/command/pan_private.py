"""`localdp pan-private`: a count whose state may be seen once, kept in a file.

Checked in tests/integration/test_pan_private_command.py.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from localdp.errors import InvalidParameter
from parties.command.arguments import EpsilonOption, JsonOption
from parties.command.declaring import command
from parties.command.output import print_ok, print_prose, stdout_console
from parties.durable import Data

if TYPE_CHECKING:
    from localdp.mechanisms.pan_private.saved import Running
    from localdp.randomness.source import Integers

pan_private_app = typer.Typer(help="A count whose state may be seen once.", no_args_is_help=True)
STANDARD_INPUT = Path("-")
StateArgument = Annotated[Path, typer.Argument(readable=False, help="The file of the state.")]


@pan_private_app.command("begin")
@command
def begin(
    state: StateArgument,
    what: Annotated[
        Literal["density", "cropped-mean", "heavy-hitters", "counter"],
        typer.Argument(
            help="What is told: who appeared, how often, who often, or how many events there were."
        ),
    ],
    elements: Annotated[int, typer.Option(min=1, help="How many elements may appear.")] = 1000,
    most: Annotated[int, typer.Option(min=1, help="How many appearances of one are told apart.")] = 8,
    steps: Annotated[int, typer.Option(min=2, help="Of a counter: how many steps; a power of two.")] = 64,
    epsilon: EpsilonOption = "1",
    json: JsonOption = False,
) -> None:
    """Begin a state; nothing has come yet."""
    from localdp.accounting.epsilon import Epsilon
    from localdp.mechanisms.pan_private import OneKeeper, PanPrivateCounter
    from localdp.mechanisms.pan_private.saved import APPEARANCES, COUNTER
    from localdp.randomness.keystream import KeystreamSource
    from parties.streams.seen_once import begin_state

    coins, price = KeystreamSource.from_system(), Epsilon.requested(epsilon)
    running: Running
    if what == COUNTER:
        running = PanPrivateCounter(steps, price, coins).start()
    else:
        told_apart = 1 if what == "density" else most
        running = APPEARANCES[what](elements, price, OneKeeper(coins), coins, told_apart).start()
    begin_state(state, running)
    _print(running, json)


@pan_private_app.command("add")
@command
def add(
    state: StateArgument,
    came: Annotated[
        Path,
        typer.Argument(
            readable=False,
            allow_dash=True,
            help="A file with the numbers of the elements that appeared, or of a counter with the values of the step's "
            "events; `-` is standard input. No number is an argument: other users see those, and the shell keeps them.",
        ),
    ] = STANDARD_INPUT,
    json: JsonOption = False,
) -> None:
    """Take in what came; a counter ends a step with it, and tells its count."""
    from localdp.mechanisms.pan_private.counter import RunningPanPrivate
    from parties.streams.seen_once import state_of

    values = _numbers_in(came)
    with state_of(state) as running:
        if isinstance(running, RunningPanPrivate):
            running.update(values)
        else:
            running.appear(values)
    _print(running, json)


@pan_private_app.command("tell")
@command
def tell(state: StateArgument, json: JsonOption = False) -> None:
    """Tell what there is: of a counter its last count, of all others the estimate, with which they end."""
    from localdp.mechanisms.pan_private.appearances import RunningAppearances
    from parties.streams.seen_once import state_of

    with state_of(state) as running:
        if isinstance(running, RunningAppearances):
            running.tell()
    _print(running, json)


@pan_private_app.command("seen")
@command
def seen(state: StateArgument, json: JsonOption = False) -> None:
    """Say that somebody saw the state: nothing more is taken in, until it is made anew."""
    from parties.streams.seen_once import state_of

    with state_of(state) as running:
        running.intrusions.notice()
    _print(running, json)


@pan_private_app.command("renew")
@command
def renew(state: StateArgument, json: JsonOption = False) -> None:
    """Make a state anew that was seen, so that it can be gone on with: of a density or a counter."""
    from parties.streams.seen_once import state_of

    with state_of(state) as running:
        running.renew()
    _print(running, json)


def _numbers_in(path: Path) -> Integers:
    """What came: whole numbers, between white space; none of them is named where something is wrong."""
    import numpy as np

    try:
        words = (sys.stdin.read() if path == STANDARD_INPUT else path.read_text()).split()
        return np.array([int(word) for word in words], np.int64)
    except OSError as error:
        raise InvalidParameter(
            "the file of what came cannot be read: numbers are read from a file or from standard input, and are no "
            "arguments, which other users of this machine see and the shell keeps"
        ) from error
    except (ValueError, OverflowError):
        raise InvalidParameter("what came is whole numbers, with white space between them") from None


def _print(running: Running, json: bool) -> None:
    claim, told = running.claim, running.told
    data: Data = {
        "told": told,
        "standard_error": running.root_mean_square,
        "seen": running.intrusions.noticed,
        "renewed": running.intrusions.renewed,
        "claim": claim.to_data(),
    }
    if json:
        print_ok(data)
        return
    console = stdout_console()
    error = 2 * running.root_mean_square
    print_prose(console, "nothing was told yet" if told is None else f"{told:,.4g} ± {error:,.3g}")
    print_prose(console, claim.statement())
    if running.intrusions.noticed > running.intrusions.renewed:
        print_prose(
            console,
            "The state was seen: nothing more is taken in, unless it is made anew.",
        )
