"""Where agents attach: the coordinator's gRPC service, and the list of the parties that are there.

With TLS a party's name is proved by its certificate: an agent whose certificate names C attaches as C, or as C/anything
where it speaks for many parties.  Where C was enrolled by fingerprint, it is that certificate and no other one of C.
Without TLS, on loopback, the name is believed, as on loopback everything is.

A second stream of a party replaces the first, whose calls fail: after a broken connection the agent is back long before the
coordinator could know that the old stream is dead.  Only whoever holds the party's certificate can do that to it.

Checked in tests/integration/test_relay.py.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping

import grpc

from localdp.errors import InvalidParameter, PolicyRefused, Unreachable
from localdp.party.policy import operator_of
from parties.admission import Registry
from parties.identity import Context, may_speak_for, peer_fingerprint, peer_name
from parties.relay.attachment import Attachment, RelayedCall, unattached
from parties.relay.limits import GREETING_SECONDS, LONGEST_PARTY_NAME
from parties.status import answering, require_message
from parties.wire.v1 import relay_pb2 as pb
from parties.wire.v1 import relay_pb2_grpc

SERVICE_NAME = pb.DESCRIPTOR.services_by_name["AgentRelayService"].full_name
MOST_PARTIES = 1 << 16
NOBODY: Mapping[str, str] = {}


class RelayService(relay_pb2_grpc.AgentRelayServiceServicer):
    """Takes attachments, and calls to the parties behind them."""

    def __init__(
        self, changed: Callable[[frozenset[str]], None], enrolled: Mapping[str, str] = NOBODY
    ) -> None:
        """`changed` is told who is attached, on every change.

        `enrolled` has the fingerprints of certificates by their names: under these names nobody else attaches, also if
        the authority gave out a second certificate of the name.
        """
        self._changed, self._enrolled = changed, enrolled
        self._attached: dict[str, Attachment] = {}

    def register(self, server: Registry) -> None:
        """Add the service to a server."""
        relay_pb2_grpc.add_AgentRelayServiceServicer_to_server(self, server)

    def begin(self, call: RelayedCall) -> None:
        """Send a call to its party, if it is there."""
        attachment = self._attached.get(call.party)
        if attachment is None:
            call.put(unattached())
        else:
            attachment.begin(call)

    def give_up(self, call: RelayedCall) -> None:
        """Nobody waits for the call any more."""
        if call.party in self._attached:
            self._attached[call.party].give_up(call)

    def used(self, call: RelayedCall) -> None:
        """One part of the call's answer was used."""
        if call.party in self._attached:
            self._attached[call.party].used(call)

    def close(self) -> None:
        """End every stream."""
        for attachment in list(self._attached.values()):
            attachment.end("the analyst is leaving")

    @answering
    async def Attach(self, requests: AsyncIterator[pb.AttachRequest], context: Context) -> None:  # noqa: N802
        """One agent, until either side goes."""
        party = await _greeted(context)
        self._require_enrolled(party, context)
        attachment = Attachment(party)
        self._put(attachment)
        try:
            await context.write(pb.AttachResponse(accepted=pb.RelayAccepted()))
            await _run(attachment, context)
        finally:
            self._remove(attachment)

    def _require_enrolled(self, party: str, context: Context) -> None:
        declared = self._enrolled.get(operator_of(party))
        if declared is not None and peer_fingerprint(context) != declared:
            raise PolicyRefused("the certificate is not the one that this site was enrolled with")

    def _put(self, attachment: Attachment) -> None:
        older = self._attached.get(attachment.party)
        if older is None and len(self._attached) >= MOST_PARTIES:
            raise Unreachable(f"this analyst takes at most {MOST_PARTIES} parties")
        self._attached[attachment.party] = attachment
        if older is not None:
            older.end("another stream of this party has taken its place")
        self._changed(frozenset(self._attached))

    def _remove(self, attachment: Attachment) -> None:
        attachment.end("the agent has gone")
        if self._attached.get(attachment.party) is attachment:
            del self._attached[attachment.party]
            self._changed(frozenset(self._attached))


async def _greeted(context: Context) -> str:
    """The name under which the agent may attach."""
    try:
        async with asyncio.timeout(GREETING_SECONDS):
            first = require_message(await context.read())
    except TimeoutError:
        raise InvalidParameter("an agent says hello at once") from None
    if first is grpc.aio.EOF or first.WhichOneof("frame") != "hello":
        raise InvalidParameter("an agent says hello first")
    party: str = first.hello.party
    if not 0 < len(party) <= LONGEST_PARTY_NAME or not party.isprintable():
        raise InvalidParameter(f"a party's name has 1 to {LONGEST_PARTY_NAME} printable characters")
    if not may_speak_for(peer_name(context), party):
        raise PolicyRefused("an agent attaches under the name in its certificate")
    return party


async def _run(attachment: Attachment, context: Context) -> None:
    """Read and write until the stream ends, or is to end; a broken rule raises."""
    reading = asyncio.create_task(_read(attachment, context))
    writing = asyncio.create_task(_write(attachment, context))
    try:
        ends: set[asyncio.Future[str] | asyncio.Future[None]] = {reading, writing, attachment.over}
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        if attachment.over.done():
            raise Unreachable(attachment.over.result())
        if reading.done():
            reading.result()
    finally:
        for task in (reading, writing):
            task.cancel()
        await asyncio.gather(reading, writing, return_exceptions=True)


async def _read(attachment: Attachment, context: Context) -> None:
    while (frame := await context.read()) is not grpc.aio.EOF:
        attachment.take(require_message(frame))


async def _write(attachment: Attachment, context: Context) -> None:
    while True:
        await context.write(await attachment.next_frame())
