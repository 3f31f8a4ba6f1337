"""Prio3 as a tier: every report comes with a proof that it is a well-formed answer (`prio3.prio3`).

| encoding | circuit | field |
|---|---|---|
| count | Count | 2**64 - 2**32 + 1 |
| sum | Sum(bound) | the same |
| histogram | Histogram(length) | 2**128 - 7 * 2**66 + 1 |
| multihot | MultihotCountVec(length, weight) | the same |
| vector | SumVec(length, bound) | the same |

The context is the collection's digest, so that a report is good for this collection only, with all of its
parameters.  A vector's proof is about its entries, each in 0 .. bound, and not about their norm: a party that lies
can move the sums by as much as length * bound together.

A report's nonce is 16 random bytes of the party's generator, as the draft demands: the verification key is a server's
choice, and what a server learns from a report's verifier share is covered by a nonce that it cannot foresee.  It stands
before the public share.  A report is known by its position, and so counts once whatever its nonce is; with joint randomness
(histogram, multihot, vector) its shares fit no other nonce.

Compiled code is worth its ten seconds of compiling, or its second of loading, for large collections only; others are
verified and sharded on numpy arrays, unless the code is there already; and a few reports, like the one of a phone, are
sharded one by one.  Either way come the same bytes, so servers need not do alike, and one may change in the middle of a
collection.

Checked in tests/unit/sharing/test_tiers.py, and against lying parties in tests/fault/test_share_cheating.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isqrt

import numpy as np
from numpy.typing import NDArray

from localdp.randomness.source import RandomSource
from localdp.sharing.blocks import Mask, Octets, Rows
from localdp.sharing.collection import Collection
from localdp.sharing.encoding import Encoding
from localdp.sharing.prio3 import Count, HistogramCircuit, MultihotCountVec, Prio3, Sum, SumVec
from localdp.sharing.prio3.batch.engine import is_ready, is_under_way, warm_up, warm_up_later
from localdp.sharing.prio3.batch.role import Tell
from localdp.sharing.prio3.batch.sharding import BlockSharder
from localdp.sharing.prio3.batch.verification import BlockState, BlockVerifier
from localdp.sharing.prio3.flp import AnyCircuit
from localdp.sharing.prio3.prio3 import NONCE_BYTES

# Field elements of all reports: about a second of verification without a compiler.
WORTH_COMPILING = 1 << 20
_SLOW_ELEMENTS = 1 << 13  # of one report: a block of them takes seconds on arrays, however few they are
_BLOCK_WORTH_COMPILING = 1 << 15  # of the reports that a party makes at once: a tenth of a second
# One report is always made faster alone than on numpy arrays: twice for a count, twelve times for a histogram of 256.
# Where numpy makes one call for each of many elements, seven reports for two servers are, and fewer for more servers.
_ELEMENTS_OF_A_SLOW_BLOCK = 30
_FEW_REPORTS_TIMES_SERVERS = 15


def circuit_of(encoding: Encoding) -> AnyCircuit:
    """What proves that an encoded answer is well formed; chunks near the square root make the shortest proofs."""
    length, bound = encoding.length, encoding.bound
    match encoding.kind:
        case "count":
            return Count()
        case "sum":
            return Sum(bound)
        case "histogram":
            return HistogramCircuit(length, isqrt(length))
        case "multihot":
            return MultihotCountVec(length, encoding.weight, isqrt(length + encoding.weight.bit_length()))
        case "vector":
            return SumVec(length, bound, isqrt(length * bound.bit_length()))


@dataclass(frozen=True)
class Prio3Tier:
    """Shares with proofs."""

    collection: Collection
    reports: int | None = None  # that are made or checked here; those of everybody, if not given

    @cached_property
    def prio3(self) -> Prio3:
        """The instance for this collection."""
        return Prio3(circuit_of(self.collection.encoding), len(self.collection.servers))

    @property
    def public_bytes(self) -> int:
        """The nonce, and the joint randomness parts where there are any."""
        return NONCE_BYTES + self.prio3.layout.public_bytes

    def input_bytes(self, server: int) -> int:
        """Elements for the leader, a seed for each helper."""
        return self.prio3.layout.input_bytes(server)

    @property
    def verifier_bytes(self) -> int:
        """Of a verifier share."""
        return self.prio3.layout.verifier_bytes

    @property
    def message_bytes(self) -> int:
        """Of a verifier message."""
        return self.prio3.layout.blind_bytes

    def split(self, values: NDArray[np.int64], source: RandomSource) -> list[Rows]:
        """A report for each answer, cut into what each server gets."""
        size = NONCE_BYTES + self.prio3.rand_bytes
        drawn = source.raw(np.uint8, size * len(values)).reshape(len(values), size)
        nonces, coins = (np.ascontiguousarray(part) for part in np.split(drawn, [NONCE_BYTES], axis=1))
        measurements = measurements_of(self.collection.encoding, values)
        public, inputs = self._sharder(len(values)).shard(measurements, nonces, coins)
        shown = np.concatenate([nonces, public], axis=1)
        return [Rows(shown, part) for part in inputs]

    def _sharder(self, reports: int) -> BlockSharder:
        """The fastest way to make so many reports."""
        many = reports * self._elements >= _BLOCK_WORTH_COMPILING
        compiled = is_ready(self.prio3, sharding=True) or (many and self._compiles(sharding=True))
        one_by_one = not compiled and reports <= self.few
        return BlockSharder(self.prio3, self.collection.digest, compiled=compiled, one_by_one=one_by_one)

    @property
    def few(self) -> int:
        """How many reports are made faster one by one than on numpy arrays."""
        if not self.prio3.circuit.joint_length or self._elements < _ELEMENTS_OF_A_SLOW_BLOCK:
            return 1
        return max(1, _FEW_REPORTS_TIMES_SERVERS // self.prio3.shares)

    @property
    def _elements(self) -> int:
        return self.prio3.layout.leader_elements

    @property
    def is_large(self) -> bool:
        """Whether all that is to be done here is worth a compiler."""
        reports = self.collection.people if self.reports is None else self.reports
        return reports * self._elements >= WORTH_COMPILING or self._elements >= _SLOW_ELEMENTS

    def prepare(self, tell: Tell) -> Callable[[], None] | None:
        """Compile what verification needs, or load it, where a compiler is installed and there is much to verify."""
        return warm_up_later(self.prio3, tell) if self.is_large else None

    def _compiles(self, sharding: bool = False) -> bool:
        """Whether compiled code is used now; it is waited for, unless somebody else is at it."""
        if self.is_large and not is_ready(self.prio3, sharding) and not is_under_way(self.prio3, sharding):
            warm_up(self.prio3, sharding=sharding)
        return is_ready(self.prio3, sharding)

    def checker(self, server: int, verify_key: bytes) -> _Checker:
        """That server's verifier."""
        return _Checker(self, server, verify_key)


