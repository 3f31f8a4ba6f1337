"""Trees of seeds: 256 leaves from one root, of which all but one are opened (Goldreich, Goldwasser and Micali 1986).

    commit   256 leaves, and the digest of what each is committed to
    open     all leaves but one, as the 8 seeds beside the path to it, and the commitment of that one
    read     the other leaves again, and the same digest, or something is wrong

Claim.  As long as SHA-256 behaves like a random function, the digest binds to all leaves, and the leaf that is not opened
is uniform to whoever has all the others.
Checked in tests/unit/sharing/proved/test_trees.py.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import NamedTuple

from localdp.errors import MalformedReport

DEPTH = 8
LEAVES = 1 << DEPTH
SEED_BYTES = 16
_COMMITMENT_BYTES = 32
OPENING_BYTES = DEPTH * SEED_BYTES + _COMMITMENT_BYTES


class Tree(NamedTuple):
    """The seeds of every level, the root first, and the commitments of the leaves."""

    levels: list[list[bytes]]
    commitments: list[bytes]

    @property
    def leaves(self) -> list[bytes]:
        """The seeds of the last level."""
        return self.levels[-1]

    @property
    def digest(self) -> bytes:
        """What binds to all leaves."""
        return _digest(self.commitments)

    def opened(self, hidden: int) -> bytes:
        """All leaves but that one."""
        beside = [self.levels[level][(hidden >> DEPTH - level) ^ 1] for level in range(1, DEPTH + 1)]
        return b"".join(beside) + self.commitments[hidden]


def grown(root: bytes, salt: bytes) -> Tree:
    """The tree of a root; `salt` is another one for every tree."""
    levels = [[root]]
    for _ in range(DEPTH):
        levels.append(_children(levels[-1], salt))
    return Tree(levels, [_committed(leaf, salt) for leaf in levels[-1]])


def read(opening: bytes, hidden: int, salt: bytes) -> tuple[list[bytes | None], bytes]:
    """The leaves, without the hidden one, and the digest that the tree must have."""
    if len(opening) != OPENING_BYTES:
        raise MalformedReport("the opening of a tree of seeds has another length")
    known: list[bytes | None] = [None]
    for level in range(1, DEPTH + 1):
        known = [seed for parent in known for seed in _known_children(parent, salt)]
        known[(hidden >> DEPTH - level) ^ 1] = opening[(level - 1) * SEED_BYTES : level * SEED_BYTES]
    missing = opening[DEPTH * SEED_BYTES :]
    return known, _digest(missing if leaf is None else _committed(leaf, salt) for leaf in known)


def _children(seeds: Iterable[bytes], salt: bytes) -> list[bytes]:
    pairs = (hashlib.sha256(b"n" + salt + seed).digest() for seed in seeds)
    return [half for pair in pairs for half in (pair[:SEED_BYTES], pair[SEED_BYTES:])]


def _known_children(parent: bytes | None, salt: bytes) -> list[bytes | None]:
    return [None, None] if parent is None else [*_children([parent], salt)]


def _committed(leaf: bytes, salt: bytes) -> bytes:
    return hashlib.sha256(b"l" + salt + leaf).digest()


def _digest(commitments: Iterable[bytes]) -> bytes:
    return hashlib.sha256(b"t" + b"".join(commitments)).digest()
