"""Share servers that this process launched: what proofs need is compiled here, once, and they find it on disk.

On a machine that never verified many proofs, every launched process would compile the same at the same time.

Checked in tests/integration/test_federation_doors.py.
"""

from __future__ import annotations

from localdp.sharing.collection import Collection
from localdp.sharing.prio3_tier import compile_for
from parties.shares.collector import RemoteShareServers

_PROVED = "prio3"  # the tier whose shares come with proofs


class LaunchedShareServers(RemoteShareServers):
    """Compiles before a collection is opened."""

    def open(self, collection: Collection) -> bool:
        """Announce a collection to every server."""
        if collection.tier == _PROVED:
            people = sum(party.people for party in collection.parties)
            compile_for(collection.encoding, people, len(self.servers), self._compiling)
        return super().open(collection)

    def _compiling(self, step: str, done: int, steps: int) -> None:
        if done < steps:
            self._told(f"compiling what makes and verifies proofs: {step} ({done + 1} of {steps})")
