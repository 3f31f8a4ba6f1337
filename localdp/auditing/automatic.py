"""An exact audit where it is small enough, else an exact one of a few inputs, else a sampled one.

Checked in tests/unit/auditing/test_automatic.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from localdp.auditing.drawing import MOST_INPUTS, ends
from localdp.auditing.exact import MOST_PATHS, exact_audit, planned
from localdp.auditing.result import Audit
from localdp.auditing.sampled import sampled_audit
from localdp.errors import InvalidParameter
from localdp.randomizers.input_kinds import Input
from localdp.randomness.source import RandomSource

TRIALS = 100_000
CONFIDENCE = 0.9999
_MOST_SAMPLED = 3  # inputs, whose ordered pairs are all compared


def audit(
    randomizer: Any,
    source: RandomSource,
    *,
    trials: int = TRIALS,
    confidence: float = CONFIDENCE,
    inputs: Sequence[Input] | None = None,
) -> Audit:
    """Audit by the strongest method that follows at most `MOST_PATHS` paths of coins."""
    everything = tuple(range(min(randomizer.inputs, MOST_INPUTS)))
    for tried in [inputs] if inputs is not None else [everything, ends(randomizer)]:
        if followable(randomizer, tried):
            return exact_audit(randomizer, tried)
    few = None if inputs is None else inputs[:_MOST_SAMPLED]
    return sampled_audit(randomizer, trials, confidence, source, few)


def followable(randomizer: Any, tried: Sequence[Input]) -> bool:
    """Whether all paths of these inputs can be followed."""
    try:
        one, _ = planned(randomizer, tried[:1])
        return one * len(tried) <= MOST_PATHS and planned(randomizer, tried)[0] <= MOST_PATHS
    except InvalidParameter:  # it draws words that stay with the party, of which there are too many
        return False
