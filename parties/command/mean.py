"""`localdp mean`: the mean of a column, on its own scale.

Checked in tests/integration/test_verb_commands.py.
"""

from __future__ import annotations

from typing import Annotated

import typer

from parties.command.arguments import Asking, JsonOption
from parties.command.declaring import command


@command
def mean(
    number: Annotated[
        str, typer.Argument(help="A column of numbers, or a sum of some, such as '2*age - bmi'.")
    ],
    asking: Asking,
    json: JsonOption = False,
) -> None:
    """Estimate the mean of a column.

    It is on the column's own scale, with the bounds of the schema.
    """
    from localdp.asking.scales import scaled
    from parties.command.answers import print_statistic
    from parties.command.asking import asked, terms_of

    with asked(asking, lambda schema: scaled(number, schema)) as federation:
        found = federation.mean(number, **terms_of(asking))
    print_statistic(found, json)
