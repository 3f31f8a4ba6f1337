"""Blocks of reports: the same bytes as one report at a time, and one bad report costs the others nothing."""

import numpy as np
import pytest

from localdp.errors import InvalidParameter, MalformedReport
from localdp.sharing.prio3 import Count, Prio3, Report
from localdp.sharing.prio3 import flp as reference
from localdp.sharing.prio3.batch import flp, kernels
from localdp.sharing.prio3.batch.derivations import BlockDerivations
from localdp.sharing.prio3.batch.verification import BlockState, BlockVerifier, rows
from localdp.sharing.prio3.batch.words import Mask, Octets, Words
from localdp.sharing.prio3.circuit import Univariate
from localdp.sharing.prio3.fields import FIELD64, FIELD128, PrimeField
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
BOTH = pytest.mark.parametrize("compiled", [False, True], ids=["numpy", "compiled"])


def servers_of(prio3: Prio3, compiled: bool) -> list[BlockVerifier]:
    return [BlockVerifier(prio3, KEY, CONTEXT, j, compiled=compiled) for j in range(prio3.shares)]


def init(prio3: Prio3, reports: list[Report], compiled: bool) -> list[tuple[BlockState, Octets]]:
    layout = prio3.layout
    public = (
        rows([report.nonce for report in reports], 16),
        rows([report.public_share for report in reports], layout.public_bytes),
    )
    return [
        server.init(*public, rows([report.input_shares[j] for report in reports], layout.input_bytes(j)))
        for j, server in enumerate(servers_of(prio3, compiled))
    ]


def accepted_by_all(prio3: Prio3, runs: list[tuple[BlockState, Octets]], compiled: bool) -> Mask:
    servers = servers_of(prio3, compiled)
    messages, holds = servers[-1].combine([shares for _, shares in runs])
    masks = [
        server.finish(state, messages, holds) for server, (state, _) in zip(servers, runs, strict=True)
    ]
    return np.asarray(np.all(masks, axis=0))


def is_accepted(prio3: Prio3, report: Report) -> bool:
    try:
        return bool(verify(prio3, report))
    except MalformedReport:
        return False


@BOTH
@EACH
def test_every_message_of_a_block_has_the_bytes_of_the_reference(name: str, compiled: bool) -> None:
    prio3, _ = INSTANCES[name]
    reports = make_reports(name)
    runs = init(prio3, reports, compiled)
    messages, holds = servers_of(prio3, compiled)[0].combine([shares for _, shares in runs])
    assert holds.all()
    for i, report in enumerate(reports):
        public = report.nonce, report.public_share
        single = [
            prio3.verify_init(KEY, CONTEXT, j, *public, report.input_shares[j]) for j in range(prio3.shares)
        ]
        for server, (state, share), (states, shares) in zip(
            servers_of(prio3, compiled), single, runs, strict=True
        ):
            assert shares[i].tobytes() == share
            assert states.joint_seeds[i].tobytes() == state.joint_seed
            assert server.output_shares(states)[i].tobytes() == prio3.field.pack(state.output_share)
        assert messages[i].tobytes() == prio3.combine(CONTEXT, [share for _, share in single])


@BOTH
@EACH
def test_aggregate_shares_of_accepted_reports_give_the_result(name: str, compiled: bool) -> None:
    prio3, _ = INSTANCES[name]
    runs = init(prio3, make_reports(name), compiled)
    accepted = accepted_by_all(prio3, runs, compiled)
    assert accepted.all()
    shares = [
        server.aggregate(state, accepted)
        for server, (state, _) in zip(servers_of(prio3, compiled), runs, strict=True)
    ]
    assert prio3.unshard(shares) == RESULTS[name]


