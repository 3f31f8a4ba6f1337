"""Blocks of measurements: the same bytes as one at a time, and the same refusals."""

from typing import Any

import numpy as np
import pytest

from localdp.errors import InvalidParameter, InvalidRecord
from localdp.sharing.prio3 import Count, HistogramCircuit, MultihotCountVec, Prio3, Sum, SumVec
from localdp.sharing.prio3.batch.compiled import steps
from localdp.sharing.prio3.batch.compiled.derivations import CompiledDerivations
from localdp.sharing.prio3.batch.encoding import digits_of
from localdp.sharing.prio3.batch.sharding import BlockSharder
from localdp.sharing.prio3.batch.words import Octets
from localdp.sharing.prio3.fields import FIELD64, FIELD128
from localdp.sharing.prio3.flp import AnyCircuit
from tests.unit.sharing.prio3 import protocol
from tests.unit.sharing.prio3.protocol import CONTEXT, EVERY_WAY, MEASUREMENTS, Way
from tests.unit.sharing.prio3.test_batch import Cubic
from tests.unit.sharing.prio3.test_engines import planted, unreduced_values

EACH = pytest.mark.parametrize(
    ("circuit", "measurements"), MEASUREMENTS, ids=[type(circuit).__name__ for circuit, _ in MEASUREMENTS]
)


def coins_for(prio3: Prio3, count: int) -> tuple[Octets, Octets]:
    generator = np.random.default_rng(count)
    return (
        generator.integers(0, 256, (count, 16), np.uint8),
        generator.integers(0, 256, (count, prio3.rand_bytes), np.uint8),
    )


def assert_as_reference(
    prio3: Prio3, measurements: list[Any], nonces: Octets, coins: Octets, made: tuple[Octets, list[Octets]]
) -> None:
    public, inputs = made
    for i, measurement in enumerate(measurements):
        report = prio3.shard(CONTEXT, measurement, nonces[i].tobytes(), coins[i].tobytes())
        assert public[i].tobytes() == report.public_share
        assert tuple(matrix[i].tobytes() for matrix in inputs) == report.input_shares


@EACH
@EVERY_WAY
@pytest.mark.parametrize("shares", [2, 3, 5])
def test_every_share_has_the_bytes_of_the_reference(
    circuit: AnyCircuit, measurements: list[Any], shares: int, way: Way
) -> None:
    prio3 = Prio3(circuit, shares)
    nonces, coins = coins_for(prio3, len(measurements))
    made = BlockSharder(prio3, CONTEXT, **way).shard(measurements, nonces, coins)
    assert_as_reference(prio3, measurements, nonces, coins, made)


@EVERY_WAY
@pytest.mark.parametrize(
    "prio3",
    [
        Prio3(SumVec(2, 6, 3), 2, proofs=3),
        Prio3(SumVec(3, 3, 2, FIELD64, 0xFFFF_FFFF), 2, proofs=2),
        Prio3(SumVec(1, 1, 1), 2),
        Prio3(SumVec(9, 1, 20), 2),
    ],
    ids=["three proofs", "Field64", "shortest", "chunk longer than all"],
)
def test_unusual_instances_are_sharded_like_usual_ones(prio3: Prio3, way: Way) -> None:
    assert isinstance(prio3.circuit, SumVec)
    measurements = [[0] * prio3.circuit.length, [1] * prio3.circuit.length]
    nonces, coins = coins_for(prio3, 2)
    made = BlockSharder(prio3, CONTEXT, **way).shard(np.array(measurements), nonces, coins)
    assert_as_reference(prio3, measurements, nonces, coins, made)


@EVERY_WAY
@pytest.mark.parametrize(
    "circuit",
    [
        HistogramCircuit(1, 1),
        HistogramCircuit(2, 1),
        HistogramCircuit(9, 20),
        HistogramCircuit(17, 4),
        HistogramCircuit(16, 4),
        HistogramCircuit(7, 3, FIELD64),
    ],
    ids=["one bucket", "chunks of one", "chunk longer than all", "last chunk of one", "full", "Field64"],
)
def test_every_bucket_of_histograms_of_every_shape_has_the_proof_of_the_reference(
    circuit: HistogramCircuit, way: Way
) -> None:
    for proofs in (1, 2):
        prio3 = Prio3(circuit, 2, proofs=proofs)
        measurements = list(range(circuit.length))
        nonces, coins = coins_for(prio3, len(measurements))
        made = BlockSharder(prio3, CONTEXT, **way).shard(measurements, nonces, coins)
        assert_as_reference(prio3, measurements, nonces, coins, made)


@EVERY_WAY
@pytest.mark.parametrize("field", [FIELD64, FIELD128], ids=["Field64", "Field128"])
def test_ranges_wider_than_the_integers_of_numpy_are_encoded_one_by_one(field: Any, way: Way) -> None:
    prio3 = Prio3(Sum(FIELD64.modulus - 1, field), 2)
    measurements = [0, 1 << 63, FIELD64.modulus - 1]
    nonces, coins = coins_for(prio3, 3)
    made = BlockSharder(prio3, CONTEXT, **way).shard(measurements, nonces, coins)
    assert_as_reference(prio3, measurements, nonces, coins, made)


@pytest.mark.parametrize("largest", [1, 2, 3, 6, 7, 8, 13])
def test_every_integer_of_a_range_has_the_digits_of_the_reference(largest: int) -> None:
    values = list(range(largest + 1))
    circuit = Sum(largest)
    assert digits_of(circuit, values).tolist() == [circuit.encode(value) for value in values]


