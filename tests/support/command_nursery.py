"""Runs `localdp`, quickly: a process that has everything loaded forks itself for each command.

    python -m tests.support.command_nursery SOCKET

A fresh interpreter takes a second until it knows what it was asked; a fork takes milliseconds, and is a process of its own
all the same, with arguments, environment, directory and exit code.  On the socket comes one job a message, with files for
standard output and standard error and a pipe for the exit code.  Without a socket it ends.

That a forked command says what a fresh one says is checked in tests/integration/test_command_nursery.py.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import pkgutil
import signal
import socket
import sys
import tempfile
from typing import Any

MOST_BYTES = 1 << 17  # of a job: the environment is most of it
_MORE = (
    "cryptography.x509",
    "pandas",  # which pyarrow looks for
    "parties.agent.run",
    "parties.federation",
    "parties.witness.service",
    "pyarrow.compute",
    "pyarrow.csv",
    "pyarrow.parquet",
)


def load() -> None:
    """Import what commands import when they are called."""
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # as the command does, before grpc is loaded
    from typer.main import get_command

    import parties.command
    from parties.command.main import app

    for module in pkgutil.iter_modules(parties.command.__path__, "parties.command."):
        importlib.import_module(module.name)
    for name in _MORE:
        importlib.import_module(name)
    get_command(app).main(["--version"], standalone_mode=False)  # which loads more
    gc.collect()
    gc.freeze()


def become(job: dict[str, Any], out: int, err: int) -> None:
    """Take the place of a command that has just been started."""
    for source, target in ((os.open(os.devnull, os.O_RDONLY), 0), (out, 1), (err, 2)):
        os.dup2(source, target)
        os.close(source)
    os.seteuid(job["user"])
    os.chdir(job["directory"])
    os.environ.clear()
    os.environ.update(job["environment"])
    tempfile.tempdir = None
    sys.argv = ["localdp", *job["arguments"]]


def watch(child: int, told: int) -> None:
    """Tell how a command ended."""
    os.write(told, b"%d\n" % child)
    _, status = os.waitpid(child, 0)
    os.write(told, b"%d\n" % os.waitstatus_to_exitcode(status))


def main() -> None:
    """Fork for every message; a fork goes on as the command, and ends as an interpreter ends."""
    with socket.socket(fileno=int(sys.argv[1])) as jobs:
        load()
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        while True:
            message, handles, *_ = socket.recv_fds(jobs, MOST_BYTES, 3)
            if not message:
                return
            if os.fork() == 0:
                break
            for handle in handles:
                os.close(handle)
    out, err, told = handles
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    if child := os.fork():
        watch(child, told)
        os._exit(0)
    os.close(told)
    become(json.loads(message), out, err)
    from parties.command.main import main as command

    command()


if __name__ == "__main__":
    main()
