"""A real agent from its configuration: the party behind it, and the ways to it: it listens, it dials, or both.

Checked in tests/integration/test_tls.py and test_relay.py.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import signal
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import grpc

from localdp.domains import Ownership
from localdp.errors import InvalidParameter, InvalidRecord, LocalDpError
from localdp.oracles.party import Party
from localdp.oracles.policy import Policy
from localdp.randomness.keys import derive_key
from parties.agent.config import AgentConfig, Dial
from parties.agent.data import load_table
from parties.agent.ledger import SqliteLedger, open_for_reading
from parties.agent.people import Index, number_people, pin_indices
from parties.agent.secret_file import FILE_NAME, SecretFile, load_secrets, make_secrets
from parties.agent.service import SERVICE_NAME, AgentService
from parties.agent.unfinished import is_unfinished, making, require_finished
from parties.identity import Identity, load_identity
from parties.observability.endpoint import metrics_served
from parties.observability.logs import configure_logs, log, release_logs
from parties.observability.observer import Observer, WatchedLedger
from parties.relay.answering import Methods
from parties.relay.dialling import Line, keep_attached
from parties.serving import KEEPALIVE_OPTIONS, is_loopback, open_aio_channel, start_server

GRACE_SECONDS = 10.0  # what was charged is worth finishing
LEDGER_NAME = "ledger.sqlite"


def init_storage(config: AgentConfig) -> Path:
    """Make an agent's secret keys and its empty ledger; what was cut off is completed, what exists is not touched."""
    if not is_unfinished(config.storage) and _holds_something(config.storage):
        raise InvalidParameter(f"{config.storage} holds an agent's state already; it is not overwritten")
    load_table(
        config.data, config.declared, config.person, config.rows
    )  # bad data is refused before keys are made
    with making(config.storage):
        made = (config.storage / FILE_NAME).exists()
        secrets = load_secrets(config.storage) if made else make_secrets(config.storage)
        _opened(config, secrets)[1].close()
    return config.storage


def party_of(config: AgentConfig, *, write: bool = True) -> Party:
    """The party: records, keys, ledger and policy.  A ledger that is missing is never replaced by an empty one.

    Whoever only looks, beside an agent that may be running, does not `write`: then new people are not numbered for good.
    """
    ledger_path = config.storage / LEDGER_NAME
    require_finished(config.storage)
    if not ledger_path.is_file():
        raise InvalidParameter(
            f"there is no ledger at {ledger_path}; an empty one would forget what was spent. "
            "If this agent is new, run `localdp agent init`"
        )
    open_for_reading(ledger_path).close()  # an emptied file, too, would forget
    party, ledger = _opened(config, load_secrets(config.storage), write)
    _require_same_places(config, party, ledger.last_state())
    return party


def _holds_something(storage: Path) -> bool:
    return (storage / LEDGER_NAME).exists() or (storage / FILE_NAME).exists()


def _opened(config: AgentConfig, secrets: SecretFile, write: bool = True) -> tuple[Party, SqliteLedger]:
    """The party on its table and its ledger, whose file is made if it is not there."""
    ledger_path = config.storage / LEDGER_NAME
    pin_indices(ledger_path, _index(config), write=write)
    key = derive_key(secrets.signing, b"people")
    numbering = functools.partial(number_people, ledger_path, key, write=write)
    records, ownership = load_table(config.data, config.declared, config.person, config.rows, numbering)
    ledger = _ledger(config, records.people, ownership)
    return Party(config.name, records, secrets.secrets, ledger, policy_of(config), ownership), ledger


def _index(config: AgentConfig) -> Index:
    """What the ledger keeps budgets by."""
    if config.person is None:
        return "row"
    return "row of a person" if config.rows == "each" else "person"


def _ledger(config: AgentConfig, rows: int, ownership: Ownership | None) -> SqliteLedger:
    """The ledger of people, or of rows where each has its share of its owner's budget."""
    each = ownership is not None and ownership.rows == "each"
    if config.most_rows is not None:
        return _ledger_of_rows(config, config.most_rows, rows, ownership)
    return SqliteLedger(
        config.storage / LEDGER_NAME,
        rows if ownership is None else ownership.people,
        config.budget,
        owners=ownership.owners if ownership is not None and each else None,
        limit_per_day=config.budget_per_day,
        index=_index(config),
    )


def _ledger_of_rows(config: AgentConfig, most: int, rows: int, ownership: Ownership | None) -> SqliteLedger:
    """Nobody owns more rows than `most`, so the shares of one person add up to at most the budget (Definition 12.3)."""
    if ownership is not None and int(ownership.counts.max()) > most:
        raise InvalidRecord(f"{config.data}: somebody has more than data.most_rows = {most} rows")
    per_day = config.budget_per_day.divided_by(most) if config.budget_per_day is not None else None
    limit = config.budget.divided_by(most)
    ledger = SqliteLedger(
        config.storage / LEDGER_NAME, rows, limit, limit_per_day=per_day, index=_index(config)
    )
    if int(ledger.spent().max()) > limit.nanonats:
        ledger.close()
        raise InvalidParameter(
            "rows have spent more than their share: was data.most_rows or the budget changed?"
        )
    return ledger


