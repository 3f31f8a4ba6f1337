"""The analyst's side of a flooded round: a key pair that is made for it, and all messages opened, by every core there is.

Whoever seals to the key must know that it is the analyst's: agents believe the shuffler, which is trusted with more
than that. The secret half is forgotten with the object.  Opening takes about 40 us of a core a message, so many
messages are opened by processes that read them on standard input, and end with it.  So is the outer seal of messages that
come by a second shuffler, for which it has a key pair of its own.

Checked in tests/unit/parties/test_flood_opening.py.
"""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from localdp.errors import LocalDpError, MalformedReport
from localdp.framing import DIGEST_BYTES
from localdp.oracles.flood_mixing import MixedFlood
from localdp.sharing.flooded_batch import SEALED_BYTES, TWICE_BYTES, Messages, opened_codes, opened_once
from localdp.sharing.flooded_round import FloodedQuestion, round_digest
from localdp.sharing.hpke import PUBLIC_BYTES

_CODES, _ENVELOPES = b"c", b"e"
_HEAD = PUBLIC_BYTES + DIGEST_BYTES
FEW = 20_000  # messages that are opened here: to start a process takes as long as to open thousands


class FloodAnalyst:
    """Whoever may read the messages of one round."""

    def __init__(
        self, question: FloodedQuestion, workers: int | None = None, second_key: bytes = b""
    ) -> None:
        """The question with a new key in it, and that of a second shuffler; `workers`: processes, or one a core."""
        private = X25519PrivateKey.generate()
        self._secret = private.private_bytes_raw()
        self._workers = workers or len(os.sched_getaffinity(0))
        key = private.public_key().public_bytes_raw()
        self.question = replace(question, key=key, second_key=second_key)

    def opened(self, mixed: MixedFlood) -> MixedFlood:
        """The codes, in the order that they came in."""
        digest = digest_of(self.question, mixed)
        if len(mixed.messages) <= FEW:
            return replace(mixed, messages=opened_codes(self._secret, digest, mixed.messages))
        told = _opened_apart(_CODES, self._secret, digest, mixed.messages, self._workers)
        return replace(mixed, messages=np.frombuffer(told, np.uint32))


def without_envelopes(secret: bytes, digest: bytes, twice: Messages) -> Messages:
    """What a second shuffler makes of messages (`opened_once`), by every core there is where they are many."""
    if len(twice) <= FEW:
        return opened_once(secret, digest, twice)
    told = _opened_apart(_ENVELOPES, secret, digest, twice, len(os.sched_getaffinity(0)))
    return np.frombuffer(told, np.uint8).reshape(-1, SEALED_BYTES)


def digest_of(question: FloodedQuestion, mixed: MixedFlood) -> bytes:
    """Under what messages were sealed, as the shuffler says whom it asked."""
    if len(mixed.roster) != DIGEST_BYTES:
        raise MalformedReport("the shuffler does not say whom it asked")
    return round_digest(question, mixed.roster)


def _opened_apart(which: bytes, secret: bytes, digest: bytes, sealed: Messages, workers: int) -> bytes:
    """What comes out of messages, by processes that are told the key on their standard input."""

    def one(piece: Messages) -> bytes:
        told = which + secret + digest + piece.tobytes()
        command = [sys.executable, "-m", "parties.flood_opening"]
        done = subprocess.run(command, input=told, capture_output=True, check=False)  # noqa: S603
        size = SEALED_BYTES if which == _ENVELOPES else np.dtype(np.uint32).itemsize
        if done.returncode or len(done.stdout) != size * len(piece):
            raise LocalDpError("a process that opens messages ended before it was done; ask again")
        return done.stdout

    with ThreadPoolExecutor(workers) as pool:
        return b"".join(pool.map(one, np.array_split(sealed, workers)))


def main() -> None:
    """Read what to do, key, digest and messages; write codes, or messages without their outer seal."""
    told = sys.stdin.buffer.read()
    which, told = told[:1], told[1:]
    secret, digest = (
        told[:PUBLIC_BYTES],
        told[PUBLIC_BYTES:_HEAD],
    )  # a secret key is as long as a public one
    size = TWICE_BYTES if which == _ENVELOPES else SEALED_BYTES
    sealed = np.frombuffer(told[_HEAD:], np.uint8).reshape(-1, size)
    opened = opened_once if which == _ENVELOPES else opened_codes
    sys.stdout.buffer.write(opened(secret, digest, sealed).tobytes())


if __name__ == "__main__":
    main()
