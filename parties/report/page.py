"""Stories as one self-contained page: no script runs, nothing is loaded from anywhere, and long parts open at a touch.

Claim.  Text from the files of results is text on the page, never markup; the numbers on it are those of the files.
Checked in tests/unit/parties/report/test_experiment_report.py, and in a browser in
tests/integration/test_report_in_browser.py.
"""

from __future__ import annotations

import json
import re
from html import escape
from importlib.resources import files
from string import Template

from localdp.experiments.panels import Panel
from localdp.oracles.compared import COMPARED
from parties.durable import Data
from parties.report.drawing import GRID, INK, PAPER, panel_svg, shows_no_zero
from parties.report.story import Group, PromiseInWords, Story
from parties.report.tables import facts, points_table, table

_COLOURS = {row.colour: f"var(--{row.name})" for row in COMPARED.values() if row.colour != INK}


def report_page(stories: list[Story], name: str) -> str:
    """The whole HTML document; `name` is its title where it tells of several experiments."""
    template = Template((files("parties.report") / "page.html").read_text(encoding="utf-8"))
    several = len(stories) > 1
    title = f"{len(stories)} experiments: {name}" if several else stories[0].title
    return template.substitute(
        title=escape(title),
        contents=_contents(stories) if several else "",
        stories="\n".join(_story(place, story, several) for place, story in enumerate(stories)),
        data=_embedded({story.source: story.data for story in stories}),
    )


def _contents(stories: list[Story]) -> str:
    links = "".join(f'<li><a href="#story-{i}">{escape(s.title)}</a></li>' for i, s in enumerate(stories))
    return f"<nav><ul>{links}</ul></nav>"


def _story(place: int, story: Story, several: bool) -> str:
    level = 3 if several else 2
    title = f"<h2>{escape(story.title)}</h2>" if several else ""
    warning = f'<p class="warning" role="note">{escape(story.warning)}</p>' if story.warning else ""
    lead = f'<p class="lead">{escape(story.lead)}</p>' if story.lead else ""
    parts = [
        ("What was asked", facts(story.asked)),
        *((group.title, _group(group, f"plot-{place}-{i}")) for i, group in enumerate(story.groups)),
        ("Notes", "".join(f"<p>{escape(note)}</p>" for note in story.notes)),
        ("What is promised, and by whom", _promises(story)),
        ("What was refused", _refused(story)),
        ("What it cost", table(story.costs, "What it cost") if story.costs else ""),
        ("All numbers", _all_numbers(story)),
        ("Where this comes from", _origin(story)),
    ]
    body = "\n".join(f"<h{level}>{escape(name)}</h{level}>\n{text}" for name, text in parts if text)
    return f'<section id="story-{place}">{title}{warning}{lead}\n{body}\n</section>'


def _group(group: Group, prefix: str) -> str:
    note = f'<p class="soft">{escape(group.note)}</p>' if group.note else ""
    figures = "\n".join(_figure(panel, f"{prefix}-{i}", i == 0) for i, panel in enumerate(group.panels))
    return f'{note}<div class="plots">\n{figures}\n</div>'


def _figure(panel: Panel, prefix: str, first: bool) -> str:
    """A plot, its caption, and the numbers behind it; of further plots they open at a touch."""
    heading = "; ".join(part for part in (panel.measure, panel.title) if part)
    words = f"Plot of {panel.measure} against {panel.parameter or 'trust model'}; the numbers are in the table below."
    numbers = f"<summary>The numbers</summary>{points_table(panel, heading)}"
    wide = ' class="first"' if first else ""
    plot = (
        f'<div role="img" aria-label="{escape(words)}">{inline_svg(panel_svg(panel, prefix), prefix)}</div>'
    )
    caption = f"<strong>{escape(heading[:1].upper() + heading[1:])}</strong>. {escape(_caption(panel))}"
    return (
        f"<figure{wide}><div>{plot}\n<figcaption>{caption}</figcaption></div>\n"
        f"<details{' open' if first else ''}>{numbers}</details></figure>"
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
    for colour, replacement in (inks | _COLOURS).items():
        svg = svg.replace(colour, replacement)
    return re.sub(
        r'<svg\b[^>]*?(viewBox="[^"]*")[^>]*>',
        rf'<svg class="{prefix}" \1 aria-hidden="true">',
        svg,
        count=1,
    )


def _caption(panel: Panel) -> str:
    bars = any(point.error is not None for point in panel.points)
    dashed = any(point.predicted is not None for point in panel.points)
    refused = any(point.value is None for point in panel.points)
    told = [
        "Bars, and ±, are half of the interval at 95 %." if bars else "",
        f"Dashed: {panel.predicted}." if dashed else "",
        "Where every trial was refused there is no mark." if refused else "",
        "A logarithmic axis has no place for 0." if shows_no_zero(panel) else "",
    ]
    return " ".join(one for one in told if one)


def _promises(story: Story) -> str:
    about = f"<p>{escape(story.about_promises)}</p>" if story.about_promises else ""
    cards = "\n".join(_promise(promise) for promise in story.promises)
    return about + (f'<div class="cards">\n{cards}\n</div>' if cards else "")


def _promise(promise: PromiseInWords) -> str:
    return (
        f'<article><h4 class="{escape(promise.model)}">{escape(promise.model)}</h4>'
        f"<p>{escape(promise.words)}</p>{facts(promise.facts) if promise.facts else ''}</article>"
    )


def _refused(story: Story) -> str:
    if story.refusals is None:
        return "<p>Nothing.</p>" if story.configuration else ""
    return table(story.refusals, "What was refused")


def _all_numbers(story: Story) -> str:
    if story.cells is None:
        return ""
    return f"<details><summary>{len(story.cells.rows):,} rows</summary>{table(story.cells, 'All numbers')}</details>"


def _origin(story: Story) -> str:
    told = facts({"file": story.source, **story.origin})
    text = f'<pre tabindex="0">{escape(story.configuration)}</pre>' if story.configuration else ""
    summary = "Versions, seeds, machine, configuration" if text else "The file"
    return f"<details><summary>{summary}</summary>{told}{text}</details>"


def _embedded(data: Data) -> str:
    """JSON that cannot close the script element it stands in."""
    text = json.dumps(data, allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
