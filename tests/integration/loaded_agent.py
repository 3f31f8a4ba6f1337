"""An agent as a process of its own, with certificates and limits, for tests that load it: sound, or worse in one way.

    python -m tests.integration.loaded_agent KIND PEOPLE KEYS

It writes its port, serves until SIGTERM, and ends as `localdp agent run` does.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path

from localdp.party.party import Party
from parties.agent.run import GRACE_SECONDS
from parties.agent.service import SERVER_OPTIONS, SERVICE_NAME, AgentService
from parties.agent.work import WorkLimits
from parties.identity import load_identity
from parties.serving import start_server
from tests.support import broken_work
from tests.support.people import party_of, population

KINDS = {
    "sound": broken_work.sound,
    "unfair": broken_work.unfair,
    "by people": broken_work.by_people,
    "no places": broken_work.NoPlaces,
}


async def serve(kind: str, people: int, keys: Path) -> None:
    """Serve until asked to stop."""
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    agent = made(kind, party_of(population(people)))
    register = [(SERVICE_NAME, agent.register)]
    identity = load_identity(keys / "party-0")
    server, port = await start_server("127.0.0.1", 0, register, identity, SERVER_OPTIONS)
    print(port, flush=True)
    await stop.wait()
    await server.stop(GRACE_SECONDS)
    await agent.close()


def made(kind: str, party: Party) -> AgentService:
    """The agent; what its callers may have in an hour is not what is tested."""
    return KINDS[kind](party, WorkLimits(caller_seconds=1e6, total_seconds=1e6, stall_seconds=2.0))


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])))
