"""Witnesses that are killed, quickly: a process that has everything loaded forks itself for each of them.

    python -m tests.fault.witness_nursery

It reads one job a line: the state, the variant, the number of steps after which the witness kills itself with SIGKILL
(never, if negative), and the heads that it is to countersign.  It writes which of them were acknowledged.  A step is a
statement to the record's file, before and after it is executed.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from parties.witness.heads import CountersignedHead, Head, SignedStep, countersign, sign_step
from parties.witness.record import WitnessRecord
from tests.fault.fuse import BurningFile, Fuse

SIGNER = Ed25519PrivateKey.from_private_bytes(b"n" * 32)


class Owing(WitnessRecord):
    """Answers first, and writes when the next one comes."""

    owed: SignedStep | None = None

    def countersign(self, step: SignedStep) -> CountersignedHead:
        if self.owed is not None:
            super().countersign(self.owed)
        self.owed = step
        return countersign(step.signed, self.signer)


VARIANTS = {"": WitnessRecord, "owing": Owing}


def _witness(job: dict[str, Any], acknowledged: int) -> None:
    record = VARIANTS[job["variant"]](Path(job["state"]))
    file: Any = BurningFile(record._file, Fuse(job["steps"]))
    record._file = file
    last: Head | None = None
    for entries in job["heads"]:
        head = Head("north", entries, bytes([entries]) * 32)
        record.countersign(sign_step(head, last, SIGNER))
        last = head
        os.write(acknowledged, bytes([entries]))


def main() -> None:
    """Fork for every line."""
    for line in sys.stdin:
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                _witness(json.loads(line), writing)
            finally:
                os._exit(0)
        os.close(writing)
        with os.fdopen(reading, "rb") as told:
            acknowledged = list(told.read())
        _, status = os.waitpid(child, 0)
        print(json.dumps({"acknowledged": acknowledged, "killed": os.WIFSIGNALED(status)}), flush=True)


if __name__ == "__main__":
    main()
