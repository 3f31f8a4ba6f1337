"""What the parties of Prio3 expand from seeds, each for a use of its own (draft-irtf-cfrg-vdaf-20, section 7.2.6).

The joint randomness is a function of the measurement's shares: each server contributes a *part*, a hash of its share and a
blind, and all parts together are hashed into the seed.  So a client cannot choose its measurement after the randomness,
and no server learns anything of the others' shares from their parts.

Checked by the vectors of tests/vectors/test_prio3_vectors.py.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

from localdp.sharing.prio3.flp import AnyCircuit
from localdp.sharing.prio3.xof import SEED_BYTES, derive_seed, expand, tag


class Use(IntEnum):
    """The numbers of the draft's table of uses."""

    MEASUREMENT_SHARE = 1
    PROOF_SHARE = 2
    JOINT_COINS = 3
    PROVE_COINS = 4
    QUERY_COINS = 5
    JOINT_SEED = 6
    JOINT_PART = 7


@dataclass(frozen=True, slots=True)
class Prio3Task:
    """What every derivation is bound to.  The circuit's parameters are not; an application puts them in the context."""

    circuit: AnyCircuit
    shares: int
    proofs: int
    context: bytes

    def tag(self, use: Use) -> bytes:
        """The domain-separation tag of a use."""
        return tag(self.circuit.algorithm, use, self.context)


@dataclass(frozen=True, slots=True)
class Derivations:
    """The expansions of one task, one report at a time."""

    task: Prio3Task

    def _elements(self, use: Use, seed: bytes, binder: bytes, count: int) -> list[int]:
        return expand(self.task.circuit.field, seed, self.task.tag(use), binder, count)

    def helper_measurement(self, server: int, seed: bytes) -> list[int]:
        """A helper's share of the encoded measurement."""
        return self._elements(
            Use.MEASUREMENT_SHARE, seed, bytes([server]), self.task.circuit.encoded_length
        )

    def helper_proofs(self, server: int, seed: bytes) -> list[int]:
        """A helper's share of all proofs."""
        count = self.task.circuit.proof_length * self.task.proofs
        return self._elements(Use.PROOF_SHARE, seed, bytes([self.task.proofs, server]), count)

    def prove_coins(self, seed: bytes) -> list[int]:
        """The client's seeds of the wires."""
        count = self.task.circuit.gadget.arity * self.task.proofs
        return self._elements(Use.PROVE_COINS, seed, bytes([self.task.proofs]), count)

    def query_coins(self, verify_key: bytes, nonce: bytes) -> list[int]:
        """The servers' common coins for a report, unknown to its client."""
        count = self.task.circuit.query_length * self.task.proofs
        return self._elements(Use.QUERY_COINS, verify_key, bytes([self.task.proofs]) + nonce, count)

    def joint_part(self, server: int, blind: bytes, share: Sequence[int], nonce: bytes) -> bytes:
        """A server's part of the joint randomness."""
        binder = bytes([server]) + nonce + self.task.circuit.field.pack(share)
        return derive_seed(blind, self.task.tag(Use.JOINT_PART), binder)

    def joint_parts(
        self, blinds: Sequence[bytes], shares: Sequence[Sequence[int]], nonce: bytes
    ) -> list[bytes]:
        """Every server's part; none for circuits without joint randomness."""
        if not self.task.circuit.joint_length:
            return []
        each = enumerate(zip(blinds, shares, strict=True))
        return [self.joint_part(server, blind, share, nonce) for server, (blind, share) in each]

    def joint_seed(self, parts: Sequence[bytes]) -> bytes:
        """All parts in one seed."""
        return derive_seed(bytes(SEED_BYTES), self.task.tag(Use.JOINT_SEED), b"".join(parts))

    def joint_coins(self, seed: bytes) -> list[int]:
        """The joint randomness of all proofs."""
        count = self.task.circuit.joint_length * self.task.proofs
        return self._elements(Use.JOINT_COINS, seed, bytes([self.task.proofs]), count)
