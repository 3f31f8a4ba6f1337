"""`localdp histogram`: the frequencies of a column's values, or of a query's, in the local model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from parties.command.arguments import AskingMany, JsonOption
from parties.command.declaring import command
from parties.command.output import print_ok, print_whole, stdout_console
from parties.durable import Data

if TYPE_CHECKING:
    from localdp.oracles.histogram import Histogram

MOST_BARS = 200
_BAR_WIDTH = 30


@command
def histogram(
    query: Annotated[
        str,
        typer.Argument(
            help="A column with a list of values, or a query that has one, such as 'which(age < 20, age < 40)'."
        ),
    ],
    asking: AskingMany,
    anyway: Annotated[
        bool, typer.Option("--anyway", help="Ask also where the noise drowns the frequencies.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Estimate the frequencies of all values of a column or query, in the local model, with the best randomizer for it."""
    from localdp.accounting.epsilon import Epsilon
    from localdp.experiments.keyring import Keyring
    from localdp.oracles.histogram import ask_histogram
    from parties.command.asking import federation_of

    source = Keyring.from_system().source("analyst")
    with federation_of(asking, lambda schema: None) as federation:
        reports, epsilon = federation.reports(), Epsilon.requested(asking.epsilon)
        found = ask_histogram(reports, query, epsilon, source, check_signal=not anyway)
    if json:
        print_ok(histogram_data(found))
        return
    _print(found)


def histogram_data(histogram: Histogram) -> Data:
    """The histogram for a machine: raw estimates with their errors, and the consistent ones beside them."""
    from localdp.estimation.consistency import norm_sub

    frequencies = histogram.frequencies
    low, high = frequencies.intervals(0.95, simultaneous=True)
    return {
        "query": histogram.query,
        "values": list(histogram.values),
        "frequencies": frequencies.values.tolist(),
        "standard_errors": frequencies.standard_errors.tolist(),
        "simultaneous_95": {"low": low.tolist(), "high": high.tolist()},
        "consistent": norm_sub(frequencies.values).tolist(),
        "people": histogram.people,
        "randomizer": histogram.randomizer.canonical,
        "epsilon_per_person": float(histogram.randomizer.epsilon),
    }


def _print(histogram: Histogram) -> None:
    import numpy as np
    from rich.table import Table

    frequencies = histogram.frequencies
    shown = np.argsort(-frequencies.values)[:MOST_BARS] if len(histogram.values) > MOST_BARS else None
    order = range(len(histogram.values)) if shown is None else sorted(shown.tolist())
    most = max(float(frequencies.values.max()), 1e-9)
    table = Table(histogram.query, "frequency", "", title_justify="left", box=None)
    for place in order:
        value = float(frequencies.values[place])
        bar = "█" * round(max(0.0, value) / most * _BAR_WIDTH)
        table.add_row(
            histogram.values[place], f"{value:.4f} ± {frequencies.standard_errors[place]:.4f}", bar
        )
    console = stdout_console()
    console.print(table)
    if shown is not None:
        console.print(
            f"the {MOST_BARS} largest estimates of {len(histogram.values)}, hence on average too large; --json has all",
            soft_wrap=True,
        )
    print_whole(
        console,
        f"{histogram.people:,} people, epsilon {histogram.randomizer.epsilon} each: {histogram.randomizer.canonical}",
    )
