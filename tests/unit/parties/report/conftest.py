"""One experiment that was run, and its report: read by many tests, changed by none."""

from __future__ import annotations

import pytest

from tests.support.reports import Results, page_of, run_of


@pytest.fixture(scope="session")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """What `localdp run` wrote."""
    return run_of(tmp_path_factory.mktemp("run"))[1]


@pytest.fixture(scope="session")
def page(results: Results, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The page that was made of it."""
    return page_of(tmp_path_factory.mktemp("page"), results)