_State = tuple[BlockVerifier, BlockState]  # a block is finished by whom it was begun


class _Checker:
    """A `BlockVerifier`; a compiled one as soon as there is one."""

    def __init__(self, tier: Prio3Tier, server: int, verify_key: bytes) -> None:
        self._tier, self._server, self._key = tier, server, verify_key
        self._made: dict[bool, BlockVerifier] = {}

    def _verifier(self) -> BlockVerifier:
        compiled, tier = self._tier._compiles(), self._tier
        if compiled not in self._made:
            self._made[compiled] = BlockVerifier(
                tier.prio3, self._key, tier.collection.digest, self._server, compiled=compiled
            )
        return self._made[compiled]

    def init(self, rows: Rows) -> tuple[_State, Octets]:
        """State and verifier shares."""
        verifier = self._verifier()
        nonces, public = (
            np.ascontiguousarray(part) for part in np.split(rows.public, [NONCE_BYTES], axis=1)
        )
        state, shares = verifier.init(nonces, public, rows.inputs)
        return (verifier, state), shares

    def combine(self, verifiers: Sequence[Octets]) -> tuple[Octets, Mask]:
        """Verifier messages, and which proofs hold."""
        return self._verifier().combine(verifiers)

    def finish(self, state: _State, messages: Octets, holds: Mask) -> Mask:
        """What this server accepts."""
        return state[0].finish(state[1], messages, holds)

    def sums(self, state: _State, accepted: Mask) -> list[int]:
        """The aggregate share."""
        return self._tier.prio3.field.unpack(state[0].aggregate(state[1], accepted))


def prepare_all(tell: Tell) -> Callable[[], None] | None:
    """The same for every collection that may come: what verification needs over both fields."""
    later = [warm_up_later(Prio3(circuit, 2), tell) for circuit in (Count(), HistogramCircuit(2, 1))]
    works = [work for work in later if work is not None]

    def work() -> None:
        for one in works:
            one()

    return work if works else None


def compile_for(encoding: Encoding, people: int, servers: int, tell: Tell) -> None:
    """Compile what so many reports are worth; other processes of the machine find it on disk then."""
    prio3 = Prio3(circuit_of(encoding), servers)
    if people * prio3.layout.leader_elements >= WORTH_COMPILING:
        warm_up(prio3, tell, sharding=True)


def measurements_of(encoding: Encoding, values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Rows of entries as what the circuit measures: numbers, indices, or the rows themselves."""
    if encoding.kind in ("count", "sum"):
        return values[:, 0]
    return values.argmax(axis=1) if encoding.kind == "histogram" else values