@BOTH
@EACH
def test_bad_reports_are_dropped_exactly_where_the_reference_drops_them(name: str, compiled: bool) -> None:
    """Each message is changed in a few places, and good reports stand between the bad ones."""
    prio3, _ = INSTANCES[name]
    good = make_reports(name)
    reports = [good[1]]
    for message in range(-1, prio3.shares):
        length = len(good[0].public_share) if message < 0 else len(good[0].input_shares[message])
        for byte in {0, length // 2, length - 1} if length else ():
            reports += [with_byte_changed(good[0], message, byte), good[2]]
    accepted = accepted_by_all(prio3, init(prio3, reports, compiled), compiled)
    assert accepted.tolist() == [is_accepted(prio3, report) for report in reports]
    assert accepted.any() and not accepted.all()


@BOTH
@EACH
def test_an_element_that_is_not_reduced_drops_its_report_only(name: str, compiled: bool) -> None:
    prio3, _ = INSTANCES[name]
    good = make_reports(name)
    width = prio3.field.encoded_bytes
    unreduced = b"\xff" * width + good[1].input_shares[0][width:]
    bad = Report(good[1].nonce, good[1].public_share, (unreduced, *good[1].input_shares[1:]))
    runs = init(prio3, [good[0], bad, good[2]], compiled)
    assert (runs[0][1][1] == 0xFF).all()
    assert accepted_by_all(prio3, runs, compiled).tolist() == [True, False, True]
    states = [state for state, _ in runs]
    changed = [shares.copy() for _, shares in runs]
    changed[-1][0, :width] = 0xFF
    again = list(zip(states, changed, strict=True))
    assert accepted_by_all(prio3, again, compiled).tolist() == [False, False, True]


@BOTH
def test_a_refused_report_is_not_in_the_aggregate(compiled: bool) -> None:
    prio3 = Prio3(Count(), 2)
    good = make_reports("Count")
    reports = [good[0], with_byte_changed(good[0], 0, 0), good[0]]
    runs = init(prio3, reports, compiled)
    accepted = accepted_by_all(prio3, runs, compiled)
    shares = [
        server.aggregate(state, accepted)
        for server, (state, _) in zip(servers_of(prio3, compiled), runs, strict=True)
    ]
    assert prio3.unshard(shares) == 2


@pytest.mark.parametrize("field", [FIELD64, FIELD128], ids=["Field64", "Field128"])
def test_points_that_must_not_be_used_are_found(field: PrimeField) -> None:
    """A query at a root of unity: the reference refuses, the block marks the report."""
    kernel, circuit = kernels.kernel_for(field), Count(field)
    points = [5, *field.roots(2), field.roots(4)[1], 1]
    coins = kernels.elements(kernel, points).swapaxes(1, 2)
    encoded = kernels.elements(kernel, [1]).repeat(len(points), axis=2)
    proof = kernels.elements(kernel, [3, 4, 5, 6, 7]).repeat(len(points), axis=2)
    joint = np.empty((kernel.limbs, 0, len(points)), np.uint64)
    _, unusable = flp.query(kernel, circuit, encoded, proof, coins, joint, 2)
    assert unusable.tolist() == [False, True, True, False, True]


def test_at_a_point_that_must_not_be_used_nothing_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = BlockDerivations.query_coins

    def with_a_root(self: BlockDerivations, key: bytes, nonces: Octets) -> Words:
        coins = drawn(self, key, nonces)
        coins[:, -1, 1] = kernels.elements(self.kernel, [FIELD64.modulus - 1])[:, 0, 0]
        return coins

    monkeypatch.setattr(BlockDerivations, "query_coins", with_a_root)
    prio3, _ = INSTANCES["Count"]
    runs = init(prio3, make_reports("Count"), compiled=False)
    assert all((shares[1] == 0xFF).all() for _, shares in runs)
    assert accepted_by_all(prio3, runs, compiled=False).tolist() == [True, False, True]


@BOTH
def test_a_server_refuses_what_it_could_not_read_whatever_the_others_say(compiled: bool) -> None:
    prio3, good = Prio3(Count(), 2), make_reports("Count")
    unreadable = Report(good[0].nonce, b"", (b"\xff" * 48, good[0].input_shares[1]))
    state, _ = init(prio3, [good[0], unreadable], compiled)[0]
    claimed = servers_of(prio3, compiled)[0].finish(state, np.empty((2, 0), np.uint8), np.ones(2, np.bool_))
    assert claimed.tolist() == [True, False]


@BOTH
def test_the_modulus_in_place_of_zero_is_refused(compiled: bool) -> None:
    """The same number, but not the same bytes: there is one encoding only."""
    prio3 = Prio3(Count(), 2)
    shares = [share.copy() for _, share in init(prio3, make_reports("Count")[:1], compiled)]
    for share in shares:
        share[:, :8] = 0  # The checks of an honest report add up to zero, and so do these.
    assert servers_of(prio3, compiled)[0].combine(shares)[1].tolist() == [True]
    assert prio3.combine(CONTEXT, [share.tobytes() for share in shares]) == b""
    shares[1][0, :8] = np.frombuffer(FIELD64.modulus.to_bytes(8, "little"), np.uint8)
    assert servers_of(prio3, compiled)[0].combine(shares)[1].tolist() == [False]
    with pytest.raises(MalformedReport):
        prio3.combine(CONTEXT, [share.tobytes() for share in shares])


@pytest.mark.parametrize("field", [FIELD64, FIELD128], ids=["Field64", "Field128"])
def test_each_word_of_a_verifier_counts(field: PrimeField) -> None:
    kernel, circuit = kernels.kernel_for(field), Count(field)
    large = 1 << 8 * field.encoded_bytes - 8  # Zero in its lower word, if it has two.
    verifiers = {
        (0, 2, 3, 6): True,
        (large, 2, 3, 6): False,
        (0, 2, 3, 6 + large): False,
        (0, 2, 4, 6): False,
    }
    for verifier, expected in verifiers.items():
        assert flp.decide(kernel, circuit, kernels.elements(kernel, verifier)).tolist() == [expected]
        assert reference.decide(circuit, verifier) == expected


@BOTH
def test_an_empty_block_is_verified_too(compiled: bool) -> None:
    prio3 = Prio3(Count(), 2)
    nothing = [np.empty((0, length), np.uint8) for length in (16, 0, 48)]
    state, shares = BlockVerifier(prio3, KEY, CONTEXT, 0, compiled=compiled).init(
        nothing[0], nothing[1], nothing[2]
    )
    assert shares.shape == (0, 32)
    assert BlockVerifier(prio3, KEY, CONTEXT, 0, compiled=compiled).aggregate(state, state.good) == bytes(8)


@BOTH
def test_blocks_of_the_wrong_shape_are_refused(compiled: bool) -> None:
    prio3 = Prio3(Count(), 2)
    server = BlockVerifier(prio3, KEY, CONTEXT, 0, compiled=compiled)
    octets = [np.zeros((2, length), np.uint8) for length in (16, 0, 48, 32)]
    state, _ = server.init(octets[0], octets[1], octets[2])
    with pytest.raises(InvalidParameter):
        server.init(octets[0], octets[1], octets[3])
    with pytest.raises(InvalidParameter):
        server.init(octets[0], octets[1][:1], octets[2])
    with pytest.raises(InvalidParameter):
        server.combine([octets[3]])
    with pytest.raises(InvalidParameter):
        server.combine([octets[3], octets[3][:1]])
    with pytest.raises(InvalidParameter):
        server.finish(state, octets[3], state.good)
    with pytest.raises(InvalidParameter):
        server.finish(state, octets[1], state.good[:1])
    with pytest.raises(InvalidParameter):
        server.aggregate(state, np.ones(2, np.uint8))
    with pytest.raises(InvalidParameter):
        server.init(octets[0].astype(np.int64), octets[1], octets[2])
    with pytest.raises(MalformedReport):
        rows([bytes(31)], 32)
    for key, number in ((bytes(31), 0), (KEY, 2)):
        with pytest.raises(InvalidParameter):
            BlockVerifier(prio3, key, CONTEXT, number)


class Cubic(Count):
    """A circuit whose gadget is of degree 3."""

    @property
    def gadget(self) -> Univariate:
        return Univariate((0, 2, -3, 1))


def test_a_circuit_of_higher_degree_is_left_to_the_reference() -> None:
    prio3 = Prio3(Cubic(), 2)
    server = BlockVerifier(prio3, KEY, CONTEXT, 1)
    octets = [np.zeros((1, length), np.uint8) for length in (16, 0, 32)]
    with pytest.raises(InvalidParameter):
        server.init(octets[0], octets[1], octets[2])
