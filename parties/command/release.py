"""`localdp release`: many answers at once about people's records, such as all marginals, from one round.

Checked in tests/integration/test_verb_commands.py.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from parties.command.arguments import AnywayOption, AskingMany, JsonOption, SettingsOption
from parties.command.declaring import command
from parties.durable import Data


@command
def release(
    name: Annotated[
        Literal["ranges", "marginals", "construction"],
        typer.Argument(
            help="ranges: the quantiles of a column; marginals: tables of several columns; construction: a list of queries."
        ),
    ],
    of: Annotated[
        list[str],
        typer.Argument(help="A column for ranges, columns for marginals, queries for a construction."),
    ],
    asking: AskingMany,
    settings: SettingsOption = None,
    anyway: AnywayOption = False,
    out: Annotated[Path | None, typer.Option(help="File for what was released, as JSON.")] = None,
    json: JsonOption = False,
) -> None:
    """Release ranges, marginals or answers to a list of queries.

    All of them come from the same reports, at the price of one question.
    """
    from localdp.errors import InvalidParameter
    from localdp.experiments.catalogue import LearnerTask
    from parties.command.asking import asked, terms_of
    from parties.command.learning import parameters_of, print_learned

    if name == "ranges" and len(of) != 1:
        raise InvalidParameter("ranges are of one column")
    about: dict[str, Data] = {
        "ranges": {"column": of[0]},
        "marginals": {"columns": of},
        "construction": {"queries": of},
    }
    patient = {"check_signal": False} if anyway else {}
    task = LearnerTask(name, {**about[name], **parameters_of(settings or ()), **patient})
    with asked(asking, task.check) as federation:
        released = federation.release(task.learner(), **terms_of(asking))
    print_learned(name, released, out, json)
