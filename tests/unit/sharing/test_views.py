"""What servers see, all but one of them together: the same law for every answer.

Exactly, over fields of five elements: the additive tier through every coin, and a server's whole view of a Prio3
report, its own share of measurement and proof and what the other one says about it, for the Count circuit, every coin
of the client and every point of the servers.  What stands between that and the real thing is the expansion of seeds,
which is pseudorandom.

At full size: two distinguishers that learn from one half of the views and are asked about the other half, one from the
frequencies of all bytes, one from the single bit that tells most.  They see what the servers hold and say, and what
their verifier shares add up to; all reports have one nonce, so that all are verified at one point, and a prover whose
coins are not fresh shows.  Each is asked about n = 1,200 views; by Hoeffding's inequality its hits stay within 0.5 +-
0.080 but with probability alpha / 2 = 5e-7, and the seeds are fixed.  They would miss an advantage below a sixth; the
broken twins have more.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from localdp.randomness.enumerating import enumerate_law
from localdp.randomness.hazmat import SeededSource
from localdp.randomness.source import RandomSource
from localdp.sharing import additive, field
from localdp.sharing.additive_tier import AdditiveTier
from localdp.sharing.blocks import Octets, Rows
from localdp.sharing.collection import Collection
from localdp.sharing.encoding import Encoding
from localdp.sharing.prio3 import Count
from localdp.sharing.prio3.batch.derivations import BlockDerivations
from localdp.sharing.prio3.fields import PrimeField
from localdp.sharing.prio3.flp import prove, query
from localdp.sharing.prio3.prio3 import NONCE_BYTES
from localdp.sharing.tiers import sharing_of
from tests.support.distinguishers import by_all_bytes, by_one_bit, margin
from tests.support.shares import collection_of

P = 5
F5 = PrimeField(P, 1, 2, 4)
POINTS = (0, 2, 3)  # the others are points of the wires, and refused
KEY = bytes(range(32))
VIEWS = 1200


@pytest.fixture
def small_field(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(additive, "PRIME", P)
    monkeypatch.setattr(field, "PRIME", P)
    monkeypatch.setattr(field, "_PRIME", np.uint64(P))


def named(servers: int) -> tuple[str, ...]:
    return tuple(f"server-{number}" for number in range(servers))


@pytest.mark.usefixtures("small_field")
@pytest.mark.parametrize("servers", [2, 3])
def test_rows_of_all_servers_but_one_are_uniform_whatever_the_answer(servers: int) -> None:
    collection = collection_of(encoding=Encoding.vector(2, 4, 8), servers=named(servers))
    tier, entries = AdditiveTier(collection), 2
    for answer in ([0, 0], [4, 1]):

        def view(source: RandomSource, answer: list[int] = answer) -> tuple[bytes, ...]:
            rows = tier.split(np.array([answer]), source)
            return tuple(one.inputs.tobytes() for one in rows)

        law = enumerate_law(view)
        for seen in combinations(range(servers), servers - 1):
            part: dict[tuple[bytes, ...], Fraction] = {}
            for outcome, weight in law.items():
                key = tuple(outcome[server] for server in seen)
                part[key] = part.get(key, Fraction(0)) + weight
            assert set(part.values()) == {Fraction(1, P ** (entries * (servers - 1)))}
            assert len(part) == P ** (entries * (servers - 1))


Vectors = NDArray[np.int64]


def affine(point: int) -> tuple[Vectors, Vectors]:
    """The verifier share as an affine map of a share of measurement and proof, taken from the library's own code."""
    circuit = Count(F5)
    size = 1 + circuit.proof_length

    def verifier(share: list[int]) -> list[int]:
        return query(circuit, share[:1], share[1:], [point], [], 2)

    constant = np.array(verifier([0] * size))
    columns = [np.array(verifier([int(i == j) for i in range(size)])) - constant for j in range(size)]
    return np.stack(columns, axis=1), constant


