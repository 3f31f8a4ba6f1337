"""A process that counts a stream and dies, by SIGKILL, when its work has come to a given step.

    python -m tests.fault.stream_process ADDRESSES JOURNAL STEP

Whatever it was told it says on standard output; if it lives to the end, how many steps of work there were as well.
"""

from __future__ import annotations

import functools
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from parties.coordinator import RemoteParties
from parties.federation import Federation
from parties.shares.collector import RemoteShareServers

CALLS = ("bind", "open", "contribute", "agree", "holdings", "release")


def main() -> None:
    """Count on, and die on the way."""
    addresses, journal, last = sys.argv[1], sys.argv[2], int(sys.argv[3])
    notes: list[str] = []

    def note(name: str) -> None:
        notes.append(name)
        if len(notes) == last:
            os.kill(os.getpid(), signal.SIGKILL)

    for kind, names in ((RemoteShareServers, CALLS), (RemoteParties, ("reports",))):
        for name in names:
            setattr(kind, name, _noted(getattr(kind, name), name, note))
    with Federation.connect(addresses) as federation:
        stream = federation.stream(journal)
        stream.noted = note
        while len(stream.counts) < stream.terms.steps:
            count = stream.next()
            print(count.step, *(float(one).hex() for one in count.values), flush=True)
    print("lived", *notes, flush=True)


def _noted(call: Callable[..., Any], name: str, note: Callable[[str], None]) -> Callable[..., Any]:
    """The call, noted when it is over."""

    @functools.wraps(call)
    def noted(*args: Any, **options: Any) -> Any:
        answer = call(*args, **options)
        note(name)
        return answer

    return noted


if __name__ == "__main__":
    main()
