"""Callers are admitted before anything is parsed: for every kind of handler, and as a service without a rule shows."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

import grpc
import pytest

from localdp.errors import InvalidParameter, LocalDpError, PolicyRefused
from parties.admission import Door, admitting
from parties.observability.observer import Observer
from parties.relay.context import RelayedContext
from parties.relay.limits import RelayedFailure
from parties.status import error_of, require_message
from parties.wire.v1 import oracle_pb2 as pb

GOOD = pb.DescribeResponse(name="x").SerializeToString()
BAD = b"\xff" * 20
CANARY = "the record says 4711"
KINDS = ("unary_unary", "unary_stream", "stream_unary", "stream_stream")
Registering = Callable[[Mapping[str, Any]], dict[str, Any]]


class Service:
    """A service of one method of each kind; notes in which order what happens."""

    def __init__(self, refusal: Exception | None = None) -> None:
        self.seen: list[str] = []
        self._refusal = refusal

    def admit(self, method: str, context: Any) -> None:
        self.seen.append(f"admit {method}")
        if self._refusal is not None:
            raise self._refusal

    def decode(self, data: bytes) -> Any:
        self.seen.append("decode")
        return pb.DescribeResponse.FromString(data)

    async def unary_unary(self, request: Any, context: Any) -> str:
        self.seen.append("run")
        return str(request.name)

    async def unary_stream(self, request: Any, context: Any) -> AsyncIterator[str]:
        self.seen.append("run")
        yield str(request.name)

    async def stream_unary(self, requests: Any, context: Any) -> str:
        self.seen.append("run")
        return "".join([require_message(request).name async for request in requests])

    async def stream_stream(self, requests: Any, context: Any) -> AsyncIterator[str]:
        self.seen.append("run")
        async for request in requests:
            yield require_message(request).name

    def handlers(self) -> dict[str, Any]:
        make = {kind: getattr(grpc, f"{kind}_rpc_method_handler") for kind in KINDS}
        return {kind: make[kind](getattr(self, kind), self.decode, str.encode) for kind in KINDS}


class Open(Service):
    """A service without a rule."""

    admit = None  # type: ignore[assignment]


async def outcome(service: Service, kind: str, data: bytes, register: Registering) -> Any:
    """What a caller gets, who sends these bytes: a text, or an error."""
    handler = register(service.handlers())[kind]
    context: Any = RelayedContext("analyst", None)

    async def messages() -> AsyncIterator[Any]:
        yield handler.request_deserializer(data)

    request = messages() if handler.request_streaming else handler.request_deserializer(data)
    answer = getattr(handler, kind)(request, context)
    try:
        return "".join([part async for part in answer]) if handler.response_streaming else await answer
    except grpc.aio.AbortError:
        return error_of(RelayedFailure(context.status), "x")
    except LocalDpError as error:
        return error


def call(service: Service, kind: str, data: bytes = GOOD, register: Registering = admitting) -> Any:
    return asyncio.run(outcome(service, kind, data, register))


def decoding_first(handlers: Mapping[str, Any]) -> dict[str, Any]:
    """As it was: the bytes are decoded before anybody looks who sent them."""
    entered = admitting(handlers)
    for name, handler in handlers.items():
        entered[name] = entered[name]._replace(request_deserializer=_eager(handler))
    return entered


def _eager(handler: Any) -> Callable[[bytes], bytes]:
    def decoded(data: bytes) -> bytes:
        encoded: bytes = handler.request_deserializer(data).SerializeToString()
        return encoded

    return decoded


@pytest.mark.parametrize("kind", KINDS)
def test_whoever_is_admitted_is_answered(kind: str) -> None:
    service = Service()
    assert call(service, kind) == "x"
    assert service.seen[0] == f"admit {kind}"
    assert sorted(service.seen[1:]) == ["decode", "run"]


def costs_no_parsing(kind: str, register: Registering) -> bool:
    service = Service(PolicyRefused("not you"))
    refused = call(service, kind, register=register)
    assert isinstance(refused, PolicyRefused)
    return service.seen == [f"admit {kind}"]


@pytest.mark.parametrize("kind", KINDS)
def test_whoever_is_not_admitted_costs_no_parsing(kind: str) -> None:
    assert costs_no_parsing(kind, admitting)


@pytest.mark.parametrize("kind", KINDS[:2])
def test_a_server_that_decodes_first_is_caught(kind: str) -> None:
    assert not costs_no_parsing(kind, decoding_first)


@pytest.mark.parametrize("kind", KINDS)
def test_bytes_that_are_no_message_are_refused_after_the_caller_is_known(kind: str) -> None:
    assert isinstance(call(Service(), kind, BAD), InvalidParameter)
    assert isinstance(call(Service(PolicyRefused("not you")), kind, BAD), PolicyRefused)


@pytest.mark.parametrize("kind", KINDS)
def test_a_service_without_a_rule_admits_everybody(kind: str) -> None:
    assert call(Open(), kind) == "x"


def test_a_rule_that_fails_in_another_way_admits_nobody_and_does_not_say_why() -> None:
    service = Service(KeyError(CANARY))
    refused = call(service, "unary_unary")
    assert isinstance(refused, LocalDpError) and CANARY not in str(refused)
    assert service.seen == ["admit unary_unary"]


def test_a_door_lets_in_whom_the_policy_names_and_everybody_into_open_methods() -> None:
    def only_the_analyst(caller: str) -> None:
        if caller != "analyst":
            raise PolicyRefused("not you")

    observer = Observer("agent", "north")
    door = Door(observer, only_the_analyst, open_methods=frozenset({"Describe"}))
    analyst, mallory = (RelayedContext(name, None) for name in ("analyst", "mallory"))
    for method, context in (("Randomize", analyst), ("Describe", analyst), ("Describe", mallory)):
        door.admit(method, context)  # type: ignore[arg-type]
    with pytest.raises(PolicyRefused):
        door.admit("Randomize", mallory)  # type: ignore[arg-type]
    assert 'localdp_refused_total{method="Randomize",reason="POLICY_REFUSED"} 1' in observer.exposition()
