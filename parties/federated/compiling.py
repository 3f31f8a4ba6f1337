"""What proofs need is compiled once, by whoever launched the parties, and not in every process that they are.

On a machine that never verified many proofs, share servers and agents would compile the same at the same time; here it is
done before a collection is opened, and they find it on disk.

Checked in tests/unit/parties/federated/test_federated_compiling.py.
"""

from __future__ import annotations

from collections.abc import Callable

from localdp.sharing.collection import Collection
from localdp.sharing.prio3_tier import compile_for

PROVED = "prio3"  # the tier whose shares come with proofs


def compiled_first(told: Callable[[str], None]) -> Callable[[Collection], None]:
    """Compiles what the shares of a collection need, and tells each step of it."""

    def tell(step: str, done: int, steps: int) -> None:
        if done < steps:
            told(f"compiling what makes and verifies proofs: {step} ({done + 1} of {steps})")

    def ready(collection: Collection) -> None:
        if collection.tier == PROVED:
            people = sum(party.people for party in collection.parties)
            compile_for(collection.encoding, people, len(collection.servers), tell)

    return ready
