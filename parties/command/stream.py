"""`localdp stream`: a running count, step by step, whose journal outlives the process.

Checked in tests/integration/test_stream_command.py.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from localdp.errors import InvalidParameter
from parties.command.arguments import Asking, JsonOption, QueryArgument
from parties.command.declaring import command
from parties.command.output import print_ok, print_prose, stdout_console
from parties.durable import Data

if TYPE_CHECKING:
    from localdp.algorithms.streams.running_count import CountSoFar
    from parties.federation import Federation
    from parties.streams.journal import StreamJournal

stream_app = typer.Typer(
    help="A running count, step by step, that outlives its process.", no_args_is_help=True
)
JournalArgument = Annotated[Path, typer.Argument(help="The journal of the stream.")]
ConnectOption = Annotated[Path, typer.Option(readable=False, help="The file of `localdp parties up`.")]
IdentityOption = Annotated[Path | None, typer.Option(readable=False, help="A directory of `localdp keys`.")]
_SHOWN = 10  # steps, the last ones


@stream_app.command("begin")
@command
def begin(
    journal: JournalArgument,
    query: QueryArgument,
    asking: Asking,
    steps: Annotated[
        int, typer.Option(min=1, help="How many steps it has; a power of two for a tree.")
    ] = 64,
    layout: Annotated[
        Literal["best", "tree", "steps"], typer.Option(help="Which steps are summed together.")
    ] = "best",
    json: JsonOption = False,
) -> None:
    """Write down what is counted, of whom and at which price; nobody is asked yet."""
    from localdp.oracles.models import model_named
    from parties.command.asking import options_of

    with _connected(asking.connect, asking.identity) as federation:
        spends = model_named(asking.model).spends
        stream = federation.stream(
            journal,
            query,
            steps=steps,
            layout=layout,
            epsilon=asking.epsilon if spends else None,
            model=asking.model,
            **options_of(asking),
        )
        _print(stream.journal, (), json)


@stream_app.command("next")
@command
def next_step(
    journal: JournalArgument,
    connect: ConnectOption,
    identity: IdentityOption = None,
    came: Annotated[
        int | None, typer.Option(min=0, help="How many people came in the step; evenly, if not given.")
    ] = None,
    take: Annotated[int, typer.Option(min=1, help="How many steps to take.")] = 1,
    ask_again: Annotated[
        bool,
        typer.Option(
            "--ask-again",
            help="Ask the people of a step that cannot be gone on with once more, at its price once more.",
        ),
    ] = False,
    json: JsonOption = False,
) -> None:
    """Take the next step, or go on with the one that broke off: ask those who came in it, and tell the count."""
    with _connected(connect, identity) as federation:
        stream = federation.stream(journal)
        counts = [stream.next(came, ask_again=ask_again and not number) for number in range(take)]
        _print(stream.journal, counts, json)


@stream_app.command("show")
@command
def show(journal: JournalArgument, json: JsonOption = False) -> None:
    """Show what was released so far; nobody is asked."""
    from parties.streams.journal import journal_there
    from parties.streams.stream import released

    with closing(journal_there(journal)) as opened:
        _print(opened, released(opened), json)


def _connected(connect: Path | None, identity: Path | None) -> Federation:
    from parties.federation import Federation

    if connect is None:
        raise InvalidParameter(
            "a stream outlives this command, and made-up people do not: start parties with `localdp parties up`, and "
            "name its file with --connect"
        )
    return Federation.connect(connect, identity, may_miss=False)


def _print(journal: StreamJournal, counts: list[CountSoFar] | tuple[CountSoFar, ...], json: bool) -> None:
    from parties.streams.stream import risked, spent

    terms = journal.terms()
    if terms is None:
        raise InvalidParameter("the stream has not begun: `localdp stream begin` says what is counted")
    data: Data = {
        "query": terms.query,
        "model": terms.model,
        "epsilon": terms.epsilon,
        "steps": terms.steps,
        "layout": terms.layout,
        "epsilon_promised": float(spent(terms, journal.steps())),
        "delta": float(terms.each_delta * terms.intervals.most),
        "delta_promised": float(risked(terms, journal.steps())),
        "counts": [_row(one) for one in counts],
    }
    if json:
        print_ok(data)
        return
    console = stdout_console()
    price = "nothing" if terms.epsilon is None else f"at most epsilon {terms.epsilon}"
    unless = f", except with a probability of {data['delta']:.3g}" if data["delta"] else ""
    print_prose(
        console,
        f"{terms.query}: {terms.steps} steps, {terms.layout}, {terms.model}; each person pays {price}{unless}.",
    )
    for row in data["counts"][-_SHOWN:]:
        told = ", ".join(
            f"{a:,.0f} ± {2 * b:,.0f}" for a, b in zip(row["values"], row["standard_errors"], strict=True)
        )
        print_prose(console, f"step {row['step']}: {told} of {row['people']:,} people", indent=2)


def _row(one: CountSoFar) -> Data:
    return {
        "step": one.step,
        "people": one.people,
        "values": one.values.tolist(),
        "standard_errors": one.standard_errors.tolist(),
    }
