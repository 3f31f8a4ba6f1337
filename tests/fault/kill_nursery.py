"""Starts agents that are killed, quickly: a process that has everything loaded forks itself for each of them.

    python -m tests.fault.kill_nursery

It reads one job a line, forks, and the child writes its port and process id.  A job is the agent's role, the variant of the
agent, and the number of steps after which the agent kills itself with SIGKILL (never, if negative).  A step is a
statement to the ledger's file, before and after it is executed, and a part of a reply, before and after it is sent.
A shuffler is one of them as well, with the path of its ledger; what comes from its parties is a step, too.
Without input it ends; children that still run then are killed by their ids.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from typing import Any

from localdp.party.party import Party
from parties.agent.ledger import SqliteLedger
from parties.agent.service import SERVICE_NAME, AgentService
from parties.serving import start_server
from parties.simulation.roles import AgentRole, ShufflerRole, role_from_line
from tests.fault.dying_shuffler import shuffler
from tests.fault.fuse import BurningFile, Fuse, stepping
from tests.support.broken_parties import FreshSecrets, OwedLedger


class _Service(AgentService):
    fuse: Fuse

    async def Randomize(self, request: Any, context: Any) -> AsyncIterator[Any]:  # noqa: N802
        async for part in stepping(self.fuse, super().Randomize(request, context)):
            yield part

    async def Flood(self, request: Any, context: Any) -> AsyncIterator[Any]:  # noqa: N802
        async for part in stepping(self.fuse, super().Flood(request, context)):
            yield part


def _party(role: AgentRole, variant: str, fuse: Fuse) -> Party:
    party = role.build()
    assert isinstance(party.ledger, SqliteLedger)
    party.ledger._file = BurningFile(party.ledger._file, fuse)  # type: ignore[assignment]
    if variant == "charge-after-reply":
        party.ledger = OwedLedger(party.ledger)
    if variant == "fresh-coins":
        secrets = FreshSecrets("", {"": os.urandom(32)}, bytes(32))
        party = Party(party.name, party.records, secrets, party.ledger, party.policy)
    return party


def _agent(role: AgentRole, job: dict[str, Any], fuse: Fuse) -> tuple[str, Any]:
    service = _Service(_party(role, job["variant"], fuse), {})
    service.fuse = fuse
    return SERVICE_NAME, service


async def _serve(job: dict[str, Any]) -> None:
    fuse, role = Fuse(job["steps"]), role_from_line(job["role"])
    if isinstance(role, ShufflerRole):
        name, service = await asyncio.to_thread(shuffler, role, job, fuse)
    else:
        assert isinstance(role, AgentRole)
        name, service = _agent(role, job, fuse)
    server, port = await start_server("127.0.0.1", 0, [(name, service.register)])
    os.write(sys.stdout.fileno(), (json.dumps({"port": port, "pid": os.getpid()}) + "\n").encode())
    await server.wait_for_termination()


def main() -> None:
    """Fork for every line."""
    children: list[int] = []
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            try:
                os.close(sys.stdin.fileno())
                asyncio.run(_serve(json.loads(line)))
            finally:
                os._exit(1)
        children = [one for one in [*children, child] if os.waitpid(one, os.WNOHANG) == (0, 0)]
    for child in children:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


if __name__ == "__main__":
    main()
