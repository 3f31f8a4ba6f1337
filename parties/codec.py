"""Domain objects to and from the wire: the only place, beside the services, that knows generated types.

Decoding builds the domain objects, whose constructors check their own bounds: what comes out of here is well formed.  Of a
randomizer only parameters travel, under the names of the message's fields: its constructor derives the thresholds, and its
epsilon is that of the law that it has.  What is in no row of the registry is refused.

Checked in tests/unit/parties/test_codec.py and tests/unit/parties/test_randomizer_codec.py.
"""

from __future__ import annotations

from collections.abc import Mapping, MutableSequence, Sequence
from typing import Any, TypeVar

from google.protobuf.message import DecodeError

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.remaining import STEPS, Step
from localdp.cohorts import Cohort, Split
from localdp.domains import (
    BitDomain,
    CategoryDomain,
    Domain,
    IntegerDomain,
    RealDomain,
    RowsDomain,
    Schema,
)
from localdp.errors import InvalidParameter, MalformedReport, QueryRefused
from localdp.party.party import Request
from localdp.queries.tokens import require_text
from localdp.randomizers.definition import LocalRandomizer, Parameters
from localdp.randomizers.registry import class_of, wire_name_of
from localdp.sharing.binding import Binding
from localdp.sharing.collection import Collection, Contributor, Tier
from localdp.sharing.encoding import Encoding, EncodingKind
from localdp.sharing.noise_plans import NoisePlan, PlanKind
from localdp.sharing.selection import Selection, SelectionRule
from parties.wire.v1 import (
    cohort_pb2,
    collection_pb2,
    oracle_pb2,
    randomizer_pb2,
    schema_pb2,
)

_PLANS: dict[PlanKind, collection_pb2.NoisePlan] = {
    "each-server": collection_pb2.NOISE_PLAN_EACH_SERVER,
    "divided": collection_pb2.NOISE_PLAN_DIVIDED,
    "joint": collection_pb2.NOISE_PLAN_JOINT,
    "proved": collection_pb2.NOISE_PLAN_PROVED,
}
_TIERS: dict[Tier, collection_pb2.Tier] = {
    "prio3": collection_pb2.TIER_PRIO3,
    "additive": collection_pb2.TIER_ADDITIVE,
}
_RULES: dict[SelectionRule, collection_pb2.Selection.Rule] = {
    "largest": collection_pb2.Selection.RULE_LARGEST,
    "furthest": collection_pb2.Selection.RULE_FURTHEST,
    "quantile": collection_pb2.Selection.RULE_QUANTILE,
}
_ENCODINGS: dict[EncodingKind, collection_pb2.EncodingKind] = {
    "count": collection_pb2.ENCODING_KIND_COUNT,
    "sum": collection_pb2.ENCODING_KIND_SUM,
    "histogram": collection_pb2.ENCODING_KIND_HISTOGRAM,
    "multihot": collection_pb2.ENCODING_KIND_MULTIHOT,
    "vector": collection_pb2.ENCODING_KIND_VECTOR,
}
_LINES = str.maketrans("\t\r\n", "   ")
_Name = TypeVar("_Name")


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
        query=request.query,
        randomizer=randomizer_to_wire(request.randomizer),
        cohort=cohort_to_wire(cohort),
        mixed=request.mixed,
        epoch=request.epoch,
    )


def request_from_wire(message: oracle_pb2.RandomizeRequest) -> tuple[Request, Cohort]:
    """A call of the LR oracle, checked."""
    request = Request(
        message.request_id,
        query_text(message.query),
        randomizer_from_wire(message.randomizer),
        message.mixed,
        message.epoch,
    )
    return request, cohort_from_wire(message.cohort)


def collection_to_wire(collection: Collection) -> collection_pb2.Collection:
    """A collection as a message."""
    return collection_pb2.Collection(
        collection_id=collection.collection_id,
        query=collection.query,
        epsilon_nanonats=collection.epsilon.nanonats,
        noise_plan=_PLANS[collection.plan.kind],
        tolerated=collection.plan.tolerated,
        servers=collection.servers,
        parties=[collection_pb2.Contributor(name=p.name, people=p.people) for p in collection.parties],
        minimum_batch=collection.minimum_batch,
        encoding=_encoding_to_wire(collection.encoding),
        tier=_TIERS[collection.tier],
        keys=collection.binding.keys,
        witnesses=collection.binding.witnesses,
        commitment=collection.binding.commitment,
        ends=collection.binding.ends,
        relayed=collection.relayed,
        selection=None if collection.selection is None else _selection_to_wire(collection.selection),
        blocks=collection.blocks,
    )


def collection_from_wire(message: collection_pb2.Collection) -> Collection:
    """A collection, checked."""
    plan = NoisePlan(_named(_PLANS, message.noise_plan, "noise plan"), message.tolerated)
    return Collection(
        message.collection_id,
        query_text(message.query),
        _encoding_from_wire(message.encoding),
        Epsilon(message.epsilon_nanonats),
        plan,
        tuple(message.servers),
        tuple(Contributor(party.name, party.people) for party in message.parties),
        message.minimum_batch,
        Binding(tuple(message.keys), tuple(message.witnesses), message.commitment, message.ends),
        _named(_TIERS, message.tier, "tier"),
        message.relayed,
        _selection_from_wire(message.selection) if message.HasField("selection") else None,
        query_text(message.blocks) if message.blocks else "",
    )


