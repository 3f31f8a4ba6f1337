"""`localdp histogram`: the frequencies of a column's values, or of a query's, in the local model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from rich.table import Table

from localdp.accounting.epsilon import Epsilon
from localdp.estimation.consistency import norm_sub
from localdp.experiments.keyring import Keyring
from localdp.experiments.population import made_up_people
from localdp.oracles.histogram import Histogram, ask_histogram
from parties.command.options import number_of_people
from parties.command.output import print_ok, print_whole, stdout_console
from parties.command.running import are_running, connected
from parties.durable import Data

if TYPE_CHECKING:
    from parties.federation import Federation

MOST_BARS = 200
_BAR_WIDTH = 30


@dataclass(frozen=True, slots=True)
class HistogramOptions:
    """The command's options, as typed."""

    query: str
    epsilon: str
    connect: Path | None
    identity: Path | None
    relay: str | None
    expect: str
    people: str
    parties: int
    anyway: bool
    json: bool


def run_histogram(options: HistogramOptions) -> None:
    """Ask, then print every frequency with its error."""
    epsilon = Epsilon.requested(options.epsilon)
    source = Keyring.from_system().source("analyst")
    with _federation(options, epsilon) as federation:
        reports, checked = federation.reports(), not options.anyway
        histogram = ask_histogram(reports, options.query, epsilon, source, check_signal=checked)
    if options.json:
        print_ok(histogram_data(histogram))
        return
    _print(histogram)


def _federation(options: HistogramOptions, epsilon: Epsilon) -> Federation:
    """Running parties if connected, else parties launched for this question."""
    from parties.federation import Federation

    if are_running(options):
        return connected(options)
    people = made_up_people(number_of_people(options.people), Keyring.from_system().source("people"))
    return Federation.launch(people, parties=options.parties, budget=epsilon)


def histogram_data(histogram: Histogram) -> Data:
    """The histogram for a machine: raw estimates with their errors, and the consistent ones beside them."""
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
