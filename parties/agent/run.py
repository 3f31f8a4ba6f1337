"""A real agent from its configuration: the party behind it, and the server in front of it."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Callable
from pathlib import Path

from localdp.errors import InvalidParameter
from localdp.oracles.party import Party
from localdp.oracles.policy import Policy
from parties.agent.config import AgentConfig
from parties.agent.data import load_table
from parties.agent.ledger import SqliteLedger
from parties.agent.secret_file import FILE_NAME, load_secrets, make_secrets
from parties.agent.service import SERVICE_NAME, AgentService
from parties.identity import Identity, load_identity
from parties.serving import GRACE_SECONDS, is_loopback, start_server

LEDGER_NAME = "ledger.sqlite"


def init_storage(config: AgentConfig) -> Path:
    """Make an agent's secret keys and its empty ledger; nothing that exists is touched."""
    ledger = config.storage / LEDGER_NAME
    if ledger.exists() or (config.storage / FILE_NAME).exists():
        raise InvalidParameter(f"{config.storage} holds an agent's state already; it is not overwritten")
    party_of(config, make=True)
    return config.storage


def party_of(config: AgentConfig, *, make: bool = False) -> Party:
    """The party: records, keys, ledger and policy.  A ledger that is missing is never replaced by an empty one."""
    ledger_path = config.storage / LEDGER_NAME
    if not make and not ledger_path.is_file():
        raise InvalidParameter(
            f"there is no ledger at {ledger_path}; an empty one would forget what was spent. "
            "If this agent is new, run `localdp agent init`"
        )
    records, ownership = load_table(config.data, config.schema, config.person, config.rows)
    secrets = make_secrets(config.storage) if make else load_secrets(config.storage)
    each = ownership is not None and ownership.rows == "each"
    ledger = SqliteLedger(
        ledger_path,
        records.people if ownership is None else ownership.people,
        config.budget,
        owners=ownership.owners if ownership is not None and each else None,
        limit_per_day=config.budget_per_day,
    )
    return Party(config.name, records, secrets.secrets, ledger, policy_of(config), ownership)


def policy_of(config: AgentConfig) -> Policy:
    """The owner's rules."""
    return Policy(
        largest_epsilon=config.largest_epsilon,
        minimum_cohort=config.minimum_cohort,
        minimum_batch=config.minimum_batch,
        columns=config.columns,
        aggregators=config.aggregators,
        by_content=config.by_content,
    )


def identity_of(config: AgentConfig) -> Identity | None:
    """The certificate, where there is one; without it nobody can be told from anybody."""
    if config.tls is not None:
        return load_identity(config.tls)
    if not is_loopback(config.address):
        raise InvalidParameter(
            f"{config.address} is not loopback: [tls] is needed (make one with `localdp keys`)"
        )
    if config.aggregators is not None:
        raise InvalidParameter("policy.aggregators names callers by their certificates: it needs [tls]")
    return None


async def serve_agent(config: AgentConfig, started: Callable[[str], None]) -> None:
    """Serve until SIGINT or SIGTERM, then finish what was begun."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    identity = identity_of(config)
    service = AgentService(party_of(config), config.share_servers, identity)
    host, _, port = config.address.rpartition(":")
    try:
        server, bound = await start_server(host, int(port), [(SERVICE_NAME, service.register)], identity)
        started(f"{host}:{bound}")
        with contextlib.suppress(asyncio.CancelledError):
            await stop.wait()
        await server.stop(GRACE_SECONDS)
    finally:
        await service.close()
