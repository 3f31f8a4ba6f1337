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
from typing import Any

import grpc
from google.protobuf.message import Message

from parties.repeating import UnaryCall
from parties.wire.v1 import oracle_pb2 as pb


@dataclass(frozen=True, slots=True)
class _IfKnown:
    """A call whose answer is None where the peer has no such method."""

    future: Any

    def result(self) -> Any:
        """The answer, once it is there."""
        try:
            return self.future.result()
        except grpc.RpcError as failure:
            if failure.code() is grpc.StatusCode.UNIMPLEMENTED:
                return None
            raise


def quote(stub: Any, peer: str, call: Message) -> UnaryCall:
    """Ask a party whether it would answer a message of one of its methods."""
    request = _about(call)
    return UnaryCall(peer, lambda seconds: _IfKnown(stub.Quote.future(request, timeout=seconds)))


def _about(call: Message) -> pb.QuoteRequest:
    match call:
        case pb.RandomizeRequest():
            return pb.QuoteRequest(randomize=call)
        case pb.ContributeRequest():
            return pb.QuoteRequest(contribute=call)
        case pb.ContributeSealedRequest():
            return pb.QuoteRequest(contribute_sealed=call)
    raise TypeError(f"no party is asked for a {type(call).__name__}")
