"""A floor under the tests that are collected: a module that can no longer be found does not vanish in silence."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path

FLOOR: int = tomllib.loads((Path(__file__).parent / "ratchets.toml").read_text())["at_least"][
    "test_functions"
]


def too_few(functions: Sequence[str], floor: int) -> str | None:
    """What to say if there are fewer different test functions than there were; None if there are enough."""
    found = len(set(functions))
    if found >= floor:
        return None
    return f"{found:,} test functions were collected, and there were {floor:,} at least: what is gone?"
