"""Integer thresholds over 2**64 from an epsilon, rounded against us.

Most randomizers keep the truth with probability a e / (a e + b), where e = exp(epsilon) and a, b are integers: how many
outputs the truth may be kept by, and how many others there are.  Here that probability becomes T / 2**64 with T rounded
down, so that the ratio of a true output to another one, (T / a) / ((2**64 - T) / b), never exceeds e.

Checked in tests/unit/randomizers/parts/test_thresholds.py.
"""

import functools

from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter
from localdp.randomness.enclosures import exp_enclosure
from localdp.randomness.source import WORD_RANGE

_ENCLOSURE_BITS = 192


@functools.lru_cache(maxsize=1024)
def keep_threshold(epsilon: Epsilon, kept: int = 1, others: int = 1) -> int:
    """The largest T (up to the precision of the enclosure) with T * others <= exp(epsilon) * kept * (2**64 - T)."""
    if kept < 1 or others < 1:
        raise InvalidParameter(
            "a randomizer keeps the truth by at least one output, and there is at least one other"
        )
    lower, _ = exp_enclosure(epsilon.exact, _ENCLOSURE_BITS)
    weight = lower * kept
    return WORD_RANGE * weight // (weight + (others << _ENCLOSURE_BITS))
