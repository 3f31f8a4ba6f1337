"""Who is let in, before anything of a request is parsed.

A service that defines `admit(method, context)` is asked at the start of every call of its own; what it raises is the
answer.  The bytes of a request are decoded after that, so whoever is refused has cost no parsing at all.  A service
without it admits everybody.  It holds for calls that are dialled (parties/serving.py) and for those that come over a
relay (parties/relay/answering.py): both register handlers through `admitting`.

`Door` is such a rule: certificates that were revoked, then whom the policy names.  Whoever it refuses is observed.

Checked in tests/unit/parties/test_admission.py and tests/integration/test_admission.py.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import grpc

from localdp.party.policy import Policy
from parties.identity import Context, peer_name
from parties.observability.observer import Observer
from parties.revocation import Revocations
from parties.status import abort, leniently, require_message

Handler: TypeAlias = Any  # grpc.RpcMethodHandler: a named tuple, as generated code makes it
Received: TypeAlias = Any  # a message, or its bytes, or a stream of them
Behaviour: TypeAlias = Callable[..., Any]  # what a handler calls
Admit = Callable[[str, Context], None]  # the method's name, and who calls


class Registry(Protocol):
    """A server as services see it while they register."""

    def add_generic_rpc_handlers(self, handlers: Iterable[grpc.GenericRpcHandler], /) -> None:
        """The half of gRPC's registration that does not name its methods; the other one does it for both."""
        ...

    def add_registered_method_handlers(self, service: str, handlers: Mapping[str, Handler], /) -> None:
        """Register the handlers of a service."""
        ...


@dataclass(frozen=True, slots=True)
class Door:
    """Lets in whoever shows a certificate that was not revoked, and is one whom `require_caller` does not refuse."""

    observer: Observer
    require_caller: Callable[[str], None] = lambda caller: None  # such as that of a policy
    revocations: Revocations | None = None
    open_methods: frozenset[str] = frozenset()  # for everybody whose certificate was not revoked

    @classmethod
    def of(cls, policy: Policy, observer: Observer, revocations: Revocations | None = None) -> Door:
        """The door of an agent: whose certificate was not revoked, and whom its policy names."""
        described = frozenset[str]() if policy.private_description else frozenset({"Describe"})
        return cls(observer, policy.require_caller, revocations, described)

    def admit(self, method: str, context: Context) -> None:
        """Return, or raise why not."""
        caller = peer_name(context) or ""
        with self.observer.admission(method, caller):
            if self.revocations is not None:
                self.revocations.require_not_revoked(context)
            if method not in self.open_methods:
                self.require_caller(caller)


def admitting(handlers: Mapping[str, Handler]) -> dict[str, Handler]:
    """The handlers of a service, each of which asks the service before it decodes."""
    return {name: _admitting(name, handler) for name, handler in handlers.items()}


def _admitting(method: str, handler: Handler) -> Handler:
    """The same handler: of one request it takes the bytes; of a stream, messages, or what stands in for them."""
    kind = f"{_side(handler.request_streaming)}_{_side(handler.response_streaming)}"
    behaviour = getattr(handler, kind)
    decode = leniently(handler.request_deserializer)
    early, late = (decode, _as_it_is) if handler.request_streaming else (_as_it_is, decode)
    guarded = _yielding if inspect.isasyncgenfunction(behaviour) else _returning
    entered = guarded(_Entrance(method, _admit_of(behaviour), late), behaviour)
    return handler._replace(**{kind: entered, "request_deserializer": early})


def _admit_of(behaviour: Behaviour) -> Admit | None:
    """The rule of the service whose method it is; looked up once, when the service registers."""
    rule: Admit | None = getattr(getattr(behaviour, "__self__", None), "admit", None)
    return rule


def _side(streams: bool) -> str:
    return "stream" if streams else "unary"


def _as_it_is(request: Received) -> Received:
    return request


@dataclass(frozen=True, slots=True)
class _Entrance:
    """The way into one method."""

    method: str
    admit: Admit | None
    decode: Callable[[Received], Received]

    async def message(self, request: Received, context: Context) -> Received:
        """What the handler is given, once its caller is admitted; a call that is not is aborted."""
        try:
            if self.admit is not None:
                self.admit(self.method, context)
            return require_message(self.decode(request))
        except Exception as error:
            await abort(context, error)


def _returning(entrance: _Entrance, behaviour: Behaviour) -> Behaviour:
    async def guarded(request: Received, context: Context) -> Received:
        return await behaviour(await entrance.message(request, context), context)

    return guarded


def _yielding(entrance: _Entrance, behaviour: Behaviour) -> Behaviour:
    async def guarded(request: Received, context: Context) -> AsyncIterator[Received]:
        message = await entrance.message(request, context)
        async with contextlib.aclosing(behaviour(message, context)) as responses:
            async for response in responses:
                yield response

    return guarded
