"""The seam between `BlockVerifier` and whoever does a server's steps for a block of reports."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from localdp.errors import InvalidParameter
from localdp.sharing.prio3.batch.words import Mask, Octets, Words
from localdp.sharing.prio3.derivations import Prio3Task
from localdp.sharing.prio3.prio3 import VERIFY_KEY_BYTES, Prio3

# Every byte of the verifier share of a report that a server refuses: no element is so large.
REFUSED = 0xFF
# What is waited for, how many such steps are done, how many there are.
Tell = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class BlockState:
    """What a server keeps of a block until the verifier messages arrive."""

    output_shares: Words  # (limbs, outputs, reports); zero where not `good`.
    joint_seeds: Octets  # Zero where not `good`.
    good: Mask  # False where this server could not make sense of its share.


@dataclass(frozen=True, slots=True)
class Role:
    """One server of one task."""

    prio3: Prio3
    verify_key: bytes
    context: bytes
    server: int

    def __post_init__(self) -> None:
        if len(self.verify_key) != VERIFY_KEY_BYTES or not 0 <= self.server < self.prio3.shares:
            raise InvalidParameter(
                f"a verification key has {VERIFY_KEY_BYTES} bytes, a server a number below m"
            )

    @property
    def task(self) -> Prio3Task:
        """What the derivations are bound to."""
        return Prio3Task(self.prio3.circuit, self.prio3.shares, self.prio3.proofs, self.context)


class Engine(Protocol):
    """A server's steps on matrices whose shapes have been checked."""

    def init(
        self, nonces: Octets, public_shares: Octets, input_shares: Octets
    ) -> tuple[BlockState, Octets]:
        """The state, and the verifier shares."""
        ...

    def combine(self, verifier_shares: Sequence[Octets]) -> tuple[Octets, Mask]:
        """The verifier messages, and which reports hold."""
        ...

    def aggregate(self, state: BlockState, accepted: Mask) -> bytes:
        """The aggregate share of the accepted reports."""
        ...
