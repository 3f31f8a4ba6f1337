"""This process as an executor: everything is run at once, where it is submitted."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

_Result = TypeVar("_Result")


class ThisProcess:
    """Runs everything at once, here."""

    workers = 0
    lost: tuple[type[BaseException], ...] = ()

    def submit(self, function: Callable[..., _Result], /, *arguments: object) -> Future[_Result]:
        """Run it now."""
        future: Future[_Result] = Future()
        try:
            future.set_result(function(*arguments))
        except Exception as error:
            future.set_exception(error)
        return future

    def mend(self) -> None:
        """Nobody can have been lost."""

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """There is nobody to let go."""
