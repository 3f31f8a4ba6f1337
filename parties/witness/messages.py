"""Heads on the wire: what is read from a message has been checked, signatures included."""

from __future__ import annotations

from parties.wire.v1 import witness_pb2 as pb
from parties.witness.heads import CountersignedHead, Head, SignedHead, SignedStep


def signed_to_wire(signed: SignedHead) -> pb.SignedHead:
    """A signed head as a message."""
    head = signed.head
    return pb.SignedHead(
        party=head.party,
        entries=head.entries,
        link=head.link,
        public_key=signed.public_key,
        signature=signed.signature,
    )


def signed_from_wire(message: pb.SignedHead) -> SignedHead:
    """A signed head, if its signature is one."""
    head = Head(message.party, message.entries, message.link)
    return SignedHead(head, message.public_key, message.signature)


def step_to_wire(step: SignedStep) -> pb.CountersignRequest:
    """An agent's request as a message."""
    after = None if step.after is None else pb.ChainPlace(entries=step.after.entries, link=step.after.link)
    return pb.CountersignRequest(head=signed_to_wire(step.signed), after=after, signature=step.signature)


def step_from_wire(message: pb.CountersignRequest) -> SignedStep:
    """An agent's request, if both signatures are."""
    signed, told = signed_from_wire(message.head), message.after
    after = Head(signed.head.party, told.entries, told.link) if message.HasField("after") else None
    return SignedStep(signed, after, message.signature)


def countersigned_to_wire(countersigned: CountersignedHead) -> pb.CountersignedHead:
    """A countersigned head as a message."""
    return pb.CountersignedHead(
        head=signed_to_wire(countersigned.signed),
        witness_key=countersigned.witness_key,
        countersignature=countersigned.countersignature,
    )


def countersigned_from_wire(message: pb.CountersignedHead) -> CountersignedHead:
    """A countersigned head, if both signatures are."""
    return CountersignedHead(signed_from_wire(message.head), message.witness_key, message.countersignature)
