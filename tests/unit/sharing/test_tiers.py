"""Both tiers: what is split comes together again, whatever is changed is refused, and rows have the length they say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from time import thread_time

import numpy as np
import pytest
from numpy.typing import NDArray

from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter, InvalidRecord
from localdp.randomness.lanes import LanedSource
from localdp.sharing import additive, prio3_tier
from localdp.sharing.blocks import Mask, Octets, Positions, Rows
from localdp.sharing.collection import Collection, Contributor
from localdp.sharing.encoding import Encoding
from localdp.sharing.noise_plans import NoisePlan
from localdp.sharing.prio3.batch import engine
from localdp.sharing.prio3.batch.numpy_sharding import NumpySharding
from localdp.sharing.prio3.batch.sharding import OneByOne
from localdp.sharing.prio3.fields import PRIME128
from localdp.sharing.prio3.prio3 import NONCE_BYTES
from localdp.sharing.prio3_tier import Prio3Tier
from localdp.sharing.tiers import LARGEST_ROW_BYTES, people_per_block, report_bytes, sharing_of
from tests.support.shares import bits, collection_of, one_hot

KEY = bytes(range(32))
PEOPLE = 12
VALUES: dict[str, tuple[Encoding, NDArray[np.int64]]] = {
    "count": (Encoding.count(), bits(*[0, 1, 1] * 4)),
    "sum": (Encoding.sum(1000), bits(*range(0, 1200, 100))[:PEOPLE] % 1001),
    "histogram": (Encoding.histogram(5), one_hot(5, *[0, 4, 4, 2] * 3)),
    "multihot": (Encoding.multihot(4, 2), np.array([[0, 1, 1, 0], [0, 0, 0, 0], [1, 0, 0, 0]] * 4)),
    "vector": (Encoding.vector(3, 9, 11), np.array([[9, 0, 1], [0, 0, 0], [3, 4, 5]] * 4)),
}
POSITIONS = np.arange(40, 40 + PEOPLE, dtype=np.uint32)


def split(collection: Collection, values: NDArray[np.int64], people: Positions = POSITIONS) -> list[Rows]:
    return sharing_of(collection).split(values, LanedSource(KEY, people.astype(np.int64)))


def verified(collection: Collection, rows: list[Rows], key: bytes = KEY) -> tuple[Mask, list[int]]:
    """Which reports all servers accept, and what those add up to."""
    sharing = sharing_of(collection)
    checkers = [sharing.checker(server, key) for server in range(len(collection.servers))]
    runs = [checker.init(one) for checker, one in zip(checkers, rows, strict=True)]
    assert all(verifiers.shape == (len(rows[0]), sharing.verifier_bytes) for _, verifiers in runs)
    messages, holds = checkers[0].combine([verifiers for _, verifiers in runs])
    assert messages.shape == (len(rows[0]), sharing.message_bytes)
    votes = [
        checker.finish(state, messages, holds) for checker, (state, _) in zip(checkers, runs, strict=True)
    ]
    accepted = np.logical_and.reduce(votes)
    sums = [checker.sums(state, accepted) for checker, (state, _) in zip(checkers, runs, strict=True)]
    return accepted, additive.combined(sums, collection.field.modulus)


@pytest.mark.parametrize("servers", [2, 3])
@pytest.mark.parametrize("tier", ["additive", "prio3"])
@pytest.mark.parametrize("name", VALUES)
def test_what_honest_parties_split_is_accepted_and_adds_up(name: str, tier: str, servers: int) -> None:
    encoding, values = VALUES[name]
    names = tuple(f"server-{number}" for number in range(servers))
    collection = collection_of(encoding=encoding, tier=tier, servers=names)
    rows = split(collection, values)
    sharing = sharing_of(collection)
    for server, one in enumerate(rows):
        assert one.inputs.shape == (PEOPLE, sharing.input_bytes(server))
        assert one.public.shape == (PEOPLE, sharing.public_bytes)
    accepted, sums = verified(collection, rows)
    assert accepted.all()
    assert sums == values.sum(axis=0).tolist()


@pytest.mark.parametrize("tier", ["additive", "prio3"])
def test_only_accepted_reports_are_in_the_sums(tier: str) -> None:
    encoding, values = VALUES["histogram"]
    collection = collection_of(encoding=encoding, tier=tier)
    rows = split(collection, values)
    spoiled = rows[0].inputs.copy()
    spoiled[3] = 0xFF
    accepted, sums = verified(collection, [Rows(rows[0].public, spoiled), rows[1]])
    assert accepted.tolist() == [place != 3 for place in range(PEOPLE)]
    assert sums == np.delete(values, 3, axis=0).sum(axis=0).tolist()


OTHER = {
    "collection_id": b"1" * 16,
    "query": "not smoker",
    "encoding": Encoding.multihot(5, 5),
    "epsilon": Epsilon.requested("0.5"),
    "plan": NoisePlan.DIVIDED,
    "servers": ("server-1", "server-0"),
    "parties": (Contributor("party-0", 149), Contributor("party-1", 1)),
    "minimum_batch": 11,
}
OTHERWISE_BOUND = {
    "keys": (bytes(32), b"1" * 32),
    "witnesses": (bytes(32), b"1" * 32),
    "commitment": bytes(32),
    "ends": 1,
}


def changed_in(told: Collection, field: str) -> Collection:
    """A collection that differs in one thing."""
    if field in OTHER:
        return replace(told, **{field: OTHER[field]})  # type: ignore[arg-type]
    return replace(told, binding=replace(told.binding, **{field: OTHERWISE_BOUND[field]}))  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["count", "sum", "histogram", "vector"])
@pytest.mark.parametrize("field", [*(field for field in OTHER if field != "encoding"), *OTHERWISE_BOUND])
def test_whatever_one_role_changes_in_the_collection_makes_every_report_fail(name: str, field: str) -> None:
    encoding, values = VALUES[name]
    told = collection_of(encoding=encoding, tier="prio3")
    changed = changed_in(told, field)
    rows = split(told, values)
    assert verified(told, rows)[0].all()
    # What the proofs were made for, and what all servers verify: a party was shown another task.
    assert not verified(changed, rows)[0].any()
    # One server alone was shown another task.
    sharing, other = sharing_of(told), sharing_of(changed)
    own, theirs = sharing.checker(0, KEY), other.checker(1, KEY)
    (state, first), (_, second) = own.init(rows[0]), theirs.init(rows[1])
    messages, holds = own.combine([first, second])
    assert not own.finish(state, messages, holds).any()


@pytest.mark.parametrize(
    "other",
    [Encoding.sum(1001), Encoding.sum(1023)],
    ids=["another bound", "another bound of as many bits"],
)
def test_the_bound_is_bound_by_the_context(other: Encoding) -> None:
    # The circuits have the same shape, and the draft's hashes do not cover the bound.
    _, values = VALUES["sum"]
    told = collection_of(encoding=Encoding.sum(1000), tier="prio3")
    assert not verified(collection_of(encoding=other, tier="prio3"), split(told, values))[0].any()


@pytest.mark.parametrize("name", ["count", "sum", "histogram", "multihot", "vector"])
def test_a_report_under_the_nonce_of_another_is_refused(name: str) -> None:
    # Without joint randomness the nonce enters the servers' own coins only: all servers see the same, so that it holds.
    encoding, values = VALUES[name]
    collection = collection_of(encoding=encoding, tier="prio3")
    rows = split(collection, values)
    accepted, _ = verified(collection, [under_other_nonces(one) for one in rows])
    assert accepted.any() == (name in ("count", "sum"))
    # Where the servers do not see the same nonce, nothing holds.
    assert not verified(collection, [under_other_nonces(rows[0]), rows[1]])[0].any()


def under_other_nonces(rows: Rows) -> Rows:
    """Every report with the nonce of the one before."""
    public = rows.public.copy()
    public[:, :NONCE_BYTES] = np.roll(public[:, :NONCE_BYTES], 1, axis=0)
    return Rows(public, rows.inputs)


def test_servers_with_different_keys_accept_nothing() -> None:
    encoding, values = VALUES["histogram"]
    collection = collection_of(encoding=encoding, tier="prio3")
    rows, sharing = split(collection, values), sharing_of(collection)
    own, theirs = sharing.checker(0, KEY), sharing.checker(1, bytes(32))
    (state, first), (_, second) = own.init(rows[0]), theirs.init(rows[1])
    assert not own.finish(state, *own.combine([first, second])).any()


@pytest.mark.parametrize("name", ["count", "histogram"])
def test_nonces_differ_are_the_same_for_all_servers_and_follow_from_the_partys_coins_alone(
    name: str,
) -> None:
    encoding, values = VALUES[name]
    collection = collection_of(encoding=encoding, tier="prio3")

    def nonces(values: NDArray[np.int64], people: Positions) -> list[Octets]:
        return [one.public[:, :NONCE_BYTES] for one in split(collection, values, people)]

    own, theirs = nonces(values, POSITIONS)
    other = nonces(values, POSITIONS + np.uint32(PEOPLE))[0]
    assert (own == theirs).all()
    assert len(np.unique(np.concatenate([own, other]), axis=0)) == 2 * PEOPLE
    assert (nonces(values[::-1], POSITIONS)[0] == own).all()  # what the answers are does not show


def test_coins_decide_everything_so_that_a_repeated_report_is_the_same() -> None:
    for tier in ("additive", "prio3"):
        encoding, values = VALUES["histogram"]
        collection = collection_of(encoding=encoding, tier=tier)
        first, again = split(collection, values), split(collection, values[5:], POSITIONS[5:])
        assert all((a.inputs[5:] == b.inputs).all() for a, b in zip(first, again, strict=True))
        assert all((a.public[5:] == b.public).all() for a, b in zip(first, again, strict=True))


def test_a_report_fits_into_a_message_or_is_refused() -> None:
    assert people_per_block(collection_of()) == LARGEST_ROW_BYTES // 8
    assert (
        people_per_block(collection_of(encoding=Encoding.histogram(256), tier="prio3")) == (1 << 20) // 5728
    )
    for tier in ("additive", "prio3"):
        with pytest.raises(InvalidParameter):
            sharing_of(collection_of(encoding=Encoding.histogram(1 << 20), tier=tier))


@pytest.mark.parametrize(
    ("encoding", "tier", "size"),
    [
        (Encoding.count(), "additive", 16),
        (Encoding.count(), "prio3", 48 + 32 + 2 * 16),
        (Encoding.sum(255), "prio3", 320 + 32 + 2 * 16),
        (Encoding.histogram(256), "prio3", 5648 + 64 + 2 * (16 + 64)),
    ],
)
def test_a_report_is_as_large_as_it_is_known_to_be(encoding: Encoding, tier: str, size: int) -> None:
    assert report_bytes(collection_of(encoding=encoding, tier=tier)) == size


@pytest.mark.parametrize("name", ["count", "histogram"])
def test_compiled_code_comes_in_where_there_is_much_to_do_and_changes_nothing(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoding, values = VALUES[name]
    collection = collection_of(encoding=encoding, tier="prio3")
    monkeypatch.setattr(engine, "_ready", set())
    rows, checker = split(collection, values), sharing_of(collection).checker(1, KEY)
    begun, plain = checker.init(rows[1])
    assert not engine._ready  # so few are not worth it
    monkeypatch.setattr(prio3_tier, "WORTH_COMPILING", 1)
    monkeypatch.setattr(prio3_tier, "_BLOCK_WORTH_COMPILING", 1)
    again = split(collection, values)
    for one, other in zip(rows, again, strict=True):
        assert (one.public == other.public).all() and (one.inputs == other.inputs).all()
    state, compiled = checker.init(rows[1])
    assert engine._ready and type(state[0]._engine) is not type(begun[0]._engine)
    assert (compiled == plain).all()
    everybody = np.ones(PEOPLE, np.bool_)
    assert checker.sums(begun, everybody) == checker.sums(state, everybody)


@pytest.mark.parametrize("servers", [2, 3])
@pytest.mark.parametrize("name", [*VALUES, "wide"])
def test_few_reports_are_made_one_by_one_and_have_the_bytes_of_a_block(
    name: str, servers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "_ready", set())
    encoding, values = VALUES.get(name, (Encoding.histogram(12), one_hot(12, *range(PEOPLE))))
    names = tuple(f"server-{number}" for number in range(servers))
    tier = Prio3Tier(collection_of(encoding=encoding, tier="prio3", servers=names))
    few, block = tier.few, split(tier.collection, values)
    assert few == (1 if name in ("count", "sum", "histogram", "multihot") else 15 // servers)
    made_by = [type(tier._sharder(reports)._sharding) for reports in (1, few, few + 1, PEOPLE)]
    assert made_by == [OneByOne, OneByOne, NumpySharding, NumpySharding]
    for reports in (0, 1, few, few + 1):
        made = split(tier.collection, values[:reports], POSITIONS[:reports])
        for one, whole in zip(made, block, strict=True):
            assert (one.public == whole.public[:reports]).all() and one.public.flags.writeable
            assert (one.inputs == whole.inputs[:reports]).all() and one.inputs.flags.writeable


def test_a_report_that_is_made_alone_is_refused_like_one_of_many() -> None:
    collection = collection_of(encoding=Encoding.sum(1000), tier="prio3")
    for reports in (1, 2):
        with pytest.raises(InvalidRecord) as refused:
            split(collection, bits(*[1001] * reports), POSITIONS[:reports])
        assert "1001" not in str(refused.value)


PRODUCTS_AT_ONCE = 10_000
MOST_PRODUCTS = 333_333


def _products() -> None:
    """Products modulo a prime of 128 bits, for about a millisecond: by the same means as a report."""
    left = PRIME128 // 3
    for _ in range(PRODUCTS_AT_ONCE):
        left = left * left % PRIME128


def _in_products(call: Callable[[], object], turns: int = 3) -> float:
    """As many products as take as long as a call: the best of each, in turns."""
    best = [float("inf")] * 2
    for _ in range(turns):
        for place, each in enumerate((call, _products)):
            begin = thread_time()
            each()
            best[place] = min(best[place], thread_time() - begin)
    return PRODUCTS_AT_ONCE * best[0] / best[1]


def test_one_histogram_of_one_person_takes_no_longer_than_a_third_of_a_million_products(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """30 ms where a product takes 90 ns, as in `benchmarks.prio3`; a block of one on numpy arrays must be caught."""
    monkeypatch.setattr(engine, "_ready", set())
    collection = collection_of(encoding=Encoding.histogram(256), tier="prio3")
    person = one_hot(256, 7)
    assert _in_products(lambda: split(collection, person, POSITIONS[:1])) <= MOST_PRODUCTS
    monkeypatch.setattr(Prio3Tier, "few", 0)
    assert _in_products(lambda: split(collection, person, POSITIONS[:1]), turns=1) > 2 * MOST_PRODUCTS
