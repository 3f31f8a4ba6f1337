"""Uploading shares: a party's side of the share servers' service."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import grpc
import numpy as np

from localdp.sharing.field import ELEMENT_BYTES
from localdp.sharing.share_server import ShareBatch
from parties import codec
from parties.serving import CHUNK_BYTES
from parties.wire.v1 import share_server_pb2, share_server_pb2_grpc

PEOPLE_PER_PART = CHUNK_BYTES // ELEMENT_BYTES  # counted before a split: a server need not look further


def parts_of(batch: ShareBatch) -> Iterator[ShareBatch]:
    """The batch as batches of consecutive people, each of which fits into a message."""
    cohort = batch.cohort
    lanes = cohort.lanes()
    for part in cohort.parts(PEOPLE_PER_PART):
        first, last = part.start - cohort.start, part.stop - cohort.start
        if not isinstance(lanes, range):
            first, last = (int(place) for place in np.searchsorted(lanes, (part.start, part.stop)))
        yield ShareBatch(batch.collection, batch.party, part, batch.shares[first:last])


async def upload(channel: grpc.aio.Channel, batch: ShareBatch, timeout_seconds: float) -> int:
    """Stream a batch to one server; returns how many reports were counted for the first time."""

    async def messages() -> AsyncIterator[share_server_pb2.UploadSharesRequest]:
        for part in parts_of(batch):
            yield codec.batch_to_wire(part)

    stub = share_server_pb2_grpc.ShareServerServiceStub(channel)
    response = await stub.UploadShares(messages(), timeout=timeout_seconds)
    return int(response.counted)
