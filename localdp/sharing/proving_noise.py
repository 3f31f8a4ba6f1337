"""One share server's part in proving everybody's noise: what it says at each step, and what it has on record before.

Whoever collects carries the messages, so that no server needs to reach another (`run_proofs`).

    fix      digest of own coins and sums, signed
    key      all digests are on record -> the first seed
    tie      hashes that tie all trees of the digest to one and the same coins, signed
    coins    all hashes are on record -> the second seed
    say      digest of the sums with noise, signed
    factors  all digests are on record -> the third seed
    respond  what the proof needs before delta, signed
    delta    all responses are on record -> the last seed
    prove    the proof, and with it the sums with noise; they are on record
    check    the proofs of others, one after the other; the digest of the sums that each proved is on record

With its release every server says what all proved, and whoever collects refuses other sums (`require_as_proved`).

Claims.
- Own coins, masks and all messages follow from the collection's secret, the agreed reports, the sums and the seeds, of
  which each server committed to its own before anybody uploaded.  So a server that starts again, or was put back, says the
  same, has the same noise, and never answers two deltas; other reports have other noise and other masks.
- A server that is told a seed has its own coins, its sums and everything else before on record with every honest server,
  signed: it cannot choose, and it cannot say two things.  (An honest server that was put back does not remember what it
  saw; then one other honest server must.)
- Who is named lied: what it signed does not hold, or it signed two things.

What is not proved: a server's own sums.  It can add anything to them, as in every plan, but before it knows its noise.

Checked in tests/unit/sharing/test_proving_noise.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from localdp.errors import LocalDpError, MalformedReport, ShareMismatch
from localdp.framing import DIGEST_BYTES, digest
from localdp.randomness.keys import derive_key
from localdp.sharing.blame import Blame
from localdp.sharing.collection import Collection
from localdp.sharing.proof_record import NoiseSeeds, ProofRecord, ProofStep, before
from localdp.sharing.proved.noise_proof import (
    DELTA_BYTES,
    RESPONSE_BYTES,
    TIE_BYTES,
    Challenges,
    Named,
    NoiseProver,
    Response,
    Tie,
    require_proved,
)
from localdp.sharing.proved.shape import NoiseShape, shape_for
from localdp.sharing.signatures import SIGNATURE_BYTES, WitnessKey, commitment_of, require_said
from localdp.sharing.storage import Published

Ask = Callable[[ProofStep, Sequence[bytes]], Sequence[bytes]]


@dataclass
class NoisePart:
    """One server's, for one agreed set of reports."""

    collection: Collection
    server: int
    accepted: bytes
    secret: bytes = field(repr=False)
    sums: Sequence[int] = field(repr=False)
    witness: WitnessKey
    record: ProofRecord
    keep: Callable[[ProofRecord], None]
    blame: Blame
    _prover: NoiseProver | None = None

    def told(self, step: ProofStep, messages: Sequence[bytes]) -> bytes:
        """What this server says, given what all said at the step before."""
        match step:
            case ProofStep.FIX:
                return self._signed(step, self._made().fixed())
            case ProofStep.KEY:
                self._remember(fixed=self._said(ProofStep.FIX, messages, DIGEST_BYTES))
                return NoiseSeeds.of(self.secret).key
            case ProofStep.TIE:
                key = self._challenge(self.server, self._seeds(messages, 0))
                return self._signed(step, self._made().tied(key).packed())
            case ProofStep.COINS:
                self._remember(tied=self._said(ProofStep.TIE, messages, TIE_BYTES))
                return NoiseSeeds.of(self.secret).coins
            case ProofStep.SAY:
                return self._signed(step, self._says(self._seeds(messages, 1)))
            case ProofStep.FACTORS:
                self._remember(said=self._said(ProofStep.SAY, messages, DIGEST_BYTES))
                return NoiseSeeds.of(self.secret).factors
            case ProofStep.RESPOND:
                return self._signed(step, self._responds(self._seeds(messages, 2)))
            case ProofStep.DELTA:
                self._remember(responses=self._said(ProofStep.RESPOND, messages, RESPONSE_BYTES))
                return NoiseSeeds.of(self.secret).delta
            case ProofStep.PROVE:
                return self._signed(step, self._proves(self._seeds(messages, 3)))
            case ProofStep.CHECK:
                self._check(messages)
                return b""

    @property
    def published(self) -> Published:
        """This server's sums with noise, and what every server proved, once every other server has proved its own."""
        checked = list(self.record.checked)
        if not checked or not all(one for at, one in enumerate(checked) if at != self.server):
            raise ShareMismatch("a release with proved noise needs that every server has proved its own")
        (released,) = self.record.released
        checked[self.server] = _named(released)
        return Published(released, b"".join(checked))

    @property
    def bytes_held(self) -> int:
        """What proving takes in memory, from the first step on."""
        return 0 if self._prover is None else self._prover.bytes_held

    @property
    def _shape(self) -> NoiseShape:
        collection = self.collection
        return shape_for(collection.noise.coin_law, collection.field, collection.encoding.length)

    def _made(self) -> NoiseProver:
        if self._prover is None:
            packed = self.collection.field.pack(self.sums)
            seed = derive_key(self.secret, b"proved noise", self.accepted, packed)
            self._prover = NoiseProver(self._shape, self.sums, seed, self._salt(self.server))
        return self._prover

    def _says(self, coins: Sequence[bytes]) -> bytes:
        return self._made().said(self._shape.coins(self._challenge(self.server, coins)))

    def _responds(self, factors: Sequence[bytes]) -> bytes:
        """After a restart, what was said before is computed again."""
        coins = [before(seed) for seed in factors]
        self._says(coins)
        public = self._shape.coins(self._challenge(self.server, coins))
        return self._made().response(public, self._challenge(self.server, factors)).packed()

    def _proves(self, deltas: Sequence[bytes]) -> bytes:
        prover = self._made()
        if not prover.released:
            self._says([NoiseSeeds.ending(seed).coins for seed in deltas])
        proof = prover.proof(self._challenge(self.server, deltas)[:DELTA_BYTES])
        released = self.collection.field.pack(prover.released)
        self._keep(replace(self.record, deltas=tuple(deltas), released=(released,)))
        return proof

    def _check(self, messages: Sequence[bytes]) -> None:
        if not self.record.deltas or not self.record.responses:  # that is nothing against whoever proves
            raise ShareMismatch("proofs of noise are checked after they are made")
        checked = list(self.record.checked) or [b""] * len(self.collection.servers)
        for number, message in enumerate(_of_all(messages, self.collection)):
            if message and number != self.server and not checked[number]:
                proof = self._one_said(ProofStep.PROVE, number, message)
                with self._naming(number):
                    checked[number] = _named(self._proved(number, proof))
        self._keep(replace(self.record, checked=tuple(checked)))

    def _proved(self, number: int, proof: bytes) -> bytes:
        """The sums with noise that a server proves, and must release."""
        record = self.record
        seeds = [NoiseSeeds.ending(delta) for delta in record.deltas]
        key, coins, factors, deltas = (self._challenge(number, each) for each in zip(*seeds, strict=True))
        tie, response = Tie.unpacked(record.tied[number]), Response.unpacked(record.responses[number])
        named = Named(record.fixed[number], tie, record.said[number], response)
        challenges = Challenges(key, coins, factors, deltas[:DELTA_BYTES])
        return require_proved(self._shape, self._salt(number), named, challenges, proof)

    def _salt(self, number: int) -> bytes:
        return digest(b"localdp proved noise v1", self.collection.digest, self.accepted, bytes([number]))

    def _challenge(self, number: int, seeds: Sequence[bytes]) -> bytes:
        """Of the seeds of all, one step of them, for the proof of one server."""
        return digest(self._salt(number), *seeds)

    def _seeds(self, told: Sequence[bytes], steps: int) -> list[bytes]:
        """The seeds of all servers, if they are those that each committed to."""
        for server, opening, seed in zip(
            self.collection.servers, self.record.openings, _of_all(told, self.collection), strict=True
        ):
            first = seed
            for _ in range(steps):
                first = before(first)
            if commitment_of(first) != opening:
                raise ShareMismatch(f"this is not the seed that share server {server} committed to")
        return list(told)

    def _signed(self, step: ProofStep, said: bytes) -> bytes:
        return self.witness.said(self.collection.digest, self.accepted, bytes([step]), said) + said

    def _said(self, step: ProofStep, messages: Sequence[bytes], size: int) -> list[bytes]:
        """What all servers said, if they signed it."""
        said = [
            self._one_said(step, number, message)
            for number, message in enumerate(_of_all(messages, self.collection))
        ]
        for number, one in enumerate(said):
            with self._naming(number):
                if len(one) != size:
                    raise MalformedReport("what it said has another length")
        return said

    def _one_said(self, step: ProofStep, number: int, message: bytes) -> bytes:
        signature, said = message[:SIGNATURE_BYTES], message[SIGNATURE_BYTES:]
        server, witness = self.collection.servers[number], self.collection.binding.witnesses[number]
        place = self.collection.digest, self.accepted, bytes([step])
        require_said(server, witness, *place, said, signature)
        return said

    def _remember(self, **said: Sequence[bytes]) -> None:
        """Have it on record; what is there already stays, and another word of the same server is a lie."""
        for name, new in said.items():
            known: Sequence[bytes] = getattr(self.record, name)
            for number, (one, other) in enumerate(zip(known, new, strict=False)):
                with self._naming(number):
                    if one != other:
                        raise ShareMismatch("it said two things about its noise")
        self._require_order(said)
        self._keep(replace(self.record, **{name: tuple(new) for name, new in said.items()}))

    def _require_order(self, said: dict[str, Sequence[bytes]]) -> None:
        before_it = {"tied": self.record.fixed, "said": self.record.tied, "responses": self.record.said}
        if not all(before_it.get(name, True) for name in said):
            raise ShareMismatch("noise is proved step by step, and a step was left out")

    def _keep(self, record: ProofRecord) -> None:
        if record != self.record:
            self.keep(record)
            self.record = record

    @contextmanager
    def _naming(self, number: int) -> Iterator[None]:
        """What is wrong here, that server did."""
        server = self.collection.servers[number]
        try:
            yield
        except LocalDpError as error:
            self.blame.wrong[server] = f"its noise is not proved: {error}"
            raise ShareMismatch(f"share server {server} did not prove its noise: {error}") from None


