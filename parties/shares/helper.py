"""A share server that does not lead, as its leader reaches it: `localdp.sharing.agreement.Helper`, awaited."""

from __future__ import annotations

from collections.abc import Sequence

import grpc
from google.protobuf.message import Message

from localdp.sharing.binding import Opening
from localdp.sharing.blame import Blame, answer_of
from localdp.sharing.blocks import Mask, Octets, Positions, pack_positions
from localdp.sharing.storage import Holding, Job
from parties.repeating import Response, Stub
from parties.shares.messages import (
    holding_from_wire,
    holding_to_wire,
    job_to_wire,
    mask_from_wire,
    opening_from_wire,
    opening_to_wire,
    rows_of,
)
from parties.status import error_of
from parties.wire.v1 import share_server_pb2 as pb
from parties.wire.v1 import share_server_pb2_grpc

CALL_SECONDS = 60.0  # the first verification on a machine may compile its code for half a minute


class RemoteHelper:
    """The calls of the leader; whatever comes back is checked before it is used."""

    def __init__(self, name: str, channel: grpc.aio.Channel, blame: Blame) -> None:
        """`blame` takes note of answers that are refused."""
        self.name = name
        self._blame = blame
        self._stub: Stub = share_server_pb2_grpc.ShareServerServiceStub(channel)

    async def check(
        self, collection: bytes, verify_key: bytes, positions: Positions
    ) -> tuple[Mask, Octets]:
        request = pb.CheckReportsRequest(
            collection=collection, verify_key=verify_key, positions=pack_positions(positions)
        )
        answer = await self._call(self._stub.CheckReports, request)
        with answer_of(self.name, self._blame):
            return mask_from_wire(answer.held, len(positions)), rows_of(answer.verifiers, len(positions))

    async def vote(self, collection: bytes, positions: Positions, verifiers: Sequence[Octets]) -> Mask:
        request = pb.VoteOnReportsRequest(
            collection=collection,
            positions=pack_positions(positions),
            verifiers=[rows.tobytes() for rows in verifiers],
        )
        answer = await self._call(self._stub.VoteOnReports, request)
        with answer_of(self.name, self._blame):
            return mask_from_wire(answer.accepted, len(positions))

    async def commit(self, collection: bytes, job: Job) -> None:
        await self._call(self._stub.CommitJob, job_to_wire(collection, job))

    async def opening(self, collection: bytes) -> Opening:
        answer = await self._call(self._stub.GetOpening, pb.GetOpeningRequest(collection=collection))
        return opening_from_wire(answer)

    async def seal(self, collection: bytes, expected: Holding, openings: Sequence[Opening]) -> None:
        request = pb.SealReportsRequest(
            collection=collection,
            expected=holding_to_wire(expected),
            openings=map(opening_to_wire, openings),
        )
        await self._call(self._stub.SealReports, request)

    async def holding(self, collection: bytes) -> Holding:
        return holding_from_wire(
            await self._call(self._stub.GetHolding, pb.GetHoldingRequest(collection=collection))
        )

    async def _call(self, method: Stub, request: Message) -> Response:
        try:
            return await method(request, timeout=CALL_SECONDS)
        except grpc.RpcError as failure:
            raise error_of(failure, f"share server {self.name}") from None
