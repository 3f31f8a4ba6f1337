"""A collection: everything in it is bound by its digest, and what cannot be read back is refused."""

from dataclasses import replace

import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter
from localdp.sharing.collection import Contributor
from localdp.sharing.encoding import Encoding
from localdp.sharing.noise_plans import NoisePlan
from localdp.sharing.prio3.fields import FIELD64, FIELD128
from localdp.sharing.selection import Selection
from tests.support.shares import bound, collection_of

COLLECTION = collection_of()
CHANGES: dict[str, object] = {
    "collection_id": b"1" * 16,
    "query": "not smoker",
    "encoding": Encoding.sum(2),
    "epsilon": Epsilon.requested("0.5"),
    "plan": NoisePlan.DIVIDED,
    "servers": ("server-1", "server-0"),
    "parties": (Contributor("party-0", 150),),
    "minimum_batch": 11,
    "tier": "prio3",
    "relayed": True,
    "blocks": "mean(age) in [0, 120] by 00",
    "binding": replace(COLLECTION.binding, ends=1),
}


@pytest.mark.parametrize("field", CHANGES)
def test_whatever_is_changed_in_a_collection_changes_its_digest(field: str) -> None:
    assert replace(COLLECTION, **{field: CHANGES[field]}).digest != COLLECTION.digest  # type: ignore[arg-type]


def test_every_field_is_among_those() -> None:
    own = {name for name in COLLECTION.__dataclass_fields__ if name not in ("digest", "_ranges")}
    assert own == CHANGES.keys() | {"selection"}  # which needs three servers and joint noise: below


def test_what_is_selected_changes_the_digest() -> None:
    asked = collection_of(plan=NoisePlan.JOINT, servers=("a", "b", "c"), encoding=Encoding.histogram(4))
    selections = (Selection("largest", 4), Selection("quantile", 4, (75,)), Selection("quantile", 4, (76,)))
    digests = {replace(asked, selection=one).digest for one in selections}
    assert len(digests | {asked.digest}) == 4


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"encoding": Encoding.vector(4, 8, 8)}, {"encoding": Encoding.vector(4, 8, 9)}),
        ({"encoding": Encoding.multihot(9, 2)}, {"encoding": Encoding.multihot(9, 3)}),
        ({"plan": NoisePlan.DIVIDED}, {"plan": NoisePlan.divided(1)}),
    ],
)
def test_the_digest_goes_into_the_parts(one: dict[str, object], other: dict[str, object]) -> None:
    assert collection_of(**one).digest != collection_of(**other).digest


@pytest.mark.parametrize(
    "changes",
    [
        {"collection_id": b"short"},
        {"epsilon": Epsilon(0)},
        {"servers": ("server-0",)},
        {"servers": ("server-0", "server-0")},
        {"servers": ("server-0", "")},
        {"parties": ()},
        {"parties": (Contributor("party-0", (1 << 32) + 1),)},
        {"parties": (Contributor("party-0", -1),)},
        {"parties": (Contributor("party-0", 1 << 31), Contributor("party-1", (1 << 31) + 1))},
        {"minimum_batch": 0},
        {"tier": "trusted"},
        {"binding": bound(("server-0", "server-1", "server-2"))},
        {"plan": NoisePlan.divided(2)},
    ],
    ids=str,
)
def test_a_collection_outside_its_bounds_is_refused(changes: dict[str, object]) -> None:
    with pytest.raises(InvalidParameter):
        collection_of(**changes)


def test_a_sum_that_could_be_read_in_two_ways_is_refused() -> None:
    many = (Contributor("party-0", 1 << 31),)
    collection_of(parties=many, encoding=Encoding.sum(1 << 31))
    with pytest.raises(InvalidParameter):
        collection_of(parties=many, encoding=Encoding.sum(1 << 32))
    nearly = Encoding.sum((1 << 32) - (1 << 16))
    collection_of(parties=many, encoding=nearly)
    with pytest.raises(InvalidParameter, match="noise"):  # here it is the noise that does not fit
        collection_of(parties=many, encoding=nearly, epsilon=Epsilon.requested("0.004"))


@pytest.mark.parametrize(
    ("encoding", "tier", "field"),
    [
        (Encoding.count(), "prio3", FIELD64),
        (Encoding.sum(9), "prio3", FIELD64),
        (Encoding.histogram(9), "prio3", FIELD128),
        (Encoding.multihot(9, 2), "prio3", FIELD128),
        (Encoding.vector(9, 2, 18), "prio3", FIELD128),
        (Encoding.vector(9, 2, 18), "additive", FIELD64),
    ],
)
def test_the_field_is_that_of_prio3_and_the_small_one_without_proofs(
    encoding: Encoding, tier: str, field: object
) -> None:
    assert collection_of(encoding=encoding, tier=tier).field is field


def test_positions_follow_the_order_of_the_parties() -> None:
    assert COLLECTION.positions_of("party-0") == range(100)
    assert COLLECTION.positions_of("party-1") == range(100, 150)
    assert (COLLECTION.people_of("party-1"), COLLECTION.people) == (50, 150)
    with pytest.raises(InvalidParameter):
        COLLECTION.positions_of("stranger")
    with pytest.raises(InvalidParameter):
        COLLECTION.number_of("stranger")
