"""Makes an agent's state again and again, and kills the making at one line of it after the other.

    python -m tests.fault.init_process CONFIG STEP

A forked child for every line of the files that make state, or for one line in STEP: before it executes that line, it is
gone by SIGKILL.  Then the agent must
not run, unless its state is whole, and making it again must complete it.  The process writes one line of JSON: what
was found in the state directory after the deaths, and how often.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any

from localdp.errors import LocalDpError
from parties.agent import state
from parties.agent.config import AgentConfig, load_config
from parties.agent.unfinished import MARK

_WATCHED = {
    str(Path(state.__file__).with_name(f"{name}.py"))
    for name in (
        "state",
        "epochs",
        "unfinished",
        "secret_file",
        "people",
        "ledger",
        "chain",
        "mark",
        "opening",
    )
}


def _make_and_die(config: AgentConfig, lines: int) -> None:
    """Make the state, and die before the line of that number."""
    seen = 0

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal seen
        if frame.f_code.co_filename not in _WATCHED:
            return None
        if event == "line":
            if seen == lines:
                os.kill(os.getpid(), signal.SIGKILL)
            seen += 1
        return trace

    sys.settrace(trace)
    state.init_storage(config)


def _was_killed(config: AgentConfig, lines: int) -> bool:
    child = os.fork()
    if child == 0:
        try:
            _make_and_die(config, lines)
        finally:
            os._exit(0)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


def _runs(config: AgentConfig) -> bool:
    try:
        state.AgentState(config).close()
    except LocalDpError:
        return False
    return True


def main() -> None:
    """Kill at every line until one child survives."""
    config, step, found, lines = load_config(Path(sys.argv[1])), int(sys.argv[2]), Counter[str](), 0
    while _was_killed(config, lines):
        names = {path.name for path in config.storage.iterdir()} if config.storage.exists() else set[str]()
        found[" ".join(sorted(name for name in names if not name.endswith(("-wal", "-shm"))))] += 1
        whole = MARK not in names and state.LEDGER_NAME in names
        assert _runs(config) == whole, names
        if not whole:
            state.init_storage(config)
        assert _runs(config) and MARK not in os.listdir(config.storage)
        shutil.rmtree(config.storage)
        lines += step
    print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
