"""The comparison as a table for the terminal, grouped by model so that growth with n is read downwards.

The table fits 80 columns; with 100 or more it gains the number of trials and a bar of the log error, and with fewer than
80 it loses the columns that can be worked out from others (`fitting.py`).
Output that is not a terminal gets no colour (rich), and an encoding without Unicode gets plain ASCII.
"""

from __future__ import annotations

import math

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from localdp.experiments.comparison import ORDER, Comparison
from localdp.experiments.panels import Point
from localdp.oracles.compared import COMPARED
from parties.report.fitting import print_fitting
from parties.report.stories import title_of_comparison
from parties.report.wording import MISSING, number, slope, with_error_bar

_WIDE_COLUMNS = 100
_BAR_CELLS = 20
_SPARE = ("lower bound", "ratio", "predicted")


def print_comparison(comparison: Comparison, console: Console) -> None:
    """The table, then one line on how each model's error grows with n."""
    unicode = not console.options.ascii_only
    table = comparison_table(comparison, wide=console.width >= _WIDE_COLUMNS, unicode=unicode)
    print_fitting(console, table, _SPARE)
    for model in ORDER[:-1]:
        if comparison.of_model(model):
            console.print(_growth(comparison, model))


def comparison_table(comparison: Comparison, *, wide: bool = False, unicode: bool = True) -> Table:
    """One section for each model, one line for each n."""
    table = Table(
        title=title_of_comparison(comparison.to_data()),
        caption=_setting(comparison, unicode),
        box=box.SIMPLE_HEAD if unicode else box.ASCII2,
        pad_edge=False,
        title_justify="left",
        caption_justify="left",
    )
    table.add_column("model", no_wrap=True)
    for heading in ("people", "mean |error|", "predicted", "ratio", "lower bound"):
        table.add_column(heading, justify="right", no_wrap=True)
    if wide:
        table.add_column("trials", justify="right", no_wrap=True)
        table.add_column("error, log scale", no_wrap=True)
    for model in ORDER:
        points = comparison.of_model(model)
        for position, point in enumerate(points):
            last = position == len(points) - 1
            table.add_row(*_cells(point, comparison, position == 0, wide, unicode), end_section=last)
    return table


def _cells(point: Point, comparison: Comparison, first: bool, wide: bool, unicode: bool) -> list[Text]:
    style, sign = COMPARED[point.series].style, "±" if unicode else "+-"
    cells = [
        Text(point.series if first else "", style=f"bold {style}"),
        Text(f"{point.parameter:,}"),
        Text(with_error_bar(point.value or 0.0, point.half_width or 0.0, sign), style="bold"),
        Text(number(point.predicted)),
        Text(MISSING if point.ratio is None else f"{point.ratio:.3f}"),
        Text(number(point.bound)),
    ]
    if wide:
        cells += [Text(f"{point.trials:,}"), Text(_bar(point, comparison, unicode), style=style)]
    return cells


def _bar(point: Point, comparison: Comparison, unicode: bool) -> str:
    """Length by log10 of the error, from a tenth of the smallest one up to the largest."""
    errors = [other.value for other in comparison.points if other.value]
    if not point.value:
        return ""
    low, high = math.log10(min(errors)) - 1, math.log10(max(errors))
    cells = round(_BAR_CELLS * (math.log10(point.value) - low) / (high - low))
    return ("█" if unicode else "#") * max(1, cells)


def _growth(comparison: Comparison, model: str) -> Text:
    line = Text()
    line.append(f"{model:<9}", style=f"bold {COMPARED[model].style}")
    fitted = comparison.slopes.get(model)
    if fitted is None:
        line.append("no slope: needs two or more different numbers of people, and errors above zero")
    else:
        growth = COMPARED[model].growth
        meaning = "grows like sqrt(n)" if growth else "does not depend on n"
        line.append(f"fitted slope {slope(fitted)}; theory {slope(growth)}: {meaning}")
    return line


def _setting(comparison: Comparison, unicode: bool) -> str:
    """The parameters that every row shares, and those of single ones."""
    told = "".join(f"{model}: {text}; " for model, text in comparison.settings().items())
    return f"{told}{comparison.transport}; {'±' if unicode else '+-'}: at 95 %"
