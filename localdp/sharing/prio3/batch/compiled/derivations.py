"""What the parties of Prio3 expand from seeds, for a block of reports, by compiled code; the reference is `derivations`.

The constant bytes of each message are laid out once for a task.  What comes out is rows of words, which a field of 64 bits
rejects once in 2**32 words: the caller looks for such words and leaves their reports to the numpy form.

Checked against the reference in tests/unit/sharing/prio3/test_compiled_sponge.py.
"""

from dataclasses import dataclass

import numpy as np

from localdp.sharing.prio3.batch.compiled.steps import Step
from localdp.sharing.prio3.batch.words import Octets, Words
from localdp.sharing.prio3.derivations import Prio3Task, Use
from localdp.sharing.prio3.keccak import padded
from localdp.sharing.prio3.xof import DOMAIN, SEED_BYTES, frame

SEED_WORDS = SEED_BYTES // 8
_NOTHING = np.empty((0, 0), np.uint64)


def as_words(octets: Octets) -> Words:
    """Rows of bytes as rows of words, without a copy where that is possible."""
    rows = octets if octets.strides[-1] == 1 else np.ascontiguousarray(octets)
    return rows.view(np.uint64)


@dataclass(frozen=True, slots=True)
class Template:
    """A padded message, and at which of its bytes the pieces stand that differ from report to report."""

    words: Words
    seed_at: int
    nonce_at: int
    payload_at: int


def template(tag: bytes, seed: bytes, mark: bytes, nonce_bytes: int, payload_bytes: int) -> Template:
    """The message head | seed | mark | nonce | payload; what is to be filled in is given as zeros."""
    head = b"".join(frame(tag, len(seed)))
    seed_at = len(head)
    nonce_at = seed_at + len(seed) + len(mark)
    payload_at = nonce_at + nonce_bytes
    data = padded(head + seed + mark + bytes(nonce_bytes + payload_bytes), DOMAIN)
    words = np.frombuffer(data, "<u8").astype(np.uint64)
    return Template(words, seed_at, nonce_at, payload_at)


class CompiledDerivations:
    """The expansions of one task, one row for each report, into rows that the caller provides."""

    def __init__(self, task: Prio3Task, streams: Step) -> None:
        self._task, self._streams = task, streams
        self._templates = dict[tuple[Use, bytes | None, bytes, int, int], Template]()

    @property
    def _proofs(self) -> bytes:
        return bytes([self._task.proofs])

    def _fill(
        self,
        out: Words,
        use: Use,
        mark: bytes = b"",
        *,
        seed: bytes | None = None,
        seeds: Words = _NOTHING,
        nonces: Words = _NOTHING,
        payloads: Words = _NOTHING,
    ) -> None:
        lengths = 8 * nonces.shape[1], 8 * payloads.shape[1]
        key = use, seed, mark, *lengths
        if key not in self._templates:
            self._templates[key] = template(self._task.tag(use), seed or bytes(SEED_BYTES), mark, *lengths)
        made = self._templates[key]
        self._streams(
            made.words, seeds, made.seed_at, nonces, made.nonce_at, payloads, made.payload_at, out
        )

    def helper_measurements(self, server: int, seeds: Words, out: Words) -> None:
        """A helper's shares of the encoded measurements."""
        self._fill(out, Use.MEASUREMENT_SHARE, bytes([server]), seeds=seeds)

    def helper_proofs(self, server: int, seeds: Words, out: Words) -> None:
        """A helper's shares of all proofs."""
        self._fill(out, Use.PROOF_SHARE, self._proofs + bytes([server]), seeds=seeds)

    def prove_coins(self, seeds: Words, out: Words) -> None:
        """The client's seeds of the wires."""
        self._fill(out, Use.PROVE_COINS, self._proofs, seeds=seeds)

    def query_coins(self, verify_key: bytes, nonces: Words, out: Words) -> None:
        """The servers' common coins for each report, unknown to its client."""
        self._fill(out, Use.QUERY_COINS, self._proofs, seed=verify_key, nonces=nonces)

    def joint_parts(self, server: int, blinds: Words, shares: Words, nonces: Words, out: Words) -> None:
        """A server's parts of the joint randomness."""
        self._fill(out, Use.JOINT_PART, bytes([server]), seeds=blinds, nonces=nonces, payloads=shares)

    def joint_seeds(self, parts: Words, out: Words) -> None:
        """All parts of a report in one seed."""
        self._fill(out, Use.JOINT_SEED, payloads=parts)

    def joint_coins(self, seeds: Words, out: Words) -> None:
        """The joint randomness of all proofs."""
        self._fill(out, Use.JOINT_COINS, self._proofs, seeds=seeds)
