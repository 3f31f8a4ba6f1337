"""What a run of the tests says at its end."""

from __future__ import annotations

from typing import Any

from tests.vectors.prio3_vectors import which


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Which vectors Prio3 was held against, if it was: without the published ones that should not go unnoticed."""
    reports = [one for kind in ("passed", "failed") for one in terminalreporter.stats.get(kind, ())]
    if any(getattr(report, "nodeid", "").startswith("tests/vectors/") for report in reports):
        terminalreporter.write_line(which())
