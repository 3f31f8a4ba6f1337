"""The secrets of a simulation, all derived from one root: every party's and server's, the shuffler's, the analyst's ...

In a deployment every role has a secret of its own that nobody else ever sees.  In a simulation one process plays them
all; deriving them from one root makes a run repeatable, in process and over gRPC, when the root is.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from localdp.randomness.keys import derive_key
from localdp.randomness.keystream import KeystreamSource


@dataclass(frozen=True, slots=True)
class Keyring:
    """Derives the secret of every simulated role."""

    root: bytes = field(repr=False)

    @classmethod
    def from_system(cls) -> Keyring:
        """A root that nobody can guess."""
        return cls(os.urandom(32))

    @classmethod
    def insecurely_seeded(cls, seed: int) -> Keyring:
        """A root that anybody can guess: for repeatable simulations of made-up people only."""
        return cls(derive_key(b"localdp insecure seed", str(seed).encode()))

    @classmethod
    def of_seed(cls, seed: int | None) -> Keyring:
        """From the operating system, unless a repeatable one was asked for."""
        return cls.from_system() if seed is None else cls.insecurely_seeded(seed)

    def party(self, number: int) -> bytes:
        return derive_key(self.root, b"party", number.to_bytes(4, "big"))

    def server(self, number: int) -> bytes:
        return derive_key(self.root, b"share server", number.to_bytes(4, "big"))

    def shuffler(self) -> bytes:
        """The secret of the shuffler."""
        return derive_key(self.root, b"shuffler")

    def source(self, *purpose: str) -> KeystreamSource:
        """A keystream for the curator's noise, or for the analyst's identifiers."""
        return KeystreamSource(derive_key(self.root, *(part.encode() for part in purpose)))
