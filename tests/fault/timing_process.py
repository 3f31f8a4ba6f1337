"""An agent as a process whose answers tell the time: broken in one of the ways that a test must notice.

    python -m tests.fault.timing_process VARIANT CONFIG

`as-it-was`: no quantum, no kept answers, and the masked assignments of before.  `masked`: no quantum, and the masked
assignments, but a repetition is answered from what was sent.  It writes its address on standard output and serves until
it is ended.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from localdp.queries import vector_evaluate
from parties.agent import run
from parties.agent.config import load_config
from parties.agent.service import AgentService
from parties.agent.work import WorkLimits
from tests.support.leaky_queries import first_by_masks, nearest_by_masks

VARIANTS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "as-it-was": lambda options: {**options, "limits": WorkLimits.unbounded(), "kept": None},
    "masked": lambda options: {**options, "limits": WorkLimits.unbounded()},
}


def serve(variant: str, config: Path) -> None:
    """`localdp agent run`, with the parts of before in it."""
    parts: Any = {"_first": first_by_masks, "_nearest": nearest_by_masks}
    vars(vector_evaluate).update(parts)

    def service(*arguments: Any, **options: Any) -> AgentService:
        return AgentService(*arguments, **VARIANTS[variant](options))

    vars(run)["AgentService"] = service
    asyncio.run(
        run.serve_agent(load_config(config), lambda address: print(json.dumps(address), flush=True))
    )


if __name__ == "__main__":
    serve(sys.argv[1], Path(sys.argv[2]))
