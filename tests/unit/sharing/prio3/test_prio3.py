"""Prio3: honest reports add up; a report with anything changed is refused."""

from dataclasses import replace
from itertools import combinations, product

import pytest

from localdp.errors import InvalidParameter, InvalidRecord, MalformedReport
from localdp.sharing.prio3 import Count, HistogramCircuit, Prio3
from localdp.sharing.prio3.fields import PrimeField
from localdp.sharing.prio3.prio3 import leader_part
from tests.support.scripted import ScriptedSource
from tests.unit.sharing.prio3.protocol import (
    CONTEXT,
    INSTANCES,
    KEY,
    RESULTS,
    make_reports,
    verify,
    with_byte_changed,
)

EACH = pytest.mark.parametrize("name", INSTANCES)


@EACH
def test_honest_reports_are_accepted_and_add_up(name: str) -> None:
    prio3, _ = INSTANCES[name]
    outputs = [verify(prio3, report) for report in make_reports(name)]
    shares = [prio3.aggregate(of_server) for of_server in zip(*outputs, strict=True)]
    assert prio3.unshard(shares) == RESULTS[name]


@EACH
def test_a_change_in_any_element_of_any_message_is_refused(name: str) -> None:
    """The lowest bit of each field element of the leader, and of each seed, blind and part."""
    prio3, _ = INSTANCES[name]
    report = make_reports(name)[0]
    width = prio3.field.encoded_bytes
    places = [(0, byte) for byte in range(0, len(report.input_shares[0]), width)]
    places += [
        (j, byte) for j in range(1, prio3.shares) for byte in range(0, len(report.input_shares[j]), 32)
    ]
    places += [(-1, byte) for byte in range(0, len(report.public_share), 32)]
    for message, byte in places:
        with pytest.raises(MalformedReport):
            verify(prio3, with_byte_changed(report, message, byte))


@EACH
def test_a_report_of_another_context_nonce_or_key_is_not_accepted_unless_all_agree(name: str) -> None:
    prio3, _ = INSTANCES[name]
    report = make_reports(name)[0]
    assert verify(prio3, report, key=bytes(32))  # Any key that the servers share will do.
    with pytest.raises(MalformedReport):
        verify(prio3, report, contexts=(b"another task",) * prio3.shares)
    with pytest.raises(MalformedReport):
        verify(prio3, report, contexts=(CONTEXT, *[b"another task"] * (prio3.shares - 1)))


@pytest.mark.parametrize("name", ["SumVec", "Histogram", "MultihotCountVec"])
def test_with_joint_randomness_a_report_is_bound_to_its_nonce(name: str) -> None:
    prio3, _ = INSTANCES[name]
    with pytest.raises(MalformedReport):
        verify(prio3, replace(make_reports(name)[0], nonce=bytes(16)))


@EACH
def test_servers_that_use_different_nonces_refuse(name: str) -> None:
    prio3, _ = INSTANCES[name]
    report = make_reports(name)[0]
    nonces = [report.nonce, *[bytes(16)] * (prio3.shares - 1)]
    runs = [
        prio3.verify_init(KEY, CONTEXT, j, nonces[j], report.public_share, report.input_shares[j])
        for j in range(prio3.shares)
    ]
    with pytest.raises(MalformedReport):
        prio3.combine(CONTEXT, [share for _, share in runs])


@pytest.mark.parametrize("name", ["Sum", "MultihotCountVec"])
def test_helpers_shares_in_the_wrong_order_are_refused(name: str) -> None:
    prio3, _ = INSTANCES[name]
    report = make_reports(name)[0]
    leader, first, second = report.input_shares
    with pytest.raises(MalformedReport):
        verify(prio3, replace(report, input_shares=(leader, second, first)))
    with pytest.raises(MalformedReport):
        verify(prio3, replace(report, input_shares=(first, leader, second)))


