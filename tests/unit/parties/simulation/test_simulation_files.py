"""A soft limit of open files is raised where it is too low and left where it is not; a hard one is told."""

from __future__ import annotations

import resource

import pytest

from localdp.errors import InvalidParameter
from parties.simulation.open_files import allow_open_files

INFINITE = resource.RLIM_INFINITY


@pytest.mark.parametrize(
    ("before", "wanted", "after"),
    [
        ((1024, 4096), 3000, (3000, 4096)),
        ((1024, INFINITE), 3000, (3000, INFINITE)),
        ((1024, 4096), 1024, None),
        ((INFINITE, INFINITE), 3000, None),
    ],
)
def test_the_soft_limit_is_raised_only_where_it_is_too_low(
    monkeypatch: pytest.MonkeyPatch,
    before: tuple[int, int],
    wanted: int,
    after: tuple[int, int] | None,
) -> None:
    made: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "getrlimit", lambda _: before)
    monkeypatch.setattr(resource, "setrlimit", lambda _, limits: made.append(limits))
    allow_open_files(wanted)
    assert made == ([] if after is None else [after])


def test_what_the_system_does_not_allow_is_refused_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1024, 2048))
    with pytest.raises(InvalidParameter, match="more processes, fewer parties"):
        allow_open_files(3000)
