"""Compiled code, numpy and the reference make the same bytes, of good reports and of every kind of bad ones."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from localdp.errors import MalformedReport
from localdp.randomness.hazmat import SeededSource
from localdp.sharing.prio3 import Count, HistogramCircuit, Prio3, Report, Sum
from localdp.sharing.prio3.batch.compiled import steps
from localdp.sharing.prio3.batch.compiled.derivations import CompiledDerivations
from localdp.sharing.prio3.batch.compiled.engine import CompiledEngine
from localdp.sharing.prio3.batch.numpy_engine import NumpyEngine
from localdp.sharing.prio3.batch.verification import BlockState, BlockVerifier, rows
from localdp.sharing.prio3.batch.words import Mask, Octets, Words
from localdp.sharing.prio3.derivations import Use
from localdp.sharing.prio3.fields import FIELD64, FIELD128, PrimeField
from localdp.sharing.prio3.flp import AnyCircuit
from localdp.sharing.prio3.messages import LEADER
from localdp.sharing.prio3.xof import xof
from tests.unit.sharing.prio3 import protocol
from tests.unit.sharing.prio3.protocol import CONTEXT, KEY, MEASUREMENTS, with_byte_changed

Block = tuple[Octets, Octets, list[Octets]]
EACH = pytest.mark.parametrize(
    ("circuit", "measurements"), MEASUREMENTS, ids=[type(circuit).__name__ for circuit, _ in MEASUREMENTS]
)
SHARES = pytest.mark.parametrize("shares", [2, 3, 5])


def reports_of(prio3: Prio3, measurements: list[Any]) -> list[Report]:
    source = SeededSource(7)
    return [prio3.shard_from(CONTEXT, measurement, source) for measurement in measurements]


def corrupted(prio3: Prio3, good: list[Report], generator: np.random.Generator) -> list[Report]:
    """Good reports, and beside each of them: changed bytes, words that are no elements, messages that do not belong."""
    reports = list(good)
    for report in good:
        for message in range(-1, prio3.shares):
            length = len(report.public_share) if message < 0 else len(report.input_shares[message])
            if length:
                byte, by = int(generator.integers(length)), int(generator.integers(1, 256))
                reports.append(with_byte_changed(report, message, byte, by))
        place = int(generator.integers(prio3.layout.leader_elements))
        reports += [with_element(prio3, report, place, value) for value in unreduced_values(prio3.field)]
        reports.append(Report(bytes(16), report.public_share, report.input_shares))
        reports.append(Report(report.nonce, report.public_share[::-1], good[0].input_shares))
    return reports


def unreduced_values(field: PrimeField) -> list[int]:
    return [field.modulus, (1 << 8 * field.encoded_bytes) - 1]


def with_element(prio3: Prio3, report: Report, place: int, value: int) -> Report:
    width = prio3.field.encoded_bytes
    share = bytearray(report.input_shares[LEADER])
    share[place * width : (place + 1) * width] = value.to_bytes(width, "little")
    return Report(report.nonce, report.public_share, (bytes(share), *report.input_shares[1:]))


def block_of(prio3: Prio3, reports: list[Report]) -> Block:
    layout = prio3.layout
    inputs = [
        rows([report.input_shares[j] for report in reports], layout.input_bytes(j))
        for j in range(prio3.shares)
    ]
    public = rows([report.public_share for report in reports], layout.public_bytes)
    return rows([report.nonce for report in reports], 16), public, inputs


def verifiers(prio3: Prio3, compiled: bool) -> list[BlockVerifier]:
    return [BlockVerifier(prio3, KEY, CONTEXT, j, compiled=compiled) for j in range(prio3.shares)]


def run_init(prio3: Prio3, block: Block, compiled: bool) -> list[tuple[BlockState, Octets]]:
    nonces, public, inputs = block
    return [each.init(nonces, public, inputs[j]) for j, each in enumerate(verifiers(prio3, compiled))]


def assert_same(left: tuple[BlockState, Octets], right: tuple[BlockState, Octets]) -> None:
    assert (left[1] == right[1]).all()
    for name in ("output_shares", "joint_seeds", "good"):
        a, b = getattr(left[0], name), getattr(right[0], name)
        assert a.shape == b.shape and a.dtype == b.dtype and (a == b).all(), name


def assert_as_reference(
    prio3: Prio3, reports: list[Report], server: int, run: tuple[BlockState, Octets]
) -> None:
    state, shares = run
    verifier = verifiers(prio3, compiled=True)[server]
    for i, report in enumerate(reports):
        given = report.nonce, report.public_share, report.input_shares[server]
        try:
            single, share = prio3.verify_init(KEY, CONTEXT, server, *given)
        except MalformedReport:
            assert not state.good[i] and (shares[i] == 0xFF).all()
            continue
        assert state.good[i] and shares[i].tobytes() == share
        assert state.joint_seeds[i].tobytes() == single.joint_seed
        assert verifier.output_shares(state)[i].tobytes() == prio3.field.pack(single.output_share)


@EACH
@SHARES
def test_three_implementations_make_the_same_bytes_of_good_and_bad_reports(
    circuit: AnyCircuit, measurements: list[Any], shares: int
) -> None:
    prio3 = Prio3(circuit, shares)
    reports = corrupted(prio3, reports_of(prio3, measurements), np.random.default_rng(shares))
    block = block_of(prio3, reports)
    compiled, plain = run_init(prio3, block, compiled=True), run_init(prio3, block, compiled=False)
    for server in range(shares):
        assert_same(compiled[server], plain[server])
        assert_as_reference(prio3, reports, server, compiled[server])
    refused = ~compiled[LEADER][0].good
    assert refused.sum() >= 2 * len(measurements) and not refused[: len(measurements)].any()


@EACH
@SHARES
def test_three_implementations_accept_and_add_up_the_same_reports(
    circuit: AnyCircuit, measurements: list[Any], shares: int
) -> None:
    prio3 = Prio3(circuit, shares)
    reports = corrupted(prio3, reports_of(prio3, measurements), np.random.default_rng(shares))
    runs = run_init(prio3, block_of(prio3, reports), compiled=True)
    matrices = [share.copy() for _, share in runs]
    matrices[-1][1, 0] ^= 1  # A server that lies about a good report,
    matrices[0][2, : prio3.field.encoded_bytes] = 0xFF  # and one that sends what is no element.
    found = [each.combine(matrices) for each in (verifiers(prio3, True)[0], verifiers(prio3, False)[0])]
    assert (found[0][0] == found[1][0]).all() and (found[0][1] == found[1][1]).all()
    messages, holds = found[0]
    expected = [combined(prio3, [matrix[i].tobytes() for matrix in matrices]) for i in range(len(reports))]
    assert holds.tolist() == [message is not None for message in expected]
    assert all(message in (None, messages[i].tobytes()) for i, message in enumerate(expected))
    assert holds[0] and not holds[1] and not holds[2]
    for server, (state, _) in enumerate(runs):
        assert_same_aggregates(prio3, server, state, messages, holds)


def combined(prio3: Prio3, shares: list[bytes]) -> bytes | None:
    try:
        return prio3.combine(CONTEXT, shares)
    except MalformedReport:
        return None


def assert_same_aggregates(
    prio3: Prio3, server: int, state: BlockState, messages: Octets, holds: Mask
) -> None:
    compiled, plain = verifiers(prio3, True)[server], verifiers(prio3, False)[server]
    accepted = compiled.finish(state, messages, holds)
    assert accepted.any() and (accepted == plain.finish(state, messages, holds)).all()
    outputs = [
        prio3.field.unpack(row.tobytes())
        for row, good in zip(plain.output_shares(state), accepted, strict=True)
        if good
    ]
    share = compiled.aggregate(state, accepted)
    assert share == plain.aggregate(state, accepted) == prio3.aggregate(outputs)


def test_two_proofs_are_each_verified() -> None:
    prio3, _ = protocol.INSTANCES["two proofs"]
    good = protocol.make_reports("two proofs")
    width, first = prio3.field.encoded_bytes, prio3.circuit.encoded_length
    places = [first + 1, first + prio3.circuit.proof_length + 1]
    bad = [with_byte_changed(good[0], LEADER, place * width) for place in places]
    reports = [good[0], *bad, good[1]]
    block = block_of(prio3, reports)
    compiled = run_init(prio3, block, compiled=True)
    for server, pair in enumerate(zip(compiled, run_init(prio3, block, compiled=False), strict=True)):
        assert_same(*pair)
        assert_as_reference(prio3, reports, server, pair[0])
    _, holds = verifiers(prio3, True)[0].combine([share for _, share in compiled])
    assert holds.tolist() == [True, False, False, True]


@pytest.mark.parametrize("field", [FIELD64, FIELD128], ids=["Field64", "Field128"])
def test_each_word_of_a_verifier_counts(field: PrimeField) -> None:
    """x * y = z and a check of zero, given as the shares of two servers; one wrong word in each of the others."""
    large = 1 << 8 * field.encoded_bytes - 8  # Zero in its lower word, if it has two.
    wanted = [
        (0, 2, 3, 6),
        (large, 2, 3, 6),
        (0, 2, 3, 6 + large),
        (0, 2, 4, 6),
        (1, 2, 3, 6),
        (0, 2, 3, 7),
    ]
    p = field.modulus
    first = [9, p - 2, 5, 1]
    second = [[(value - share) % p for value, share in zip(row, first, strict=True)] for row in wanted]
    shares = [
        rows([field.pack(first)] * len(wanted), 4 * field.encoded_bytes),
        rows([field.pack(row) for row in second], 4 * field.encoded_bytes),
    ]
    for compiled in (True, False):
        _, holds = verifiers(Prio3(Count(field), 2), compiled)[0].combine(shares)
        assert holds.tolist() == [True, *([False] * (len(wanted) - 1))]


@pytest.mark.parametrize("field", [FIELD64, FIELD128], ids=["Field64", "Field128"])
@pytest.mark.parametrize("place", range(4))
def test_a_verifier_share_has_one_encoding_only(field: PrimeField, place: int) -> None:
    """The modulus in place of zero: the same number, but not the same bytes."""
    width = field.encoded_bytes
    first, second = [field.pack([0] * 4)] * 2, [field.pack([0] * 4)] * 2
    second[1] = (
        second[1][: place * width]
        + field.modulus.to_bytes(width, "little")
        + second[1][(place + 1) * width :]
    )
    for shares in ([first, second], [second, first]):
        for compiled in (True, False):
            verifier = verifiers(Prio3(Count(field), 2), compiled)[0]
            _, holds = verifier.combine([rows(share, 4 * width) for share in shares])
            assert holds.tolist() == [True, False]


# Words that are sampled and are no elements: once in 2**32, so they are looked for, or planted.


def test_the_streams_that_were_searched_for_do_have_a_gap() -> None:
    prio3 = Prio3(Sum((1 << 32) - 1), 2)
    task, proofs = prio3.derivations(CONTEXT).task, bytes([1])
    found = [
        (protocol.SEED_OF_PROOFS_WITH_A_GAP, Use.PROOF_SHARE, proofs + bytes([1]), 45),
        (protocol.SEED_OF_MEASUREMENT_WITH_A_GAP, Use.MEASUREMENT_SHARE, bytes([1]), 17),
        (KEY, Use.QUERY_COINS, proofs + protocol.NONCE_OF_COINS_WITH_A_GAP, 10),
    ]
    for seed, use, binder, place in found:
        words = np.frombuffer(xof(seed, task.tag(use), binder).read(8 * 64), "<u8").tolist()
        assert words[place] >= FIELD64.modulus
        assert all(word < FIELD64.modulus for word in words[:place])


@pytest.mark.parametrize("server", [0, 1])
def test_streams_with_a_gap_are_drawn_again_as_the_reference_does(server: int) -> None:
    prio3 = Prio3(Sum((1 << 32) - 1), 2)
    plain = prio3.shard(CONTEXT, 5, bytes(16), bytes(range(64)))
    seeds = [protocol.SEED_OF_PROOFS_WITH_A_GAP, protocol.SEED_OF_MEASUREMENT_WITH_A_GAP]
    reports = [
        plain,
        *(Report(plain.nonce, b"", (plain.input_shares[LEADER], seed)) for seed in seeds),
        prio3.shard(CONTEXT, 6, protocol.NONCE_OF_COINS_WITH_A_GAP, bytes(range(64))),
    ]
    block = block_of(prio3, reports)
    run = run_init(prio3, block, compiled=True)[server]
    assert_same(run, run_init(prio3, block, compiled=False)[server])
    assert_as_reference(prio3, reports, server, run)


def planted(name: str, row: int, field: PrimeField, value: int) -> Callable[..., None]:
    """A derivation of which one element of one report is replaced; the last one, and of a key the point of the test."""
    drawn = getattr(CompiledDerivations, name)
    words = np.frombuffer(value.to_bytes(field.encoded_bytes, "little"), np.uint64)

    def replaced(self: CompiledDerivations, *arguments: Any) -> None:
        drawn(self, *arguments)
        out: Words = arguments[-1]
        out[row, -len(words) :] = words

    return replaced


SAMPLED = pytest.mark.parametrize(
    "name", ["helper_measurements", "helper_proofs", "query_coins", "joint_coins"]
)


@pytest.mark.parametrize(
    ("circuit", "name"),
    [
        (Count(), "helper_measurements"),
        (Count(), "helper_proofs"),
        (Count(), "query_coins"),
        (HistogramCircuit(5, 2), "helper_measurements"),
        (HistogramCircuit(5, 2), "helper_proofs"),
        (HistogramCircuit(5, 2), "query_coins"),
        (HistogramCircuit(5, 2), "joint_coins"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_a_sampled_word_that_is_no_element_sends_its_report_to_the_numpy_form(
    circuit: AnyCircuit, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    prio3 = Prio3(circuit, 2)
    block = block_of(prio3, reports_of(prio3, [1, 0, 1]))
    plain = run_init(prio3, block, compiled=False)
    for value in unreduced_values(prio3.field):
        monkeypatch.setattr(CompiledDerivations, name, planted(name, 1, prio3.field, value))
        for left, right in zip(run_init(prio3, block, compiled=True), plain, strict=True):
            assert_same(left, right)
        monkeypatch.undo()


@SAMPLED
def test_the_largest_element_is_one_and_is_taken(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin of the test above: what was planted does count, for this report only, if it is an element."""
    prio3 = Prio3(HistogramCircuit(5, 2), 2)
    block = block_of(prio3, reports_of(prio3, [1, 0, 1]))
    plain = run_init(prio3, block, compiled=False)[1][1]
    monkeypatch.setattr(CompiledDerivations, name, planted(name, 1, prio3.field, prio3.field.modulus - 1))
    found = run_init(prio3, block, compiled=True)[1][1]
    assert (found == plain).all(axis=1).tolist() == [True, False, True]


