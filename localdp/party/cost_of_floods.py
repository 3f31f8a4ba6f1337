"""What flooded messages cost: noise is drawn for a part of the people at once, and each message is sealed by itself.

Checked in tests/unit/party/test_cost_of_floods.py.
"""

from __future__ import annotations

from localdp.party.cost import Work
from localdp.party.flood_drawing import FloodDrawing

_TABLES_SECONDS = 20e-3  # of the laws, the first time that they are drawn from
_DRAW_SECONDS = 0.5e-6  # of a number
_POISSON_TABLE = 64  # pairs that one number stands for
_MESSAGE_SECONDS = 60e-9  # of a code: put down, packed and hashed
_SEAL_SECONDS = 75e-6  # of a message: two products on a curve, and what is derived from them


def drawn_flood_seconds(drawing: FloodDrawing) -> float:
    """The noise of a part, and its codes."""
    plan, part = drawing.asked.plan, drawing.part
    pairs = plan.flood.pairs * float(plan.share(part.people))
    draws = plan.flooded.entries * (2 + 2 * (1 + pairs / _POISSON_TABLE))
    rounding = part.people * plan.flooded.entries if drawing.encoding.rounded else 0
    return _TABLES_SECONDS + (draws + rounding) * _DRAW_SECONDS + plan.size(part.people) * _MESSAGE_SECONDS


def sealed_flood_work(seals: int = 1) -> Work:
    """For each message, in the place of a person; with a second shuffler it has two seals."""
    return Work(seals * 0.2e-3, seals * _SEAL_SECONDS)
