"""An agent as a process that dies when told to: sound, or broken in one of the ways that a test must notice.

    python -m tests.fault.agent_process VARIANT live|dying|half-way ROLE [PORT]

It writes the port on standard output and serves until it is ended.  A dying one is gone, by SIGKILL, as soon as its
ledger has taken a charge and before anything else happens; a half-way one when it has sent two messages of a stream.
With a port a message has eight reports, so that few people make a stream.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.ledger import Charge, Ledger, MemoryLedger, Receipt
from localdp.party.party import Party
from parties.agent import plan
from parties.agent.service import SERVICE_NAME, AgentService
from parties.serving import start_server
from parties.simulation.roles import AgentRole, role_from_line
from tests.support.broken_parties import FreshSecrets, OwedLedger


class DyingLedger:
    """Dies right after the first charge that was really taken."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    @property
    def limit(self) -> Epsilon:
        return self._ledger.limit

    def charge(self, charge: Charge) -> Receipt:
        taken = self._ledger.charge(charge)
        if taken:
            os.kill(os.getpid(), signal.SIGKILL)
        return taken

    def require(self, charge: Charge) -> None:
        self._ledger.require(charge)

    def was_heard(self, charge: Charge) -> bool:
        return self._ledger.was_heard(charge)

    def spent(self) -> NDArray[np.int64]:
        return self._ledger.spent()


class ChargeAfterReplyService(AgentService):
    """Broken: answers first, and charges when the next call comes in."""

    async def Describe(self, request: Any, context: Any) -> Any:  # noqa: N802
        self._settle()
        return await super().Describe(request, context)

    async def Randomize(self, request: Any, context: Any) -> AsyncIterator[Any]:  # noqa: N802
        self._settle()
        async for part in super().Randomize(request, context):
            yield part

    def _settle(self) -> None:
        ledger = self._party.ledger
        assert isinstance(ledger, OwedLedger)
        ledger.settle()


class HalfWayService(AgentService):
    """Dies when two messages of a stream have left."""

    async def Randomize(self, request: Any, context: Any) -> AsyncIterator[Any]:  # noqa: N802
        sent = 0
        async for part in super().Randomize(request, context):
            if sent == 2:
                await asyncio.sleep(0.1)  # or the messages might not have left
                os.kill(os.getpid(), signal.SIGKILL)
            yield part
            sent += 1


def _sound(party: Party) -> Party:
    return party


def _fresh_coins(party: Party) -> Party:
    """Broken: a key of its own for every run of the process."""
    secrets = FreshSecrets("", {"": os.urandom(32)}, bytes(32))
    return Party(party.name, party.records, secrets, party.ledger, party.policy)


def _forgetful(party: Party) -> Party:
    """Broken: the ledger is in memory."""
    party.ledger = MemoryLedger(party.people, party.ledger.limit)
    return party


VARIANTS: dict[str, Callable[[Party], Party]] = {
    "sound": _sound,
    "fresh-coins": _fresh_coins,
    "forgetful-ledger": _forgetful,
    "charge-after-reply": _sound,
}


async def _serve(variant: str, life: str, role: AgentRole, port: int) -> None:
    party = VARIANTS[variant](role.build())
    if life == "dying":
        party.ledger = DyingLedger(party.ledger)
    kind: type[AgentService] = HalfWayService if life == "half-way" else AgentService
    if variant == "charge-after-reply":
        kind, party.ledger = ChargeAfterReplyService, OwedLedger(party.ledger)
    if port:
        plan.PEOPLE_PER_PART = 8
    server, bound = await start_server(
        "127.0.0.1", port, [(SERVICE_NAME, kind(party, role.share_servers).register)]
    )
    print(bound, flush=True)
    await server.wait_for_termination()


def main() -> None:
    """Serve what the arguments say."""
    variant, life, line, *port = sys.argv[1:]
    role = role_from_line(line)
    assert isinstance(role, AgentRole)
    asyncio.run(_serve(variant, life, role, int(port[0]) if port else 0))


if __name__ == "__main__":
    main()
