"""Blocks, positions, decisions and holdings to and from the share servers' messages.

Decoding refuses what is not whole, not in order or not reduced: what comes out of here has the shape that it says.
Checked in tests/unit/parties/shares/test_share_messages.py.
"""

from __future__ import annotations

import numpy as np
from google.protobuf.message import DecodeError

from localdp.errors import InvalidParameter, MalformedReport
from localdp.framing import DIGEST_BYTES
from localdp.sharing.binding import Opening
from localdp.sharing.blocks import (
    Mask,
    Octets,
    Positions,
    Rows,
    ShareBlock,
    pack_positions,
    rows_from,
    unpack_positions,
)
from localdp.sharing.collection import LONGEST_NAME, Collection
from localdp.sharing.field import ELEMENT_BYTES
from localdp.sharing.proof_record import ProofStep
from localdp.sharing.sealing import SealingKey, sealed_to
from localdp.sharing.storage import Holding, Job, Published
from parties import codec
from parties.serving import CHUNK_BYTES
from parties.wire.v1 import share_server_pb2 as pb

PEOPLE_PER_PART = CHUNK_BYTES // ELEMENT_BYTES  # counted before a split: a server need not look further


def block_to_wire(block: ShareBlock) -> pb.UploadSharesRequest:
    """Shares as a message."""
    return pb.UploadSharesRequest(
        collection=block.collection,
        party=block.party,
        cohort=codec.cohort_to_wire(block.cohort),
        shares=block.rows.inputs.tobytes(),
        public_shares=block.rows.public.tobytes(),
    )


def block_from_wire(message: pb.UploadSharesRequest) -> ShareBlock:
    """Shares, one row for each person; how long a row must be is for the server to say."""
    if len(message.collection) != DIGEST_BYTES or len(message.party) > LONGEST_NAME:
        raise MalformedReport(
            f"shares name a collection of {DIGEST_BYTES} bytes, and a party of at most {LONGEST_NAME} characters"
        )
    cohort = codec.cohort_from_wire(message.cohort)
    if cohort.stop - cohort.start > PEOPLE_PER_PART:
        raise InvalidParameter(f"a message holds shares of at most {PEOPLE_PER_PART} consecutive people")
    people = cohort.size()
    rows = Rows(_even_rows(message.public_shares, people), _even_rows(message.shares, people))
    return ShareBlock(message.collection, message.party, cohort, rows)


def sealed_to_wire(block: ShareBlock, server: str, public_key: bytes) -> pb.UploadSealedRequest:
    """Shares as a message that only that server can read."""
    message = block_to_wire(block)
    sealed = sealed_to(public_key, message.SerializeToString(), *_place(message, server))
    return pb.UploadSealedRequest(
        collection=message.collection, party=message.party, cohort=message.cohort, sealed=sealed
    )


def block_from_sealed(message: pb.UploadSealedRequest, server: str, key: SealingKey) -> ShareBlock:
    """Shares that were sealed to that server, in the place where they say they belong."""
    try:
        inner = pb.UploadSharesRequest.FromString(key.opened(message.sealed, *_place(message, server)))
    except DecodeError:
        raise MalformedReport("sealed bytes are not shares") from None
    if _place(inner, server) != _place(message, server):
        raise MalformedReport("sealed shares belong to another place")
    return block_from_wire(inner)


def _place(
    message: pb.UploadSharesRequest | pb.UploadSealedRequest, server: str
) -> tuple[bytes, str, str, bytes]:
    """What a seal is bound to."""
    return message.collection, message.party, server, message.cohort.SerializeToString(deterministic=True)


def _even_rows(data: bytes, count: int) -> Octets:
    return rows_from(data, count, len(data) // count if count else 0)


def positions_from_wire(data: bytes) -> Positions:
    """Positions in increasing order, and at least one."""
    positions = unpack_positions(data, PEOPLE_PER_PART)
    if len(positions) == 0:
        raise MalformedReport("a message about reports is about one at least")
    return positions


def mask_to_wire(mask: Mask) -> bytes:
    """A bit for each report."""
    return np.packbits(mask).tobytes()


def mask_from_wire(data: bytes, count: int) -> Mask:
    """`count` bits."""
    if len(data) != (count + 7) // 8:
        raise MalformedReport(f"yes or no about {count} reports takes {(count + 7) // 8} bytes")
    return np.unpackbits(np.frombuffer(data, np.uint8), count=count).astype(np.bool_)


def rows_of(data: bytes, count: int) -> Octets:
    """Rows of equal length, one for each report."""
    return _even_rows(data, count)


def job_to_wire(collection: bytes, job: Job) -> pb.CommitJobRequest:
    """A decision as a message."""
    return pb.CommitJobRequest(
        collection=collection,
        number=job.number,
        positions=pack_positions(job.positions),
        accepted=mask_to_wire(job.accepted),
    )


def job_from_wire(message: pb.CommitJobRequest) -> Job:
    """A decision."""
    positions = positions_from_wire(message.positions)
    return Job(message.number, positions, mask_from_wire(message.accepted, len(positions)))


def holding_to_wire(holding: Holding) -> pb.GetHoldingResponse:
    """What a server counts, as a message."""
    return pb.GetHoldingResponse(
        reports=holding.reports,
        accepted=holding.accepted,
        jobs=holding.jobs,
        sealed=holding.sealed,
        signature=holding.signature,
        attempt=holding.attempt,
    )


def holding_from_wire(message: pb.GetHoldingResponse) -> Holding:
    """What a server counts."""
    decided = message.reports, message.accepted, message.jobs, message.sealed
    return Holding(*decided, message.signature, message.attempt)


def opening_to_wire(opening: Opening) -> pb.GetOpeningResponse:
    """That a server opened a collection, as a message."""
    return pb.GetOpeningResponse(secret=opening.secret, signature=opening.signature)


def opening_from_wire(message: pb.GetOpeningResponse) -> Opening:
    """That a server opened a collection; whether it is so is for whoever checks the signature."""
    return Opening(message.secret, message.signature)


def step_of(number: int) -> ProofStep:
    """A step of proving noise."""
    if number not in ProofStep.__members__.values():
        raise InvalidParameter(f"noise is proved in {len(ProofStep)} steps, counted from 0")
    return ProofStep(number)


def release_from_wire(collection: Collection, message: pb.ReleaseResponse) -> Published:
    """A release: as many reduced elements as the collection has, and which attempt they came from, or what all proved."""
    beside = DIGEST_BYTES * (
        len(collection.servers) if collection.plan.is_proved else collection.plan.is_joint
    )
    if len(collection.field.unpack(message.noisy_sums)) != collection.published_elements:
        raise MalformedReport("it released another number of sums than the collection has")
    if len(message.attempt) != beside:
        raise MalformedReport(
            "it does not say which attempt at joint noise it released, or what every server proved"
        )
    return Published(message.noisy_sums, message.attempt)
