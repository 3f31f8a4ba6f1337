"""What a charge was for, taken apart: the question, and how it was answered.

A ledger's purpose has the question last, after the randomizer or the collection; and after it what differs from one round
to the next, so that rounds of one question have one name without it.
Checked in tests/unit/parties/agent/test_purposes.py, with what parties really write.
"""

from __future__ import annotations

import re

_COLLECTED = re.compile(
    r"(?P<plan>\S+) (?:blocks, (?P<blocks>.+) by (?P<seed>[0-9a-f]{32,}): )?(?P<how>collection|selection, .+?)"
    r" of (?P<query>.+), (?P<round>servers' keys [0-9a-f]{8})",
    re.DOTALL,
)
_FLOODED = re.compile(
    r"(?P<how>flooded messages) of (?P<query>.+), (?P<round>delta \S+, noise of \d+ of \d+ people, analyst's key \w+)",
    re.DOTALL,
)


def question_of(purpose: str) -> tuple[str, str]:
    """What a charge was for: the question, and the randomizer or the collection, which the ledger writes before it."""
    if shared := _COLLECTED.fullmatch(purpose):
        question, how = shared["query"], f"by {shared['plan']} {shared['how']}, {shared['round']}"
        if shared["blocks"] is None:
            return question, how
        return f"{question} of blocks, {shared['blocks']}", f"{how}, blocks by {shared['seed']}"
    if flooded := _FLOODED.fullmatch(purpose):
        return flooded["query"], f"by {flooded['how']}, {flooded['round']}"
    how, of, question = purpose.partition(" of ")
    return (question, f"by {how}") if of else (purpose, "")
