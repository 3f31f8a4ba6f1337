"""The process that starts simulated parties: it forks itself, preloaded, and cleans up whatever happens.

A fork of a process that has numpy and grpc loaded takes milliseconds and shares its memory; a fresh interpreter takes
half a second.  The nursery itself never makes a channel or a server, so forking it is safe.

It makes the simulation's directory and writes its path on standard output.  Then it reads one role a line on standard
input, forks, and the child writes a line with its port to standard output, for each agent that it hosts.  When its input
ends (the launcher closed it, or was killed), it ends its children, removes the directory and exits.  A child ends by itself
when the nursery is gone.  None of them hears Ctrl-C: only the launcher does.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

# Loaded once here, for all children.
from parties.agent.service import SERVICE_NAME as AGENT_SERVICE
from parties.agent.service import AgentService
from parties.observability.logs import configure_logs
from parties.serving import GRACE_SECONDS, start_server
from parties.shares.service import SERVICE_NAME as SHARE_SERVICE
from parties.shares.service import ShareService
from parties.shuffler.service import SERVICE_NAME as SHUFFLER_SERVICE
from parties.shuffler.service import ShufflerService
from parties.simulation.roles import (
    HOST,
    AgentRole,
    AgentsRole,
    Role,
    ShareServerRole,
    ShufflerRole,
    role_from_line,
)

TERMINATE_SECONDS = 5.0
Ending = Callable[[], Awaitable[None]]


async def serve(role: Role, orphaned: int) -> None:
    """Be that role until asked to stop, or until the nursery is gone."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, stop.set)
    loop.add_reader(orphaned, stop.set)
    hosted = role.agents if isinstance(role, AgentsRole) else (role,)
    endings = [await begin(one) for one in hosted]
    await stop.wait()
    loop.remove_reader(orphaned)
    await asyncio.gather(*(ending() for ending in endings))


async def begin(role: AgentRole | ShareServerRole | ShufflerRole) -> Ending:
    """Serve one role on a port of its own, and tell the launcher; what is returned ends it."""
    if isinstance(role, AgentRole):
        agent = AgentService(role.build(), role.share_servers)
        name, register, close = AGENT_SERVICE, agent.register, agent.close
    elif isinstance(role, ShufflerRole):
        mixing = ShufflerService(role.name, await asyncio.to_thread(role.build))
        name, register, close = SHUFFLER_SERVICE, mixing.register, mixing.close
    else:
        shares = ShareService(role.build())
        name, register, close = SHARE_SERVICE, shares.register, shares.close
    server, port = await start_server(HOST, 0, [(name, register)])
    report(name=role.name, port=port, pid=os.getpid())

    async def ending() -> None:
        await server.stop(GRACE_SECONDS)
        await close()

    return ending


def report(**line: object) -> None:
    """One line to the launcher; short enough to be written in one piece."""
    os.write(sys.stdout.fileno(), (json.dumps(line) + "\n").encode())


def be_child(line: str, orphaned: int) -> None:
    """Run a role in a fresh fork, and never return."""
    status = 1
    try:
        role = role_from_line(line)
        configure_logs("error")
        try:
            asyncio.run(serve(role, orphaned))
            status = 0
        except Exception as error:
            # The type only: the text could quote a record.
            report(name=role.name, failed=type(error).__name__)
    finally:
        os._exit(status)


def end(children: set[int]) -> None:
    """Terminate, wait, and kill what is left; by process id, nothing else."""
    for child in children:
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGTERM)
    deadline = time.monotonic() + TERMINATE_SECONDS
    while children and time.monotonic() < deadline:
        reap(children)
        time.sleep(0.01)
    for child in children:
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def reap(children: set[int]) -> None:
    """Forget the children that have ended."""
    while children:
        # Whichever: to ask after each of them, for each of them, takes seconds.
        ended, _ = os.waitpid(-1, os.WNOHANG)
        if not ended:
            return
        children.discard(ended)


@contextlib.contextmanager
def _termination_held_back() -> Iterator[None]:
    """SIGTERM waits meanwhile: after a fork Python forgets signals that have come but were not handled yet."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})


def main() -> None:
    """Fork a child for every line of input; clean up at its end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    orphaned, alive = os.pipe()
    children: set[int] = set()
    "".encode("cp437")  # what reads a zip file looks this encoding up
    gc.collect()
    gc.freeze()  # or every child's first collection would touch, and thereby copy, all that it shares with the others
    # Made here and not by the launcher: whoever makes it must be the one that outlives a kill -9 of the other.
    directory = Path(tempfile.mkdtemp(prefix="localdp-"))
    try:
        report(directory=str(directory))
        for line in sys.stdin:
            with _termination_held_back():
                child = os.fork()
                if child == 0:
                    os.close(alive)
                    os.close(sys.stdin.fileno())
                    signal.signal(signal.SIGTERM, signal.SIG_DFL)
                    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
                    be_child(line, orphaned)
                children.add(child)
            reap(children)
    except BrokenPipeError:
        pass  # the launcher is gone already
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        end(children)
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main()