def law_of_view(bit: int, point: int, noise: Callable[[tuple[int, ...]], bool]) -> NDArray[np.int64]:
    """How often a server has each view, its share and the other's verifier share; `noise` picks the client's coins."""
    matrix, constant = affine(point)
    size = matrix.shape[1]
    own = np.array(list(product(range(P), repeat=size)))  # every share that it can have
    counts = np.zeros(P ** (size + len(constant)), np.int64)
    for coins in product(range(P), repeat=2):
        if not noise(coins):
            continue
        whole = np.array([bit, *prove(Count(F5), [bit], list(coins), [])])
        theirs = (whole - own) @ matrix.T + constant
        views = np.concatenate([own, theirs], axis=1) % P
        np.add.at(counts, views @ (P ** np.arange(views.shape[1])), 1)
    return counts


@pytest.mark.parametrize("point", POINTS)
def test_the_whole_view_of_a_server_has_one_law_for_both_bits(point: int) -> None:
    # Both servers' views have this form: shares are uniform in pairs that add up, and verifier shares are affine in them.
    laws = [law_of_view(bit, point, lambda coins: True) for bit in (0, 1)]
    assert laws[0].sum() == P**8
    assert (laws[0] == laws[1]).all()


@pytest.mark.parametrize("point", POINTS)
def test_a_prover_without_coins_would_be_seen_through(point: int) -> None:
    laws = [law_of_view(bit, point, lambda coins: coins == (0, 0)) for bit in (0, 1)]
    assert (laws[0] != laws[1]).any()


Split = Callable[[Collection, NDArray[np.int64], RandomSource], list[Rows]]


class OneNonce:
    """A source whose first bytes for each of some reports are zero: their nonces."""

    def __init__(self, source: RandomSource, reports: int) -> None:
        self._source, self._reports = source, reports

    def raw(self, dtype: Any, count: int) -> NDArray[Any]:
        drawn = self._source.raw(dtype, count)
        drawn.reshape(self._reports, -1)[:, :NONCE_BYTES] = 0
        return drawn


def honest(collection: Collection, values: NDArray[np.int64], source: RandomSource) -> list[Rows]:
    proved: Any = OneNonce(source, len(values))
    return sharing_of(collection).split(values, source if collection.tier == "additive" else proved)


def seen_by(
    collection: Collection, split: Split, answer: list[int], seen: tuple[int, ...], seed: int
) -> Octets:
    """One row a report: all that these servers hold, send and receive until the report is accepted."""
    values = np.array([answer] * VIEWS)
    rows, sharing = split(collection, values, SeededSource(seed)), sharing_of(collection)
    checkers = [sharing.checker(server, KEY) for server in range(len(collection.servers))]
    verifiers = [c.init(one)[1] for c, one in zip(checkers, rows, strict=True)]
    messages, _ = checkers[0].combine(verifiers)
    held = [part for server in seen for part in (rows[server].public, rows[server].inputs)]
    return np.concatenate([*held, *verifiers, messages, added_up(collection, verifiers)], axis=1)


def added_up(collection: Collection, verifiers: list[Octets]) -> Octets:
    """The whole verifiers, which every server can compute."""
    field, sharing = collection.field, sharing_of(collection)
    size = sharing.verifier_bytes - sharing.message_bytes  # a part of the joint randomness is no element
    whole = [
        field.pack(sum(each) % field.modulus for each in zip(*map(field.unpack, row), strict=True))
        for row in zip(*([one[:size].tobytes() for one in rows] for rows in verifiers), strict=True)
    ]
    return np.frombuffer(b"".join(whole), np.uint8).reshape(len(whole), size)


def hits(
    collection: Collection, split: Split, answers: list[list[int]], seen: tuple[int, ...]
) -> list[float]:
    """How often each distinguisher guesses the answer of a new view."""
    views = [seen_by(collection, split, answer, seen, seed) for seed, answer in enumerate(answers)]
    half = VIEWS // 2
    known, new = [view[:half] for view in views], [view[half:] for view in views]
    return [by_all_bytes(known, new), by_one_bit(known, new)]


