"""The comparison as one self-contained page: no script runs, nothing is loaded from anywhere.

The plot is inlined twice, wide and narrow, and a media query shows the one that fits.  Its ink becomes
`currentColor` and its paper transparent, so that it follows the page into the dark.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from html import escape
from importlib.resources import files
from string import Template

from localdp.experiments.comparison import Comparison, PrivacyStatement, Row
from parties.report.plot import COLOURS, GRID, INK, PAPER, render_svg
from parties.report.table import ORDER
from parties.report.wording import MISSING, number, setting, slope, title, with_error_bar

_KINDS = {
    "none": "no guarantee",
    "pure": "pure: holds against unlimited computing",
    "approximate": "approximate: holds against unlimited computing, but for a probability of delta",
    "computational": "computational: holds against bounded computing (Definition 9.4)",
}


def render_page(comparison: Comparison) -> str:
    """The whole HTML document."""
    template = Template((files("parties.report") / "page.html").read_text(encoding="utf-8"))
    return template.substitute(
        title=escape(title(comparison)),
        setting=escape(setting(comparison)),
        summary=_summary(comparison),
        plot_wide=inline_svg(render_svg(comparison, titled=False), "wide"),
        plot_narrow=inline_svg(render_svg(comparison, narrow=True, titled=False), "narrow"),
        plot_words=escape(_plot_words(comparison)),
        exact_note=_exact_note(comparison),
        rows="\n".join(_section(comparison, model) for model in ORDER),
        statements="\n".join(_statement(statement) for statement in comparison.statements()),
        data=_embedded(comparison.to_data()),
    )


def inline_svg(document: str, prefix: str) -> str:
    """The <svg> element alone, with its own ids and the page's colours."""
    svg = document[document.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'\s(?:xmlns(?::\w+)?|version)="[^"]*"', "", svg)
    svg = re.sub(r"<title>.*?</title>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{prefix}-", svg)
    svg = svg.replace("xlink:href", "href")
    inks = {INK: "currentColor", PAPER: "none", GRID: "var(--grid)"}
    for colour, replacement in (inks | {c: f"var(--{m})" for m, c in COLOURS.items()}).items():
        svg = svg.replace(colour, replacement)
    return re.sub(
        r'<svg\b[^>]*?(viewBox="[^"]*")[^>]*>',
        rf'<svg class="{prefix}" \1 aria-hidden="true">',
        svg,
        count=1,
    )


def _summary(comparison: Comparison) -> str:
    """The message in one or two sentences, from the largest n that both protocols without a trusted party have."""
    shared = {
        model: {row.people: row for row in comparison.of_model(model)} for model in ("local", "shared")
    }
    common = sorted(set(shared["local"]) & set(shared["shared"]))
    if not common:
        return "The error of each trust model, measured and predicted."
    people = common[-1]
    local, shares = (number(shared[model][people].mean_abs_error) for model in ("local", "shared"))
    return (
        f"With {people:,} people the local model is off by <strong>{local}</strong> on average, the shared "
        f"curator by <strong>{shares}</strong>, at the same epsilon; in neither does anybody see a record."
        f"{_shuffled_summary(comparison, people)}"
    )


def _shuffled_summary(comparison: Comparison, people: int) -> str:
    errors = [row.mean_abs_error for row in comparison.of_model("shuffled") if row.people == people]
    if not errors:
        return ""
    return f" Mixed by a shuffler, local reports are off by <strong>{number(errors[0])}</strong>."


def _plot_words(comparison: Comparison) -> str:
    """What the plot shows, for those who do not see it."""
    slopes = ", ".join(
        f"{model} {slope(comparison.slopes.get(model))}" for model in ORDER if model in COLOURS
    )
    return f"Log-log plot of the mean absolute error against the number of people. Fitted slopes: {slopes}."


def _exact_note(comparison: Comparison) -> str:
    if not comparison.of_model("exact"):
        return ""
    return " The exact count has error 0, which has no place on a logarithmic axis."


def _section(comparison: Comparison, model: str) -> str:
    rows = comparison.of_model(model)
    if not rows:
        return ""
    fitted = comparison.slopes.get(model)
    growth = (
        "" if fitted is None else f' <small>slope <data value="{fitted!r}">{slope(fitted)}</data></small>'
    )
    heading = f'<tr><th scope="rowgroup" colspan="6" class="{model}">{model}{growth}</th></tr>'
    lines = [heading, *(f"<tr>{_cells(row)}</tr>" for row in rows)]
    return "<tbody>\n" + "\n".join(lines) + "\n</tbody>"


def _cells(row: Row) -> str:
    measured = with_error_bar(row.mean_abs_error, row.standard_error)
    ratio = MISSING if row.ratio is None else f"{row.ratio:.3f}"
    bound = MISSING if row.lower_bound is None else _data(row.lower_bound)
    return (
        f'<td><data value="{row.people}">{row.people:,}</data></td>'
        f'<td><data value="{row.mean_abs_error!r}" data-standard-error="{row.standard_error!r}">'
        f"{measured}</data></td>"
        f"<td>{_data(row.predicted)}</td><td>{ratio}</td><td>{bound}</td>"
        f'<td><data value="{row.trials}">{row.trials:,}</data></td>'
    )


def _data(value: float) -> str:
    return f'<data value="{value!r}">{number(value)}</data>'


def _statement(statement: PrivacyStatement) -> str:
    epsilon = "none" if statement.epsilon is None else f"{statement.epsilon:g} (in nats), {statement.unit}"
    facts: Mapping[str, str] = {
        "epsilon": epsilon,
        **({} if statement.delta is None else {"delta": f"{statement.delta:g}"}),
        "neighbours": statement.neighbours,
        "must be honest": statement.honest,
        "kind": _KINDS.get(statement.kind, statement.kind),
    }
    lines = "".join(f"<dt>{name}</dt><dd>{escape(fact)}</dd>" for name, fact in facts.items())
    return (
        f'<article><h3 class="{statement.model}">{escape(statement.model)}</h3>'
        f"<p>{escape(statement.words)}</p><dl>{lines}</dl></article>"
    )


def _embedded(data: Mapping[str, object]) -> str:
    """JSON that cannot close the script element it stands in."""
    return (
        json.dumps(data, allow_nan=False)
        .replace("<", "\\u003c")
        .replace(">", "\\u003e")
        .replace("&", "\\u0026")
    )
