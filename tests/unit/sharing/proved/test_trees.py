"""Trees of seeds: what an opening gives, and what it keeps."""

import pytest

from localdp.errors import MalformedReport
from localdp.sharing.proved.trees import LEAVES, SEED_BYTES, grown, read

ROOT, SALT = bytes(range(SEED_BYTES)), b"salt"


@pytest.mark.parametrize("hidden", [0, 1, 100, 255])
def test_an_opening_gives_all_leaves_but_one_and_the_same_digest(hidden: int) -> None:
    tree = grown(ROOT, SALT)
    opening = tree.opened(hidden)
    leaves, digest = read(opening, hidden, SALT)
    assert leaves == [leaf if at != hidden else None for at, leaf in enumerate(tree.leaves)]
    assert digest == tree.digest and len(set(tree.leaves)) == LEAVES
    assert tree.leaves[hidden] not in opening


def test_another_leaf_salt_or_length_does_not_fit() -> None:
    tree = grown(ROOT, SALT)
    opening = tree.opened(7)
    assert read(opening, 8, SALT)[1] != tree.digest
    assert read(opening, 7, b"other")[1] != tree.digest
    assert read(bytes([opening[0] ^ 1]) + opening[1:], 7, SALT)[1] != tree.digest
    with pytest.raises(MalformedReport):
        read(opening[1:], 7, SALT)
