"""What the parties of Prio3 expand from seeds, for a block of reports; the streams are those of the reference.

Checked to give the same bytes as the reference in tests/unit/sharing/prio3/test_batch.py.
"""

from dataclasses import dataclass

import numpy as np

from localdp.sharing.prio3.batch import kernels
from localdp.sharing.prio3.batch.kernels import Kernel
from localdp.sharing.prio3.batch.words import Octets, Words
from localdp.sharing.prio3.batch.xof import derive_seeds, expand, repeated
from localdp.sharing.prio3.derivations import Prio3Task, Use
from localdp.sharing.prio3.xof import SEED_BYTES


@dataclass(frozen=True, slots=True)
class BlockDerivations:
    """The expansions of one task, one row for each report."""

    task: Prio3Task
    kernel: Kernel

    def _elements(self, use: Use, seeds: Octets, binders: Octets, count: int) -> Words:
        return expand(self.kernel, seeds, self.task.tag(use), binders, count)

    def helper_measurements(self, server: int, seeds: Octets) -> Words:
        """A helper's shares of the encoded measurements."""
        binders = repeated(bytes([server]), len(seeds))
        return self._elements(Use.MEASUREMENT_SHARE, seeds, binders, self.task.circuit.encoded_length)

    def helper_proofs(self, server: int, seeds: Octets) -> Words:
        """A helper's shares of all proofs."""
        binders = repeated(bytes([self.task.proofs, server]), len(seeds))
        count = self.task.circuit.proof_length * self.task.proofs
        return self._elements(Use.PROOF_SHARE, seeds, binders, count)

    def prove_coins(self, seeds: Octets) -> Words:
        """The client's seeds of the wires."""
        binders = repeated(bytes([self.task.proofs]), len(seeds))
        count = self.task.circuit.gadget.arity * self.task.proofs
        return self._elements(Use.PROVE_COINS, seeds, binders, count)

    def query_coins(self, verify_key: bytes, nonces: Octets) -> Words:
        """The servers' common coins for each report, unknown to its client."""
        binders = np.concatenate([repeated(bytes([self.task.proofs]), len(nonces)), nonces], axis=1)
        count = self.task.circuit.query_length * self.task.proofs
        return self._elements(Use.QUERY_COINS, repeated(verify_key, len(nonces)), binders, count)

    def joint_parts(self, server: int, blinds: Octets, shares: Words, nonces: Octets) -> Octets:
        """A server's parts of the joint randomness."""
        server_rows = repeated(bytes([server]), len(nonces))
        binders = np.concatenate([server_rows, nonces, kernels.pack(shares)], axis=1)
        return derive_seeds(blinds, self.task.tag(Use.JOINT_PART), binders)

    def joint_seeds(self, parts: Octets) -> Octets:
        """All parts of a report in one seed."""
        return derive_seeds(repeated(bytes(SEED_BYTES), len(parts)), self.task.tag(Use.JOINT_SEED), parts)

    def joint_coins(self, seeds: Octets) -> Words:
        """The joint randomness of all proofs."""
        binders = repeated(bytes([self.task.proofs]), len(seeds))
        return self._elements(
            Use.JOINT_COINS, seeds, binders, self.task.circuit.joint_length * self.task.proofs
        )
