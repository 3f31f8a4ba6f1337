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
import sys
from collections import Counter
from functools import partial
from pathlib import Path

from localdp.errors import LocalDpError
from parties.agent import state
from parties.agent.config import AgentConfig, load_config
from parties.agent.unfinished import MARK
from tests.fault.line_deaths import lived

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


def _runs(config: AgentConfig) -> bool:
    try:
        state.AgentState(config).close()
    except LocalDpError:
        return False
    return True


def main() -> None:
    """Kill at every line until one child survives."""
    config, step, found, lines = load_config(Path(sys.argv[1])), int(sys.argv[2]), Counter[str](), 0
    while lived(partial(state.init_storage, config), lines, _WATCHED) is None:
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
