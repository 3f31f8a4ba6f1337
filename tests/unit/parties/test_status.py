"""Errors on the wire: the table in both directions, and nothing of an unexpected exception but its type."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any, NoReturn

import grpc
import pytest
from google.protobuf import any_pb2
from google.rpc import error_details_pb2, status_pb2

from localdp import errors
from parties.status import CODES, answering, details, error_of, reason, streaming

CANARY = "the record says 4711"
KEY = "grpc-status-details-bin"


def every_error() -> list[type[errors.LocalDpError]]:
    """LocalDpError and all that is below it, found by walking."""
    found, waiting = [], [errors.LocalDpError]
    while waiting:
        kind = waiting.pop()
        found.append(kind)
        waiting += kind.__subclasses__()
    return sorted({kind for kind in found if kind.__module__ == errors.__name__}, key=reason)


class Failure(grpc.RpcError):
    """What a client sees of a failed call."""

    def __init__(
        self, code: grpc.StatusCode, metadata: tuple[tuple[str, bytes], ...] | None = None, told: str = ""
    ) -> None:
        super().__init__()
        self._code = code
        self._metadata = metadata
        self._told = told

    def code(self) -> grpc.StatusCode:
        return self._code

    def details(self) -> str:
        return self._told

    def trailing_metadata(self) -> Any:
        return self._metadata


class RecordingContext:
    """Notes how a handler was aborted."""

    def __init__(self) -> None:
        self.aborted: tuple[Any, ...] = ()

    async def abort(self, code: grpc.StatusCode, text: str, trailing_metadata: Any = ()) -> NoReturn:
        self.aborted = (code, text, trailing_metadata)
        raise grpc.aio.AbortError


class Handlers:
    """Handlers that fail as told."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    @answering
    async def unary(self, request: object, context: Any) -> None:
        raise self._error

    @streaming
    async def before_the_first(self, request: object, context: Any) -> AsyncIterator[int]:
        raise self._error
        yield 0  # type: ignore[unreachable]  # what makes it a generator

    @streaming
    async def after_the_first(self, request: object, context: Any) -> AsyncIterator[int]:
        yield 0
        raise self._error


def aborted_by(error: Exception, handler: str) -> tuple[Any, ...]:
    """How the named handler leaves when it fails with the error."""
    context = RecordingContext()

    async def call() -> None:
        answer = getattr(Handlers(error), handler)(None, context)
        if handler == "unary":
            await answer
        else:
            async for _ in answer:
                pass

    with pytest.raises(grpc.aio.AbortError):
        asyncio.run(call())
    return context.aborted


@pytest.mark.parametrize("kind", every_error(), ids=reason)
def test_an_error_comes_back_as_what_it_was_with_the_name_of_who_said_it(
    kind: type[errors.LocalDpError],
) -> None:
    code, text, metadata = details(kind("what went wrong"))
    back = error_of(Failure(code, metadata), "party x")
    assert type(back) is kind
    assert text == "what went wrong"
    assert str(back) == "party x: what went wrong"


def test_every_error_of_the_library_has_a_status_of_its_own_name() -> None:
    assert set(CODES) == set(every_error())
    assert len({reason(kind) for kind in CODES}) == len(CODES)
    assert grpc.StatusCode.OK not in CODES.values()


def test_an_error_that_is_not_in_the_table_travels_as_its_nearest_ancestor() -> None:
    class Unlisted(errors.BudgetExhausted):
        pass

    code, _, metadata = details(Unlisted("no more"))
    assert type(error_of(Failure(code, metadata), "x")) is errors.BudgetExhausted


@pytest.mark.parametrize("handler", ["unary", "before_the_first", "after_the_first"])
def test_an_unexpected_exception_leaves_without_its_text(handler: str) -> None:
    aborted = aborted_by(KeyError(CANARY), handler)
    assert aborted[0] is grpc.StatusCode.INTERNAL
    assert CANARY not in repr(aborted)
    assert "KeyError" in aborted[1]


