"""DANGER.  A reproducible source: whoever knows the seed knows every coin, and undoes every randomizer.

For simulations that must be repeatable, and for tests.  Never for a report about a person: a draw from a
seed gives no privacy at all, however large the noise.  Nothing in `parties` may import this module.
Checked for its law in tests/contract/test_random_source.py.
"""

from localdp.errors import InvalidParameter
from localdp.randomness.keys import derive_key
from localdp.randomness.keystream import KeystreamSource

_PUBLIC_SECRET = b"localdp: this is not a secret and protects nobody"


class SeededSource(KeystreamSource):
    """NOT PRIVATE.  The keystream of a public key that is derived from the seed."""

    def __init__(self, seed: int) -> None:
        if not 0 <= seed < 1 << 64:
            raise InvalidParameter("a seed lies between 0 and 2**64 - 1")
        super().__init__(derive_key(_PUBLIC_SECRET, b"hazmat seed", seed.to_bytes(8, "big"))[:16])
