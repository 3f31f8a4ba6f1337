"""Parties that lie: whatever they send, it is dropped, and a tenth of such reports in a batch moves nothing.

In the tier with proofs.  Every way of lying is tried on every circuit that it makes sense for; the lies are made with
the honest prover's own code around a dishonest encoding, or from honest reports with something changed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from localdp.errors import InvalidParameter, LocalDpError, MalformedReport, UnknownCollection, UnknownIndex
from localdp.sharing.agreement import agree
from localdp.sharing.blocks import Rows, ShareBlock
from localdp.sharing.collection import Collection, Contributor
from localdp.sharing.encoding import Encoding
from localdp.sharing.prio3 import Count, HistogramCircuit, MultihotCountVec, Prio3, Sum, SumVec
from localdp.sharing.prio3.prio3 import NONCE_BYTES
from localdp.sharing.share_server import ShareServer
from tests.support.shares import bits, blocks_of, collection_of, exact_sums, one_hot, servers_for, upload

PEOPLE, LIARS = 60, 6
Digits = Sequence[int]


class LyingCount(Count):
    def encode(self, measurement: Any) -> Any:
        return list(measurement)


class LyingSum(Sum):
    def encode(self, measurement: Any) -> Any:
        return list(measurement)


class LyingHistogram(HistogramCircuit):
    def encode(self, measurement: Any) -> Any:
        return list(measurement)


class LyingMultihot(MultihotCountVec):
    def encode(self, measurement: Any) -> Any:
        return list(measurement)


class LyingVector(SumVec):
    def encode(self, measurement: Any) -> Any:
        return list(measurement)


MINUS_ONE = 2**64 - 2**32
CASES: dict[str, tuple[Encoding, NDArray[np.int64], Any, dict[str, Digits]]] = {
    "count": (
        Encoding.count(),
        bits(*[0, 1] * (PEOPLE // 2)),
        LyingCount(),
        {"two": [2], "a million": [10**6], "minus one": [MINUS_ONE]},
    ),
    "sum": (
        Encoding.sum(13),
        bits(*[3, 13] * (PEOPLE // 2)),
        LyingSum(13),
        {
            "a digit of two": [2, 0, 0, 0],
            "a digit of minus one": [MINUS_ONE, 1, 1, 1],
            "a large digit": [0, 10**9, 0, 0],
        },
    ),
    "histogram": (
        Encoding.histogram(6),
        one_hot(6, *[0, 5, 5] * (PEOPLE // 3)),
        LyingHistogram(6, 2),
        {
            "two buckets": [1, 0, 0, 0, 1, 0],
            "no bucket": [0] * 6,
            "one bucket twice": [2, 0, 0, 0, 0, 0],
            "two minus one": [2, 0, 0, 0, 0, 2**128 - 7 * 2**66],
        },
    ),
    "multihot": (
        Encoding.multihot(5, 2),
        np.array([[0, 1, 1, 0, 0]] * PEOPLE),
        LyingMultihot(5, 2, 2),
        {
            "three ones": [1, 1, 1, 0, 0, 0, 1],
            "three ones, weight three": [1, 1, 1, 0, 0, 1, 1],
            "a two": [2, 0, 0, 0, 0, 0, 1],
        },
    ),
    "vector": (
        Encoding.vector(2, 6, 12),
        np.array([[6, 1]] * PEOPLE),
        LyingVector(2, 6, 2),
        {"a digit of two": [2, 0, 0, 0, 0, 0], "a large digit": [0, 0, 10**9, 0, 0, 0]},
    ),
}
LIES = [(name, lie) for name, case in CASES.items() for lie in case[3]]


@lru_cache(maxsize=8)
def honest(name: str) -> tuple[Collection, tuple[ShareBlock, ...]]:
    encoding, values, _, _ = CASES[name]
    collection = collection_of(encoding=encoding, tier="prio3", parties=(Contributor("party-0", PEOPLE),))
    return collection, tuple(blocks_of(collection, values))


def with_rows(
    blocks: Sequence[ShareBlock], change: Callable[[int, Rows, int], tuple[bytes, bytes]]
) -> list[ShareBlock]:
    """Every tenth report replaced by something else: what (server, rows, place) says."""
    changed = []
    for server, block in enumerate(blocks):
        public, inputs = block.rows.public.copy(), block.rows.inputs.copy()
        for place in range(0, PEOPLE, PEOPLE // LIARS):
            new_public, new_inputs = change(server, block.rows, place)
            public[place] = np.frombuffer(new_public, np.uint8)
            inputs[place] = np.frombuffer(new_inputs, np.uint8)
        changed.append(replace(block, rows=Rows(public, inputs)))
    return changed


def check_nothing_moved(name: str, blocks: Sequence[ShareBlock]) -> None:
    """The honest nine tenths are counted, and nothing else."""
    collection, _ = honest(name)
    servers = servers_for(collection)
    upload(servers, blocks)
    assert agree(servers[0], servers[1:], collection).reports == PEOPLE - LIARS
    kept = np.arange(PEOPLE) % (PEOPLE // LIARS) != 0
    assert exact_sums(servers, collection) == CASES[name][1][kept].sum(axis=0).tolist()


@pytest.mark.parametrize(("name", "lie"), LIES)
def test_answers_that_there_are_not_are_dropped(name: str, lie: str) -> None:
    collection, blocks = honest(name)
    _, _, circuit, lies = CASES[name]
    prio3 = Prio3(circuit, 2)

    def lying(server: int, rows: Rows, place: int) -> tuple[bytes, bytes]:
        rand = bytes([place + 1]) * prio3.rand_bytes
        nonce = rows.public[place, :NONCE_BYTES].tobytes()
        report = prio3.shard(collection.digest, lies[lie], nonce, rand)
        return nonce + report.public_share, report.input_shares[server]

    check_nothing_moved(name, with_rows(blocks, lying))


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("server", [0, 1])
@pytest.mark.parametrize("byte", [0, -1])
def test_a_proof_or_a_share_with_a_changed_bit_is_dropped(name: str, server: int, byte: int) -> None:
    def changed(number: int, rows: Rows, place: int) -> tuple[bytes, bytes]:
        inputs = rows.inputs[place].copy()
        if number == server:
            inputs[byte] ^= 1
        return rows.public[place].tobytes(), inputs.tobytes()

    check_nothing_moved(name, with_rows(honest(name)[1], changed))


@pytest.mark.parametrize("name", ["histogram", "multihot", "vector"])
@pytest.mark.parametrize("server", [0, 1])
def test_servers_that_are_shown_different_joint_randomness_drop_the_report(name: str, server: int) -> None:
    def changed(number: int, rows: Rows, place: int) -> tuple[bytes, bytes]:
        public = rows.public[place].copy()
        if number == server:
            public[NONCE_BYTES + (40 if server == 0 else 3)] ^= 1  # the part of the other server
        return public.tobytes(), rows.inputs[place].tobytes()

    check_nothing_moved(name, with_rows(honest(name)[1], changed))


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("filling", [0x00, 0xFF])
def test_bytes_that_are_no_report_are_dropped(name: str, filling: int) -> None:
    def garbage(number: int, rows: Rows, place: int) -> tuple[bytes, bytes]:
        return bytes([filling]) * rows.public.shape[1], bytes([filling]) * rows.inputs.shape[1]

    check_nothing_moved(name, with_rows(honest(name)[1], garbage))


@pytest.mark.parametrize("name", CASES)
def test_reports_for_another_task_are_dropped(name: str) -> None:
    collection, blocks = honest(name)
    other = blocks_of(replace(collection, minimum_batch=11), CASES[name][1])

    def from_there(number: int, rows: Rows, place: int) -> tuple[bytes, bytes]:
        return other[number].rows.public[place].tobytes(), other[number].rows.inputs[place].tobytes()

    check_nothing_moved(name, with_rows(blocks, from_there))


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("server", [0, 1])
def test_servers_that_are_shown_different_nonces_drop_the_report(name: str, server: int) -> None:
    def changed(number: int, rows: Rows, place: int) -> tuple[bytes, bytes]:
        public = rows.public[place].copy()
        public[NONCE_BYTES - 1] ^= number == server
        return public.tobytes(), rows.inputs[place].tobytes()

    check_nothing_moved(name, with_rows(honest(name)[1], changed))


@pytest.mark.parametrize("name", ["histogram", "multihot", "vector"])
def test_somebody_elses_report_under_another_nonce_is_dropped(name: str) -> None:
    def copied(number: int, rows: Rows, place: int) -> tuple[bytes, bytes]:
        own, theirs = rows.public[place, :NONCE_BYTES], rows.public[place + 1, NONCE_BYTES:]
        return own.tobytes() + theirs.tobytes(), rows.inputs[place + 1].tobytes()

    check_nothing_moved(name, with_rows(honest(name)[1], copied))


def test_a_whole_copy_of_a_report_is_one_more_answer_in_its_own_place_and_moves_no_other() -> None:
    """Who has the shares of all servers knows the answer, and may give it as his own."""
    collection, blocks = honest("histogram")
    copies = with_rows(
        blocks, lambda _, rows, place: (rows.public[place + 1].tobytes(), rows.inputs[place + 1].tobytes())
    )
    servers = servers_for(collection)
    upload(servers, copies)
    assert agree(servers[0], servers[1:], collection).reports == PEOPLE
    values = CASES["histogram"][1].copy()
    values[:: PEOPLE // LIARS] = values[1 :: PEOPLE // LIARS]
    assert exact_sums(servers, collection) == values.sum(axis=0).tolist()


@pytest.mark.parametrize("name", CASES)
def test_shares_of_two_good_reports_do_not_make_a_third(name: str) -> None:
    def mixed(number: int, rows: Rows, place: int) -> tuple[bytes, bytes]:
        source = place if number == 0 else place + 1
        return rows.public[place].tobytes(), rows.inputs[source].tobytes()

    check_nothing_moved(name, with_rows(honest(name)[1], mixed))


def test_a_report_that_is_sent_again_whatever_is_in_it_counts_once_as_it_came_first() -> None:
    collection, blocks = honest("histogram")
    servers = servers_for(collection)
    upload(servers, blocks)
    again = blocks_of(collection, one_hot(6, *[3] * PEOPLE))  # everybody changes their mind
    assert upload(servers, again) == [0, 0]
    assert agree(servers[0], servers[1:], collection).reports == PEOPLE
    assert exact_sums(servers, collection) == CASES["histogram"][1].sum(axis=0).tolist()


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"collection": b"?" * 32}, UnknownCollection),
        ({"party": "party-9"}, InvalidParameter),
        ({"cohort": replace(honest("histogram")[1][0].cohort, stop=PEOPLE + 1)}, LocalDpError),
        (
            {"cohort": replace(honest("histogram")[1][0].cohort, start=PEOPLE, stop=2 * PEOPLE)},
            UnknownIndex,
        ),
        (
            {"rows": Rows(np.zeros((PEOPLE, 79), np.uint8), np.zeros((PEOPLE, 9), np.uint8))},
            MalformedReport,
        ),
    ],
    ids=["no such task", "a stranger", "people it has not", "people that there are not", "short rows"],
)
def test_an_upload_that_does_not_fit_is_refused_whole(
    changes: dict[str, Any], error: type[LocalDpError]
) -> None:
    collection, blocks = honest("histogram")
    server: ShareServer = servers_for(collection)[0]
    with pytest.raises(error):
        server.accept(replace(blocks[0], **changes))
    assert server.stored(collection.digest).size == 0


def test_without_proofs_a_lie_does_move_the_sum() -> None:
    """Which is why that tier is for parties that are trusted to be well formed."""
    collection = collection_of(minimum_batch=2)
    servers = servers_for(collection)
    upload(servers, blocks_of(collection, bits(1, 1000, 0)))
    agree(servers[0], servers[1:], collection)
    assert exact_sums(servers, collection) == [1001]
