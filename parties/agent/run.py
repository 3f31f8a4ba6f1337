"""A real agent from its configuration: it listens, it dials, or both, and enters epochs as its owner's calendar says.

Checked in tests/integration/test_tls.py and test_relay.py; the calendar in tests/unit/parties/agent/test_open_epochs.py and
test_publishing_apart.py there.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import time
from collections.abc import AsyncIterator, Callable

import grpc

from localdp.errors import InvalidParameter, LocalDpError
from parties.admission import Door
from parties.agent.apart import prepared_apart
from parties.agent.calendar import Calendar
from parties.agent.config import AgentConfig, Dial
from parties.agent.epochs import Prepared, opened_epoch, publishing
from parties.agent.service import SERVER_OPTIONS, SERVICE_NAME, AgentService
from parties.agent.state import LEDGER_NAME, AgentState, is_overdue, log_failure, open_prepared
from parties.identity import Identity, load_identity
from parties.listening import is_loopback
from parties.observability.endpoint import metrics_served
from parties.observability.logs import configure_logs, log, release_logs
from parties.observability.observer import Observer, WatchedLedger
from parties.relay.answering import Methods
from parties.relay.dialling import Line, keep_attached
from parties.revocation import Revocations
from parties.serving import KEEPALIVE_OPTIONS, open_aio_channel, start_server, told_to_stop

GRACE_SECONDS = 3.0  # what was charged is worth finishing; what is not can be asked for again
_UNWITNESSED = "no witness is named: if the whole state were an old copy, nobody could know (docs/keys.md)"
_AGAIN_SECONDS = 60.0
_LONGEST_SLEEP = 3600.0  # clocks are set
_MINUTE = 60
_FORESEEN_SECONDS = 10  # before the full minute at which it opens
_ENTER_SECONDS = 0.5  # a whole number of these


def identity_of(config: AgentConfig) -> Identity | None:
    """The certificate, where there is one; without it nobody can be told from anybody."""
    if config.tls is not None:
        identity = load_identity(config.tls)
        identity.require_speaks_for(config.name)
        return identity
    for address in (config.address, config.dial.address if config.dial is not None else None):
        if address is not None and not is_loopback(address):
            raise InvalidParameter(
                f"{address} is not loopback: [tls] is needed (make one with `localdp keys`)"
            )
    if config.revoked is not None:
        raise InvalidParameter("tls.revoked is about certificates: it needs [tls]")
    if config.policy.aggregators is not None:
        raise InvalidParameter("policy.aggregators names callers by their certificates: it needs [tls]")
    return None


async def serve_agent(
    config: AgentConfig, started: Callable[[str], None], notice: Callable[[str], None] = lambda text: None
) -> None:
    """Serve until SIGINT or SIGTERM, then finish what was begun.  `notice` hears how dialling goes."""
    stop = told_to_stop()
    identity = identity_of(config)
    observer = Observer("agent", config.name)
    revocations = revocations_of(config, identity)
    door = Door.of(config.policy, observer, revocations)
    state = AgentState(config, functools.partial(WatchedLedger, observer=observer))
    observer.people.set(state.party.people)
    observer.budget.set(float(config.budget))
    service = AgentService(
        state.party,
        config.share_servers,
        identity,
        observer,
        limits=config.work,
        kept=state.answers,
        refresh=entering(state),
        recall=state.recall,
        door=door,
    )
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
            places.append(f"{config.dial.address}, which it dials")
        if config.calendar is not None:
            ways.append(open_epochs(config, config.calendar, stop, state.foresee))
        started(places[0])
        if config.witness is None:
            notice(_UNWITNESSED)
        await asyncio.gather(*ways)
    finally:
        await service.close()
        state.close()
        await open_to_its_operator.aclose()


def revocations_of(config: AgentConfig, identity: Identity | None) -> Revocations | None:
    """The certificates that are not good any more, where the owner has a list of them."""
    if config.revoked is None or identity is None:
        return None
    return Revocations(config.revoked, identity.authority)


async def open_epochs(
    config: AgentConfig,
    calendar: Calendar,
    stop: asyncio.Event,
    foresee: Callable[[Prepared], None],
    prepare: Callable[[AgentConfig], list[Prepared]] = prepared_apart,
) -> None:
    """Open an epoch whenever the calendar says so, until the agent ends.

    Reading a table takes a time that depends on what stands in it.  So it is read by another process, the agent loads the
    copy some seconds before the next full minute (`foresee`), and the epoch opens at that minute.  Where the table cannot
    be read, the records of before are loaded and opened at the same times: whoever asks sees no difference.
    """
    while not stop.is_set():
        try:
            if is_overdue(config, opened_epoch(config.storage / LEDGER_NAME)):
                await _published(config, stop, prepare, foresee)
                continue
        except Exception as error:  # whatever it was, the epoch that is open stays open, and is served
            log_failure(config, error)
            await _pause(stop, _AGAIN_SECONDS)
            continue
        now = time.time()
        await _pause(stop, min(calendar.next(now) - now, _LONGEST_SLEEP))


async def _published(
    config: AgentConfig,
    stop: asyncio.Event,
    prepare: Callable[[AgentConfig], list[Prepared]],
    foresee: Callable[[Prepared], None],
) -> None:
    with publishing(config.storage):
        ways = await asyncio.to_thread(prepare, config)
        await _pause(stop, (-time.time() - _FORESEEN_SECONDS) % _MINUTE)
        if not stop.is_set():
            await asyncio.to_thread(foresee, ways[0])
            await _pause(stop, -time.time() % _MINUTE)
        if not stop.is_set():
            await asyncio.to_thread(open_prepared, config, ways)


def entering(state: AgentState) -> Callable[[], None]:
    """Enters the epoch that is open by now; if it is a new one, in a time that does not tell how much there is in it."""

    def refresh() -> None:
        before, began = state.party.epoch.number, time.monotonic()
        state.refresh()
        if state.party.epoch.number != before:
            time.sleep((began - time.monotonic()) % _ENTER_SECONDS)

    return refresh


async def _pause(stop: asyncio.Event, seconds: float) -> None:
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(stop.wait(), seconds)


@contextlib.asynccontextmanager
async def _metrics(address: str, observer: Observer) -> AsyncIterator[None]:
    async with metrics_served(address, observer.exposition) as bound:
        log(logging.INFO, "metrics", {"address": bound})
        yield


async def _listen(
    address: str, service: AgentService, identity: Identity | None
) -> tuple[grpc.aio.Server, str]:
    host, _, port = address.rpartition(":")
    services = [(SERVICE_NAME, service.register)]
    server, bound = await start_server(host, int(port), services, identity, SERVER_OPTIONS)
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
        lambda: open_aio_channel(dial.address, identity_of(config), dial.name, KEEPALIVE_OPTIONS),
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
