"""Ask everybody before anybody pays: would you answer this?

A round needs all of its parties, and each charges its people before it answers.  So if one refused while the others were
being asked, these would have paid for a round that has no answer.  Hence of several parties each is first asked for a
quote, which charges nothing and is refused as the call itself would be; only if nobody refuses is anybody asked.

It holds for the moment: if somebody else spends a budget between the two, the call is refused after all, and those who
answered it have paid.  A party whose agent knows no quotes, an older one or somebody else's, is taken to be willing.

Checked in tests/contract/test_granting.py.
"""

from __future__ import annotations

from dataclasses import dataclass

import grpc
from google.protobuf.message import Message

from parties.repeating import Begun, Response, Stub, UnaryCall
from parties.wire.v1 import oracle_pb2 as pb
from parties.wire.v1.flooding_pb2 import FloodRequest


@dataclass(frozen=True, slots=True)
class _IfAny:
    """A call whose answer is None where the peer has no such method; where it is not needed, also if it fails."""

    future: Begun
    needed: bool = True

    def result(self) -> Response:
        """The answer, once it is there."""
        try:
            return self.future.result()
        except grpc.RpcError as failure:
            if failure.code() is grpc.StatusCode.UNIMPLEMENTED or not self.needed:
                return None
            raise


def told_if_any(method: Stub, peer: str, request: Message) -> UnaryCall:
    """Ask a peer for what one can do without: None where it is away, refuses or does not know the method."""
    return UnaryCall(peer, lambda seconds: _IfAny(method.future(request, timeout=seconds), needed=False))


def quote(stub: Stub, peer: str, call: Message) -> UnaryCall:
    """Ask a party whether it would answer a message of one of its methods."""
    request = _about(call)
    return UnaryCall(peer, lambda seconds: _IfAny(stub.Quote.future(request, timeout=seconds)))


def _about(call: Message) -> pb.QuoteRequest:
    match call:
        case pb.RandomizeRequest():
            return pb.QuoteRequest(randomize=call)
        case pb.ContributeRequest():
            return pb.QuoteRequest(contribute=call)
        case pb.ContributeSealedRequest():
            return pb.QuoteRequest(contribute_sealed=call)
        case FloodRequest():
            return pb.QuoteRequest(flood=call)
    raise TypeError(f"no party is asked for a {type(call).__name__}")
