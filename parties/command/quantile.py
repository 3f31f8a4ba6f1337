"""`localdp quantile`: where a share of the people lies below, in a column of numbers.

Checked in tests/integration/test_verb_commands.py.
"""

from __future__ import annotations

from typing import Annotated

import typer

from parties.command.arguments import AnywayOption, AskingMany, JsonOption
from parties.command.declaring import command


@command
def quantile(
    column: Annotated[str, typer.Argument(help="A column of numbers.")],
    asking: AskingMany,
    at: Annotated[
        float, typer.Option(help="Which share of the people lies below: 0.5 is the median.")
    ] = 0.5,
    anyway: AnywayOption = False,
    json: JsonOption = False,
) -> None:
    """Estimate a quantile of a column: the median, unless told.

    The interval that it lies in stands beside it.
    """
    from parties.command.answers import print_statistic
    from parties.command.asking import asked, terms_of

    with asked(asking, lambda schema: schema[column]) as federation:
        found = federation.quantile(column, at, check_signal=not anyway, **terms_of(asking))
    print_statistic(found, json)
