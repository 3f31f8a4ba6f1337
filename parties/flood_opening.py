"""The analyst's side of a flooded round: a key pair that is made for it, and all messages opened, by every core there is.

Whoever seals to the key must know that it is the analyst's: agents believe the shuffler, which is trusted with more
than that. The secret half is forgotten with the object.  Opening takes about 40 us of a core a message, so many
messages are opened by processes that read them on standard input, and end with it.

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
from localdp.sharing.flooded_batch import SEALED_BYTES, Codes, Messages, opened_codes
from localdp.sharing.flooded_round import FloodedQuestion, round_digest
from localdp.sharing.hpke import PUBLIC_BYTES

FEW = 20_000  # messages that are opened here: to start a process takes as long as to open thousands


class FloodAnalyst:
    """Whoever may read the messages of one round."""

    def __init__(self, question: FloodedQuestion, workers: int | None = None) -> None:
        """The question with a new key in it; `workers`: processes, one for each core unless it is given."""
        private = X25519PrivateKey.generate()
        self._secret = private.private_bytes_raw()
        self._workers = workers or len(os.sched_getaffinity(0))
        self.question = replace(question, key=private.public_key().public_bytes_raw())

    def opened(self, mixed: MixedFlood) -> MixedFlood:
        """The codes, in the order that they came in."""
        if len(mixed.roster) != DIGEST_BYTES:
            raise MalformedReport("the shuffler does not say whom it asked")
        digest = round_digest(self.question, mixed.roster)
        if len(mixed.messages) <= FEW:
            return replace(mixed, messages=opened_codes(self._secret, digest, mixed.messages))
        pieces = np.array_split(mixed.messages, self._workers)
        with ThreadPoolExecutor(self._workers) as pool:
            codes = list(pool.map(lambda piece: _opened_apart(self._secret, digest, piece), pieces))
        return replace(mixed, messages=np.concatenate(codes))


def _opened_apart(secret: bytes, digest: bytes, sealed: Messages) -> Codes:
    """The codes of some messages, by a process that is told the key on its standard input."""
    told = secret + digest + sealed.tobytes()
    command = [sys.executable, "-m", "parties.flood_opening"]
    done = subprocess.run(command, input=told, capture_output=True, check=False)  # noqa: S603
    if done.returncode or len(done.stdout) != 4 * len(sealed):
        raise LocalDpError("a process that opens messages ended before it was done; ask again")
    return np.frombuffer(done.stdout, np.uint32)


def main() -> None:
    """Read key, digest and messages; write codes."""
    told = sys.stdin.buffer.read()
    head = PUBLIC_BYTES + DIGEST_BYTES  # a secret key is as long as a public one
    sealed = np.frombuffer(told[head:], np.uint8).reshape(-1, SEALED_BYTES)
    codes = opened_codes(told[:PUBLIC_BYTES], told[PUBLIC_BYTES:head], sealed)
    sys.stdout.buffer.write(codes.astype(np.uint32).tobytes())


if __name__ == "__main__":
    main()
