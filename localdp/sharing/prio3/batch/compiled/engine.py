"""A server's steps on blocks of reports, by compiled code.

A block goes through the steps in slices that stay in the cache.  Everything is rows of words, one row for each report.  A
report with a sampled word that is not an element of the field (once in 2**32 words for Field64) is left to the numpy form,
which draws again as the reference does; a client can look for seeds that have such a word, but each takes it minutes.

Checked against the reference and the numpy form, with words planted that are not elements, in
tests/unit/sharing/prio3/test_engines.py.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from localdp.sharing.prio3.batch.compiled.derivations import SEED_WORDS, CompiledDerivations, as_words
from localdp.sharing.prio3.batch.compiled.plan import constants_of, shape_of
from localdp.sharing.prio3.batch.compiled.query import COINS_UNREDUCED, FINE, SHARE_UNREDUCED
from localdp.sharing.prio3.batch.compiled.steps import Steps, element_of, limbs_of, slice_size
from localdp.sharing.prio3.batch.numpy_engine import NumpyEngine
from localdp.sharing.prio3.batch.role import REFUSED, BlockState, Role
from localdp.sharing.prio3.batch.words import Mask, Octets, Words
from localdp.sharing.prio3.messages import LEADER


@dataclass(frozen=True, slots=True)
class _Rows:
    """A block, or a slice of it: what came in, and what is filled in."""

    nonces: Words
    public: Words
    inputs: Words
    measurements: Words
    outputs: Words
    seeds: Words
    shares: Words
    status: NDArray[np.uint8]

    def slices(self, size: int) -> Iterator["_Rows"]:
        """In order."""
        for start in range(0, len(self.status), size):
            cut = slice(start, start + size)
            yield _Rows(*(getattr(self, name)[cut] for name in self.__slots__))


class CompiledEngine:
    """One server's view of one task."""

    def __init__(self, role: Role) -> None:
        self._prio3, self._layout = role.prio3, role.prio3.layout
        self._key, self._server = role.verify_key, role.server
        self._limbs = limbs_of(role.prio3)
        self._steps = Steps(self._limbs)
        self._derive = CompiledDerivations(role.task, self._steps.streams)
        self._shape, self._constants = shape_of(role.prio3), constants_of(role.prio3)
        self._zero = element_of(role.prio3, 0)
        self._one = element_of(role.prio3, role.prio3.field.inverse(role.prio3.shares))
        self._plain = NumpyEngine(role)

    def init(
        self, nonces: Octets, public_shares: Octets, input_shares: Octets
    ) -> tuple[BlockState, Octets]:
        block = self._block(nonces, public_shares, input_shares)
        for rows in block.slices(slice_size(self._prio3)):
            self._verify(rows)
        state = BlockState(
            self._output_shares(block), block.seeds.view(np.uint8), np.asarray(block.status == FINE)
        )
        shares = block.shares.view(np.uint8)
        bad = ~state.good
        shares[bad], state.joint_seeds[bad], state.output_shares[:, :, bad] = REFUSED, 0, 0
        again = self._to_draw_again(block.status)
        if again.any():
            self._replace(state, shares, again, (nonces, public_shares, input_shares))
        return state, shares

    def _block(self, nonces: Octets, public_shares: Octets, input_shares: Octets) -> _Rows:
        count, circuit = len(nonces), self._prio3.circuit

        def empty(words: int) -> Words:
            return np.empty((count, words), np.uint64)

        return _Rows(
            as_words(nonces),
            as_words(public_shares),
            as_words(input_shares),
            measurements=empty(self._limbs * circuit.encoded_length),
            outputs=empty(self._limbs * circuit.output_length if self._shape.width > 1 else 0),
            seeds=empty(self._layout.blind_bytes // 8),
            shares=empty(self._layout.verifier_bytes // 8),
            status=np.empty(count, np.uint8),
        )

    def _verify(self, rows: _Rows) -> None:
        count, circuit = len(rows.status), self._prio3.circuit
        proofs = self._leader_proofs(rows) if self._server == LEADER else self._helper_proofs(rows)
        joint = self._joint(rows)
        coins = np.empty((count, self._limbs * circuit.query_length * self._prio3.proofs), np.uint64)
        self._derive.query_coins(self._key, rows.nonces, coins)
        self._steps.query(
            self._shape,
            self._constants,
            self._one,
            rows.measurements,
            proofs,
            coins,
            joint,
            rows.status,
            rows.outputs,
            rows.shares,
        )

    def _leader_proofs(self, rows: _Rows) -> Words:
        cut = rows.measurements.shape[1]
        rows.measurements[:] = rows.inputs[:, :cut]
        return rows.inputs[:, cut:]

    def _helper_proofs(self, rows: _Rows) -> Words:
        seeds = rows.inputs[:, :SEED_WORDS]
        length = self._limbs * self._prio3.circuit.proof_length * self._prio3.proofs
        proofs = np.empty((len(seeds), length), np.uint64)
        self._derive.helper_measurements(self._server, seeds, rows.measurements)
        self._derive.helper_proofs(self._server, seeds, proofs)
        return proofs

    def _joint(self, rows: _Rows) -> Words:
        """The joint randomness; the parts go into the verifier shares, the seeds into the state."""
        length = self._limbs * self._prio3.circuit.joint_length * self._prio3.proofs
        joint = np.empty((len(rows.status), length), np.uint64)
        if length:
            own, blinds = rows.shares[:, -SEED_WORDS:], rows.inputs[:, -SEED_WORDS:]
            self._derive.joint_parts(self._server, blinds, rows.measurements, rows.nonces, own)
            parts = rows.public.copy()
            parts[:, self._server * SEED_WORDS : (self._server + 1) * SEED_WORDS] = own
            self._derive.joint_seeds(parts, rows.seeds)
            self._derive.joint_coins(rows.seeds, joint)
        return joint

    def _output_shares(self, block: _Rows) -> Words:
        """A view of the rows, in the order of axes that `BlockState` has."""
        rows = block.outputs if self._shape.width > 1 else block.measurements
        elements = rows.reshape(len(rows), rows.shape[1] // self._limbs, self._limbs)
        return elements[:, : self._prio3.circuit.output_length].transpose(2, 1, 0)

    def _to_draw_again(self, status: NDArray[np.uint8]) -> Mask:
        """Where a word that was sampled is not an element.  (A word that was sent and is none is the client's fault.)"""
        sampled = status == COINS_UNREDUCED
        return np.asarray(sampled if self._server == LEADER else sampled | (status == SHARE_UNREDUCED))

    def _replace(self, state: BlockState, shares: Octets, again: Mask, given: tuple[Octets, ...]) -> None:
        nonces, public, inputs = (matrix[again] for matrix in given)
        made, shares[again] = self._plain.init(nonces, public, inputs)
        state.output_shares[:, :, again] = made.output_shares
        state.joint_seeds[again], state.good[again] = made.joint_seeds, made.good

    def combine(self, verifier_shares: Sequence[Octets]) -> tuple[Octets, Mask]:
        words = [as_words(matrix) for matrix in verifier_shares]
        count, seed = len(words[0]), self._layout.blind_bytes // 8
        holds = np.empty(count, np.uint8)
        self._steps.decide(self._shape, self._zero, np.concatenate(words), holds)
        messages = np.empty((count, seed), np.uint64)
        if seed:
            parts = np.concatenate([matrix[:, -seed:] for matrix in words], axis=1)
            self._derive.joint_seeds(parts, messages)
        return messages.view(np.uint8), holds.view(np.bool_)

    def aggregate(self, state: BlockState, accepted: Mask) -> bytes:
        elements = state.output_shares.transpose(2, 1, 0)
        rows = elements.reshape(len(elements), elements.shape[1] * elements.shape[2])
        sums = np.empty((2, rows.shape[1]), np.uint64)
        self._steps.tally(rows, np.ascontiguousarray(accepted).view(np.uint8), sums)
        low, high = (self._integers(row) for row in sums)
        modulus = self._prio3.field.modulus
        totals = ((a + (b << 64)) % modulus for a, b in zip(low, high, strict=True))
        return self._prio3.field.pack(totals)

    def _integers(self, words: Words) -> list[int]:
        """Of so many words each as an element has."""
        data, width = words.astype("<u8", copy=False).tobytes(), 8 * self._limbs
        return [int.from_bytes(data[at : at + width], "little") for at in range(0, len(data), width)]
