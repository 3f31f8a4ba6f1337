"""Tables and lists of the page.  A number is a <data> element with its exact value, so that no digit is lost."""

from __future__ import annotations

from html import escape
from typing import Any

from localdp.experiments.panels import Panel, Point
from localdp.oracles.compared import COMPARED
from parties.report.story import Facts, Table, TableRow
from parties.report.wording import MISSING, number, with_error_bar


def points_table(panel: Panel, label: str) -> str:
    """The numbers behind a plot, one part for each series."""
    columns = _columns(panel)
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in columns)
    parts = [_part(name, points, columns) for name, points in panel.series().items()]
    return scrolling(f"<table><thead><tr>{head}</tr></thead>\n{''.join(parts)}</table>", label)


def _columns(panel: Panel) -> list[str]:
    columns = [panel.parameter] if panel.parameter else []
    columns.append("measured")
    if any(point.predicted is not None for point in panel.points):
        columns.append(panel.predicted)
    if any(point.bound is not None for point in panel.points):
        columns.append("lower bound")
    return [*columns, "trials"]


def _part(series: str, points: list[Point], columns: list[str]) -> str:
    heading = (
        f'<tr><th scope="rowgroup" colspan="{len(columns)}"{_class(series)}>{escape(series)}</th></tr>'
    )
    rows = "\n".join(f"<tr>{_cells(point, columns)}</tr>" for point in points)
    return f"<tbody>{heading}\n{rows}</tbody>\n"


def _cells(point: Point, columns: list[str]) -> str:
    measured = "measured"
    cells = [_measured(point)]
    if columns.index(measured):
        cells.insert(0, f"{data(point.parameter, f'{point.parameter:,.10g}')}")
    further = columns[columns.index(measured) + 1 : -1]
    cells += [data(point.bound if name == "lower bound" else point.predicted) for name in further]
    cells.append(data(point.trials, f"{point.trials:,}"))
    return "".join(f"<td>{cell}</td>" for cell in cells)


def _measured(point: Point) -> str:
    if point.value is None:
        return "refused"
    if point.half_width is None:
        return data(point.value)
    shown = with_error_bar(point.value, point.half_width)
    return f'<data value="{point.value!r}" data-standard-error="{point.error!r}">{shown}</data>'


def data(value: float | None, shown: str | None = None) -> str:
    """A number, exactly and as it is read."""
    if value is None:
        return MISSING
    return f'<data value="{value!r}">{number(value) if shown is None else shown}</data>'


def table(told: Table, label: str) -> str:
    """Any other table."""
    head = "".join(
        f'<th scope="col"{_text(place in told.texts)}>{escape(name)}</th>'
        for place, name in enumerate(told.columns)
    )
    rows = "\n".join(f"<tr>{_row(row, told.texts)}</tr>" for row in told.rows)
    note = f'<p class="soft">{escape(told.note)}</p>' if told.note else ""
    return note + scrolling(f"<table><thead><tr>{head}</tr></thead><tbody>\n{rows}</tbody></table>", label)


def _row(row: TableRow, texts: tuple[int, ...]) -> str:
    return "".join(
        f"<td{_text(place in texts)}{_class(value)}>{_value(value)}</td>" for place, value in enumerate(row)
    )


def _value(value: Any) -> str:
    if value is None:
        return MISSING
    if isinstance(value, str):
        return escape(value)
    return data(value, f"{value:,}" if isinstance(value, int) else None)


def _text(is_text: bool) -> str:
    return ' data-text=""' if is_text else ""


def _class(series: object) -> str:
    """The colour of a trust model."""
    model = series.split(",")[0] if isinstance(series, str) else ""
    return f' class="{model}"' if model in COMPARED else ""


def facts(told: Facts) -> str:
    """Names and what they stand for."""
    return (
        "<dl>"
        + "".join(f"<dt>{escape(name)}</dt><dd>{escape(fact)}</dd>" for name, fact in told.items())
        + "</dl>"
    )


def scrolling(inside: str, label: str) -> str:
    """A box that scrolls by itself where the page is too narrow, with the keyboard as well."""
    return f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(label)}">{inside}</div>'