@pytest.mark.parametrize("circuit", [Count(), HistogramCircuit(5, 2)], ids=["Field64", "Field128"])
def test_at_a_root_of_unity_compiled_code_sends_nothing_either(
    circuit: AnyCircuit, monkeypatch: pytest.MonkeyPatch
) -> None:
    prio3 = Prio3(circuit, 2)
    block = block_of(prio3, reports_of(prio3, [1, 0, 1]))
    size = circuit.wire_length
    for root in prio3.field.roots(size):
        monkeypatch.setattr(
            CompiledDerivations, "query_coins", planted("query_coins", 1, prio3.field, root)
        )
        for state, shares in run_init(prio3, block, compiled=True):
            assert (shares[1] == 0xFF).all() and state.good.tolist() == [True, False, True]
            assert not state.output_shares[:, :, 1].any() and not state.joint_seeds[1].any()
        monkeypatch.undo()
    other = prio3.field.roots(2 * size)[1]
    monkeypatch.setattr(CompiledDerivations, "query_coins", planted("query_coins", 1, prio3.field, other))
    assert all(state.good.all() for state, _ in run_init(prio3, block, compiled=True))


# Blocks of any size and any memory.


def test_a_block_may_be_cut_anywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    prio3 = Prio3(HistogramCircuit(5, 2), 2)
    block = block_of(prio3, reports_of(prio3, [i % 5 for i in range(11)]))
    whole = run_init(prio3, block, compiled=True)
    monkeypatch.setattr(steps, "_SLICE_BYTES", 1)
    for size in (1, 3, 4, 10):
        monkeypatch.setattr(steps, "_SMALLEST_SLICE", size)
        assert steps.slice_size(prio3) == size
        for left, right in zip(whole, run_init(prio3, block, compiled=True), strict=True):
            assert_same(left, right)


