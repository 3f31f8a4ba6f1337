"""A Prio3 server on blocks of reports: the steps of `prio3.Prio3`, byte for byte, for many reports at once.

Every message is a row of bytes, and a block is a matrix of rows.  One bad report must not cost the others anything, so that
nothing is raised for a report: masks say which reports are still good.  Where `Prio3.verify_init` would refuse, the
verifier share is filled with 0xFF, which every server refuses.

    init      input shares      ->  state, verifier shares
    combine   verifier shares   ->  verifier messages, which reports hold
    finish    state, messages   ->  which reports are accepted by this server
    aggregate state, accepted   ->  aggregate share of the block

Blocks of about a thousand reports are best: large enough to hide the cost of a numpy call, small enough for the cache.
Checked against the reference, good reports and bad, in tests/unit/sharing/prio3/test_batch.py.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from localdp.errors import InvalidParameter
from localdp.sharing.prio3.batch import circuits, flp, kernels
from localdp.sharing.prio3.batch.derivations import BlockDerivations
from localdp.sharing.prio3.batch.kernels import Kernel, Mask, Octets, Words
from localdp.sharing.prio3.derivations import Task
from localdp.sharing.prio3.messages import LEADER, require_length
from localdp.sharing.prio3.prio3 import NONCE_BYTES, VERIFY_KEY_BYTES, Prio3
from localdp.sharing.prio3.xof import SEED_BYTES

REFUSED = (
    0xFF  # Every byte of the verifier share of a report that a server refuses: no element is so large.
)


def rows(messages: Sequence[bytes], length: int) -> Octets:
    """Messages of one length as a matrix of bytes."""
    for message in messages:
        require_length("a message", message, length)
    return np.frombuffer(b"".join(messages), np.uint8).reshape(len(messages), length)


def _require_shape(matrix: Octets, count: int, length: int) -> None:
    if matrix.shape != (count, length):
        raise InvalidParameter(f"a block of {count} reports has {count} such messages of {length} bytes")


@dataclass(frozen=True, slots=True)
class BlockState:
    """What a server keeps of a block until the verifier messages arrive."""

    output_shares: Words  # (limbs, outputs, reports)
    joint_seeds: Octets
    good: Mask  # False where this server could not make sense of its share.


@dataclass(frozen=True, slots=True)
class _Block:
    """The input shares of a block as field elements."""

    measurements: Words
    proofs: Words
    blinds: Octets
    good: Mask


class BlockVerifier:
    """One server's view of one task."""

    def __init__(
        self, prio3: Prio3, verify_key: bytes, context: bytes, server: int, kernel: Kernel | None = None
    ) -> None:
        if len(verify_key) != VERIFY_KEY_BYTES or not 0 <= server < prio3.shares:
            raise InvalidParameter(
                f"a verification key has {VERIFY_KEY_BYTES} bytes, a server a number below m"
            )
        self._prio3, self._circuit, self._layout = prio3, prio3.circuit, prio3.layout
        self._kernel = kernel or kernels.kernel_for(prio3.field)
        self._key, self._server = verify_key, server
        task = Task(prio3.circuit, prio3.shares, prio3.proofs, context)
        self._derive = BlockDerivations(task, self._kernel)

    def init(
        self, nonces: Octets, public_shares: Octets, input_shares: Octets
    ) -> tuple[BlockState, Octets]:
        """This server's state, and its verifier shares, which it sends to the others."""
        _require_shape(nonces, len(nonces), NONCE_BYTES)
        _require_shape(public_shares, len(nonces), self._layout.public_bytes)
        _require_shape(input_shares, len(nonces), self._layout.input_bytes(self._server))
        block = (
            self._leader_block(input_shares) if self._server == LEADER else self._helper_block(input_shares)
        )
        parts, seeds, joint = self._joint(block, nonces, public_shares)
        verifiers, unusable = self._query(block, self._derive.query_coins(self._key, nonces), joint)
        outputs = circuits.truncate(self._circuit, self._kernel, block.measurements)
        state = BlockState(outputs, seeds, block.good & ~unusable)
        shares = np.concatenate([kernels.pack(verifiers), parts], axis=1)
        # What must not be used must not be seen either, and no server shall accept what another one cannot read.
        shares[~state.good] = REFUSED
        return state, shares

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
        """The verifier messages, from the shares of all servers in order, and which reports hold."""
        if len(verifier_shares) != self._prio3.shares:
            raise InvalidParameter("a block has verifier shares from each server")
        for matrix in verifier_shares:
            _require_shape(matrix, len(verifier_shares[0]), self._layout.verifier_bytes)
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

    def finish(self, state: BlockState, messages: Octets, holds: Mask) -> Mask:
        """Which reports this server accepts."""
        _require_shape(messages, len(state.good), self._layout.blind_bytes)
        return np.asarray(state.good & holds & (state.joint_seeds == messages).all(axis=1))

    def output_shares(self, state: BlockState) -> Octets:
        """The output shares, one row per report."""
        return kernels.pack(state.output_shares)

    def aggregate(self, state: BlockState, accepted: Mask) -> bytes:
        """The aggregate share of the accepted reports of a block."""
        sums = kernels.sums_over_reports(self._kernel, state.output_shares[:, :, accepted])
        return self._prio3.field.pack(sums)
