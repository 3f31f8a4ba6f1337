"""A game of roads to look at: the loads that were published, by round (`localdp release equilibrium --picture`).

Checked in tests/unit/parties/report/test_loads.py.
"""

from __future__ import annotations

from localdp.algorithms.games.equilibrium import EquilibriumSelection
from localdp.experiments.panels import Panel, Point
from parties.report.drawing import panels_svg

TITLE = "Loads as they were published, round by round"


def loads_panel(game: EquilibriumSelection) -> Panel:
    """A line for each road, with what noise may have put it off."""
    points = [
        Point(f"road {road + 1}", number + 1, float(load), 1, error=float(error))
        for number, (loads, errors) in enumerate(zip(game.loads_, game.standard_errors_, strict=True))
        for road, (load, error) in enumerate(zip(loads, errors, strict=True))
    ]
    plan, claim = game.plan_, game.claim_
    spent = "" if claim.epsilon is None else f", epsilon = {claim.epsilon}"
    title = f"{plan.people:,} people, {plan.model}{spent}"
    return Panel(title, "round", "share of the people on a road", tuple(points))


def loads_svg(game: EquilibriumSelection) -> str:
    """The drawing."""
    return panels_svg([loads_panel(game)], TITLE)
