"""Prio3: sums over shares, with a proof that every report is well formed (draft-irtf-cfrg-vdaf-20, section 7).

A client shares its encoded measurement, and a fully linear proof of it, among 2 .. 255 servers.  Server 0, the leader, gets
field elements; each helper gets a seed that expands into its share.  The servers exchange one short verifier share per
report, accept or drop the report together, and add up the output shares of what they accepted.

    shard          measurement               ->  public share, one input share per server     (client)
    verify_init    its input share           ->  state, verifier share                        (each server)
    combine        all verifier shares       ->  verifier message, or refused                 (any server)
    verify_next    state, verifier message   ->  output share, or refused                     (each server)
    aggregate      its output shares         ->  aggregate share                              (each server)
    unshard        all aggregate shares      ->  result                                       (collector)

Claims.  Any servers but all of them learn nothing beyond the sum and which reports were refused, if the others follow the
protocol.  If all follow it, and the verification key was secret when the report was made, an accepted report is a valid
one but for the error of the proof (`flp`).  Prio3 gives no differential privacy, and does not notice one client with
many reports.  The circuit's parameters enter no hash: an application must put them in the context.

Everything here is bytes outside and Python integers inside, one report at a time: the reference for the batched form
(`batch.verification`), and all that a client needs.  It makes no claim of constant time.

**Deviation**: there is no aggregation parameter, since Prio3's is always empty; the names follow this project.

Checked by the published vectors, good and bad, in tests/vectors/test_prio3_vectors.py, and by corrupting honest reports in
tests/unit/sharing/prio3/test_prio3.py.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from hmac import compare_digest

from localdp.errors import InvalidParameter, MalformedReport
from localdp.randomness.source import RandomSource, uniform_bytes
from localdp.sharing.additive import FEWEST_SERVERS, MOST_SERVERS
from localdp.sharing.prio3 import flp
from localdp.sharing.prio3.derivations import Derivations, Prio3Task
from localdp.sharing.prio3.fields import PrimeField
from localdp.sharing.prio3.messages import LEADER, InputShare, Layout, VerifierShare, require_length
from localdp.sharing.prio3.xof import SEED_BYTES

NONCE_BYTES = 16
Measured = int | Sequence[int]  # one measurement, or the sum of them
VERIFY_KEY_BYTES = SEED_BYTES
_MOST_PROOFS = 255


@dataclass(frozen=True, slots=True)
class Report:
    """What a client sends: one public share for all servers, one input share for each."""

    nonce: bytes
    public_share: bytes
    input_shares: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class VerifyState:
    """What a server keeps of a report until the verifier message arrives."""

    output_share: tuple[int, ...]
    joint_seed: bytes  # Empty for circuits without joint randomness.


@dataclass(frozen=True)
class Prio3:
    """One instance of Prio3: a circuit, the number of servers, and (rarely more than one) the number of proofs."""

    circuit: flp.AnyCircuit
    shares: int
    proofs: int = 1

    def __post_init__(self) -> None:
        if not FEWEST_SERVERS <= self.shares <= MOST_SERVERS:
            raise InvalidParameter(f"values are shared among {FEWEST_SERVERS} to {MOST_SERVERS} servers")
        if not 1 <= self.proofs <= _MOST_PROOFS:
            raise InvalidParameter(f"a report has 1 to {_MOST_PROOFS} proofs")

    @property
    def field(self) -> PrimeField:
        """Where the shares live."""
        return self.circuit.field

    @cached_property
    def layout(self) -> Layout:
        """The bytes of every message."""
        return Layout(self.circuit, self.shares, self.proofs)

    @property
    def rand_bytes(self) -> int:
        """How many random bytes a client needs for one report."""
        return SEED_BYTES * self.shares * (2 if self.circuit.joint_length else 1)

    def derivations(self, context: bytes) -> Derivations:
        """What the parties expand from seeds in this context."""
        return Derivations(Prio3Task(self.circuit, self.shares, self.proofs, context))

    def shard(self, context: bytes, measurement: Measured, nonce: bytes, rand: bytes) -> Report:
        """The report of a measurement.  `nonce` and `rand` must be fresh uniform bytes."""
        return self.shard_encoded(context, self.circuit.encode(measurement), nonce, rand)

    def shard_encoded(self, context: bytes, encoded: Sequence[int], nonce: bytes, rand: bytes) -> Report:
        """The same for a measurement that the circuit has encoded."""
        if len(nonce) != NONCE_BYTES or len(rand) != self.rand_bytes:
            raise InvalidParameter(
                f"a report takes a nonce of {NONCE_BYTES} and {self.rand_bytes} random bytes"
            )
        derive = self.derivations(context)
        seeds, blinds, prove_seed = self._seeds(rand)
        helper_shares = [derive.helper_measurement(server, seed) for server, seed in enumerate(seeds, 1)]
        leader_share = leader_part(self.field, encoded, helper_shares)
        parts = derive.joint_parts(blinds, [leader_share, *helper_shares], nonce)
        joint = derive.joint_coins(derive.joint_seed(parts)) if parts else ()
        proofs = self._proofs(encoded, derive.prove_coins(prove_seed), joint)
        helper_proofs = [derive.helper_proofs(server, seed) for server, seed in enumerate(seeds, 1)]
        leader = self.field.pack([*leader_share, *leader_part(self.field, proofs, helper_proofs)])
        inputs = (share + blind for share, blind in zip((leader, *seeds), blinds, strict=True))
        return Report(nonce, b"".join(parts), tuple(inputs))

    def shard_from(self, context: bytes, measurement: Measured, source: RandomSource) -> Report:
        """The report of a measurement, with nonce and randomness from a source."""
        coins = uniform_bytes(source, NONCE_BYTES + self.rand_bytes)
        return self.shard(context, measurement, coins[:NONCE_BYTES], coins[NONCE_BYTES:])

    def _seeds(self, rand: bytes) -> tuple[list[bytes], list[bytes], bytes]:
        """The helpers' seeds, every server's blind (the leader's first; empty without joint coins), the prover's seed."""
        *seeds, prove_seed = [rand[at : at + SEED_BYTES] for at in range(0, len(rand), SEED_BYTES)]
        if not self.circuit.joint_length:
            return seeds, [b""] * self.shares, prove_seed
        *helpers, leader_blind = seeds
        return helpers[::2], [leader_blind, *helpers[1::2]], prove_seed

    def _proofs(
        self, encoded: Sequence[int], prove_coins: Sequence[int], joint: Sequence[int]
    ) -> list[int]:
        coins, joints = self._cut(prove_coins), self._cut(joint)
        return [
            x
            for each, of in zip(coins, joints, strict=True)
            for x in flp.prove(self.circuit, encoded, each, of)
        ]

    def _cut(self, vector: Sequence[int]) -> list[Sequence[int]]:
        """One equal part for each proof."""
        size = len(vector) // self.proofs
        return [vector[i * size : (i + 1) * size] for i in range(self.proofs)]

    def verify_init(
        self,
        verify_key: bytes,
        context: bytes,
        server: int,
        nonce: bytes,
        public_share: bytes,
        input_share: bytes,
    ) -> tuple[VerifyState, bytes]:
        """A server's state and its verifier share, which it sends to the others."""
        if len(verify_key) != VERIFY_KEY_BYTES or not 0 <= server < self.shares:
            raise InvalidParameter(
                f"a verification key has {VERIFY_KEY_BYTES} bytes, a server a number below m"
            )
        require_length("a nonce", nonce, NONCE_BYTES)
        parts = self.layout.public_parts(public_share)
        derive = self.derivations(context)
        share = self._expanded(derive, server, input_share)
        own_part, joint_seed, joint = self._joint(derive, server, share, parts, nonce)
        verifiers = self._query(share, derive.query_coins(verify_key, nonce), joint)
        state = VerifyState(tuple(self.circuit.truncate(share.measurement)), joint_seed)
        return state, self.field.pack(verifiers) + own_part

    def _joint(
        self, derive: Derivations, server: int, share: InputShare, parts: Sequence[bytes], nonce: bytes
    ) -> tuple[bytes, bytes, Sequence[int]]:
        """A server's own part, the joint seed with it in its place, and the joint randomness; all empty without."""
        if not self.circuit.joint_length:
            return b"", b"", ()
        own_part = derive.joint_part(server, share.blind, share.measurement, nonce)
        # Its own part is the one thing in the public share that a server can check, so it takes no one's word for it.
        seed = derive.joint_seed([*parts[:server], own_part, *parts[server + 1 :]])
        return own_part, seed, derive.joint_coins(seed)

    def _expanded(self, derive: Derivations, server: int, input_share: bytes) -> InputShare:
        if server == LEADER:
            return self.layout.leader_share(input_share)
        seed, blind = self.layout.helper_share(input_share)
        return InputShare(
            derive.helper_measurement(server, seed), derive.helper_proofs(server, seed), blind
        )

    def _query(self, share: InputShare, query_coins: Sequence[int], joint: Sequence[int]) -> list[int]:
        each = zip(self._cut(share.proofs), self._cut(query_coins), self._cut(joint), strict=True)
        verifiers = (flp.query(self.circuit, share.measurement, *of, self.shares) for of in each)
        return [element for verifier in verifiers for element in verifier]

    def combine(self, context: bytes, verifier_shares: Sequence[bytes]) -> bytes:
        """The verifier message of a valid report; refuses any other.  (verifier_shares_to_message in the draft.)"""
        if len(verifier_shares) != self.shares:
            raise MalformedReport("a report has one verifier share from each server")
        shares: list[VerifierShare] = [self.layout.verifier_share(data) for data in verifier_shares]
        verifiers = self.field.total((share.verifiers for share in shares), self.layout.verifiers_length)
        if not all(flp.decide(self.circuit, verifier) for verifier in self._cut(verifiers)):
            raise MalformedReport("the proof of a report does not hold")
        if not self.circuit.joint_length:
            return b""
        return self.derivations(context).joint_seed([share.joint_part for share in shares])

    def verify_next(self, state: VerifyState, message: bytes) -> tuple[int, ...]:
        """The output share, if the client showed every server the same joint randomness."""
        if not compare_digest(state.joint_seed, message):
            raise MalformedReport("the joint randomness of a report does not hold")
        return state.output_share

    def aggregate(self, output_shares: Iterable[Sequence[int]]) -> bytes:
        """A server's aggregate share: the sum of the output shares that it accepted."""
        return self.field.pack(self.field.total(output_shares, self.circuit.output_length))

    def unshard(self, aggregate_shares: Sequence[bytes]) -> Measured:
        """The result: the sum of the servers' aggregate shares."""
        if len(aggregate_shares) != self.shares:
            raise MalformedReport("a result takes one aggregate share from each server")
        vectors = [self.layout.aggregate_share(data) for data in aggregate_shares]
        result: Measured = self.circuit.decode(self.field.total(vectors, self.circuit.output_length))
        return result


def leader_part(
    field: PrimeField, value: Sequence[int], helper_parts: Iterable[Sequence[int]]
) -> Sequence[int]:
    """What is missing from the helpers' shares: all m add up to the value."""
    for part in helper_parts:
        value = field.subtract(value, part)
    return value
