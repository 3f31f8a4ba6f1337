"""A server's steps on blocks of reports, in plain numpy.

Blocks of a thousand reports or more are best: they hide the cost of a numpy call.
Checked against the reference, good reports and bad, in tests/unit/sharing/prio3/test_batch.py.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from localdp.sharing.prio3.batch import circuits, flp, kernels
from localdp.sharing.prio3.batch.derivations import BlockDerivations
from localdp.sharing.prio3.batch.role import REFUSED, BlockState, Role
from localdp.sharing.prio3.batch.words import Mask, Octets, Words
from localdp.sharing.prio3.messages import LEADER
from localdp.sharing.prio3.xof import SEED_BYTES


@dataclass(frozen=True, slots=True)
class _Block:
    """The input shares of a block as field elements."""

    measurements: Words
    proofs: Words
    blinds: Octets
    good: Mask


class NumpyEngine:
    """One server's view of one task."""

    def __init__(self, role: Role) -> None:
        self._prio3, self._circuit, self._layout = role.prio3, role.prio3.circuit, role.prio3.layout
        self._key, self._server = role.verify_key, role.server
        self._kernel = kernels.kernel_for(role.prio3.field)
        self._derive = BlockDerivations(role.task, self._kernel)

    def init(
        self, nonces: Octets, public_shares: Octets, input_shares: Octets
    ) -> tuple[BlockState, Octets]:
        block = (
            self._leader_block(input_shares) if self._server == LEADER else self._helper_block(input_shares)
        )
        parts, seeds, joint = self._joint(block, nonces, public_shares)
        verifiers, unusable = self._query(block, self._derive.query_coins(self._key, nonces), joint)
        outputs = np.array(circuits.truncate(self._circuit, self._kernel, block.measurements))
        shares = np.concatenate([kernels.pack(verifiers), parts], axis=1)
        good = block.good & ~unusable
        # What must not be used must not be seen either, and no server shall accept what another one cannot read.
        shares[~good], seeds[~good], outputs[:, :, ~good] = REFUSED, 0, 0
        return BlockState(outputs, seeds, good), shares

    def _leader_block(self, shares: Octets) -> _Block:
        cut = shares.shape[1] - self._layout.blind_bytes
        words = kernels.unpack(self._kernel, shares[:, :cut])
        good = np.asarray(~self._kernel.unreduced(words).any(axis=0))
        words[:, :, ~good] = 0  # So that the arithmetic sees reduced elements only.
        first = self._circuit.encoded_length
        return _Block(words[:, :first], words[:, first:], shares[:, cut:], good)

    def _helper_block(self, shares: Octets) -> _Block:
        seeds, blinds = shares[:, :SEED_BYTES], shares[:, SEED_BYTES:]
        measurements = self._derive.helper_measurements(self._server, seeds)
        proofs = self._derive.helper_proofs(self._server, seeds)
        return _Block(measurements, proofs, blinds, np.ones(len(shares), np.bool_))

    def _joint(self, block: _Block, nonces: Octets, public_shares: Octets) -> tuple[Octets, Octets, Words]:
        """This server's parts, the joint seeds with them in their place, and the joint randomness."""
        if not self._circuit.joint_length:
            nothing = np.empty((len(nonces), 0), np.uint8)
            return nothing, nothing, np.empty((self._kernel.limbs, 0, len(nonces)), np.uint64)
        parts = self._derive.joint_parts(self._server, block.blinds, block.measurements, nonces)
        all_parts = public_shares.copy()
        all_parts[:, self._server * SEED_BYTES : (self._server + 1) * SEED_BYTES] = parts
        seeds = self._derive.joint_seeds(all_parts)
        return parts, seeds, self._derive.joint_coins(seeds)

    def _query(self, block: _Block, coins: Words, joint: Words) -> tuple[Words, Mask]:
        verifiers, unusable = list[Words](), np.zeros(len(block.good), np.bool_)
        for of in zip(self._cut(block.proofs), self._cut(coins), self._cut(joint), strict=True):
            verifier, refused = flp.query(
                self._kernel, self._circuit, block.measurements, *of, self._prio3.shares
            )
            verifiers.append(verifier)
            unusable |= refused
        return np.concatenate(verifiers, axis=1), unusable

    def _cut(self, words: Words) -> list[Words]:
        """One equal part for each proof."""
        return np.split(words, self._prio3.proofs, axis=1)

    def combine(self, verifier_shares: Sequence[Octets]) -> tuple[Octets, Mask]:
        cut = self._layout.verifier_bytes - self._layout.blind_bytes
        words = [kernels.unpack(self._kernel, matrix[:, :cut]) for matrix in verifier_shares]
        good = ~np.any([self._kernel.unreduced(each).any(axis=0) for each in words], axis=0)
        for each in words:
            each[:, :, ~good] = 0
        verifiers = kernels.total(self._kernel, np.stack(words, axis=1))
        for verifier in self._cut(verifiers):
            good &= flp.decide(self._kernel, self._circuit, verifier)
        parts = np.concatenate([matrix[:, cut:] for matrix in verifier_shares], axis=1)
        return self._derive.joint_seeds(parts) if self._circuit.joint_length else parts, good

    def aggregate(self, state: BlockState, accepted: Mask) -> bytes:
        sums = kernels.sums_over_reports(self._kernel, state.output_shares[:, :, accepted])
        return self._prio3.field.pack(sums)
