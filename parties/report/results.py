"""The story of results.json, as `localdp run` writes it (`parties/experiments/results.py`)."""

from __future__ import annotations

from localdp.errors import InvalidParameter
from localdp.experiments.panels import Panel
from parties.durable import Data
from parties.experiments.results import FORMAT, ONE_TRIAL
from parties.report import in_tables, in_words
from parties.report.points import groups_of, pools_of
from parties.report.story import Group, Story
from parties.report.wording import alike


def story_of_results(source: str, data: Data) -> Story:
    """Everything that there is to tell of a run; the trials themselves stay in their file."""
    if data["format"] != FORMAT:
        raise InvalidParameter(f"results of format {data['format']!s:.20}; this version reads {FORMAT}")
    provenance, pools = data["provenance"], pools_of(data)
    plan = in_words.plan_of(provenance)
    groups = groups_of(pools, "query" in plan.run)
    insecure = provenance["seeds"] != "system randomness"
    confidential = bool(provenance.get("confidential", False))
    return Story(
        source=source,
        title=plan.title,
        asked=in_words.asked(plan, pools, provenance),
        groups=groups,
        data={"format": data["format"], "provenance": provenance, "cells": data["cells"]},
        lead=_lead(groups),
        warning=str(provenance["privacy"]) if insecure or confidential else "",
        confidential=confidential,
        promises=in_words.promises(data["cells"]),
        about_promises="What the trust models would promise, had the coins been secret."
        if insecure
        else ONE_TRIAL,
        refusals=in_tables.refusals(data["cells"], pools, plan),
        costs=in_tables.costs(pools),
        notes=in_words.notes(plan, dict.fromkeys(spot.model for spot in pools)),
        cells=in_tables.all_cells(pools, "query" in plan.run),
        origin=in_words.origin(provenance),
        configuration=str(provenance["configuration"]),
    )


def _lead(groups: tuple[Group, ...]) -> str:
    """The message in one sentence, from the last points of the panel that has the most."""
    panels = [panel for group in reversed(groups) for panel in reversed(group.panels)]
    panel = max(panels, key=_answered)
    last = max((point.parameter for point in panel.points if point.value is not None), default=None)
    found = [(point.series, point.value) for point in panel.points if point.parameter == last]
    answered = [(series, value) for series, value in found if value is not None]
    values = alike([value for _, value in answered])
    told = [f"{series} {value}" for (series, _), value in zip(answered, values, strict=True)]
    if not told:
        return ""
    place = f"{panel.parameter} = {last:,g}" if panel.parameter else ""
    where = ", ".join(part for part in (panel.title, place) if part)
    return f"{panel.measure.capitalize()}{' at ' if where else ''}{where}: {'; '.join(told)}."


def _answered(panel: Panel) -> int:
    return sum(point.value is not None for point in panel.points)
