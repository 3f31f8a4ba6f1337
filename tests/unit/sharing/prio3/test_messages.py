"""The bytes of Prio3's messages: lengths, order of the fields, refusals."""

import pytest

from localdp.errors import MalformedReport
from localdp.sharing.prio3 import Count, HistogramCircuit, Prio3, Sum, SumVec
from localdp.sharing.prio3.fields import FIELD64, FIELD128

PLAIN = Prio3(Count(), 3).layout
JOINT = Prio3(HistogramCircuit(4, 2), 3).layout


@pytest.mark.parametrize(
    ("prio3", "public", "leader", "helper", "verifier"),
    [
        (Prio3(Count(), 2), 0, 48, 32, 32),
        (Prio3(Sum(255), 2), 0, 320, 32, 24),
        (Prio3(HistogramCircuit(256, 16), 2), 64, 5648, 64, 576),
        (Prio3(SumVec(1000, 1, 32), 2), 64, 19088, 64, 1088),
        (Prio3(HistogramCircuit(256, 16), 5), 160, 5648, 64, 576),
    ],
)
def test_messages_have_their_known_lengths(
    prio3: Prio3, public: int, leader: int, helper: int, verifier: int
) -> None:
    layout = prio3.layout
    found = layout.public_bytes, layout.input_bytes(0), layout.input_bytes(1), layout.verifier_bytes
    assert found == (public, leader, helper, verifier)


def test_a_leaders_share_is_measurement_then_proof_then_blind() -> None:
    elements = list(range(JOINT.leader_elements))
    blind = bytes(range(32))
    share = JOINT.leader_share(FIELD128.pack(elements) + blind)
    assert (share.measurement, share.proofs, share.blind) == (elements[:4], elements[4:], blind)


def test_without_joint_randomness_there_is_no_blind_and_no_public_share() -> None:
    share = PLAIN.leader_share(FIELD64.pack(range(PLAIN.leader_elements)))
    assert share.blind == b""
    assert PLAIN.public_parts(b"") == []
    assert PLAIN.helper_share(bytes(32)) == (bytes(32), b"")


def test_a_helpers_share_is_seed_then_blind() -> None:
    assert JOINT.helper_share(bytes(range(64))) == (bytes(range(32)), bytes(range(32, 64)))


def test_a_public_share_is_the_parts_in_the_order_of_the_servers() -> None:
    assert JOINT.public_parts(bytes(range(96))) == [
        bytes(range(32)),
        bytes(range(32, 64)),
        bytes(range(64, 96)),
    ]


@pytest.mark.parametrize("change", [-1, 1])
def test_a_message_of_another_length_is_refused(change: int) -> None:
    parsers = [
        (JOINT.public_parts, JOINT.public_bytes),
        (JOINT.leader_share, JOINT.input_bytes(0)),
        (JOINT.helper_share, JOINT.input_bytes(1)),
        (JOINT.verifier_share, JOINT.verifier_bytes),
        (JOINT.aggregate_share, 4 * 16),
    ]
    for parse, length in parsers:
        parse(bytes(length))
        with pytest.raises(MalformedReport):
            parse(bytes(length + change))


def test_an_element_that_is_not_reduced_is_refused() -> None:
    with pytest.raises(MalformedReport):
        JOINT.leader_share(b"\xff" * 16 + bytes(JOINT.input_bytes(0) - 16))
    with pytest.raises(MalformedReport):
        JOINT.verifier_share(b"\xff" * 16 + bytes(JOINT.verifier_bytes - 16))
    with pytest.raises(MalformedReport):
        JOINT.aggregate_share(b"\xff" * 64)