@pytest.mark.parametrize("handler", ["unary", "before_the_first", "after_the_first"])
def test_a_refusal_leaves_with_its_text_and_its_name(handler: str) -> None:
    code, text, metadata = aborted_by(errors.BudgetExhausted("no more"), handler)
    assert (code, text) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "no more")
    assert type(error_of(Failure(code, metadata), "x")) is errors.BudgetExhausted


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (grpc.StatusCode.UNAVAILABLE, errors.Unreachable),
        (grpc.StatusCode.CANCELLED, errors.Unreachable),
        (grpc.StatusCode.DEADLINE_EXCEEDED, errors.DeadlineMissed),
        (grpc.StatusCode.RESOURCE_EXHAUSTED, errors.InvalidParameter),
        (grpc.StatusCode.INTERNAL, errors.Unreachable),
        (grpc.StatusCode.UNIMPLEMENTED, errors.Unreachable),
    ],
)
def test_a_bare_status_becomes_an_error_that_names_the_peer(
    code: grpc.StatusCode, kind: type[errors.LocalDpError]
) -> None:
    error = error_of(Failure(code), "party 7")
    assert type(error) is kind
    assert "party 7" in str(error)


def _packed(domain: str, named: str) -> bytes:
    info = any_pb2.Any()
    info.Pack(error_details_pb2.ErrorInfo(reason=named, domain=domain))
    return bytes(status_pb2.Status(details=[info]).SerializeToString())


def _broken_detail() -> bytes:
    info = any_pb2.Any(type_url="type.googleapis.com/google.rpc.ErrorInfo", value=b"\xff\xff")
    return bytes(status_pb2.Status(details=[info]).SerializeToString())


@pytest.mark.parametrize(
    "metadata",
    [
        b"\xff\xff\xff",
        b"",
        _broken_detail(),
        _packed("localdp", "NO_SUCH_ERROR"),
        _packed("elsewhere", "BUDGET_EXHAUSTED"),
        _packed("localdp", "__class__"),
    ],
)
def test_details_that_are_garbage_or_not_ours_are_ignored(metadata: bytes) -> None:
    error = error_of(Failure(grpc.StatusCode.UNAVAILABLE, ((KEY, metadata),)), "party x")
    assert type(error) is errors.Unreachable


def test_a_long_message_is_cut_to_what_trailing_metadata_can_carry() -> None:
    _, text, metadata = details(errors.QueryRefused("x" * 100_000))
    assert len(text) <= 1000
    assert len(metadata[0][1]) < 4096


FAILED = "failed to connect to all addresses; last error: UNKNOWN: ipv4:192.0.2.7:7000: "


@pytest.mark.parametrize(
    ("told", "words"),
    [
        (FAILED + "Failed to connect to remote host: Connection refused", ""),
        (FAILED + "Socket closed", ": it hangs up; does it want TLS? Show --identity"),
        (FAILED + "recvmsg:Connection reset by peer", ": it hangs up; does it want TLS? Show --identity"),
        (
            FAILED + "Tls handshake failed (TSI_PROTOCOL_FAILURE): SSL_ERROR_SSL",
            ": TLS could not be agreed on; does it have a certificate of the same authority?",
        ),
        (f"Socket closed, said the peer: {CANARY}", ""),
        ("", ""),
    ],
)
def test_a_peer_that_hangs_up_may_want_tls_and_its_own_words_are_not_shown(told: str, words: str) -> None:
    failure = Failure(grpc.StatusCode.UNAVAILABLE, None, told)
    assert str(error_of(failure, "north")) == f"north cannot be reached{words}"


def test_what_a_peer_says_drives_no_terminal_and_begins_no_line() -> None:
    said = "\x1b[2Jparty-1 is to blame\nparty-1: bad\r\u202e"
    info = any_pb2.Any()
    info.Pack(error_details_pb2.ErrorInfo(reason="INVALID_PARAMETER", domain="localdp"))
    data = status_pb2.Status(code=3, message=said, details=[info]).SerializeToString()
    told = str(error_of(Failure(grpc.StatusCode.INVALID_ARGUMENT, ((KEY, bytes(data)),)), "north"))
    assert told == "north: ?[2Jparty-1 is to blame?party-1: bad??"
