"""A coordinator that dies, by SIGKILL, when its round has come to a given step.

    python -m tests.fault.round_process JOURNAL IDENTIFIER STEP

It asks everybody enrolled in the journal, and says on standard output how many steps there were if it lives to the end.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import closing

from parties.rounds.round import Rounds
from tests.support.federations import request

QUERY, RANDOMIZER, SECONDS = "smoker", request().randomizer, 30.0


def main() -> None:
    """Ask, and die on the way."""
    place, identifier, last = sys.argv[1], bytes.fromhex(sys.argv[2]), int(sys.argv[3])
    steps: list[str] = []

    def step(name: str) -> None:
        steps.append(name)
        if len(steps) == last:
            os.kill(os.getpid(), signal.SIGKILL)

    with closing(Rounds(place, identifiers=lambda: identifier, step=step)) as rounds:
        rounds.ask(QUERY, RANDOMIZER, deadline_seconds=SECONDS)
    print(*steps, flush=True)


if __name__ == "__main__":
    main()