def _selection_to_wire(selection: Selection) -> collection_pb2.Selection:
    return collection_pb2.Selection(
        rule=_RULES[selection.rule],
        candidates=selection.candidates,
        offsets=selection.offsets,
        weights=selection.weights,
    )


def _selection_from_wire(message: collection_pb2.Selection) -> Selection:
    rule = _named(_RULES, message.rule, "selection")
    return Selection(rule, message.candidates, tuple(message.offsets), message.weights)


def query_text(text: str) -> str:
    """The text of a query, as it came: short enough to be parsed by whoever evaluates it, and fit to be shown."""
    require_text(text)
    if not text or not text.translate(_LINES).isprintable():
        raise QueryRefused("a query is printable text, and not empty")
    return text


def _encoding_to_wire(encoding: Encoding) -> collection_pb2.Encoding:
    return collection_pb2.Encoding(
        kind=_ENCODINGS[encoding.kind],
        length=encoding.length,
        bound=encoding.bound,
        sensitivity=encoding.sensitivity,
        weight=encoding.weight,
    )


def _encoding_from_wire(message: collection_pb2.Encoding) -> Encoding:
    kind = _named(_ENCODINGS, message.kind, "encoding")
    return Encoding(kind, message.length, message.bound, message.sensitivity, message.weight)


def _named(names: Mapping[_Name, int], number: int, what: str) -> _Name:
    """The name that a number of an enum stands for."""
    for name, known in names.items():
        if known == number:
            return name
    raise InvalidParameter(f"this {what} is not known here")


def schema_to_wire(schema: Schema) -> schema_pb2.Schema:
    """A schema as a message."""
    return schema_pb2.Schema(columns=[_column(name, schema[name]) for name in schema.names])


def schema_from_wire(message: schema_pb2.Schema) -> Schema:
    """A schema, checked."""
    columns = {column.name: _domain(column) for column in message.columns}
    if len(columns) != len(message.columns):
        raise InvalidParameter("the columns of a schema must differ in name")
    return Schema(columns)


def budgets_to_wire(steps: Sequence[Step]) -> oracle_pb2.BudgetsResponse:
    """What people have left as a message."""
    told = [
        oracle_pb2.BudgetStep(at_least_nanonats=one.at_least.nanonats, people=one.people) for one in steps
    ]
    return oracle_pb2.BudgetsResponse(steps=told)


def budgets_from_wire(message: oracle_pb2.BudgetsResponse, people: int) -> tuple[Step, ...]:
    """What so many people have left, checked: all steps, each with as many people as the one before at least."""
    steps = tuple(Step(Epsilon(one.at_least_nanonats), one.people) for one in message.steps[: len(STEPS)])
    counts = [0, *(one.people for one in steps)]
    whole = len(message.steps) == len(STEPS) and tuple(one.at_least for one in steps) == STEPS
    if not whole or counts != sorted(counts) or counts[-1] != people:
        raise MalformedReport("budgets are told in the steps of the contract, and at 0 nats of everybody")
    return steps


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
        case RowsDomain(most, of):
            rows = schema_pb2.RowsDomain(most=most, of=None if of is None else _column("", of))
            return schema_pb2.SchemaColumn(name=name, rows=rows)
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
        case "rows":
            of = _of_row(column.rows.of) if column.rows.HasField("of") else None
            return RowsDomain(column.rows.most, of)
    raise InvalidParameter("a column of the schema has no domain")


def _of_row(column: schema_pb2.SchemaColumn) -> Domain:
    if (
        column.WhichOneof("domain") == "rows"
    ):  # however deep a hostile message is nested, it is not followed
        raise InvalidParameter("a row of a person holds no rows")
    return _domain(column)


def randomizer_to_wire(randomizer: LocalRandomizer) -> randomizer_pb2.Randomizer:
    """The parameters of a randomizer."""
    message: Any = {wire_name_of(randomizer): randomizer.parameters}
    return randomizer_pb2.Randomizer(**message)


def randomizer_from_wire(randomizer: randomizer_pb2.Randomizer) -> LocalRandomizer:
    """The randomizer that the parameters describe, with the epsilon that its law has."""
    kind = randomizer.WhichOneof("kind")
    if kind is None:
        raise InvalidParameter("this randomizer is not known here")
    rebuilt: LocalRandomizer = class_of(kind).from_parameters(_parameters(getattr(randomizer, kind)))
    return rebuilt


def randomizer_to_bytes(randomizer: LocalRandomizer) -> bytes:
    """The same as bytes, always the same ones: for files."""
    return randomizer_to_wire(randomizer).SerializeToString(deterministic=True)


def randomizer_from_bytes(data: bytes) -> LocalRandomizer:
    """The randomizer of such bytes."""
    try:
        message = randomizer_pb2.Randomizer.FromString(data)
    except DecodeError as error:
        raise InvalidParameter("these bytes are no randomizer") from error
    return randomizer_from_wire(message)


def _parameters(message: Any) -> Parameters:
    """The fields of a message by name, whether they were sent or have the value of those that were not."""
    return {field.name: _plain(getattr(message, field.name), field) for field in message.DESCRIPTOR.fields}


def _plain(value: Any, field: Any) -> Any:
    # The descriptor says so, too, but under a name that changes between versions of protobuf.
    repeated = isinstance(value, MutableSequence)
    if field.message_type is None:
        return tuple(value) if repeated else value
    return tuple(map(_parameters, value)) if repeated else _parameters(value)
