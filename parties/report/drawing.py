"""Panels as SVG: measured marks with error bars, predictions dashed, bounds dotted.

A panel of a page is drawn for a phone, and enlarged elsewhere; a drawing that stands by itself is wider, and has titles.
Drawn with matplotlib (Agg needs no display): text stays text, the same bytes for the same data, colours that the
colour-blind can tell apart, marks that differ as well.  Axes are logarithmic where values span a factor of `_SPAN`.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterable, Sequence
from itertools import chain, cycle
from typing import Any

from localdp.errors import requiring
from localdp.experiments.panels import Panel, Point
from localdp.oracles.compared import COMPARED
from localdp.oracles.models import MODELS

INK = "#1f2329"
GRID = "#d9dde2"
PAPER = "#ffffff"
_INCHES = (4.2, 2.9)  # and a little for each line of the legend
_WIDE_INCHES = (7.0, 4.4)  # of a panel that stands by itself
_LEGEND_INCHES = 0.2
_COLUMNS = 2
_SPAN = 8
_MOST_TICKS = 6
_MOST_SERIES = 12
_LONGEST_NAME = 48
_SHORT_NAME = 22
_LIMITS = ("at most", "at least")  # how series begin that are limits, and not measured
_MORE_MARKS = ("*", "h", "<", ">", "p", "d", "8", "X", "1", "2")  # where colours come again
_DASHED = (0, (4, 2))
_DOTTED = (0, (1, 1.4))


def require_matplotlib() -> None:
    """Fails early, before a long run, where no plot could be drawn at its end."""
    with requiring("plots need matplotlib, which is not installed", "plots"):
        import matplotlib  # noqa: F401


def panel_svg(panel: Panel, salt: str) -> str:
    """One panel of a page; the salt keeps the identifiers of different panels apart."""
    return _document([panel], salt, "")


def panels_svg(panels: Sequence[Panel], title: str) -> str:
    """Panels that stand by themselves, each under its own title."""
    return _document(panels, title, title)


def _document(panels: Sequence[Panel], salt: str, title: str) -> str:
    """A whole SVG document, on white paper."""
    require_matplotlib()
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    # Names come from files: they are no formulas, and may have letters that the font lacks.
    with warnings.catch_warnings(), mpl.rc_context(_look(salt)):
        warnings.simplefilter("ignore")
        columns = min(_COLUMNS, len(panels))
        rows = -(-len(panels) // columns)
        figure = Figure(layout="constrained")
        FigureCanvasAgg(figure)
        parts = figure.subfigures(rows, columns, squeeze=False).flat
        lines = max(_draw(part, panel, bool(title)) for part, panel in zip(parts, panels, strict=False))
        width, height = _WIDE_INCHES if title else _INCHES
        figure.set_size_inches(columns * width, rows * (height + lines * _LEGEND_INCHES))
        page = io.StringIO()
        metadata = {"Date": None, "Creator": None, **({"Title": title} if title else {})}
        figure.savefig(page, format="svg", metadata=metadata)
    return page.getvalue()


def _look(salt: str) -> dict[Any, Any]:
    """How every plot looks."""
    inked = ("axes.edgecolor", "axes.labelcolor", "text.color", "xtick.color", "ytick.color")
    return {
        **dict.fromkeys(inked, INK),
        "svg.fonttype": "none",
        "svg.hashsalt": salt,
        "text.parse_math": False,
        "font.family": ["sans-serif"],
        "font.sans-serif": ["DejaVu Sans", "Verdana", "Arial", "Helvetica"],
        "font.size": 10,
        "figure.facecolor": PAPER,
        "axes.facecolor": PAPER,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "grid.color": GRID,
        "grid.linewidth": 0.7,
    }


def _draw(part: Any, panel: Panel, titled: bool) -> int:
    """The panel in its part of the figure; how many lines its legend has."""
    axes = part.add_subplot()
    handles = _along(axes, panel) if panel.parameter else _side_by_side(axes, panel)
    if titled:
        axes.set_title(panel.title, loc="left", fontsize=11, fontweight="bold")
        if shows_no_zero(panel):
            axes.set_xlabel(f"{panel.parameter}      (an error of 0 has no place on a log axis)")
    return _legend(part, handles, 2 * _SHORT_NAME if titled else _SHORT_NAME)


def _legend(figure: Any, handles: list[Any], short: int) -> int:
    """Above the axes, so that no point is hidden; in two columns where the names are short.  How many lines it has."""
    if not handles:
        return 0
    columns = 2 if max(len(handle.get_label()) for handle in handles) <= short else 1
    figure.legend(handles=handles, loc="outside upper left", ncols=columns, frameon=False, fontsize=9)
    return -(-len(handles) // columns)


def styles_of(names: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Colour and mark of every series, no two alike: a trust model's own, or those of one that is not in the plot."""
    listed = list(dict.fromkeys(names))
    found: dict[str, tuple[str, str]] = {}
    for name in sorted(
        listed, key=lambda name: "," in name
    ):  # a model itself before it with something else
        row = COMPARED.get(name.split(",", maxsplit=1)[0])
        if row is not None and (row.colour, row.mark) not in found.values():
            found[name] = row.colour, row.mark
    rows = sorted(COMPARED.values(), key=lambda row: (row.name not in MODELS, not row.spends))
    styles = [(row.colour, row.mark) for row in rows]
    styles += [(row.colour, mark) for mark in _MORE_MARKS for row in rows]
    left = chain((style for style in styles if style not in found.values()), cycle(styles))
    return {name: found[name] if name in found else next(left) for name in listed}