@EACH
def test_shares_of_two_reports_do_not_mix(name: str) -> None:
    prio3, _ = INSTANCES[name]
    one, other = make_reports(name)[:2]
    with pytest.raises(MalformedReport):
        verify(prio3, replace(one, input_shares=(other.input_shares[0], *one.input_shares[1:])))


def test_a_client_that_shows_servers_different_joint_randomness_is_refused_by_both() -> None:
    prio3, _ = INSTANCES["Histogram"]
    report = make_reports("Histogram")[0]
    lie = with_byte_changed(report, -1, 0)
    # The leader replaces its own part, so that only the helper is deceived.
    states = [
        prio3.verify_init(KEY, CONTEXT, j, lie.nonce, lie.public_share, lie.input_shares[j])[0]
        for j in (0, 1)
    ]
    assert states[0].joint_seed != states[1].joint_seed
    honest = [
        prio3.verify_init(KEY, CONTEXT, j, report.nonce, report.public_share, report.input_shares[j])
        for j in (0, 1)
    ]
    message = prio3.combine(CONTEXT, [share for _, share in honest])
    assert prio3.verify_next(states[0], message)
    with pytest.raises(MalformedReport):
        prio3.verify_next(states[1], message)


def test_the_largest_and_smallest_number_of_servers_work() -> None:
    prio3 = Prio3(Count(), 255)
    report = prio3.shard(CONTEXT, 1, bytes(16), bytes(i % 256 for i in range(prio3.rand_bytes)))
    outputs = verify(prio3, report)
    assert prio3.unshard([prio3.aggregate([output]) for output in outputs]) == 1
    for shares in (1, 256):
        with pytest.raises(InvalidParameter):
            Prio3(Count(), shares)
    for proofs in (0, 256):
        with pytest.raises(InvalidParameter):
            Prio3(Count(), 2, proofs)


def test_a_source_gives_the_nonce_and_then_the_random_bytes() -> None:
    prio3 = Prio3(HistogramCircuit(4, 2), 2)
    coins = bytes(i % 256 for i in range(16 + prio3.rand_bytes))
    assert prio3.shard_from(CONTEXT, 3, ScriptedSource(coins)) == prio3.shard(
        CONTEXT, 3, coins[:16], coins[16:]
    )


def test_arguments_of_the_wrong_length_are_refused() -> None:
    prio3 = Prio3(Count(), 2)
    report = prio3.shard(CONTEXT, 1, bytes(16), bytes(64))
    for nonce, rand in ((bytes(15), bytes(64)), (bytes(16), bytes(63))):
        with pytest.raises(InvalidParameter):
            prio3.shard(CONTEXT, 1, nonce, rand)
    for key, server in ((bytes(31), 0), (bytes(32), 2), (bytes(32), -1)):
        with pytest.raises(InvalidParameter):
            prio3.verify_init(key, CONTEXT, server, report.nonce, b"", report.input_shares[0])
    with pytest.raises(MalformedReport):
        prio3.verify_init(KEY, CONTEXT, 0, bytes(15), b"", report.input_shares[0])
    with pytest.raises(MalformedReport):
        prio3.combine(CONTEXT, [bytes(32)])
    with pytest.raises(MalformedReport):
        prio3.unshard([bytes(8)])


def test_a_measurement_out_of_range_makes_no_report() -> None:
    with pytest.raises(InvalidRecord):
        Prio3(Count(), 2).shard(CONTEXT, 2, bytes(16), bytes(64))


def test_any_shares_but_all_are_uniform_and_all_add_up() -> None:
    """The additive part, exactly: every value of the helpers' vectors over the integers modulo 5."""
    field = PrimeField(5, 1, 2, 4)
    for value in product(range(5), repeat=2):
        vectors = list(product(range(5), repeat=2))
        splits = [(leader_part(field, value, helpers), *helpers) for helpers in product(vectors, repeat=2)]
        assert all(field.total(split, 2) == list(value) for split in splits)
        for seen in combinations(range(3), 2):
            views = {tuple(tuple(split[server]) for server in seen) for split in splits}
            assert len(views) == len(splits) == 5**4