@pytest.mark.parametrize("largest", [(1 << 62) - 1, 1 << 62, (1 << 63) - 1])
def test_the_widest_ranges_of_numpy_do_not_overflow(largest: int) -> None:
    circuit, values = Sum(largest), [0, 1, largest // 2, largest // 2 + 1, largest - 1, largest]
    assert digits_of(circuit, np.array(values, np.uint64)).tolist() == [
        circuit.encode(value) for value in values
    ]


@pytest.mark.parametrize(
    ("circuit", "measurements"),
    [
        (Count(), [0, 2]),
        (Count(), [0, -1]),
        (Count(), [0.0, 1.0]),
        (Count(), [[0], [1]]),
        (Count(), 1),
        (Sum(13), [14]),
        (Sum(13), [-1]),
        (Sum(13), np.array([(1 << 64) - 1], np.uint64)),
        (Sum(FIELD64.modulus - 1), [FIELD64.modulus]),
        (HistogramCircuit(5, 2), [5]),
        (HistogramCircuit(5, 2), [-1]),
        (SumVec(2, 6, 3), [[7, 0]]),
        (SumVec(2, 6, 3), [[1, 2, 3]]),
        (SumVec(2, 6, 3), [[1, 2], [3]]),
        (MultihotCountVec(4, 3, 3), [[1, 1, 1, 1]]),
        (MultihotCountVec(4, 3, 3), [[2, 0, 0, 0]]),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_measurements_out_of_range_are_refused_and_not_named(
    circuit: AnyCircuit, measurements: Any
) -> None:
    with pytest.raises(InvalidRecord) as refused:
        digits_of(circuit, measurements)
    assert not any(character.isdigit() for character in str(refused.value).replace("64", ""))


@EVERY_WAY
def test_blocks_of_the_wrong_shape_are_refused(way: Way) -> None:
    prio3 = Prio3(Count(), 2)
    sharder = BlockSharder(prio3, CONTEXT, **way)
    nonces, coins = coins_for(prio3, 2)
    for given in (
        ([0, 1, 1], nonces, coins),
        ([0, 1], nonces[:, :15], coins),
        ([0, 1], nonces, coins[:, 1:]),
        ([0, 1], nonces, coins[:1]),
    ):
        with pytest.raises(InvalidParameter):
            sharder.shard(*given)
    with pytest.raises(InvalidParameter):
        BlockSharder(Prio3(Cubic(), 2), CONTEXT).shard([0, 1], nonces, coins)
    public, inputs = sharder.shard([], nonces[:0], coins[:0])
    assert public.shape == (0, 0) and [matrix.shape for matrix in inputs] == [(0, 48), (0, 32)]


@EVERY_WAY
@pytest.mark.parametrize(
    "seed",
    [protocol.SEED_OF_PROOFS_WITH_A_GAP, protocol.SEED_OF_MEASUREMENT_WITH_A_GAP],
    ids=["proofs", "measurement"],
)
def test_streams_with_a_gap_are_drawn_again_as_the_reference_does(seed: bytes, way: Way) -> None:
    prio3 = Prio3(Sum((1 << 32) - 1), 2)
    nonces, coins = coins_for(prio3, 3)
    coins[1, :32] = np.frombuffer(seed, np.uint8)
    made = BlockSharder(prio3, CONTEXT, **way).shard([1, 2, 3], nonces, coins)
    assert_as_reference(prio3, [1, 2, 3], nonces, coins, made)


SAMPLED = pytest.mark.parametrize(
    "name", ["helper_measurements", "helper_proofs", "prove_coins", "joint_coins"]
)


@SAMPLED
def test_a_sampled_word_that_is_no_element_sends_its_report_to_the_numpy_form(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last coin is that of the last bucket, so that bucket it is."""
    prio3 = Prio3(HistogramCircuit(5, 2), 3)
    nonces, coins = coins_for(prio3, 3)
    for value in unreduced_values(prio3.field):
        monkeypatch.setattr(CompiledDerivations, name, planted(name, 1, prio3.field, value))
        made = BlockSharder(prio3, CONTEXT, compiled=True).shard([4, 4, 2], nonces, coins)
        assert_as_reference(prio3, [4, 4, 2], nonces, coins, made)
        monkeypatch.undo()


@SAMPLED
def test_the_largest_element_is_one_and_is_taken(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin of the test above: what was planted does count, for this report only, if it is an element.

    The last coin is that of the last bucket, so that bucket it is.
    """
    prio3 = Prio3(HistogramCircuit(5, 2), 2)
    nonces, coins = coins_for(prio3, 3)
    plain = BlockSharder(prio3, CONTEXT, compiled=False).shard([4, 4, 2], nonces, coins)[1][0]
    monkeypatch.setattr(CompiledDerivations, name, planted(name, 1, prio3.field, prio3.field.modulus - 1))
    found = BlockSharder(prio3, CONTEXT, compiled=True).shard([4, 4, 2], nonces, coins)[1][0]
    assert (found == plain).all(axis=1).tolist() == [True, False, True]


def test_a_block_may_be_cut_anywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    prio3 = Prio3(HistogramCircuit(5, 2), 2)
    measurements = np.arange(11) % 5
    nonces, coins = coins_for(prio3, 11)
    sharder = BlockSharder(prio3, CONTEXT, compiled=True)
    public, inputs = sharder.shard(measurements, nonces, coins)
    monkeypatch.setattr(steps, "_SLICE_BYTES", 1)
    for size in (1, 3, 4, 10):
        monkeypatch.setattr(steps, "_SMALLEST_SLICE", size)
        again, parts = sharder.shard(measurements, nonces, coins)
        assert (again == public).all()
        assert all((a == b).all() for a, b in zip(parts, inputs, strict=True))