CASES: dict[str, tuple[Encoding, list[list[int]], dict[str, Any]]] = {
    "additive vector": (Encoding.vector(3, 1000, 3000), [[0, 0, 0], [1000, 7, 1]], {"tier": "additive"}),
    "count": (Encoding.count(), [[0], [1]], {"tier": "prio3"}),
    "sum": (Encoding.sum(255), [[0], [255]], {"tier": "prio3"}),
    "histogram": (Encoding.histogram(4), [[1, 0, 0, 0], [0, 0, 0, 1]], {"tier": "prio3"}),
}


@pytest.mark.parametrize("servers", [2, 3])
@pytest.mark.parametrize("name", CASES)
def test_a_distinguisher_with_all_servers_views_but_one_guesses(name: str, servers: int) -> None:
    encoding, answers, fields = CASES[name]
    collection = collection_of(encoding=encoding, servers=named(servers), **fields)
    for seen in combinations(range(servers), servers - 1):
        assert all(abs(share - 0.5) < margin(VIEWS) for share in hits(collection, honest, answers, seen))


def _same_coins(collection: Collection, values: NDArray[np.int64], source: RandomSource) -> list[Rows]:
    """Broken twin: every report has the first one's coins."""
    first = honest(collection, values[:1], source)
    return [one.take(np.zeros(len(values), np.int64)) for one in first]


def _small_masks(collection: Collection, values: NDArray[np.int64], source: RandomSource) -> list[Rows]:
    """Broken twin: masks of ten bits instead of the whole field."""
    masks = source.below(1024, values.size).reshape(values.shape)
    nothing = np.zeros((len(values), 0), np.uint8)
    shares = [values.astype(np.uint64) + masks, field.subtract(np.zeros_like(masks), masks)]
    return [Rows(nothing, np.ascontiguousarray(share).view(np.uint8)) for share in shares]


def _no_proof_coins(collection: Collection, values: NDArray[np.int64], source: RandomSource) -> list[Rows]:
    """Broken twin: the wires of every proof begin with 0."""
    return _with_proof_coins(collection, values, source, np.zeros_like)


def _same_proof_coins(
    collection: Collection, values: NDArray[np.int64], source: RandomSource
) -> list[Rows]:
    """Broken twin: all proofs have the first one's coins."""
    return _with_proof_coins(collection, values, source, lambda coins: np.repeat(coins[:, :, :1], VIEWS, 2))


def _with_proof_coins(
    collection: Collection, values: NDArray[np.int64], source: RandomSource, spoil: Any
) -> list[Rows]:
    with pytest.MonkeyPatch.context() as patched:
        good = BlockDerivations.prove_coins
        patched.setattr(BlockDerivations, "prove_coins", lambda self, seeds: spoil(good(self, seeds)))
        patched.setenv("LOCALDP_NO_NUMBA", "1")
        return honest(collection, values, source)


def _seed_says_it(collection: Collection, values: NDArray[np.int64], source: RandomSource) -> list[Rows]:
    """Broken twin: the answer's last bit is in a byte of the helper's seed."""
    rows = honest(collection, values, source)
    for one in rows:
        one.inputs[:, -1] = one.inputs[:, -1] & 0xFE | (values[:, -1] & 1).astype(np.uint8)
    return rows


@pytest.mark.parametrize(
    ("name", "twin"),
    [
        ("additive vector", _small_masks),
        ("additive vector", _seed_says_it),
        ("count", _same_coins),
        ("count", _seed_says_it),
        ("count", _no_proof_coins),
        ("count", _same_proof_coins),
        ("sum", _no_proof_coins),
        ("sum", _same_proof_coins),
        ("histogram", _same_coins),
        ("histogram", _seed_says_it),
    ],
)
def test_the_distinguisher_sees_through_broken_twins(name: str, twin: Split) -> None:
    encoding, answers, fields = CASES[name]
    collection = collection_of(encoding=encoding, **fields)
    assert max(hits(collection, twin, answers, (0,))) > 0.5 + margin(VIEWS)
