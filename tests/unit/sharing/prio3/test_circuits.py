"""Encodings and circuits: valid measurements pass every check, all others fail one."""

from collections.abc import Sequence
from itertools import product
from typing import Any

import pytest

from localdp.errors import InvalidParameter, InvalidRecord
from localdp.sharing.prio3 import Count, HistogramCircuit, MultihotCountVec, Sum, SumVec, bits
from localdp.sharing.prio3.circuit import SumOfProducts, Univariate
from localdp.sharing.prio3.fields import FIELD64, FIELD128, PrimeField
from localdp.sharing.prio3.flp import AnyCircuit

TOY = PrimeField(97, 1, 28, 32)


def checks(circuit: AnyCircuit, encoded: Sequence[int], joint: Sequence[int], one: int = 1) -> list[int]:
    inputs = circuit.gadget_inputs(encoded, joint, one)
    outputs = [circuit.gadget.evaluate(circuit.field, call) for call in inputs]
    return circuit.checks(encoded, outputs, one)


def is_valid(circuit: AnyCircuit, encoded: Sequence[int]) -> bool:
    joint = [3 + 7 * i for i in range(circuit.joint_length)]
    found = checks(circuit, encoded, joint)
    assert len(found) == circuit.check_count
    return not any(found)


@pytest.mark.parametrize("largest", range(1, 34))
def test_digits_in_range_stand_for_every_value_and_for_nothing_else(largest: int) -> None:
    weights = bits.range_weights(largest)
    assert sum(weights) == largest
    for value in range(largest + 1):
        digits = bits.encode_in_range(value, largest)
        assert set(digits) <= {0, 1}
        assert bits.decode_in_range(FIELD64, digits, largest) == value
    reached = {
        sum(w * d for w, d in zip(weights, digits, strict=True))
        for digits in product((0, 1), repeat=len(weights))
    }
    assert reached == set(range(largest + 1))


CIRCUITS: dict[str, tuple[AnyCircuit, list[Any], list[Any]]] = {
    "Count": (Count(), [0, 1], [-1, 2]),
    "Sum": (Sum(10), [0, 7, 10], [-1, 11, 2**70]),
    "SumVec": (SumVec(3, 5, 4), [[0, 3, 5], [5, 5, 5]], [[0, 3], [0, 3, 6], [0, -1, 0], [1, 1, 1, 1]]),
    "Histogram": (HistogramCircuit(5, 2), [0, 4], [-1, 5]),
    "MultihotCountVec": (
        MultihotCountVec(4, 2, 3),
        [[0, 0, 0, 0], [True, False, False, True]],
        [[1, 1, 1, 0], [1, 0, 0], [2, 0, 0, 0], [-1, 1, 1, 0]],
    ),
}
EACH = pytest.mark.parametrize("name", CIRCUITS)


@EACH
def test_a_valid_measurement_passes_and_adds_up_to_itself(name: str) -> None:
    circuit, good, _ = CIRCUITS[name]
    for measurement in good:
        encoded = circuit.encode(measurement)
        assert len(encoded) == circuit.encoded_length
        assert is_valid(circuit, encoded)
        result = circuit.decode(circuit.truncate(encoded))
        if name == "Histogram":
            assert result == [int(i == measurement) for i in range(5)]
        else:
            assert result == measurement


@EACH
def test_a_measurement_out_of_range_is_refused_without_being_named(name: str) -> None:
    circuit, _, bad = CIRCUITS[name]
    for measurement in bad:
        with pytest.raises(InvalidRecord) as refusal:
            circuit.encode(measurement)
        assert str(measurement) not in str(refusal.value)


@EACH
def test_changing_any_element_of_an_encoding_fails_a_check(name: str) -> None:
    circuit, good, _ = CIRCUITS[name]
    encoded = circuit.encode(good[-1])
    for i in range(len(encoded)):
        for value in (2, circuit.field.modulus - 1):
            assert not is_valid(circuit, [*encoded[:i], value, *encoded[i + 1 :]])