def run_proofs(servers: int, ask: Ask) -> None:
    """All steps, readably; `ask` has every server take a step, given messages, and returns what they say.

    Nothing is asked where a server has released: then all of them had checked everything.
    """
    said: Sequence[bytes] = ()
    for step in (
        ProofStep.FIX,
        ProofStep.KEY,
        ProofStep.TIE,
        ProofStep.COINS,
        ProofStep.SAY,
        ProofStep.FACTORS,
        ProofStep.RESPOND,
        ProofStep.DELTA,
        ProofStep.PROVE,
    ):
        said = ask(step, said)
        if not all(said):
            return
    for number, proof in enumerate(said):  # one at a time: they are large
        ask(ProofStep.CHECK, [proof if at == number else b"" for at in range(servers)])


def require_as_proved(servers: Sequence[str], released: Sequence[Published]) -> None:
    """Refuse what a server releases if it is not what it proved, as every server has it on record with its own release.

    Also where all of them released before, and prove nothing any more.
    """
    said = [_unjoined(one.attempt, len(servers)) for one in released]
    for number, (server, one) in enumerate(zip(servers, released, strict=True)):
        against = [
            name for name, seen in zip(servers, said, strict=True) if seen[number] != _named(one.noisy_sums)
        ]
        if against:
            raise ShareMismatch(
                f"share server {server} released other sums than it proved, says {' and '.join(against)}: one of them"
                " lies, and the sums are not used"
            )


def _unjoined(digests: bytes, count: int) -> list[bytes]:
    if len(digests) != count * DIGEST_BYTES:
        raise MalformedReport("a share server does not say what every server proved")
    return [digests[at : at + DIGEST_BYTES] for at in range(0, len(digests), DIGEST_BYTES)]


def _named(released: bytes) -> bytes:
    return digest(b"localdp proved sums v1", released)


def _of_all(messages: Sequence[bytes], collection: Collection) -> Sequence[bytes]:
    if len(messages) != len(collection.servers):
        raise MalformedReport("every server has something to say about its noise")
    return messages
