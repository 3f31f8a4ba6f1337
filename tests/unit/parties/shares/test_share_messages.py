"""Blocks, positions, decisions and sums on the wire: they come back as they went, and what is not whole is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localdp.cohorts import Cohort
from localdp.errors import InvalidParameter, LocalDpError, MalformedReport
from localdp.sharing.binding import Opening
from localdp.sharing.blocks import Rows, ShareBlock, pack_positions, unpack_positions
from localdp.sharing.collection import LONGEST_NAME
from localdp.sharing.encoding import Encoding
from localdp.sharing.field import PRIME
from localdp.sharing.sealing import SealingKey
from localdp.sharing.storage import Holding, Job
from parties.shares import messages
from parties.wire.v1 import cohort_pb2
from parties.wire.v1 import share_server_pb2 as pb
from tests.support.shares import collection_of

KEY = SealingKey.derived(bytes(range(32)))
SETS = st.sets(st.integers(0, 2**32 - 1) | st.integers(0, 40), min_size=1, max_size=60)


def block(people: int, width: int = 8, public: int = 3) -> ShareBlock:
    inputs = np.arange(people * width, dtype=np.uint8).reshape(people, width)
    return ShareBlock(b"d" * 32, "pärty", Cohort(5, 5 + people), Rows(inputs[:, :public].copy(), inputs))


@pytest.mark.parametrize("people", [1, 7])
@pytest.mark.parametrize("public", [0, 3])
def test_a_block_comes_back_as_it_went(people: int, public: int) -> None:
    sent = block(people, public=public)
    message = pb.UploadSharesRequest.FromString(messages.block_to_wire(sent).SerializeToString())
    back = messages.block_from_wire(message)
    assert (back.collection, back.party, back.cohort) == (sent.collection, sent.party, sent.cohort)
    assert (back.rows.inputs == sent.rows.inputs).all() and (back.rows.public == sent.rows.public).all()


def upload_of(
    collection: bytes = b"d" * 32, party: str = "party-0", **fields: Any
) -> pb.UploadSharesRequest:
    return pb.UploadSharesRequest(collection=collection, party=party, **fields)


@pytest.mark.parametrize(
    ("message", "error"),
    [
        (upload_of(cohort=cohort_pb2.Cohort(stop=3), shares=bytes(16)), MalformedReport),
        (upload_of(cohort=cohort_pb2.Cohort(stop=0), shares=bytes(16)), MalformedReport),
        (upload_of(cohort=cohort_pb2.Cohort(stop=2), public_shares=bytes(3)), MalformedReport),
        (upload_of(cohort=cohort_pb2.Cohort(start=2, stop=1)), InvalidParameter),
        (upload_of(cohort=cohort_pb2.Cohort(stop=1 << 18)), InvalidParameter),
        (upload_of(b"d" * 31), MalformedReport),
        (upload_of(b"d" * 33), MalformedReport),
        (upload_of(party="p" * (LONGEST_NAME + 1)), MalformedReport),
    ],
)
def test_a_block_that_is_not_whole_is_refused(
    message: pb.UploadSharesRequest, error: type[LocalDpError]
) -> None:
    with pytest.raises(error):
        messages.block_from_wire(message)


def test_names_may_be_as_long_as_those_of_a_collection() -> None:
    assert messages.block_from_wire(upload_of(party="p" * LONGEST_NAME)).party == "p" * LONGEST_NAME


def test_a_sealed_block_comes_back_as_it_went_and_only_in_its_place() -> None:
    sent = block(4)
    sealed = messages.sealed_to_wire(sent, "server-0", KEY.public)
    back = messages.block_from_sealed(sealed, "server-0", KEY)
    assert (back.rows.inputs == sent.rows.inputs).all() and back.cohort == sent.cohort
    assert sent.rows.inputs.tobytes() not in sealed.SerializeToString()
    for name, value in (("party", "mallory"), ("collection", b"x" * 32)):
        changed = pb.UploadSealedRequest.FromString(sealed.SerializeToString())
        setattr(changed, name, value)
        with pytest.raises(MalformedReport):
            messages.block_from_sealed(changed, "server-0", KEY)
    moved = pb.UploadSealedRequest.FromString(sealed.SerializeToString())
    moved.cohort.start += 1
    moved.cohort.stop += 1
    with pytest.raises(MalformedReport):
        messages.block_from_sealed(moved, "server-0", KEY)
    with pytest.raises(MalformedReport):
        messages.block_from_sealed(sealed, "server-1", KEY)


@given(SETS)
def test_positions_come_back_as_they_went(chosen: set[int]) -> None:
    positions = np.array(sorted(chosen), np.uint32)
    packed = pack_positions(positions)
    assert (messages.positions_from_wire(packed) == positions).all()
    assert len(packed) <= 8 * len(positions)


def test_a_run_of_positions_takes_eight_bytes() -> None:
    assert len(pack_positions(np.arange(1000, 101_000, dtype=np.uint32))) == 8
    assert pack_positions(np.zeros(0, np.uint32)) == b""


def ranges(*numbers: int) -> bytes:
    return np.array(numbers, "<u4").tobytes()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"1234",
        b"123456789012",
        ranges(5, 0),
        ranges(5, 2, 6, 1),
        ranges(5, 2, 4, 1),
        ranges(5, 2, 5, 2),
        ranges(2**32 - 1, 2),
        ranges(0, messages.PEOPLE_PER_PART + 1),
        ranges(0, 2**32 - 1),
        ranges(0, 2**31, 2**31, 2**31),
    ],
    ids=lambda data: data.hex(),
)
def test_positions_that_are_none_are_refused(data: bytes) -> None:
    with pytest.raises(MalformedReport):
        messages.positions_from_wire(data)


@given(st.binary(max_size=64))
@settings(max_examples=300, deadline=None)
def test_random_bytes_are_positions_or_are_refused(data: bytes) -> None:
    try:
        positions = unpack_positions(data, 1000)
    except MalformedReport:
        return
    assert len(positions) <= 1000 and (np.diff(positions.astype(np.int64)) > 0).all()


@given(st.lists(st.booleans(), max_size=40))
def test_yes_and_no_come_back(bits: list[bool]) -> None:
    data = messages.mask_to_wire(np.array(bits, np.bool_))
    assert messages.mask_from_wire(data, len(bits)).tolist() == bits
    with pytest.raises(MalformedReport):
        messages.mask_from_wire(data + b"\0", len(bits))


def test_decisions_and_holdings_come_back() -> None:
    job = Job(3, np.array([1, 2, 9], np.uint32), np.array([True, False, True]))
    back = messages.job_from_wire(messages.job_to_wire(b"d", job))
    assert (back.number, back.positions.tolist(), back.accepted.tolist()) == (
        3,
        [1, 2, 9],
        [True, False, True],
    )
    holding = Holding(7, b"set", 2, True, b"signed")
    there = messages.holding_from_wire(messages.holding_to_wire(holding))
    assert there == holding and there.signature == b"signed"
    opening = Opening(b"commitment", b"signed")
    assert messages.opening_from_wire(messages.opening_to_wire(opening)) == opening


def test_sums_come_back_and_others_are_refused() -> None:
    small, large = collection_of(), collection_of(encoding=Encoding.histogram(3), tier="prio3")
    for collection, sums in ((small, (PRIME - 1,)), (large, (0, 2**100, 7))):
        told = pb.ReleaseResponse(noisy_sums=collection.field.pack(sums))
        assert messages.release_from_wire(collection, told).noisy_sums == told.noisy_sums
    for data in (b"", bytes(7), bytes(16), PRIME.to_bytes(8, "little")):
        with pytest.raises(MalformedReport):
            messages.release_from_wire(small, pb.ReleaseResponse(noisy_sums=data))
