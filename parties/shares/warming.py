"""Compiling the verification of proofs beside everything else, once on a machine; a server verifies without it meanwhile.

A thread that nobody waits for: neither a collection that is opened, nor the end of the process.

Checked in tests/unit/parties/shares/test_warming.py and tests/integration/test_first_proofs.py.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from parties.observability.logs import log


class Warming:
    """What one server compiles, and whom it tells."""

    def __init__(self, name: str, told: Callable[[str], None] | None = None) -> None:
        """Without somebody to tell, it is in the log."""
        self._name = name
        self._told = told or self._log

    def begin(self, work: Callable[[], None] | None) -> None:
        """Do it in a thread of its own, if there is anything to do."""
        if work is not None:
            threading.Thread(target=self._run, args=(work,), name="compiling", daemon=True).start()

    def tell(self, step: str, done: int, steps: int) -> None:
        """Before each step, and once after the last."""
        if done == steps:
            self._told(f"{self._name}: the verification of proofs is compiled")
        else:
            self._told(
                f"{self._name}: compiling the verification of proofs, {step} ({done + 1} of {steps});"
                " reports are verified without it meanwhile"
            )

    def _run(self, work: Callable[[], None]) -> None:
        try:
            work()
        except Exception as error:  # then it stays as slow as it was
            self._told(
                f"{self._name}: the verification of proofs could not be compiled ({type(error).__name__})"
            )

    def _log(self, text: str) -> None:
        log(logging.INFO, "compiling", {"role": "share-server", "name": self._name, "text": text})
