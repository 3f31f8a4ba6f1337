"""Errors on the wire: one table from each error of the library to a gRPC status, and back.

An error travels as a status code, a message that names no private value, and a google.rpc.ErrorInfo whose reason is
the error's name.  Anything that is not one of ours leaves a server as INTERNAL without its text: an exception's text
may contain a record.

Checked in both directions by tests/unit/parties/test_status.py.
"""

from __future__ import annotations

import functools
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from typing import Any, NoReturn, TypeVar

import grpc
from google.protobuf import any_pb2
from google.protobuf.message import DecodeError
from google.rpc import error_details_pb2, status_pb2

from localdp import errors
from parties.identity import Context

_Service = TypeVar("_Service")
_Request = TypeVar("_Request")
_Answer = TypeVar("_Answer")

DOMAIN = "localdp"
DETAILS_KEY = "grpc-status-details-bin"

_LONGEST_MESSAGE = 1000  # trailing metadata beyond a few kilobytes would not arrive at all

CODES: dict[type[errors.LocalDpError], grpc.StatusCode] = {
    errors.LocalDpError: grpc.StatusCode.UNKNOWN,
    errors.InvalidParameter: grpc.StatusCode.INVALID_ARGUMENT,
    errors.QueryRefused: grpc.StatusCode.INVALID_ARGUMENT,
    errors.InvalidRecord: grpc.StatusCode.FAILED_PRECONDITION,
    errors.UnknownIndex: grpc.StatusCode.OUT_OF_RANGE,
    errors.BudgetExhausted: grpc.StatusCode.RESOURCE_EXHAUSTED,
    errors.RequestExpired: grpc.StatusCode.FAILED_PRECONDITION,
    errors.KeyRetired: grpc.StatusCode.FAILED_PRECONDITION,
    errors.PolicyRefused: grpc.StatusCode.PERMISSION_DENIED,
    errors.ApprovalNeeded: grpc.StatusCode.PERMISSION_DENIED,
    errors.WorkRefused: grpc.StatusCode.RESOURCE_EXHAUSTED,
    errors.Busy: grpc.StatusCode.RESOURCE_EXHAUSTED,
    errors.CertificateRevoked: grpc.StatusCode.PERMISSION_DENIED,
    errors.TooFewReports: grpc.StatusCode.FAILED_PRECONDITION,
    errors.CollectionClosed: grpc.StatusCode.FAILED_PRECONDITION,
    errors.UnknownCollection: grpc.StatusCode.NOT_FOUND,
    errors.ShareMismatch: grpc.StatusCode.ABORTED,
    errors.ComputationAborted: grpc.StatusCode.ABORTED,
    errors.MalformedReport: grpc.StatusCode.INVALID_ARGUMENT,
    errors.Unreachable: grpc.StatusCode.UNAVAILABLE,
    errors.CannotListen: grpc.StatusCode.UNAVAILABLE,
    errors.DeadlineMissed: grpc.StatusCode.DEADLINE_EXCEEDED,
    errors.QuorumMissed: grpc.StatusCode.DEADLINE_EXCEEDED,
    errors.SignalTooWeak: grpc.StatusCode.FAILED_PRECONDITION,
    errors.StorageFailed: grpc.StatusCode.UNAVAILABLE,
    errors.RolledBack: grpc.StatusCode.FAILED_PRECONDITION,
    errors.CoinsExhausted: grpc.StatusCode.INTERNAL,
}


