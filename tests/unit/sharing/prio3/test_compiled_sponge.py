"""Compiled streams against the reference: every use, any number of reports, any length."""

import numpy as np
import pytest

from localdp.sharing.prio3 import Count, HistogramCircuit, SumVec
from localdp.sharing.prio3.batch.compiled.derivations import CompiledDerivations, as_words
from localdp.sharing.prio3.batch.compiled.steps import Steps
from localdp.sharing.prio3.batch.words import Octets, Words
from localdp.sharing.prio3.derivations import Derivations, Prio3Task
from localdp.sharing.prio3.flp import AnyCircuit

KEY = bytes(range(32))


def octets(rows: int, columns: int) -> Octets:
    return np.random.default_rng([rows, columns]).integers(0, 256, (rows, columns), np.uint8)


def made(task: Prio3Task) -> tuple[CompiledDerivations, Derivations]:
    return CompiledDerivations(task, Steps(2).streams), Derivations(task)


def room(task: Prio3Task, rows: int, elements: int) -> Words:
    return np.zeros((rows, elements * task.circuit.field.encoded_bytes // 8), np.uint64)


@pytest.mark.parametrize("context_bytes", [0, 1, 7, 106, 107, 108, 274, 275, 276])
def test_a_message_may_end_at_any_byte_of_a_block(context_bytes: int) -> None:
    """With 107 bytes of context, message and domain byte of the query fill one block; with 275, two."""
    task = Prio3Task(HistogramCircuit(4, 2), 2, 1, bytes(context_bytes))
    compiled, reference = made(task)
    nonces, out = octets(3, 16), room(task, 3, 3)
    compiled.query_coins(KEY, as_words(nonces), out)
    for nonce, row in zip(nonces, out, strict=True):
        assert row.tobytes() == task.circuit.field.pack(reference.query_coins(KEY, nonce.tobytes()))


@pytest.mark.parametrize("rows", range(10))
def test_any_number_of_reports_goes_through_in_fours(rows: int) -> None:
    task = Prio3Task(HistogramCircuit(4, 2), 2, 1, b"context")
    compiled, reference = made(task)
    seeds, out = octets(rows, 32), room(task, rows, 4)
    compiled.helper_measurements(1, as_words(seeds), out)
    for seed, row in zip(seeds, out, strict=True):
        expected = reference.helper_measurement(1, seed.tobytes())
        assert row.tobytes() == task.circuit.field.pack(expected)


@pytest.mark.parametrize("length", [1, 9, 10, 11, 21, 22, 64])
@pytest.mark.parametrize("circuit", [SumVec, HistogramCircuit], ids=["SumVec", "Histogram"])
def test_streams_of_any_length_are_those_of_the_reference(length: int, circuit: type[AnyCircuit]) -> None:
    """A block of the sponge is ten and a half elements of Field128."""
    of = SumVec(length, 1, 4) if circuit is SumVec else HistogramCircuit(length, 4)
    task = Prio3Task(of, 3, 2, b"context")
    compiled, reference = made(task)
    seeds, proofs = octets(5, 32), room(task, 5, 2 * of.proof_length)
    joint, coins = room(task, 5, 2 * of.joint_length), room(task, 5, 2 * of.gadget.arity)
    compiled.helper_proofs(2, as_words(seeds), proofs)
    compiled.joint_coins(as_words(seeds), joint)
    compiled.prove_coins(as_words(seeds), coins)
    pack = of.field.pack
    for i, seed in enumerate(seeds):
        assert proofs[i].tobytes() == pack(reference.helper_proofs(2, seed.tobytes()))
        assert joint[i].tobytes() == pack(reference.joint_coins(seed.tobytes()))
        assert coins[i].tobytes() == pack(reference.prove_coins(seed.tobytes()))


@pytest.mark.parametrize("length", [1, 2, 7, 8, 9, 30])
def test_parts_and_seeds_of_the_joint_randomness_are_those_of_the_reference(length: int) -> None:
    task = Prio3Task(HistogramCircuit(length, 3), 3, 1, b"a context of some length")
    compiled, reference = made(task)
    field = task.circuit.field
    blinds, nonces, parts = octets(6, 32), octets(6, 16), octets(6, 96)
    shares = [[i * 1000 + j for j in range(length)] for i in range(6)]
    matrix = np.frombuffer(b"".join(field.pack(share) for share in shares), np.uint64).reshape(6, -1)
    found, seeds = np.zeros((6, 4), np.uint64), np.zeros((6, 4), np.uint64)
    compiled.joint_parts(2, as_words(blinds), matrix, as_words(nonces), found)
    compiled.joint_seeds(as_words(parts), seeds)
    for i in range(6):
        expected = reference.joint_part(2, blinds[i].tobytes(), shares[i], nonces[i].tobytes())
        assert found[i].tobytes() == expected
        cut = [parts[i, at : at + 32].tobytes() for at in (0, 32, 64)]
        assert seeds[i].tobytes() == reference.joint_seed(cut)


def test_rows_may_be_cut_out_of_anything() -> None:
    """Columns of a larger matrix, read-only bytes, odd addresses, every other row, columns in reverse."""
    task = Prio3Task(Count(), 2, 1, b"")
    compiled = CompiledDerivations(task, Steps(1).streams)
    seeds = octets(4, 32)
    wider = np.zeros((4, 64), np.uint8)
    wider[:, 24:56] = seeds
    odd = np.frombuffer(b"x" + seeds.tobytes(), np.uint8)[1:].reshape(4, 32)
    reverse = np.ascontiguousarray(seeds[:, ::-1])[:, ::-1]
    expected = room(task, 4, 1)
    compiled.helper_measurements(1, as_words(seeds), expected)
    for given in (wider[:, 24:56], odd, seeds.repeat(2, axis=0)[::2], reverse):
        found = room(task, 4, 3)[:, 1:2]
        compiled.helper_measurements(1, as_words(given), found)
        assert (found == expected).all()