def _along(axes: Any, panel: Panel) -> list[Any]:
    """Lines along a parameter; what the legend shows."""
    logarithmic = _logarithmic(panel)
    handles = []
    shown = dict(list(panel.series().items())[:_MOST_SERIES])
    styles = styles_of(name for name in shown if not name.startswith(_LIMITS))
    for name, points in shown.items():
        label = _name(panel.names.get(name, name))
        if name in styles:
            handles += _line(axes, styles[name], points, logarithmic, label)
        else:
            handles += _limit(axes, points, logarithmic, label)
    handles += _legend_of_lines(panel)
    axes.set_xlabel(panel.parameter)
    axes.set_ylabel(_wrapped(panel.measure))
    _scale_across(axes, sorted({point.parameter for point in panel.points}))
    _scale_up(axes, panel, logarithmic)
    return handles


def _line(
    axes: Any, style: tuple[str, str], points: list[Point], logarithmic: bool, label: str
) -> list[Any]:
    """What was measured, with bars; what was predicted, and the bound.  For the legend: the marks, if there are any."""
    colour, mark = style
    for values, dashes in (
        ([point.predicted for point in points], _DASHED),
        ([point.bound for point in points], _DOTTED),
    ):
        drawn = [
            (p.parameter, value)
            for p, value in zip(points, values, strict=True)
            if _can(value, logarithmic)
        ]
        if drawn:
            axes.plot(*zip(*drawn, strict=True), color=colour, linestyle=dashes, linewidth=1.2, zorder=2)
    measured = [point for point in points if _can(point.value, logarithmic)]
    if not measured and not any(_can(point.predicted, logarithmic) for point in points):
        return []
    marks = axes.errorbar(
        [point.parameter for point in measured],
        [point.value for point in measured],
        yerr=_bars(measured, logarithmic),
        color=colour,
        linewidth=1.1,
        elinewidth=1.4,
        label=label,
        zorder=3,
        **_mark(mark),
    )
    return [marks]


def _limit(axes: Any, points: list[Point], logarithmic: bool, label: str) -> list[Any]:
    """A series that is a limit, and not measured."""
    drawn = [(point.parameter, point.value) for point in points if _can(point.value, logarithmic)]
    if not drawn:
        return []
    lines: list[Any] = axes.plot(
        *zip(*drawn, strict=True), color=INK, linestyle=_DOTTED, linewidth=1.2, label=label
    )
    return lines


def _mark(mark: str) -> dict[str, Any]:
    """The curator's square is hollow: with divided noise the shared points lie inside it."""
    if mark == "s":
        return {"marker": mark, "markersize": 8, "markerfacecolor": "none", "markeredgewidth": 1.4}
    return {"marker": mark, "markersize": 4.8}


def _legend_of_lines(panel: Panel) -> list[Any]:
    from matplotlib.lines import Line2D

    handles = []
    if any(point.predicted for point in panel.points):
        handles.append(Line2D([], [], color=INK, linestyle=_DASHED, linewidth=1.2, label=panel.predicted))
    if any(point.bound for point in panel.points):
        handles.append(Line2D([], [], color=INK, linestyle=_DOTTED, linewidth=1.2, label="lower bound"))
    return handles


