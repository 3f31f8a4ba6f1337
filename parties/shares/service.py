"""A share server as a gRPC service around `localdp.sharing.share_server.ShareServer`.

Handlers run on the event loop, one at a time: between two awaits nothing else touches the state, so a batch is counted
whole or not at all.  Every call is observed (`parties.observability`), by what is public about it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import grpc

from localdp.errors import InvalidParameter, PolicyRefused
from localdp.sharing.share_server import ShareBatch, ShareServer
from parties import codec
from parties.identity import may_speak_for, peer_name
from parties.observability.observer import Observer
from parties.shares.client import PEOPLE_PER_PART
from parties.status import answering, require_message
from parties.wire.v1 import share_server_pb2 as pb
from parties.wire.v1 import share_server_pb2_grpc

SERVICE_NAME = pb.DESCRIPTOR.services_by_name["ShareServerService"].full_name

# A server keeps one byte for each person that a collection announces.
MOST_PEOPLE = 1 << 28

Context = grpc.aio.ServicerContext[Any, Any]


class ShareService(share_server_pb2_grpc.ShareServerServiceServicer):
    """Serves one share server."""

    def __init__(self, server: ShareServer, observer: Observer | None = None) -> None:
        self._server = server
        self._observer = observer or Observer("share-server", server.name)

    def register(self, server: grpc.aio.Server) -> None:
        """Add the service to a server."""
        share_server_pb2_grpc.add_ShareServerServiceServicer_to_server(self, server)

    @answering
    async def OpenCollection(  # noqa: N802
        self, request: pb.OpenCollectionRequest, context: Context
    ) -> pb.OpenCollectionResponse:
        """Get ready for a collection."""
        with self._observer.call("OpenCollection", peer_name(context) or "") as call:
            collection = codec.collection_from_wire(request.collection)
            call.about(collection.digest, collection.people, collection.epsilon, collection.query)
            if collection.people > MOST_PEOPLE:
                raise PolicyRefused(f"this share server takes collections of at most {MOST_PEOPLE} people")
            self._server.open(collection)
            return pb.OpenCollectionResponse(digest=collection.digest)

    @answering
    async def UploadShares(  # noqa: N802
        self, requests: AsyncIterator[pb.UploadSharesRequest], context: Context
    ) -> pb.UploadSharesResponse:
        """Add shares."""
        counted = 0
        caller = peer_name(context)
        with self._observer.call("UploadShares", caller or ""):
            async for request in requests:
                require_message(request)
                if not may_speak_for(caller, request.party):
                    raise PolicyRefused("a party uploads its own shares, under the name in its certificate")
                counted += self._server.accept(_bounded(codec.batch_from_wire(request)))
            return pb.UploadSharesResponse(counted=counted)

    @answering
    async def GetHolding(self, request: pb.GetHoldingRequest, context: Context) -> pb.GetHoldingResponse:  # noqa: N802
        """Which reports the server holds."""
        with self._observer.call("GetHolding", peer_name(context) or ""):
            holding = self._server.holding(request.collection)
            return pb.GetHoldingResponse(reports=holding.reports, accepted=holding.accepted)

    @answering
    async def Release(self, request: pb.ReleaseRequest, context: Context) -> pb.ReleaseResponse:  # noqa: N802
        """The noisy sum."""
        with self._observer.call("Release", peer_name(context) or ""):
            return pb.ReleaseResponse(noisy_sum=self._server.release(request.collection, request.accepted))


def _bounded(batch: ShareBatch) -> ShareBatch:
    """A batch whose range of people is no longer than an honest party's: finding out who is in a split takes memory."""
    if batch.cohort.stop - batch.cohort.start > PEOPLE_PER_PART:
        raise InvalidParameter(f"a message holds shares of at most {PEOPLE_PER_PART} consecutive people")
    return batch
