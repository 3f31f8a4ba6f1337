"""Lines through hidden bits: keys, what binds them, and what one delta leaves open.

Twin that must be caught: a prover that has another u for one of its trees.
"""

import numpy as np

from localdp.sharing.proved.hidden_bits import (
    TREES,
    Hidden,
    element_of,
    elements,
    hashes,
    hashes_named,
    hashes_wanted,
    hidden,
    keyed,
    moved,
    opened,
)

SEED, SALT, SIZE = bytes(range(32)), b"salt", 48
DELTA = bytes([0, 1, 77, 128, 254, 255])
KEY = b"k" * 32


def test_a_key_is_the_line_at_delta_also_after_the_bits_are_moved() -> None:
    made = hidden(SEED, SALT, SIZE)
    planes, digest = keyed(opened(made, DELTA), DELTA, SALT, made.differences)
    assert digest == made.digest
    wanted = np.arange(SIZE, dtype=np.uint8)
    planes = moved(planes, DELTA, made.u ^ wanted)
    lines, keys = elements(made.planes, 8 * SIZE), elements(planes, 8 * SIZE)
    bits = np.unpackbits(wanted, bitorder="little").astype(np.uint64)
    assert np.array_equal(keys, lines ^ (bits * np.uint64(element_of(DELTA))))


def passes(made: Hidden, delta: bytes) -> bool:
    planes, digest = keyed(opened(made, delta), delta, SALT, made.differences)
    assert digest == made.digest
    of_u = hashes(made.u[None], KEY)[0]
    return hashes_wanted(hashes(planes, KEY), delta, of_u) == hashes_named(hashes(made.planes, KEY))


def test_whoever_has_another_u_for_one_tree_passes_only_where_delta_is_what_it_guessed() -> None:
    made = hidden(SEED, SALT, SIZE)
    assert passes(made, DELTA)
    differences = made.differences.copy()
    differences[2, 5] ^= 16
    twin = made._replace(differences=differences)
    chances = [passes(twin, DELTA[:3] + bytes([place]) + DELTA[4:]) for place in range(256)]
    assert chances == [True] + [False] * 255  # where no row counts, nothing is seen of it


def test_one_delta_leaves_every_u_possible() -> None:
    """With the row of delta, which is never shown, any u whatsoever gives the same keys."""
    made = hidden(SEED, SALT, SIZE)
    leaves = [tree.leaves[place] for tree, place in zip(made.grown, DELTA, strict=True)]
    opening = opened(made, DELTA)
    assert not any(leaf in opening for leaf in leaves) and len(set(leaves)) == TREES
    other = hidden(bytes(32), SALT, SIZE)
    assert not np.array_equal(made.u, other.u)
