"""VERIFY: all three servers prove their gates at once, and nothing is opened before everybody accepts.

For prover i the left verifier is server i - 1 and the right one server i + 1; they share k_{i+2}, from which
challenges are derived.

    round 1    share of the first level -> right;  left -> prover: commitments to all challenges;  "done" -> previous
    round 2    right -> prover: first point, seed of the weights theta, salt
    round 3    next level -> right;      round 4    right -> prover: its point, salt;   ...   last level -> right
    then       left <-> right: what is left of their vectors, and their shares of the claim
    then       verdicts of each to both others

The order matters.  A right verifier tells the first point only when it has the prover's first level and "done" of the
left verifier, which sends that when every gate's message has arrived: a prover that knew the point earlier could fit
a message to it.  Commitments keep a dishonest right verifier from telling the prover another point than the left
verifier folds at, for then the left one's last message would give away a function of secrets that nothing masks.

Claim.  Security with abort against one dishonest server: if a message of a gate was false, no honest server accepts,
except with probability `error_bound` of each batch, below 2**-53.  A failed check names the two other servers: their
statements cannot tell a prover that lied from a verifier that did.
Checked in tests/unit/computing/test_verification.py and tests/fault/test_cheating_servers.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from localdp.computing.dialogue import Dialogue, Exchange, Received, others
from localdp.computing.gates import elements_in, pack_elements
from localdp.computing.keyed_streams import KeyedStream, SharedStream
from localdp.computing.proof import ProofShape, Prover, Verifier, as_integers, proof_code_for
from localdp.computing.proof_code import LANES, ProofCode
from localdp.computing.seat import Seat
from localdp.computing.transcript import ProductGates, WordGates, all_words
from localdp.framing import DIGEST_BYTES, digest
from localdp.randomness.keys import KEY_BYTES
from localdp.randomness.keystream import keystream
from localdp.sharing.prio3.batch.words import Words

WORDS_OF_A_BATCH = 1 << 18  # 2**24 gates: a hundred megabytes at the peak
_SALT_BYTES = 16
_DONE, _ACCEPT, _REJECT = b"\x01", b"\x01", b"\x00"


@dataclass(frozen=True, slots=True)
class Challenge:
    """What both verifiers of a prover know of one level before the prover does."""

    point: int
    told: bytes  # point, salt, and on the first level the seed of the weights

    @classmethod
    def derived(cls, secret: bytes, seat: Seat) -> Challenge:
        """From the key that the prover has not got."""
        field = seat.kernel.field
        drawn = keystream(secret).update(bytes(2 * KEY_BYTES + _SALT_BYTES))
        point = int.from_bytes(drawn[:KEY_BYTES], "big") % (field.modulus - 1) + 1
        return cls(point, field.pack([point]) + drawn[KEY_BYTES:])

    @classmethod
    def read(cls, told: bytes, seat: Seat) -> Challenge:
        """As a prover hears it."""
        width = seat.kernel.field.encoded_bytes
        return cls(int.from_bytes(told[:width], "little"), told)

    @property
    def commitment(self) -> bytes:
        """Binds the left verifier to the challenge, and hides it."""
        return digest(b"challenge", self.told)

    @property
    def weights(self) -> SharedStream:
        """The weights theta of the field products."""
        return KeyedStream(self.told[-_SALT_BYTES - KEY_BYTES : -_SALT_BYTES])


def told_bytes(seat: Seat) -> int:
    """Octets of a challenge."""
    return seat.kernel.field.encoded_bytes + KEY_BYTES + _SALT_BYTES


def verified(seat: Seat) -> Dialogue[None]:
    """Verify every gate of the transcript; aborts if a server, honest or not, does not accept."""
    code = proof_code_for(seat.kernel)
    failed: list[str] = []
    for number, (words, products) in enumerate(batches(seat)):
        failed += yield from _Batch(seat, code, number, words, products).checked()
    verdict = _REJECT if failed else _ACCEPT
    received = yield Exchange(to_previous=verdict, to_next=verdict, from_previous=1, from_next=1)
    if failed:
        raise seat.aborted(failed[0])
    if received != Received(_ACCEPT, _ACCEPT):
        raise seat.aborted("another server does not accept the proofs")
    seat.transcript.taken()


def batches(seat: Seat) -> Iterator[tuple[WordGates, list[ProductGates]]]:
    """The transcript in parts of bounded size, in order; field products go with the last one."""
    part: list[WordGates] = []
    room = WORDS_OF_A_BATCH
    for gates in seat.transcript.words:
        start, size = 0, gates.x.shape[1]
        while size - start > room:
            part.append(WordGates(*(array[:, start : start + room] for array in gates)))
            yield all_words(part), []
            start, part, room = start + room, [], WORDS_OF_A_BATCH
        part.append(WordGates(*(array[:, start:] for array in gates)))
        room -= size - start
    if not seat.transcript.is_empty:
        yield all_words(part), seat.transcript.products


class _Batch:
    """One server's three roles in the proofs of one batch."""

    def __init__(
        self, seat: Seat, code: ProofCode, number: int, words: WordGates, products: list[ProductGates]
    ) -> None:
        self._seat, self._number = seat, number
        label = b"proof %d" % number
        self._shares, self._pads = (
            seat.attempt.fresh(label + b" share"),
            seat.attempt.fresh(label + b" pad"),
        )
        pairs = sum(gates.alpha.shape[0] * gates.alpha.shape[2] for gates in products)
        self._chunks = ProofShape(words.x.shape[1], pairs).chunks
        self._prover = Prover(code, words, products, self._shares.own, self._pads.next)
        self._left = Verifier(
            code,
            (words.e[1], words.x[1], words.y[1]),
            [(gates.alpha_left, gates.gamma_left) for gates in products],
            is_left=True,
        )
        self._right = Verifier(
            code,
            (words.r[0], words.y[0], words.x[0]),
            [(gates.beta_right, gates.gamma_right) for gates in products],
            is_left=False,
        )
        secrets = [
            seat.attempt.secrets(label + b" level %d" % level) for level in range(len(self._chunks) + 1)
        ]
        self._of_next = [Challenge.derived(own, seat) for own, _ in secrets]
        self._of_previous = [Challenge.derived(following, seat) for _, following in secrets]

    def checked(self) -> Dialogue[list[str]]:
        """The checks that failed."""
        arrived, promised = yield from self._first()
        mine = yield from self._told(0, promised)
        self._prover.fold_first(mine.point, mine.weights)
        self._left.fold_first(self._drawn(2 * LANES - 2), self._of_next[0].point, self._of_next[0].weights)
        at = self._of_previous[0]
        self._right.fold_first(arrived, at.point, at.weights)
        for level, chunks in enumerate(self._chunks[:-1], 1):
            arrived = yield from self._sent(self._prover.level(chunks))
            mine = yield from self._told(level, promised)
            self._prover.fold(chunks, mine.point)
            self._fold(level, chunks, arrived)
        chunks = self._chunks[-1]
        kernel = self._seat.kernel
        self._left.append(self._shares.next.elements(kernel, 1))
        self._right.append(self._pads.own.elements(kernel, 1))
        arrived = yield from self._sent(self._prover.last(chunks))
        self._fold(len(self._chunks), chunks, arrived)
        return (yield from self._compared())

    def _fold(self, level: int, chunks: int, arrived: Words) -> None:
        self._left.fold(self._drawn(2 * chunks - 2), chunks, self._of_next[level].point)
        self._right.fold(arrived, chunks, self._of_previous[level].point)

    def _drawn(self, count: int) -> Words:
        """The left verifier's share of a level of the next server."""
        return self._shares.next.elements(self._seat.kernel, count)

    def _first(self) -> Dialogue[tuple[Words, list[bytes]]]:
        """The previous server's first level, and the commitments to the challenges of the own proof."""
        seat = self._seat
        coefficients = pack_elements(self._prover.first())
        told = self._of_next[:-1]  # at the last point only the verifiers fold
        commitments = b"".join(challenge.commitment for challenge in told)
        received = yield Exchange(
            to_next=coefficients + commitments,
            to_previous=_DONE,
            from_previous=len(coefficients) + len(commitments),
            from_next=len(_DONE),
        )
        previous, following = others(seat.server)
        if received.next != _DONE:
            raise seat.accused("a message that is not of the protocol", following)
        cut = len(coefficients)
        level = elements_in(seat.kernel, received.previous[:cut], previous)
        promised = [
            received.previous[start : start + DIGEST_BYTES]
            for start in range(cut, len(received.previous), DIGEST_BYTES)
        ]
        return level, promised

    def _sent(self, coefficients: Words) -> Dialogue[Words]:
        """The own level to the next server, that of the previous one from it."""
        seat = self._seat
        octets = pack_elements(coefficients)
        received = yield Exchange(to_next=octets, from_previous=len(octets))
        return elements_in(seat.kernel, received.previous, others(seat.server)[0])

    def _told(self, level: int, promised: list[bytes]) -> Dialogue[Challenge]:
        """The point of the own proof, from its right verifier; it must be what the left one is bound to."""
        seat = self._seat
        received = yield Exchange(to_previous=self._of_previous[level].told, from_next=told_bytes(seat))
        mine = Challenge.read(received.next, seat)
        if mine.commitment != promised[level] or not 0 < mine.point < seat.kernel.field.modulus:
            raise seat.aborted("the verifiers of a proof told two challenges")
        return mine

    def _compared(self) -> Dialogue[list[str]]:
        """The last words of left and right, for the next and for the previous server's proof."""
        seat, field = self._seat, self._seat.kernel.field
        left, right = self._left.last_words(), self._right.last_words()
        received = yield Exchange(
            to_previous=field.pack(left),
            to_next=field.pack(right),
            from_previous=2 * field.encoded_bytes,
            from_next=2 * field.encoded_bytes,
        )
        previous, following = others(seat.server)
        met_left = as_integers(elements_in(seat.kernel, received.next, following))
        met_right = as_integers(elements_in(seat.kernel, received.previous, previous))
        failed = []
        for prover, ours, theirs in ((following, left, met_right), (previous, right, met_left)):
            if (ours[0] * theirs[0] - ours[1] - theirs[1]) % field.modulus:
                failed.append(f"the proof of server {prover} does not hold")
        return failed
