"""`localdp release`: many answers at once about people's records, such as all marginals, from one round.

Checked in tests/integration/test_verb_commands.py.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from parties.command.arguments import AnywayOption, AskingMany, JsonOption, SettingsOption
from parties.command.declaring import command
from parties.durable import Data, write_atomically

# What each is of: a list, or so many parameters.
_OF_A_LIST = {
    "marginals": "columns",
    "construction": "queries",
    "equilibrium": "own",
    "finite-class": "hypotheses",
}
_OF = {
    "ranges": ("column",),
    "stream": ("query",),
    "factorised-stream": ("query",),
    "blocks": ("estimate",),
    "winner": ("query",),
    "blocks-winner": ("estimate",),
    "scale": ("column",),
    "stable-median": ("column",),
    "stable-mean": ("column",),
    "auction": ("bid",),
    "two-outcomes": ("first", "second"),
    "facilities": ("place",),
}
# And over a stream of people, or as answers that belong together.
_OF_MANY = {**_OF_A_LIST, "projected": "queries", "experts": "losses", "simplex": "columns"}


@command
def release(
    name: Annotated[
        Literal[
            "ranges",
            "marginals",
            "projected",
            "experts",
            "simplex",
            "factorised-stream",
            "construction",
            "stream",
            "blocks",
            "winner",
            "blocks-winner",
            "scale",
            "stable-median",
            "stable-mean",
            "equilibrium",
            "auction",
            "facilities",
            "two-outcomes",
            "finite-class",
        ],
        typer.Argument(
            help="ranges: the quantiles of a column; marginals: tables of several columns; construction: a list of "
            "queries; stream: a running count; blocks: an estimate of blocks of people; winner: the most frequent value; "
            "blocks-winner: what most blocks say; scale, stable-median, stable-mean: where data are stable; "
            "equilibrium: roads, over a billboard; auction: a price; facilities: where to put them; two-outcomes: the "
            "better one; finite-class: the best of a list of conditions."
        ),
    ],
    of: Annotated[
        list[str],
        typer.Argument(
            help="A column for ranges, columns for marginals, queries for a construction, a query for a stream or "
            "a winner, an estimate such as 'median(age)' for blocks, the costs of each road for an equilibrium."
        ),
    ],
    asking: AskingMany,
    settings: SettingsOption = None,
    anyway: AnywayOption = False,
    out: Annotated[Path | None, typer.Option(help="File for what was released, as JSON.")] = None,
    picture: Annotated[
        Path | None,
        typer.Option(help="File for a drawing (SVG) of an equilibrium: its loads, round by round."),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Release ranges, marginals or answers to a list of queries.

    All of them come from the same reports, at the price of one question.
    """
    from localdp.algorithms.games.equilibrium import EquilibriumSelection
    from localdp.errors import InvalidParameter
    from localdp.experiments.catalogue import LearnerTask
    from parties.command.asking import asked, terms_of
    from parties.command.learning import parameters_of, print_learned
    from parties.report.loads import loads_svg

    wanted = _OF.get(name, of)
    if len(of) != len(wanted):
        takes = f"one {wanted[0]}" if len(wanted) == 1 else " and ".join(wanted)
        raise InvalidParameter(f"{name} takes {takes}, and not {len(of)} of these")
    listed = name in _OF_MANY
    about: Data = {_OF_MANY[name]: of} if listed else dict(zip(_OF[name], of, strict=True))
    patient = {"check_signal": False} if anyway else {}
    if picture is not None:
        require_drawn(name)
    task = LearnerTask(name, {**about, **parameters_of(settings or ()), **patient})
    with asked(asking, task.check) as federation:
        released = federation.release(task.learner(), **terms_of(asking))
    if isinstance(released, EquilibriumSelection) and picture is not None:
        write_atomically(picture, loads_svg(released))
    print_learned(name, released, out, json)


def require_drawn(name: str) -> None:
    """Refuse to draw what has no picture, and where none could be drawn in the end."""
    from localdp.errors import InvalidParameter
    from parties.report.drawing import require_matplotlib

    if name != "equilibrium":
        raise InvalidParameter("a picture is drawn of an equilibrium: of loads, round by round")
    require_matplotlib()
