"""Domain objects to and from the wire: the only place, beside the services, that knows generated types.

Decoding builds the domain objects, whose constructors check their own bounds: what comes out of here is well formed.
"""

from __future__ import annotations

from localdp.accounting.epsilon import Epsilon
from localdp.cohorts import Cohort, Split
from localdp.domains import BitDomain, CategoryDomain, Domain, IntegerDomain, RealDomain, Schema
from localdp.errors import InvalidParameter
from localdp.oracles.party import Request
from localdp.sharing import field
from localdp.sharing.collection import Collection, Contributor
from localdp.sharing.noise_plans import NoisePlan
from localdp.sharing.share_server import ShareBatch
from parties.query_codec import query_from_wire, query_to_wire
from parties.randomizer_codec import randomizer_from_wire, randomizer_to_wire
from parties.wire.v1 import (
    cohort_pb2,
    collection_pb2,
    oracle_pb2,
    schema_pb2,
    share_server_pb2,
)

_PLANS = {
    NoisePlan.EACH_SERVER: collection_pb2.NOISE_PLAN_EACH_SERVER,
    NoisePlan.DIVIDED: collection_pb2.NOISE_PLAN_DIVIDED,
}
_PLANS_FROM_WIRE = {number: plan for plan, number in _PLANS.items()}


def cohort_to_wire(cohort: Cohort) -> cohort_pb2.Cohort:
    """A cohort as a message."""
    split = cohort.split
    part = None if split is None else cohort_pb2.Split(seed=split.seed, parts=split.parts, part=split.part)
    return cohort_pb2.Cohort(start=cohort.start, stop=cohort.stop, split=part)


def cohort_from_wire(cohort: cohort_pb2.Cohort) -> Cohort:
    """A cohort, checked."""
    split = None
    if cohort.HasField("split"):
        split = Split(cohort.split.seed, cohort.split.parts, cohort.split.part)
    return Cohort(cohort.start, cohort.stop, split)


def request_to_wire(request: Request, cohort: Cohort) -> oracle_pb2.RandomizeRequest:
    """A call of the LR oracle as a message."""
    return oracle_pb2.RandomizeRequest(
        request_id=request.request_id,
        query=query_to_wire(request.query),
        randomizer=randomizer_to_wire(request.randomizer),
        cohort=cohort_to_wire(cohort),
    )


def request_from_wire(message: oracle_pb2.RandomizeRequest) -> tuple[Request, Cohort]:
    """A call of the LR oracle, checked."""
    request = Request(
        message.request_id, query_from_wire(message.query), randomizer_from_wire(message.randomizer)
    )
    return request, cohort_from_wire(message.cohort)


def collection_to_wire(collection: Collection) -> collection_pb2.Collection:
    """A collection as a message."""
    return collection_pb2.Collection(
        collection_id=collection.collection_id,
        query=query_to_wire(collection.query),
        resolution=collection.resolution,
        epsilon_nanonats=collection.epsilon.nanonats,
        noise_plan=_PLANS[collection.plan],
        servers=collection.servers,
        parties=[collection_pb2.Contributor(name=p.name, people=p.people) for p in collection.parties],
        minimum_batch=collection.minimum_batch,
    )


def collection_from_wire(message: collection_pb2.Collection) -> Collection:
    """A collection, checked."""
    if message.noise_plan not in _PLANS_FROM_WIRE:
        raise InvalidParameter("this noise plan is not known here")
    return Collection(
        message.collection_id,
        query_from_wire(message.query),
        message.resolution,
        Epsilon(message.epsilon_nanonats),
        _PLANS_FROM_WIRE[message.noise_plan],
        tuple(message.servers),
        tuple(Contributor(party.name, party.people) for party in message.parties),
        message.minimum_batch,
    )


def batch_to_wire(batch: ShareBatch) -> share_server_pb2.UploadSharesRequest:
    """Shares as a message."""
    return share_server_pb2.UploadSharesRequest(
        collection=batch.collection,
        party=batch.party,
        cohort=cohort_to_wire(batch.cohort),
        shares=field.pack(batch.shares),
    )


def batch_from_wire(message: share_server_pb2.UploadSharesRequest) -> ShareBatch:
    """Shares, each a reduced field element."""
    return ShareBatch(
        message.collection, message.party, cohort_from_wire(message.cohort), field.unpack(message.shares)
    )


def schema_to_wire(schema: Schema) -> schema_pb2.Schema:
    """A schema as a message."""
    return schema_pb2.Schema(columns=[_column(name, schema[name]) for name in schema.names])


def schema_from_wire(message: schema_pb2.Schema) -> Schema:
    """A schema, checked."""
    columns = {column.name: _domain(column) for column in message.columns}
    if len(columns) != len(message.columns):
        raise InvalidParameter("the columns of a schema must differ in name")
    return Schema(columns)


def _column(name: str, domain: Domain) -> schema_pb2.SchemaColumn:
    match domain:
        case BitDomain():
            return schema_pb2.SchemaColumn(name=name, bit=schema_pb2.BitDomain())
        case CategoryDomain():
            return schema_pb2.SchemaColumn(
                name=name, category=schema_pb2.CategoryDomain(labels=domain.labels)
            )
        case IntegerDomain():
            bounds = schema_pb2.IntegerDomain(low=domain.low, high=domain.high)
            return schema_pb2.SchemaColumn(name=name, integer=bounds)
        case RealDomain():
            return schema_pb2.SchemaColumn(
                name=name, real=schema_pb2.RealDomain(low=domain.low, high=domain.high)
            )
    raise InvalidParameter(f"a {type(domain).__name__} has no form on the wire")


def _domain(column: schema_pb2.SchemaColumn) -> Domain:
    match column.WhichOneof("domain"):
        case "bit":
            return BitDomain()
        case "category":
            return CategoryDomain(tuple(column.category.labels))
        case "integer":
            return IntegerDomain(column.integer.low, column.integer.high)
        case "real":
            return RealDomain(column.real.low, column.real.high)
    raise InvalidParameter("a column of the schema has no domain")