def test_an_empty_block_has_no_reports_in_it() -> None:
    for circuit, _ in MEASUREMENTS:
        prio3 = Prio3(circuit, 2)
        runs = run_init(prio3, block_of(prio3, []), compiled=True)
        messages, holds = verifiers(prio3, True)[0].combine([share for _, share in runs])
        state = runs[0][0]
        accepted = verifiers(prio3, True)[0].finish(state, messages, holds)
        share = verifiers(prio3, True)[0].aggregate(state, accepted)
        assert share == bytes(circuit.output_length * circuit.field.encoded_bytes)


def test_what_is_given_is_not_changed_and_may_lie_anywhere() -> None:
    prio3 = Prio3(HistogramCircuit(5, 2), 2)
    nonces, public, inputs = block_of(prio3, reports_of(prio3, [1, 0, 1]))
    verifier = verifiers(prio3, True)[LEADER]
    expected = verifier.init(nonces, public, inputs[0])
    wider = np.concatenate([np.zeros((3, 3), np.uint8), inputs[0]], axis=1)
    odd = wider[:, 3:]
    before = wider.copy()
    state, shares = verifier.init(nonces[:, ::-1].copy()[:, ::-1], public, odd)
    assert_same((state, shares), expected)
    assert (wider == before).all()
    state.output_shares[:] = 0  # What a state holds is its own.
    assert (wider == before).all()


