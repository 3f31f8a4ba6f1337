"""How an agent is reached: health, reflection, what it says of itself, and what it does with what is no request."""

from __future__ import annotations

from collections.abc import Iterator

import grpc
from google.protobuf import descriptor_pb2
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from localdp.cohorts import LARGEST_INDEX
from parties import codec
from parties.contract.clause import Clause
from parties.contract.plan import ClausePlan
from parties.contract.subject import Broken, Reply, Subject, require_refused
from parties.repeating import Begun, Response, Stub
from parties.serving import LARGEST_MESSAGE_BYTES
from parties.wire.v1 import oracle_pb2 as pb

_SERVICE = pb.DESCRIPTOR.services_by_name["LocalRandomizerOracleService"]
_LONGEST_NAME = 128
_MOST_SERVERS = 255
_LARGEST_AMOUNT = 1 << 62  # nanonats
_GARBAGE = (b"\xff" * 50, b"\x0a\x05abc", b"\x0a\x10" + b"i" * 16 + b"\x12\x02\x0a\x7f")


def health(subject: Subject, plan: ClausePlan) -> str:
    """The gRPC health protocol, for the whole server and for the service."""
    stub: Stub = health_pb2_grpc.HealthStub(subject.channel)
    for service in ("", _SERVICE.full_name):
        request = health_pb2.HealthCheckRequest(service=service)
        answer = stub.Check(request, timeout=subject.timeout)
        if answer.status != health_pb2.HealthCheckResponse.SERVING:
            raise Broken(f"health of {service or 'the server'!r} is {answer.status}, not SERVING")
    return "SERVING, the server and the service"


def reflection(subject: Subject, plan: ClausePlan) -> str:
    """The gRPC reflection protocol: the service, and every method of the contract."""
    listed = _reflected(subject, reflection_pb2.ServerReflectionRequest(list_services=""))
    if _SERVICE.full_name not in {service.name for service in listed.list_services_response.service}:
        raise Broken(f"reflection does not list {_SERVICE.full_name}")
    asked = reflection_pb2.ServerReflectionRequest(file_containing_symbol=_SERVICE.full_name)
    files = _reflected(subject, asked).file_descriptor_response.file_descriptor_proto
    methods = {
        method.name
        for file in files
        for service in descriptor_pb2.FileDescriptorProto.FromString(file).service
        for method in service.method
    }
    missing = [method.name for method in _SERVICE.methods if method.name not in methods]
    if missing:
        raise Broken(f"reflection does not know the method {missing[0]}")
    return f"{len(_SERVICE.methods)} methods"


def _reflected(subject: Subject, request: reflection_pb2.ServerReflectionRequest) -> Response:
    stub: Stub = reflection_pb2_grpc.ServerReflectionStub(subject.channel)
    return next(iter(stub.ServerReflectionInfo(iter([request]), timeout=subject.timeout)))


def description(subject: Subject, plan: ClausePlan) -> str:
    """Within bounds, and the same twice."""
    first = subject.describe()
    require_description(first)
    if subject.describe() != first:
        raise Broken("Describe says something else when it is called again")
    return f"{first.people} people, {len(first.schema.columns)} columns"


def require_description(described: pb.DescribeResponse) -> None:
    """What an agent says of itself is within the bounds of the contract."""
    if not 0 < len(described.name) <= _LONGEST_NAME:
        raise Broken(f"a party's name has 1 to {_LONGEST_NAME} characters")
    if not 0 < described.people <= LARGEST_INDEX:
        raise Broken(f"a party holds 1 to {LARGEST_INDEX} people")
    codec.schema_from_wire(described.schema)
    for amount in (described.budget_nanonats, described.largest_request_nanonats):
        if not 0 < amount <= _LARGEST_AMOUNT:
            raise Broken(f"an epsilon is announced that is not within 1 .. {_LARGEST_AMOUNT} nanonats")
    if described.smallest_request_nanonats > described.largest_request_nanonats:
        raise Broken("the smallest request that is announced is larger than the largest")
    servers = list(described.share_servers)
    if len(servers) > _MOST_SERVERS or len(set(servers)) < len(servers):
        raise Broken(f"there are at most {_MOST_SERVERS} share servers, each with its own name")


def oversized(subject: Subject, plan: ClausePlan) -> str:
    """A message over gRPC's limit of 4 MiB."""
    message = codec.request_to_wire(plan.requests["true"], plan.crowd)
    message.query = "x" * (LARGEST_MESSAGE_BYTES + 1)
    with subject.another_channel(("grpc.max_send_message_length", -1)) as channel:
        raw: Stub = channel.unary_stream(f"/{_SERVICE.full_name}/Randomize")
        reply = subject.ended(_decoded(raw(message.SerializeToString(), timeout=subject.timeout)), 0)
    require_refused("a message over 4 MiB", reply, "RESOURCE_EXHAUSTED")
    return _still_up(subject, plan)


class _decoded:  # noqa: N801
    """A raw call whose messages are decoded as they come."""

    def __init__(self, call: Begun) -> None:
        self._call = call
        self.cancel = call.cancel

    def __iter__(self) -> Iterator[pb.RandomizeResponse]:
        return (pb.RandomizeResponse.FromString(message) for message in self._call)


def garbage(subject: Subject, plan: ClausePlan) -> str:
    """Bytes that are no message.  UNKNOWN, INTERNAL: gRPC's own words for them, before a handler sees them."""
    raw: Stub = subject.channel.unary_stream(f"/{_SERVICE.full_name}/Randomize")
    for data in _GARBAGE:
        parts: list[bytes] = []
        try:
            parts += raw(data, timeout=subject.timeout)
            reply = Reply(grpc.StatusCode.OK)
        except grpc.RpcError as failure:
            reply = Reply(failure.code())  # gRPC's own text, if it is gRPC's, names a function of its own
        if parts:
            raise Broken("bytes that are no request were answered")
        require_refused("garbage", reply, "UNKNOWN", "INTERNAL", "INVALID_ARGUMENT")
    return _still_up(subject, plan)


def _still_up(subject: Subject, plan: ClausePlan) -> str:
    if subject.describe().people != plan.people:
        raise Broken("afterwards the agent describes itself otherwise")
    return "refused; the agent stays up"


def silence(subject: Subject, plan: ClausePlan) -> str:
    """No refusal of this check said more than it should; this clause comes last."""
    for reply in subject.refusals:
        text = reply.text
        if any(mark in text for mark in ("Traceback", 'File "', "Exception", "Error:", "<class ")):
            raise Broken(f"{reply.name}: the text of an exception reached the caller")
        if len(text) > 1000 or not text.isprintable():
            raise Broken(f"{reply.name}: a refusal is one printable line of at most 1000 characters")
    named = sum(bool(reply.reason) for reply in subject.refusals)
    return f"{len(subject.refusals)} refusals, {named} of them with a reason"


FIRST = (
    Clause("C01", "health says SERVING, for the server and for the service", health),
    Clause("C02", "reflection lists the service and each of its methods", reflection),
    Clause("C03", "Describe is bounded, consistent, and the same twice", description),
)
LAST = (
    Clause("C16", "a message over 4 MiB is refused, and the agent stays up", oversized),
    Clause("C17", "bytes that are no request are refused, and the agent stays up", garbage),
    Clause("C19", "no refusal lets the text of an exception out", silence),
)
