"""Every separation that can be run by its name.

Checked in tests/integration/test_separate_command.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from localdp.experiments.boosting_queries import boosting
from localdp.experiments.counters import counters
from localdp.experiments.packing import packing
from localdp.experiments.separations import Separation, conjunctions, masked_parity, parity

SEPARATIONS: Mapping[str, Callable[[], Separation]] = {
    "parity": parity,
    "masked-parity": masked_parity,
    "conjunctions": conjunctions,
    "packing": packing,
    "boosting": boosting,
    "counters": counters,
}
