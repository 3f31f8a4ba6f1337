"""Domain objects on the wire: round trips, bounds, and whatever bytes the network may bring."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from google.protobuf.message import DecodeError, Message
from hypothesis import given, settings
from hypothesis import strategies as st

from localdp.accounting.epsilon import Epsilon
from localdp.cohorts import LARGEST_INDEX, Cohort, Split
from localdp.domains import BitDomain, CategoryDomain, IntegerDomain, RealDomain, Schema
from localdp.errors import InvalidParameter, LocalDpError
from localdp.party.party import Request
from localdp.randomizers.one_bit import OneBitRandomizer
from localdp.sharing.binding import MOST_SECONDS, Binding
from localdp.sharing.collection import Collection, Contributor
from localdp.sharing.encoding import Encoding
from localdp.sharing.noise_plans import PLANS, NoisePlan
from localdp.sharing.selection import Selection
from parties import codec
from parties.shares.messages import block_from_wire
from parties.wire.v1 import cohort_pb2, collection_pb2, oracle_pb2, schema_pb2, share_server_pb2
from tests.support.shares import collection_of

SPLITS = st.integers(1, 1 << 16).flatmap(
    lambda parts: st.builds(
        Split, st.binary(min_size=16, max_size=16), st.just(parts), st.integers(0, parts - 1)
    )
)
COHORTS = st.tuples(st.integers(0, LARGEST_INDEX), st.integers(0, LARGEST_INDEX), st.none() | SPLITS).map(
    lambda drawn: Cohort(min(drawn[:2]), max(drawn[:2]), drawn[2])
)
EPSILONS = st.integers(10**6, 30 * 10**9).map(Epsilon)
REQUESTS = st.builds(
    Request,
    st.binary(min_size=16, max_size=64),
    st.sampled_from(["smoker", "age >= 65 and not smoker", "clip(0.01*age + 0.2)"]),
    st.builds(OneBitRandomizer, EPSILONS, st.sampled_from([1, 2, 1 << 16])),
)
NAMES = st.text(min_size=1, max_size=20)
ENCODINGS = st.sampled_from(
    [
        Encoding.count(),
        Encoding.sum(1 << 20),
        Encoding.histogram(256),
        Encoding.multihot(9, 2),
        Encoding.vector(3, 7, 5),
    ]
)
KEYS = st.binary(min_size=32, max_size=32)


def _binding(servers: int) -> st.SearchStrategy[Binding]:
    keys = st.lists(KEYS, min_size=servers, max_size=servers).map(tuple)
    return st.builds(Binding, keys, keys, KEYS, st.integers(1, MOST_SECONDS))


COLLECTIONS = st.lists(NAMES, min_size=2, max_size=5, unique=True).flatmap(
    lambda servers: st.builds(
        Collection,
        st.binary(min_size=16, max_size=16),
        st.just("smoker"),
        ENCODINGS,
        EPSILONS,
        st.sampled_from(PLANS),
        st.just(tuple(servers)),
        st.lists(
            st.builds(Contributor, NAMES, st.integers(0, 10**6)),
            min_size=1,
            max_size=4,
            unique_by=lambda c: c.name,
        ).map(tuple),
        st.integers(1, 2**63),
        _binding(len(servers)),
        st.sampled_from(["prio3", "additive"]),
    )
)
SCHEMA = Schema(
    {
        "smoker": BitDomain(),
        "region": CategoryDomain(("north", "ünïcode \U0001f600", "")),
        "age": IntegerDomain(-(2**53), 2**53),
        "bmi": RealDomain(-0.1, 1e300),
    }
)


def over_the_wire(message: Any) -> Any:
    """What the other side parses."""
    return type(message).FromString(message.SerializeToString())


@given(REQUESTS, COHORTS)
@settings(deadline=None)
def test_a_request_comes_back_as_it_went(request: Request, cohort: Cohort) -> None:
    message = over_the_wire(codec.request_to_wire(request, cohort))
    assert codec.request_from_wire(message) == (request, cohort)


@given(COLLECTIONS)
@settings(deadline=None)
def test_a_collection_comes_back_with_the_same_digest(collection: Collection) -> None:
    back = codec.collection_from_wire(over_the_wire(codec.collection_to_wire(collection)))
    assert back == collection
    assert back.digest == collection.digest


@pytest.mark.parametrize(
    "selection",
    [
        Selection("largest", 4),
        Selection(
            "furthest",
            2,
            (-3, 1 << 29),
            Selection.packed_weights(np.array([[0, 1, 1, 0], [7, 0, 65_536, 1]])),
        ),
        Selection("quantile", 4, (0,)),
    ],
)
def test_so_does_one_for_a_selection(selection: Selection) -> None:
    collection = collection_of(
        servers=("a", "b", "c"), plan=NoisePlan.JOINT, encoding=Encoding.histogram(4), selection=selection
    )
    back = codec.collection_from_wire(over_the_wire(codec.collection_to_wire(collection)))
    assert (back, back.digest) == (collection, collection.digest)


def test_a_schema_comes_back_as_it_went() -> None:
    assert codec.schema_from_wire(over_the_wire(codec.schema_to_wire(SCHEMA))) == SCHEMA


def test_the_epsilon_that_is_charged_is_derived_and_not_carried() -> None:
    request = Request(b"r" * 16, "smoker", OneBitRandomizer(Epsilon.requested(1), 1))
    message = codec.request_to_wire(request, Cohort(0, 1))
    message.randomizer.one_bit.epsilon_nanonats = 2 * 10**9
    received, _ = codec.request_from_wire(message)
    assert received.randomizer.epsilon > Epsilon.requested("1.999")


def _encoding(**changes: Any) -> collection_pb2.Encoding:
    fields = {"kind": collection_pb2.ENCODING_KIND_COUNT, "length": 1, "bound": 1, "sensitivity": 1}
    return collection_pb2.Encoding(**{**fields, **changes})


def _collection(**changes: Any) -> collection_pb2.Collection:
    fields: dict[str, Any] = {
        "collection_id": b"c" * 16,
        "query": "smoker",
        "encoding": _encoding(),
        "tier": collection_pb2.TIER_PRIO3,
        "epsilon_nanonats": 10**9,
        "noise_plan": collection_pb2.NOISE_PLAN_DIVIDED,
        "servers": ["a", "b"],
        "parties": [collection_pb2.Contributor(name="p", people=2)],
        "minimum_batch": 2,
        "keys": [bytes(32), b"1" * 32],
        "witnesses": [bytes(32), b"2" * 32],
        "commitment": b"3" * 32,
        "ends": 1 << 40,
    }
    return collection_pb2.Collection(**{**fields, **changes})


def _unknown_rule() -> collection_pb2.Selection:
    return collection_pb2.Selection.FromString(bytes([1 << 3, 77, 2 << 3, 1]))


@pytest.mark.parametrize(
    "changes",
    [
        {"collection_id": b""},
        {"collection_id": b"c" * 17},
        {"encoding": collection_pb2.Encoding()},
        {"encoding": _encoding(kind=77)},
        {"encoding": _encoding(length=2)},
        {"encoding": _encoding(bound=2)},
        {"encoding": _encoding(sensitivity=2)},
        {"encoding": _encoding(weight=1)},
        {"encoding": _encoding(kind=collection_pb2.ENCODING_KIND_VECTOR, length=(1 << 20) + 1)},
        {"tier": collection_pb2.TIER_UNSPECIFIED},
        {"tier": 77},
        {"keys": []},
        {"keys": [bytes(32)]},
        {"keys": [bytes(32), bytes(33)]},
        {"witnesses": []},
        {"witnesses": [bytes(32)] * 3},
        {"witnesses": [bytes(32), bytes(31)]},
        {"commitment": b""},
        {"commitment": bytes(33)},
        {"ends": 0},
        {"ends": (1 << 40) + 1},
        {"ends": 2**64 - 1},
        {"tolerated": 2},
        {"epsilon_nanonats": 0},
        {"epsilon_nanonats": 2**64 - 1},
        {"noise_plan": collection_pb2.NOISE_PLAN_UNSPECIFIED},
        {"noise_plan": 77},
        {"servers": ["a"]},
        {"servers": ["a", "a"]},
        {"servers": ["a", ""]},
        {"servers": ["a", "b" * 129]},
        {"servers": [str(place) for place in range(256)]},
        {"parties": []},
        {"parties": [collection_pb2.Contributor(name="p", people=1)] * 2},
        {"parties": [collection_pb2.Contributor(name="p", people=2**64 - 1)]},
        {"parties": [collection_pb2.Contributor(name=str(place)) for place in range(2**16 + 1)]},
        {"minimum_batch": 0},
        {"selection": collection_pb2.Selection()},
        {"selection": _unknown_rule()},
        {"selection": collection_pb2.Selection(rule=collection_pb2.Selection.RULE_LARGEST, candidates=1)},
    ],
    ids=lambda changes: str(changes)[:40],
)
def test_a_collection_out_of_bounds_is_refused(changes: dict[str, Any]) -> None:
    assert codec.collection_from_wire(_collection()).people == 2
    with pytest.raises(InvalidParameter):
        codec.collection_from_wire(_collection(**changes))


@pytest.mark.parametrize(
    "cohort",
    [
        cohort_pb2.Cohort(start=2, stop=1),
        cohort_pb2.Cohort(stop=LARGEST_INDEX + 1),
        cohort_pb2.Cohort(start=2**64 - 1, stop=2**64 - 1),
        cohort_pb2.Cohort(stop=1, split=cohort_pb2.Split()),
        cohort_pb2.Cohort(stop=1, split=cohort_pb2.Split(seed=b"s" * 16)),
        cohort_pb2.Cohort(stop=1, split=cohort_pb2.Split(seed=b"s" * 16, parts=2, part=2)),
        cohort_pb2.Cohort(stop=1, split=cohort_pb2.Split(seed=b"s" * 16, parts=2**16 + 1)),
        cohort_pb2.Cohort(stop=1, split=cohort_pb2.Split(seed=b"s" * 17, parts=2)),
    ],
)
def test_a_cohort_out_of_bounds_is_refused(cohort: cohort_pb2.Cohort) -> None:
    with pytest.raises(InvalidParameter):
        codec.cohort_from_wire(cohort)


@pytest.mark.parametrize(
    "columns",
    [
        [],
        [schema_pb2.SchemaColumn(name="a")],
        [schema_pb2.SchemaColumn(name="a", bit=schema_pb2.BitDomain())] * 2,
        [schema_pb2.SchemaColumn(name="a b", bit=schema_pb2.BitDomain())],
        [schema_pb2.SchemaColumn(name="and", bit=schema_pb2.BitDomain())],
        [schema_pb2.SchemaColumn(name=f"a{place}", bit=schema_pb2.BitDomain()) for place in range(1025)],
        [schema_pb2.SchemaColumn(name="a", integer=schema_pb2.IntegerDomain(low=1, high=0))],
        [schema_pb2.SchemaColumn(name="a", integer=schema_pb2.IntegerDomain(low=0, high=2**62))],
        [schema_pb2.SchemaColumn(name="a", real=schema_pb2.RealDomain(low=float("nan"), high=1))],
        [schema_pb2.SchemaColumn(name="a", real=schema_pb2.RealDomain(low=0, high=float("inf")))],
        [schema_pb2.SchemaColumn(name="a", category=schema_pb2.CategoryDomain())],
        [schema_pb2.SchemaColumn(name="a", category=schema_pb2.CategoryDomain(labels=["x", "x"]))],
        [
            schema_pb2.SchemaColumn(
                name="a", category=schema_pb2.CategoryDomain(labels=map(str, range(10**5)))
            )
        ],
    ],
    ids=range(13),
)
def test_a_schema_out_of_bounds_is_refused(columns: list[schema_pb2.SchemaColumn]) -> None:
    with pytest.raises(InvalidParameter):
        codec.schema_from_wire(schema_pb2.Schema(columns=columns))


Decode = Callable[[Any], object]
DECODERS: list[tuple[type[Message], Decode]] = [
    (oracle_pb2.RandomizeRequest, codec.request_from_wire),
    (collection_pb2.Collection, codec.collection_from_wire),
    (share_server_pb2.UploadSharesRequest, block_from_wire),
    (schema_pb2.Schema, codec.schema_from_wire),
]
GENUINE = [
    codec.request_to_wire(
        Request(b"r" * 16, "age >= 65 and not smoker", OneBitRandomizer(Epsilon.requested(1), 2)),
        Cohort(3, 900, Split(b"s" * 16, 3, 1)),
    ),
    _collection(),
    share_server_pb2.UploadSharesRequest(
        collection=b"d" * 32, party="p", cohort=cohort_pb2.Cohort(stop=2), shares=bytes(16)
    ),
    codec.schema_to_wire(SCHEMA),
]


def decoded(kind: type[Message], decode: Decode, data: bytes) -> None:
    """Parse and decode; anything but the library's own refusal is a failure of the test."""
    try:
        message = kind.FromString(data)
    except DecodeError:
        return  # gRPC itself refuses it
    try:
        decode(message)
    except LocalDpError:
        return


@pytest.mark.parametrize(("kind", "decode"), DECODERS, ids=lambda value: getattr(value, "__name__", ""))
@given(data=st.binary(max_size=200))
@settings(max_examples=500, deadline=None)
def test_random_bytes_are_refused_by_the_library_or_not_at_all(
    kind: type[Message], decode: Decode, data: bytes
) -> None:
    decoded(kind, decode, data)


@pytest.mark.parametrize("place", range(4), ids=lambda place: DECODERS[place][0].__name__)
@given(data=st.data())
@settings(max_examples=500, deadline=None)
def test_a_genuine_message_with_some_bytes_changed_is_refused_by_the_library_or_not_at_all(
    place: int, data: st.DataObject
) -> None:
    genuine = bytearray(GENUINE[place].SerializeToString())
    for _ in range(data.draw(st.integers(1, 4))):
        genuine[data.draw(st.integers(0, len(genuine) - 1))] = data.draw(st.integers(0, 255))
    kept = data.draw(st.integers(len(genuine) // 2, len(genuine)))
    decoded(*DECODERS[place], bytes(genuine[:kept]))
