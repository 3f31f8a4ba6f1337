"""Health and reflection, as every server has them, without gRPC's habit of answering with an exception's own words.

They are the servicers of grpcio-health-checking and grpcio-reflection; what these answer themselves, such as NOT_FOUND
for a service that is not known, is left as it is.  Bytes that are no message are refused as everywhere else
(INVALID_ARGUMENT), also in the middle of a stream, and an exception that nobody foresaw leaves by its type alone.

Checked in tests/integration/test_serving.py.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection, reflection_pb2, reflection_pb2_grpc

from parties.identity import Context
from parties.status import answering, require_message, streaming

_Requests = AsyncIterator[reflection_pb2.ServerReflectionRequest]
_Responses = AsyncIterator[reflection_pb2.ServerReflectionResponse]


class Health(health.aio.HealthServicer):
    """Says whether a service is served."""

    def register(self, server: Any) -> None:
        """Add the service to a server."""
        health_pb2_grpc.add_HealthServicer_to_server(self, server)

    async def serving(self, names: Sequence[str]) -> None:
        """From now on these are, and the server as a whole is."""
        for name in ("", *names):
            await self.set(name, health_pb2.HealthCheckResponse.SERVING)

    @answering
    async def Check(  # noqa: N802
        self, request: health_pb2.HealthCheckRequest, context: Context
    ) -> health_pb2.HealthCheckResponse:
        """How it is now."""
        return await super().Check(request, context)

    @answering
    async def Watch(self, request: health_pb2.HealthCheckRequest, context: Context) -> None:  # noqa: N802
        """How it is, and every change."""
        await super().Watch(request, context)


class Reflection:
    """Lists the services, and describes their messages."""

    def __init__(self, names: Sequence[str]) -> None:
        listed = [*names, health.SERVICE_NAME, reflection.SERVICE_NAME]
        self._inner: Any = reflection.aio.ReflectionServicer(listed)

    def register(self, server: Any) -> None:
        """Add the service to a server."""
        add: Any = reflection_pb2_grpc.add_ServerReflectionServicer_to_server
        add(self, server)

    @streaming
    async def ServerReflectionInfo(self, requests: _Requests, context: Context) -> _Responses:  # noqa: N802
        """An answer to each question of a stream."""
        async for response in self._inner.ServerReflectionInfo(_messages(requests), context):
            yield response


async def _messages(requests: _Requests) -> _Requests:
    async for request in requests:
        yield require_message(request)
