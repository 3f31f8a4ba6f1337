"""The name that somebody probably meant: said beside a refusal, never acted on.

Checked in tests/unit/test_domains.py.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from itertools import islice

_MOST_COMPARED = 1024  # a bound on the work of a refusal


def suggestion(word: str, known: Iterable[str]) -> str:
    """What to add to "there is no ...": the nearest of the known names, in whatever case, or nothing."""
    by_case: dict[str, str] = {}
    for name in islice(known, _MOST_COMPARED):
        by_case.setdefault(name.lower(), name)
    nearest = get_close_matches(word.lower(), by_case, n=1)
    return f"; did you mean {by_case[nearest[0]]!r:.80}?" if nearest else ""
