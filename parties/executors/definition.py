"""The protocol of whoever runs functions somewhere: here, in processes, on a cluster.

Checked for every implementation in tests/contract/test_executors.py.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Protocol, TypeVar

_Result = TypeVar("_Result")


class Executor(Protocol):
    """Runs functions somewhere, in any order."""

    @property
    def workers(self) -> int:
        """How many functions it runs at once, beside this process; 0: it runs them in it."""
        ...

    @property
    def lost(self) -> tuple[type[BaseException], ...]:
        """What a future raises that was lost with its worker: the function did not raise it, and may be run again."""
        ...

    def submit(self, function: Callable[..., _Result], /, *arguments: object) -> Future[_Result]:
        """Begin, soon."""
        ...

    def mend(self) -> None:
        """After a loss: have workers again, in the place of those that are gone."""
        ...

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Let go of the workers."""
        ...
