"""What a refresh under load is made of: an agent, sound or broken, and an owner whose publications are killed.

    python -m tests.fault.refresh_process sound|swapping CONFIG
    python -m tests.fault.refresh_process publish CONFIG

The agent is that of `localdp agent run`, with short parts, so that an answer has many of them; it writes its address.  The
owner reads a fraction a line and publishes the table in a forked child, which is gone by SIGKILL after that part of the
lines that a whole publication has (1: it is not killed).  It says `open` or `killed`.
"""

from __future__ import annotations

import asyncio
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

from localdp.cohorts import Asked, Cohort
from localdp.party.party import Draw, Party, Request
from localdp.randomizers.definition import Values
from parties.agent import plan, state
from parties.agent.config import AgentConfig, load_config
from parties.agent.run import serve_agent
from tests.fault.line_deaths import lived

PEOPLE_PER_PART = 16
_WATCHED = {
    str(Path(state.__file__).with_name(f"{name}.py"))
    for name in ("state", "epochs", "people", "ledger", "chain", "mark", "opening", "changes", "data")
}


class Swapping(Party):
    """Broken: every part of an answer is read off whatever records are there by then."""

    def charged(self, request: Request, cohort: Cohort, caller: str = "") -> Draw:
        honest = super().charged(request, cohort, caller)
        question = request.question(self.records.schema)

        def inputs(part: Asked) -> Values:
            return question.inputs(self.epoch.rows_of(part, honest.name, b"", question.columns))

        return replace(honest, inputs=inputs)


def _serve(config: AgentConfig, variant: str) -> None:
    plan.PEOPLE_PER_PART = PEOPLE_PER_PART
    if variant == "swapping":
        vars(state)["Party"] = Swapping
    asyncio.run(serve_agent(config, lambda address: print(address, flush=True)))


def _publish(config: AgentConfig) -> None:
    whole = 0
    for line in sys.stdin:
        fraction = float(line)
        last = -1 if fraction == 1 or not whole else int(fraction * whole)
        lines = lived(partial(state.publish, config), last, _WATCHED)
        whole = lines or whole
        print("killed" if lines is None else "open", flush=True)


def main() -> None:
    """Be the one or the other."""
    role, config = sys.argv[1], load_config(Path(sys.argv[2]))
    if role == "publish":
        _publish(config)
    else:
        _serve(config, role)


if __name__ == "__main__":
    main()