def test_blocks_are_verified_in_threads() -> None:
    """One verifier, four threads, many small blocks: each gets what it would have got alone."""
    prio3 = Prio3(HistogramCircuit(5, 2), 2)
    nonces, public, inputs = block_of(prio3, reports_of(prio3, [1, 0, 4]))
    verifier = verifiers(prio3, True)[1]
    expected = verifier.init(nonces, public, inputs[1])
    with ThreadPoolExecutor(4) as pool:
        runs = [pool.submit(verifier.init, nonces, public, inputs[1]) for _ in range(200)]
        for run in runs:
            assert_same(run.result(), expected)


def test_sums_of_large_words_do_not_wrap() -> None:
    for circuit in (Count(), HistogramCircuit(3, 2)):
        prio3, largest = Prio3(circuit, 2), circuit.field.modulus - 1
        words = np.frombuffer(circuit.field.pack([largest]), np.uint64)
        outputs = np.broadcast_to(words[:, None, None], (len(words), circuit.output_length, 1000))
        state = BlockState(outputs, np.empty((1000, 0), np.uint8), np.ones(1000, np.bool_))
        accepted = np.arange(1000) % 10 != 0
        share = verifiers(prio3, True)[0].aggregate(state, accepted)
        assert share == verifiers(prio3, False)[0].aggregate(state, accepted)
        assert circuit.field.unpack(share) == [-900 % circuit.field.modulus] * circuit.output_length


def test_a_verifier_is_compiled_or_not_as_asked_for() -> None:
    prio3 = Prio3(Count(), 2)
    assert isinstance(verifiers(prio3, True)[0]._engine, CompiledEngine)
    assert isinstance(verifiers(prio3, False)[0]._engine, NumpyEngine)