def _side_by_side(axes: Any, panel: Panel) -> list[Any]:
    """One row for each series, where nothing was varied."""
    logarithmic = _logarithmic(panel)
    drawn = [point for point in panel.points if _can(point.value, logarithmic)]
    styles = styles_of(point.series for point in drawn)
    for place, point in enumerate(drawn):
        colour, mark = styles[point.series]
        axes.errorbar(point.value, place, xerr=_bars([point], logarithmic), color=colour, **_mark(mark))
        if _can(point.predicted, logarithmic):
            axes.plot([point.predicted] * 2, [place - 0.3, place + 0.3], color=colour, linestyle=_DASHED)
    axes.set_yticks(range(len(drawn)), [_name(point.series) for point in drawn])
    axes.set_ylim(len(drawn) - 0.5, -0.5)
    axes.set_xlabel(panel.measure)
    axes.tick_params(length=0)
    if logarithmic:
        axes.set_xscale("log")
        _plain_ticks(axes.xaxis, [value for point in drawn for value in _heights(point)])
    return [handle for handle in _legend_of_lines(panel) if handle.get_label() == panel.predicted]


def _bars(points: Sequence[Point], logarithmic: bool) -> list[list[float]]:
    """A log axis has no zero: a bar that would reach it ends at a twentieth of the value."""
    errors = [point.half_width or 0.0 for point in points]
    if not logarithmic:
        return [errors, errors]
    return [[min(e, 0.95 * (p.value or 0.0)) for e, p in zip(errors, points, strict=True)], errors]


def _can(value: float | None, logarithmic: bool) -> bool:
    return value is not None and (value > 0 or not logarithmic)


def _heights(point: Point) -> list[float]:
    return [value for value in (point.value, point.predicted, point.bound) if value is not None]


def _logarithmic(panel: Panel) -> bool:
    """Errors that span much; zeros are then left out, and the caption says so.  Never scores or fractions."""
    heights = [height for point in panel.points for height in _heights(point)]
    positive = [height for height in heights if height > 0]
    if panel.fraction or "error" not in panel.measure or min(heights, default=0) < 0:
        return False
    return bool(positive) and _wide(positive)


def shows_no_zero(panel: Panel) -> bool:
    """Whether a value of zero is left out."""
    return _logarithmic(panel) and any(height == 0 for point in panel.points for height in _heights(point))


def _wide(values: Iterable[float]) -> bool:
    values = sorted(values)
    return values[0] > 0 and values[-1] / values[0] >= _SPAN


def _scale_across(axes: Any, places: list[float]) -> None:
    if places and _wide(places):
        axes.set_xscale("log")
    axes.minorticks_off()
    shown = places if len(places) <= _MOST_TICKS else places[:: -(-len(places) // _MOST_TICKS)]
    axes.set_xticks(shown, [tick(place) for place in shown])
    axes.tick_params(length=0)
    axes.margins(x=0.06, y=0.09)


def _scale_up(axes: Any, panel: Panel, logarithmic: bool) -> None:
    if panel.fraction:
        axes.set_ylim(-0.04, 1.04)
    if logarithmic:
        axes.set_yscale("log")
        _plain_ticks(axes.yaxis, [height for point in panel.points for height in _heights(point)])
    elif not panel.fraction and "error" in panel.measure:
        axes.set_ylim(bottom=0)


def _plain_ticks(axis: Any, heights: list[float]) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    positive = [height for height in heights if height > 0]
    few = max(positive) / min(positive) < 100
    axis.set_major_locator(LogLocator(subs=(1, 2, 5) if few else (1,)))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: tick(value)))


def tick(value: float) -> str:
    """Short, for a phone: 0.001, 10k, 1M; powers of ten below a thousandth."""
    for unit, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= unit:
            return f"{value / unit:.6g}{letter}"
    text = f"{value:.6g}"
    return (
        text.replace("e-0", "e-")
        if abs(value) >= 1e-3 or value == 0
        else f"{value:.0e}".replace("e-0", "e-")
    )


def _wrapped(text: str) -> str:
    import textwrap

    return "\n".join(textwrap.wrap(text, 34)[:3])


def _name(series: str) -> str:
    """As the legend writes it: matplotlib leaves out names that begin with an underscore."""
    shown = series.lstrip("_") or "series"
    return shown if len(shown) <= _LONGEST_NAME else f"{shown[:_LONGEST_NAME]}…"