def _require_same_places(config: AgentConfig, party: Party, charged: bytes | None) -> None:
    """Refuse a changed table in which a budget could pass from one person to another."""
    if charged in (None, party.state()) or config.fixed_order or _index(config) == "person":
        return
    told = (
        f"{config.data} changed since it was last asked about, and budgets are kept by the place of a row. "
    )
    if config.person is None:
        raise InvalidRecord(
            told
            + "Bring the old table back, or say data.fixed_order = true if every row is still the same person's. "
            "An agent that knows people by a column (data.person) has to be told so before it is first asked"
        )
    raise InvalidRecord(
        told
        + 'Bring the old table back. Where tables change, use rows = "sample", from the first question on'
    )


def policy_of(config: AgentConfig) -> Policy:
    """The owner's rules."""
    return Policy(
        largest_epsilon=config.largest_epsilon,
        minimum_cohort=config.minimum_cohort,
        minimum_batch=config.minimum_batch,
        columns=config.columns,
        aggregators=config.aggregators,
        by_content=config.by_content,
        colluding_servers=config.colluding_servers,
        most_rows=config.most_rows or 1,
    )


def identity_of(config: AgentConfig) -> Identity | None:
    """The certificate, where there is one; without it nobody can be told from anybody."""
    if config.tls is not None:
        identity = load_identity(config.tls)
        identity.require_speaks_for(config.name)
        return identity
    for address in (config.address, config.dial.coordinator if config.dial is not None else None):
        if address is not None and not is_loopback(address):
            raise InvalidParameter(
                f"{address} is not loopback: [tls] is needed (make one with `localdp keys`)"
            )
    if config.aggregators is not None:
        raise InvalidParameter("policy.aggregators names callers by their certificates: it needs [tls]")
    return None


async def serve_agent(
    config: AgentConfig, started: Callable[[str], None], notice: Callable[[str], None] = lambda text: None
) -> None:
    """Serve until SIGINT or SIGTERM, then finish what was begun.  `notice` hears how dialling goes."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    identity = identity_of(config)
    party = party_of(config)
    observer = observer_of(config, party)
    service = AgentService(party, config.share_servers, identity, observer)
    open_to_its_operator = contextlib.AsyncExitStack()
    try:
        open_to_its_operator.callback(release_logs, configure_logs(config.log))
        if config.metrics is not None:
            await open_to_its_operator.enter_async_context(_metrics(config.metrics, observer))
        ways, places = [], []
        if config.address is not None:
            server, bound = await _listen(config.address, service, identity)
            ways.append(_until(stop, server))
            places.append(bound)
        if config.dial is not None:
            line = _line(config, config.dial, service)
            ways.append(keep_attached(line, stop, GRACE_SECONDS, notify=_told(notice)))
            places.append(f"{config.dial.coordinator}, which it dials")
        started(places[0])
        await asyncio.gather(*ways)
    finally:
        await service.close()
        await open_to_its_operator.aclose()


def observer_of(config: AgentConfig, party: Party) -> Observer:
    """What the operator sees of the party; from now on its charges are counted."""
    observer = Observer("agent", config.name)
    observer.people.set(party.people)
    observer.budget.set(float(config.budget))
    party.ledger = WatchedLedger(party.ledger, observer)
    return observer


@contextlib.asynccontextmanager
async def _metrics(address: str, observer: Observer) -> AsyncIterator[None]:
    async with metrics_served(address, observer.exposition) as bound:
        log(logging.INFO, "metrics", {"address": bound})
        yield


async def _listen(
    address: str, service: AgentService, identity: Identity | None
) -> tuple[grpc.aio.Server, str]:
    host, _, port = address.rpartition(":")
    server, bound = await start_server(host, int(port), [(SERVICE_NAME, service.register)], identity)
    return server, f"{host}:{bound}"


async def _until(stop: asyncio.Event, server: grpc.aio.Server) -> None:
    with contextlib.suppress(asyncio.CancelledError):
        await stop.wait()
    await server.stop(GRACE_SECONDS)


def _line(config: AgentConfig, dial: Dial, service: AgentService) -> Line:
    """The identity is read for each attempt: a renewed certificate is used without a restart."""
    return Line(
        config.name,
        dial.name,
        Methods.of(service.register),
        lambda: open_aio_channel(dial.coordinator, identity_of(config), dial.name, KEEPALIVE_OPTIONS),
    )


def _told(notice: Callable[[str], None]) -> Callable[[LocalDpError | None], None]:
    """Changes only: an agent whose coordinator is away for a night should not say so a thousand times."""
    last: list[str] = []

    def notify(trouble: LocalDpError | None) -> None:
        text = "attached" if trouble is None else f"not attached: {trouble}"
        if last != [text]:
            last[:] = [text]
            notice(text)

    return notify
