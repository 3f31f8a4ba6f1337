"""What both ends of a relayed stream agree on: bounds, and the form of a failure.

Checked in tests/unit/parties/relay/test_relay_answering.py and test_relay_attachment.py.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import grpc
from google.protobuf.message import DecodeError
from google.rpc import status_pb2

from localdp.errors import LocalDpError
from parties.serving import LARGEST_MESSAGE_BYTES
from parties.status import DETAILS_KEY, details

# A larger frame would end the stream, and all calls on it.
LARGEST_PAYLOAD_BYTES = LARGEST_MESSAGE_BYTES - 1024
LONGEST_PARTY_NAME = 128
LONGEST_METHOD = 256
MOST_CALLS = 64  # on one stream at once
# Of one answer on their way, or waiting to be used: one is used while the next one travels.
WINDOW_PARTS = 2
GREETING_SECONDS = 10.0
STALL_SECONDS = 20.0  # that an answer waits for credit before it is given up

_CODES = {code.value[0]: code for code in grpc.StatusCode}


def status_of(
    code: grpc.StatusCode, message: str, trailing: Iterable[tuple[str, bytes | str]] = ()
) -> bytes:
    """What a dialled call says in its trailers, as the end of a relayed one."""
    for key, value in trailing:
        if key == DETAILS_KEY and isinstance(value, bytes):
            return value
    return bytes(status_pb2.Status(code=code.value[0], message=message).SerializeToString())


def status_of_error(error: LocalDpError) -> bytes:
    """The status of an error of the library."""
    return status_of(*details(error))


class RelayedFailure(grpc.RpcError):
    """A relayed call that failed, in the form in which gRPC tells it."""

    def __init__(self, status: bytes) -> None:
        super().__init__()
        self._status = status

    @classmethod
    def locally(cls, code: grpc.StatusCode, message: str) -> RelayedFailure:
        """A failure that the agent knows nothing of."""
        return cls(status_of(code, message))

    def code(self) -> grpc.StatusCode:
        """The status code; UNKNOWN where the agent sent something else."""
        try:
            return _CODES.get(status_pb2.Status.FromString(self._status).code, grpc.StatusCode.UNKNOWN)
        except DecodeError:
            return grpc.StatusCode.UNKNOWN

    def trailing_metadata(self) -> Any:
        """Where `parties.status` looks for the name of the error."""
        return ((DETAILS_KEY, self._status),)