def reason(kind: type[errors.LocalDpError]) -> str:
    """BudgetExhausted -> BUDGET_EXHAUSTED."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", kind.__name__).upper()


_KINDS = {reason(kind): kind for kind in CODES}


def _entry(error: errors.LocalDpError) -> type[errors.LocalDpError]:
    return next(kind for kind in type(error).__mro__ if kind in CODES)


def details(error: errors.LocalDpError) -> tuple[grpc.StatusCode, str, tuple[tuple[str, bytes], ...]]:
    """Code, message and trailing metadata of an error of the library."""
    kind = _entry(error)
    info = any_pb2.Any()
    info.Pack(error_details_pb2.ErrorInfo(reason=reason(kind), domain=DOMAIN))
    line = str(error).partition("\n")[0].rstrip(":")  # what points into the caller's text stays here
    message = line[:_LONGEST_MESSAGE]
    status = status_pb2.Status(code=CODES[kind].value[0], message=message, details=[info])
    return CODES[kind], message, ((DETAILS_KEY, status.SerializeToString()),)


def error_of(failure: grpc.RpcError, peer: str) -> errors.LocalDpError:
    """The library's error behind a failed call, with the peer's name: what the peer said, or that it did not answer."""
    named = _named_error(failure)
    if named is not None:
        return errors.said_by(peer, named)
    code = failure.code()
    if code is grpc.StatusCode.DEADLINE_EXCEEDED:
        return errors.DeadlineMissed(f"{peer} did not answer in time")
    if code in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED):
        return errors.Unreachable(f"{peer} cannot be reached{_why(failure)}")
    if code is grpc.StatusCode.RESOURCE_EXHAUSTED:
        return errors.InvalidParameter(f"a message to or from {peer} is larger than a message may be")
    return errors.Unreachable(f"{peer} answered with an unexpected status {code.name}")


def _why(failure: grpc.RpcError) -> str:
    """What the own side's words about a failed connection mean; they are looked at, and not shown."""
    told = str(getattr(failure, "details", str)() or "")
    if not told.startswith("failed to connect"):
        return ""
    if "Hostname Verification Check failed" in told:
        return ": its certificate is not of that name; it needs the host NAME.localdp.internal"
    if "Tls handshake failed" in told:
        return ": TLS could not be agreed on; does it have a certificate of the same authority?"
    if "Socket closed" in told or "reset by peer" in told:
        return ": it hangs up; does it want TLS? Show --identity"
    return ""


def _named_error(failure: grpc.RpcError) -> errors.LocalDpError | None:
    try:
        return _unpacked(status_pb2.Status.FromString(details_in(failure)))
    except DecodeError:  # the peer sent something else under that key
        return None


def details_in(failure: grpc.RpcError) -> bytes:
    """The google.rpc.Status that came with a failure, as bytes; there may be none."""
    metadata: Any = failure.trailing_metadata() or ()
    return next((value for key, value in metadata if key == DETAILS_KEY), b"")


def _unpacked(status: status_pb2.Status) -> errors.LocalDpError | None:
    info = error_details_pb2.ErrorInfo()
    for detail in status.details:
        if detail.Unpack(info) and info.domain == DOMAIN and info.reason in _KINDS:
            return _KINDS[info.reason](_one_line(status.message[:_LONGEST_MESSAGE]))
    return None


def _one_line(said: str) -> str:
    """What a peer says must not drive a terminal, nor begin a line that looks like somebody else's."""
    return "".join(character if character.isprintable() else "?" for character in said)


class NotAMessage:
    """What stands in for bytes that could not be decoded, until a handler refuses them."""


def leniently(decode: Callable[[bytes], _Request]) -> Callable[[bytes], _Request | NotAMessage]:
    """A decoder that lets a handler do the refusing: gRPC itself would answer with the decoder's own words."""

    def decoded(data: bytes) -> _Request | NotAMessage:
        try:
            return decode(data)
        except DecodeError:
            return NotAMessage()

    return decoded


def require_message(request: _Request | NotAMessage) -> _Request:
    """The request, if its bytes were a message."""
    if isinstance(request, NotAMessage):
        raise errors.InvalidParameter("the bytes of the request are not a message of this call")
    return request


async def abort(context: Context, error: Exception) -> NoReturn:
    """End a call: with what the library says, or with the type alone of an exception that nobody foresaw."""
    if isinstance(error, errors.LocalDpError):
        code, message, trailing = details(error)
        await context.abort(code, message, trailing_metadata=trailing)
    await context.abort(grpc.StatusCode.INTERNAL, f"internal error ({type(error).__name__})")


def answering(
    method: Callable[[_Service, _Request, Context], Awaitable[_Answer]],
) -> Callable[[_Service, _Request, Context], Coroutine[object, object, _Answer]]:
    """A unary handler whose errors leave as statuses, and whose unexpected errors leave without their text."""

    @functools.wraps(method)
    async def guarded(self: _Service, request: _Request, context: Context) -> _Answer:
        try:
            return await method(self, request, context)
        except grpc.aio.AbortError:
            raise
        except Exception as error:
            await abort(context, error)

    return guarded


def streaming(
    method: Callable[[_Service, _Request, Context], AsyncIterator[_Answer]],
) -> Callable[[_Service, _Request, Context], AsyncIterator[_Answer]]:
    """The same for a handler that yields."""

    @functools.wraps(method)
    async def guarded(self: _Service, request: _Request, context: Context) -> AsyncIterator[_Answer]:
        try:
            async for response in method(self, request, context):
                yield response
        except grpc.aio.AbortError:
            raise
        except Exception as error:
            await abort(context, error)

    return guarded
