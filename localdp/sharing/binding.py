"""What ties a collection to its share servers as they are now.

A digest that names servers by their names alone is good for any server of that name: one that forgot everything, or one
that was put back to last week.  So a collection also has, for each server in order,

- its sealing key, which is the same for years, and which parties may know beforehand;
- its witness key, which is the same for as long as the server remembers: one that lost its memory, or found that it is an
  old copy, makes a new one, and refuses every collection that has another;

and the leader's commitment to the verification key, and the second in which the collection ends.  All of it is in the
digest, so a party's shares are good for these keys and no others.

What the servers sign for each other with their witness keys is in `signatures`.

Checked in tests/unit/sharing/test_binding.py.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from localdp.errors import InvalidParameter
from localdp.framing import digest

KEY_BYTES = 32
COMMITMENT_BYTES = 32
MOST_SECONDS = 1 << 40  # of a collection's end: what simulations say, where time does not pass


@dataclass(frozen=True, slots=True)
class Binding:
    """The servers of a collection, as they are now."""

    keys: tuple[bytes, ...]  # what shares are sealed to, one for each server
    witnesses: tuple[bytes, ...]  # what each server signs with, while it remembers
    commitment: bytes  # of the leader, to the key that the servers verify with
    ends: int = MOST_SECONDS  # seconds since 1970: nothing is taken, decided or released from then on
    # Of all of it; a collection asks for it many times.
    digest: bytes = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        lengths = {len(key) for key in (*self.keys, *self.witnesses)}
        if lengths != {KEY_BYTES} or len(self.keys) != len(self.witnesses):
            raise InvalidParameter(
                f"a collection has a sealing key and a witness key of {KEY_BYTES} bytes for each share server"
            )
        if len(self.commitment) != COMMITMENT_BYTES:
            raise InvalidParameter("a collection has the leader's commitment to its verification key")
        if not 0 < self.ends <= MOST_SECONDS:
            raise InvalidParameter("a collection ends at some second after 1970")
        named = digest(digest(*self.keys), digest(*self.witnesses), self.commitment, b"%d" % self.ends)
        object.__setattr__(self, "digest", named)


def commitment_to(verify_key: bytes) -> bytes:
    """What the leader says of a verification key before anybody uploads: nobody else can find the key from it."""
    return digest(b"localdp verification key v1", verify_key)


@dataclass(frozen=True, slots=True)
class Opening:
    """A server opened a collection, with a secret of which this is the commitment."""

    secret: bytes  # its commitment
    signature: bytes
