"""Fully linear proofs, exactly: every coin of a small field."""

from collections import Counter
from itertools import product

import pytest

from localdp.errors import MalformedReport
from localdp.sharing.prio3 import Count, HistogramCircuit, Sum, SumVec
from localdp.sharing.prio3.fields import PrimeField
from localdp.sharing.prio3.flp import AnyCircuit, decide, prove, query

F17 = PrimeField(17, 1, 3, 16)
POINTS = [t for t in range(17) if t * t % 17 != 1]  # What Count allows: its wires have two values.


@pytest.mark.parametrize("bit", [0, 1])
def test_every_proof_of_a_valid_bit_is_accepted_at_every_point(bit: int) -> None:
    for coins in product(range(17), repeat=2):
        proof = prove(Count(F17), [bit], coins, [])
        assert all(decide(Count(F17), query(Count(F17), [bit], proof, [t], [], 1)) for t in POINTS)


def test_the_law_of_the_verifier_is_the_same_for_both_valid_bits() -> None:
    """Zero knowledge, over the prover's coins, for each point of the test."""
    circuit = Count(F17)
    coins = list(product(range(17), repeat=2))
    proofs = {bit: [prove(circuit, [bit], each, []) for each in coins] for bit in (0, 1)}

    def law(bit: int, t: int) -> Counter[tuple[int, ...]]:
        return Counter(tuple(query(circuit, [bit], proof, [t], [], 1)) for proof in proofs[bit])

    for t in POINTS:
        assert law(0, t) == law(1, t)


def test_at_a_point_of_the_wires_the_verifier_would_tell_so_that_it_is_refused() -> None:
    circuit = Count(F17)
    proof = prove(circuit, [1], [4, 5], [])
    for t in (1, 16):
        with pytest.raises(MalformedReport):
            query(circuit, [1], proof, [t], [], 1)


def test_no_proof_of_an_invalid_value_is_accepted_at_more_points_than_claimed() -> None:
    """Every gadget polynomial for x = 3, with some seeds; its degree is 2, and the bound is met by some."""
    circuit, most = Count(F17), 0
    for seeds in ((0, 0), (1, 5)):
        for values in product(range(17), repeat=2):
            # A value other than x itself at the output fails the first check at every point.
            proof = [*seeds, values[0], values[1], 3]
            accepted = sum(decide(circuit, query(circuit, [3], proof, [t], [], 1)) for t in POINTS)
            assert accepted <= 2
            most = max(most, accepted)
    assert most == 2


CASES = [
    (Count(F17), [1], [], [2]),
    (Sum(5, PrimeField(97, 1, 28, 32)), [1, 0, 1], [], [3, 8, 9, 2]),
    (SumVec(2, 3, 3, PrimeField(97, 1, 28, 32)), [1, 0, 1, 1], [5, 6], [7]),
    (HistogramCircuit(5, 2, PrimeField(97, 1, 28, 32)), [0, 0, 0, 1, 0], [5, 6, 7], [4, 9, 10]),
]


@pytest.mark.parametrize(("circuit", "encoded", "joint", "coins"), CASES)
@pytest.mark.parametrize("shares", [2, 3])
def test_shares_of_the_verifier_add_up_to_the_verifier(
    circuit: AnyCircuit, encoded: list[int], joint: list[int], coins: list[int], shares: int
) -> None:
    field = circuit.field
    proof = prove(circuit, encoded, [3 + j for j in range(circuit.gadget.arity)], joint)
    assert len(proof) == circuit.proof_length
    assert len(coins) == circuit.query_length
    whole = query(circuit, encoded, proof, coins, joint, 1)
    parts = [
        [(i * s + s) % field.modulus for i in range(len(encoded) + len(proof))] for s in range(1, shares)
    ]
    rest = [*encoded, *proof]
    for part in parts:
        rest = field.subtract(rest, part)
    n = len(encoded)
    found = [query(circuit, part[:n], part[n:], coins, joint, shares) for part in [rest, *parts]]
    assert field.total(found, circuit.verifier_length) == whole
    assert decide(circuit, whole)


@pytest.mark.parametrize(("circuit", "encoded", "joint", "coins"), CASES)
def test_a_change_in_any_part_of_the_verifier_is_noticed(
    circuit: AnyCircuit, encoded: list[int], joint: list[int], coins: list[int]
) -> None:
    proof = prove(circuit, encoded, [3 + j for j in range(circuit.gadget.arity)], joint)
    verifier = query(circuit, encoded, proof, coins, joint, 1)
    for i in (0, len(verifier) - 1):
        changed = [*verifier[:i], (verifier[i] + 1) % circuit.field.modulus, *verifier[i + 1 :]]
        assert not decide(circuit, changed)
