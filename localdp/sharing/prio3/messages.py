"""The bytes of Prio3's messages (draft-irtf-cfrg-vdaf-20, section 7.2.7): all of fixed length, fields one after the other.

    public share     joint randomness parts of all servers         (empty without joint randomness)
    leader's share   measurement, proofs, blind                    (no blind without joint randomness)
    helper's share   seed, blind
    verifier share   verifiers, joint randomness part
    verifier message joint randomness seed                         (empty without joint randomness)

A message of another length, or with an element that is not reduced, is refused.
Checked in tests/unit/sharing/prio3/test_messages.py.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from localdp.errors import MalformedReport
from localdp.sharing.prio3.flp import AnyCircuit
from localdp.sharing.prio3.xof import SEED_BYTES

LEADER = 0


@dataclass(frozen=True, slots=True)
class InputShare:
    """A server's share of a report, as field elements."""

    measurement: Sequence[int]
    proofs: Sequence[int]
    blind: bytes


@dataclass(frozen=True, slots=True)
class VerifierShare:
    """What a server tells the others about a report."""

    verifiers: Sequence[int]
    joint_part: bytes


def require_length(what: str, data: bytes, length: int) -> None:
    """Refuses data of another length."""
    if len(data) != length:
        raise MalformedReport(f"{what} has {length} bytes here")


@dataclass(frozen=True, slots=True)
class Layout:
    """The lengths and the parsing of every message of one instance."""

    circuit: AnyCircuit
    shares: int
    proofs: int

    @property
    def blind_bytes(self) -> int:
        """Seeds that only circuits with joint randomness have: blinds, parts, the joint seed."""
        return SEED_BYTES if self.circuit.joint_length else 0

    @property
    def verifiers_length(self) -> int:
        """Field elements of all verifiers."""
        return self.circuit.verifier_length * self.proofs

    @property
    def leader_elements(self) -> int:
        """Field elements of the leader's share."""
        return self.circuit.encoded_length + self.circuit.proof_length * self.proofs

    @property
    def public_bytes(self) -> int:
        """Length of a public share."""
        return self.blind_bytes * self.shares

    def input_bytes(self, server: int) -> int:
        """Length of a server's input share."""
        inner = self.leader_elements * self.circuit.field.encoded_bytes if server == LEADER else SEED_BYTES
        return inner + self.blind_bytes

    @property
    def verifier_bytes(self) -> int:
        """Length of a verifier share."""
        return self.verifiers_length * self.circuit.field.encoded_bytes + self.blind_bytes

    def public_parts(self, data: bytes) -> list[bytes]:
        """The joint randomness parts in a public share."""
        require_length("a public share", data, self.public_bytes)
        return [data[at : at + SEED_BYTES] for at in range(0, len(data), SEED_BYTES)]

    def leader_share(self, data: bytes) -> InputShare:
        """The leader's share of a report."""
        require_length("a leader's share", data, self.input_bytes(LEADER))
        inner, blind = self._without_seed(data)
        elements = self.circuit.field.unpack(inner)
        cut = self.circuit.encoded_length
        return InputShare(elements[:cut], elements[cut:], blind)

    def helper_share(self, data: bytes) -> tuple[bytes, bytes]:
        """The seed and the blind of a helper's share."""
        require_length("a helper's share", data, SEED_BYTES + self.blind_bytes)
        return self._without_seed(data)

    def verifier_share(self, data: bytes) -> VerifierShare:
        """A server's verifier share."""
        require_length("a verifier share", data, self.verifier_bytes)
        inner, part = self._without_seed(data)
        return VerifierShare(self.circuit.field.unpack(inner), part)

    def aggregate_share(self, data: bytes) -> list[int]:
        """A server's aggregate share."""
        length = self.circuit.output_length * self.circuit.field.encoded_bytes
        require_length("an aggregate share", data, length)
        return self.circuit.field.unpack(data)

    def _without_seed(self, data: bytes) -> tuple[bytes, bytes]:
        cut = len(data) - self.blind_bytes
        return data[:cut], data[cut:]
