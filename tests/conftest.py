"""What a run of the tests needs at its beginning, and says at its end."""

from __future__ import annotations

import gc
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.tidy.collected import FLOOR, too_few
from tests.vectors.prio3_vectors import which

# How long an example takes is the machine's affair, and no failure.
settings.register_profile("house", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("house")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """A run of everything has as many tests as there are; before some are left out by their marks."""
    missing = too_few([item.nodeid.split("[")[0] for item in items], FLOOR)
    if missing and config.args_source is pytest.Config.ArgsSource.TESTPATHS:
        raise pytest.UsageError(missing)


def pytest_collection_finish() -> None:
    """What was collected stays to the end: the collector of garbage need not look at it, in the middle of what is timed."""
    gc.collect()
    gc.freeze()


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Which vectors Prio3 was held against, if it was: without the published ones that should not go unnoticed."""
    reports = [one for kind in ("passed", "failed") for one in terminalreporter.stats.get(kind, ())]
    if any(getattr(report, "nodeid", "").startswith("tests/vectors/") for report in reports):
        terminalreporter.write_line(which())
