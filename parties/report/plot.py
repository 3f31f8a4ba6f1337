"""The comparison on log-log axes, as SVG: sqrt(n) is a line of slope 1/2, a constant is a flat one.

Drawn with matplotlib (Agg needs no display), with text kept as text, and the same bytes for the same data.
The colours are Okabe and Ito's, told apart by the colour-blind; marks and dashes differ as well.
"""

from __future__ import annotations

import io
from collections.abc import Iterable
from typing import Any

from localdp.errors import LocalDpError
from localdp.experiments.comparison import Comparison, Row
from parties.report.wording import slope, title

INK = "#1f2329"
GRID = "#d9dde2"
PAPER = "#ffffff"
COLOURS = {"local": "#d55e00", "shuffled": "#009e73", "shared": "#0072b2", "curator": "#cc79a7"}
# The curator's mark is large and hollow: with divided noise the shared points lie inside it.
_MARKS: dict[str, dict[str, Any]] = {
    "local": {"marker": "o", "markersize": 5.5},
    "shuffled": {"marker": "^", "markersize": 6},
    "curator": {"marker": "s", "markersize": 10, "markerfacecolor": "none", "markeredgewidth": 1.6},
    "shared": {"marker": "D", "markersize": 4.5},
}
_DASHES = {
    "local": (0, (1, 1.4)),
    "shuffled": (0, (4, 1.5, 1, 1.5)),
    "curator": (0, (6, 3)),
    "shared": (0, (2, 2)),
}
_NAMES = {
    "local": "local",
    "shuffled": "shuffled",
    "curator": "trusted curator",
    "shared": "shared curator",
}
_WIDE_INCHES = (8.0, 5.6)
_NARROW_INCHES = (4.3, 6.0)


def require_matplotlib() -> None:
    """Fails early, before a long run, where no plot could be drawn at its end."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise LocalDpError(
            "plots need matplotlib, which is not installed: pip install 'localdp[plots]'"
        ) from error


def render_svg(comparison: Comparison, *, narrow: bool = False, titled: bool = True) -> str:
    """A whole SVG document, on white paper; `narrow` suits a phone, `titled` stands without a page."""
    require_matplotlib()
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with mpl.rc_context(plot_settings("localdp-narrow" if narrow else "localdp")):
        figure = Figure(figsize=_NARROW_INCHES if narrow else _WIDE_INCHES, layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.add_subplot()
        _draw(axes, comparison)
        _scale(axes, narrow)
        if titled:
            _title(axes, comparison)
        _legend(figure, axes, narrow)
        page = io.StringIO()
        figure.savefig(
            page, format="svg", metadata={"Date": None, "Creator": None, "Title": title(comparison)}
        )
    return page.getvalue()


def plot_settings(salt: str) -> Any:
    """How every plot looks; the salt keeps the identifiers of different plots on one page apart."""
    return {
        "svg.fonttype": "none",
        "svg.hashsalt": salt,
        "font.family": ["sans-serif"],
        "font.sans-serif": ["DejaVu Sans", "Verdana", "Arial", "Helvetica"],
        "font.size": 10,
        "axes.edgecolor": INK,
        "axes.labelcolor": INK,
        "text.color": INK,
        "xtick.color": INK,
        "ytick.color": INK,
        "figure.facecolor": PAPER,
        "axes.facecolor": PAPER,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "grid.color": GRID,
        "grid.linewidth": 0.7,
    }


def _draw(axes: Any, comparison: Comparison) -> None:
    for model in _NAMES:
        _draw_prediction(axes, comparison.of_model(model), model)
    _draw_bound(axes, comparison.of_model("local"))
    for model in _NAMES:
        _draw_measured(axes, _above_zero(comparison.of_model(model)), model, comparison.slopes.get(model))


def _scale(axes: Any, narrow: bool) -> None:
    from matplotlib.ticker import FuncFormatter, NullLocator

    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("people n")
    axes.set_ylabel("mean |error| of the count, in people")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda value, _: _tick(value, narrow)))
        axis.set_minor_locator(NullLocator())
    axes.tick_params(length=0)
    axes.margins(x=0.06, y=0.09)


def _tick(value: float, short: bool) -> str:
    """Plain numbers; short ones where a phone has no room for zeros: 10k, 1M."""
    for unit, letter in ((1e6, "M"), (1e3, "k")):
        if short and value >= unit:
            return f"{value / unit:,.10g}{letter}"
    return f"{value:,.10g}"


def _title(axes: Any, comparison: Comparison) -> None:
    axes.set_title(title(comparison), loc="left", fontsize=11, fontweight="bold")
    if comparison.of_model("exact"):
        axes.set_xlabel("people n      (the exact count has error 0, which no log axis can show)")


def _draw_prediction(axes: Any, rows: tuple[Row, ...], model: str) -> None:
    rows = tuple(row for row in rows if row.predicted > 0)
    if not rows:
        return
    meaning = "predicted, best known constant" if model == "local" else "predicted"
    axes.plot(
        [row.people for row in rows],
        [row.predicted for row in rows],
        color=COLOURS[model],
        linestyle=_DASHES[model],
        linewidth=1.6,
        label=f"{_NAMES[model]}: {meaning}",
        zorder=2,
    )


def _draw_bound(axes: Any, rows: tuple[Row, ...]) -> None:
    bounded = [(row.people, row.lower_bound) for row in rows if row.lower_bound]
    if not bounded:
        return
    people, bounds = zip(*bounded, strict=True)
    axes.plot(
        people,
        bounds,
        color=INK,
        linestyle="-",
        linewidth=1.3,
        label="local: no protocol does better (Thm 9.2)",
        zorder=2,
    )


def _draw_measured(axes: Any, rows: list[Row], model: str, fitted: float | None) -> None:
    if not rows:
        return
    growth = "" if fitted is None else f", slope {slope(fitted)}"
    axes.errorbar(
        [row.people for row in rows],
        [row.mean_abs_error for row in rows],
        yerr=[_bar_below(rows), [row.standard_error for row in rows]],
        color=COLOURS[model],
        linestyle="none",
        elinewidth=1.4,
        label=f"{_NAMES[model]}: measured{growth}",
        zorder=3,
        **_MARKS[model],
    )


def _bar_below(rows: list[Row]) -> list[float]:
    """A log axis has no zero: a bar that would reach it ends at a twentieth of the mean."""
    return [min(row.standard_error, 0.95 * row.mean_abs_error) for row in rows]


def _above_zero(rows: Iterable[Row]) -> list[Row]:
    return [row for row in rows if row.mean_abs_error > 0]


def _legend(figure: Any, axes: Any, narrow: bool) -> None:
    """Measured marks first, then the lines, outside of the axes so that no point is hidden."""
    handles, labels = axes.get_legend_handles_labels()
    entries = list(zip(handles, labels, strict=True))
    if not entries:
        return
    marks = [entry for entry in entries if "measured" in entry[1]]
    lines = [entry for entry in entries if "measured" not in entry[1]]
    if not narrow:  # two columns of one height: marks on the left, lines on the right
        from matplotlib.lines import Line2D

        marks += [(Line2D([], [], linestyle="none"), " ")] * (len(lines) - len(marks))
    figure.legend(
        *zip(*(marks + lines), strict=True),
        loc="outside upper left",
        ncols=1 if narrow else 2,
        frameon=False,
        handlelength=2.6,
    )
