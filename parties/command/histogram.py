"""`localdp histogram`: how many people have each value of a column, or of a query that has a list of values.

Checked in tests/integration/test_verb_commands.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from parties.command.arguments import AnywayOption, AskingMany, JsonOption
from parties.command.declaring import command
from parties.command.output import print_ok, print_prose, stdout_console
from parties.durable import Data

if TYPE_CHECKING:
    from localdp.asking.tabulation import Tabulation
    from localdp.domains import Schema

MOST_BARS = 200
_BAR_WIDTH = 30


@command
def histogram(
    query: Annotated[
        str,
        typer.Argument(
            help="A column, or a query with a list of values, such as 'which(age < 20, age < 40)'."
        ),
    ],
    asking: AskingMany,
    bins: Annotated[
        int | None, typer.Option(min=2, help="Into how many parts of the same width numbers are cut.")
    ] = None,
    anyway: AnywayOption = False,
    json: JsonOption = False,
) -> None:
    """Estimate how many people have each value of a column.

    All numbers come from one report of each person.
    """
    from localdp.queries.vector_query import VectorQuery
    from parties.command.asking import asked, terms_of

    def check(schema: Schema) -> None:
        if query not in schema:
            VectorQuery.parse(query, schema)

    with asked(asking, check) as federation:
        found = federation.histogram(query, bins=bins, check_signal=not anyway, **terms_of(asking))
    if json:
        print_ok(histogram_data(found))
    else:
        _print(found)


def histogram_data(found: Tabulation) -> Data:
    """The histogram for a machine: unbiased estimates with their intervals, and consistent ones beside them."""
    return {
        "query": found.by[0],
        "values": [label for (label,) in found.labels],
        "frequencies": found.shares.tolist(),
        "half_widths": found.half_widths.tolist(),
        "level": found.level,
        "counts": found.counts.tolist(),
        "consistent": found.consistent().tolist(),
        "people": found.people,
        "answered": found.answered,
        "model": found.model,
        "epsilon_promised": found.epsilon_promised,
        "epsilon_charged": found.epsilon_charged,
        "privacy": found.claim.statement(),
    }


def _print(found: Tabulation) -> None:
    from rich.table import Table

    from localdp.asking.writing import percent, with_error
    from parties.command.answers import print_price

    shown = found if len(found) <= MOST_BARS else found.top(MOST_BARS)
    most = max(float(shown.shares.max()), 1e-9)
    table = Table(
        found.by[0], f"people ({percent(found.level)})", "share", "", title_justify="left", box=None
    )
    for (label,), share, width in zip(shown.labels, shown.shares, shown.half_widths, strict=True):
        counted = with_error(share * found.people, width * found.people, whole=True)
        bar = "█" * round(max(0.0, float(share)) / most * _BAR_WIDTH)
        table.add_row(label, counted, f"{100 * share:.2f} %", bar)
    console = stdout_console()
    console.print(table)
    if shown is not found:
        print_prose(
            console, f"the {MOST_BARS} largest of {len(found):,} values: {shown.note}; --json has all"
        )
    print_price(found)