@pytest.mark.parametrize(
    ("circuit", "weight"),
    [(HistogramCircuit(3, 2, TOY), {1}), (MultihotCountVec(3, 2, 2, TOY), {0, 1, 2})],
    ids=["Histogram", "MultihotCountVec"],
)
def test_among_all_vectors_of_digits_exactly_the_encodings_pass(
    circuit: AnyCircuit, weight: set[int]
) -> None:
    passed = {d for d in product((0, 1), repeat=circuit.encoded_length) if is_valid(circuit, d)}
    assert {d[:3] for d in passed} == {d for d in product((0, 1), repeat=3) if sum(d) in weight}


def test_over_a_small_field_the_joint_randomness_misses_an_invalid_vector_as_rarely_as_claimed() -> None:
    circuit = SumVec(2, 1, 2, TOY)
    for encoded in product((0, 1, 2, 50, 96), repeat=2):
        missed = sum(checks(circuit, encoded, [r]) == [0] for r in range(97))
        assert missed == 97 if set(encoded) <= {0, 1} else missed <= 2


@EACH
def test_the_checks_of_shares_add_up_to_the_checks_of_the_measurement(name: str) -> None:
    """The affine maps, with the gadget's outputs given: constants are split among the shares."""
    circuit, good, _ = CIRCUITS[name]
    p, one = circuit.field.modulus, circuit.field.inverse(3)
    encoded, joint = circuit.encode(good[-1]), [5 + i for i in range(circuit.joint_length)]
    outputs = [11 + k for k in range(circuit.calls)]
    shares = [[(7 * i + s) % p for i in range(len(encoded))] for s in (1, 2)]
    shares.append(circuit.field.subtract(circuit.field.subtract(encoded, shares[0]), shares[1]))
    inputs = [circuit.gadget_inputs(share, joint, one) for share in shares]
    for k, call in enumerate(circuit.gadget_inputs(encoded, joint, 1)):
        assert circuit.field.total([each[k] for each in inputs], circuit.gadget.arity) == call
    output_shares = [outputs, [0] * len(outputs), [0] * len(outputs)]
    found = [circuit.checks(s, o, one) for s, o in zip(shares, output_shares, strict=True)]
    assert circuit.field.total(found, circuit.check_count) == circuit.checks(encoded, outputs, 1)


def test_gadgets_are_the_polynomials_that_they_are_called() -> None:
    assert SumOfProducts(2).evaluate(FIELD64, [2, 3, 4, 5]) == 26
    assert [Univariate((0, -1, 1)).evaluate(FIELD128, [x]) for x in (0, 1, 2, 5)] == [0, 0, 2, 20]


@pytest.mark.parametrize(
    "make",
    [
        lambda: Sum(0),
        lambda: Sum(FIELD64.modulus),
        lambda: SumVec(0, 1, 1),
        lambda: SumVec(1, 0, 1),
        lambda: SumVec(1, 1, 0),
        lambda: HistogramCircuit(0, 1),
        lambda: HistogramCircuit(4, 0),
        lambda: MultihotCountVec(4, 5, 2),
        lambda: MultihotCountVec(4, 0, 2),
    ],
)
def test_parameters_without_a_meaning_are_refused(make: Any) -> None:
    with pytest.raises(InvalidParameter):
        make()


def test_the_lengths_of_proofs_are_those_of_the_known_report_sizes() -> None:
    """Reference sizes: Count, Sum to 255, Histogram of 256 in chunks of 16, SumVec of 1000 bits in chunks of 32."""
    sizes: dict[AnyCircuit, tuple[int, int]] = {
        Count(): (48, 32),
        Sum(255): (320, 24),
        HistogramCircuit(256, 16): (5648 - 32, 576 - 32),
        SumVec(1000, 1, 32): (19088 - 32, 1088 - 32),
    }
    for circuit, (leader, verifier) in sizes.items():
        width = circuit.field.encoded_bytes
        assert (circuit.encoded_length + circuit.proof_length) * width == leader
        assert circuit.verifier_length * width == verifier
