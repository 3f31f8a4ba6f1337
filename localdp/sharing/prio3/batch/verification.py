"""A Prio3 server on blocks of reports: the steps of `prio3.Prio3`, byte for byte, for many reports at once.

Every message is a row of bytes, and a block is a matrix of rows.  One bad report must not cost the others anything, so that
nothing is raised for a report: masks say which reports are still good.  Where `Prio3.verify_init` would refuse, the
verifier share is filled with 0xFF, which every server refuses.

    init      input shares      ->  state, verifier shares
    combine   verifier shares   ->  verifier messages, which reports hold
    finish    state, messages   ->  which reports are accepted by this server
    aggregate state, accepted   ->  aggregate share of the block

The work is done by one of two engines, compiled or plain (see `engine`).  Neither makes a claim of constant time.
Checked against the reference, good reports and bad, in
tests/unit/sharing/prio3/test_batch.py, and one engine against the other in tests/unit/sharing/prio3/test_engines.py.
"""

from collections.abc import Sequence

import numpy as np

from localdp.errors import InvalidParameter
from localdp.sharing.prio3.batch import kernels
from localdp.sharing.prio3.batch.engine import engine_for
from localdp.sharing.prio3.batch.role import BlockState, Role
from localdp.sharing.prio3.batch.words import Mask, Octets
from localdp.sharing.prio3.messages import require_length
from localdp.sharing.prio3.prio3 import NONCE_BYTES, Prio3

__all__ = ["BlockState", "BlockVerifier", "require_shape", "rows"]


def rows(messages: Sequence[bytes], length: int) -> Octets:
    """Messages of one length as a matrix of bytes."""
    for message in messages:
        require_length("a message", message, length)
    return np.frombuffer(b"".join(messages), np.uint8).reshape(len(messages), length)


def require_shape(matrix: Octets, count: int, length: int) -> None:
    """Refuses what is not a matrix of bytes with so many rows of that length."""
    if matrix.dtype != np.uint8 or matrix.shape != (count, length):
        raise InvalidParameter(f"a block of {count} reports has {count} such messages of {length} bytes")


def _require_mask(mask: Mask, count: int) -> None:
    if mask.dtype != np.bool_ or mask.shape != (count,):
        raise InvalidParameter(f"a block of {count} reports has a mask of so many truth values")


class BlockVerifier:
    """One server's view of one task; `compiled` insists on compiled code or on doing without it."""

    def __init__(
        self,
        prio3: Prio3,
        verify_key: bytes,
        context: bytes,
        server: int,
        *,
        compiled: bool | None = None,
    ) -> None:
        self._prio3, self._layout, self._server = prio3, prio3.layout, server
        self._engine = engine_for(Role(prio3, verify_key, context, server), compiled)

    def init(
        self, nonces: Octets, public_shares: Octets, input_shares: Octets
    ) -> tuple[BlockState, Octets]:
        """This server's state, and its verifier shares, which it sends to the others."""
        require_shape(nonces, len(nonces), NONCE_BYTES)
        require_shape(public_shares, len(nonces), self._layout.public_bytes)
        require_shape(input_shares, len(nonces), self._layout.input_bytes(self._server))
        return self._engine.init(nonces, public_shares, input_shares)

    def combine(self, verifier_shares: Sequence[Octets]) -> tuple[Octets, Mask]:
        """The verifier messages, from the shares of all servers in order, and which reports hold."""
        if len(verifier_shares) != self._prio3.shares:
            raise InvalidParameter("a block has verifier shares from each server")
        for matrix in verifier_shares:
            require_shape(matrix, len(verifier_shares[0]), self._layout.verifier_bytes)
        return self._engine.combine(verifier_shares)

    def finish(self, state: BlockState, messages: Octets, holds: Mask) -> Mask:
        """Which reports this server accepts."""
        require_shape(messages, len(state.good), self._layout.blind_bytes)
        _require_mask(holds, len(state.good))
        return np.asarray(state.good & holds & (state.joint_seeds == messages).all(axis=1))

    def output_shares(self, state: BlockState) -> Octets:
        """The output shares, one row per report."""
        return kernels.pack(state.output_shares)

    def aggregate(self, state: BlockState, accepted: Mask) -> bytes:
        """The aggregate share of the accepted reports of a block."""
        _require_mask(accepted, len(state.good))
        return self._engine.aggregate(state, accepted)
