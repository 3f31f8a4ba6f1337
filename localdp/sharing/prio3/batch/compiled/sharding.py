"""The client's steps on blocks of measurements, by compiled code.

A report with a sampled word that is not an element of the field is left to the numpy form, as in `engine`.
Checked against the reference in tests/unit/sharing/prio3/test_sharding.py.
"""

import numpy as np
from numpy.typing import NDArray

from localdp.sharing.prio3.batch.compiled.derivations import SEED_WORDS, CompiledDerivations, as_words
from localdp.sharing.prio3.batch.compiled.plan import constants_of, shape_of
from localdp.sharing.prio3.batch.compiled.prove_one import factors_between
from localdp.sharing.prio3.batch.compiled.steps import Steps, element_of, limbs_of, slice_size
from localdp.sharing.prio3.batch.encoding import Digits
from localdp.sharing.prio3.batch.numpy_sharding import NumpySharding, Seeds, seeds_of
from localdp.sharing.prio3.batch.words import Octets, Words
from localdp.sharing.prio3.derivations import Prio3Task
from localdp.sharing.prio3.messages import LEADER
from localdp.sharing.prio3.prio3 import Prio3
from localdp.sharing.prio3.vector_circuits import HistogramCircuit


class CompiledSharding:
    """The client of one task."""

    def __init__(self, prio3: Prio3, task: Prio3Task) -> None:
        self._prio3, self._limbs = prio3, limbs_of(prio3)
        self._steps = Steps(self._limbs)
        self._derive = CompiledDerivations(task, self._steps.streams)
        self._shape, self._constants = shape_of(prio3), constants_of(prio3)
        self._zero, self._one = element_of(prio3, 0), element_of(prio3, 1)
        histogram = isinstance(prio3.circuit, HistogramCircuit)  # whose measurements have a single one
        self._between = factors_between(prio3) if histogram else None
        self._plain = NumpySharding(prio3, task)

    def shard(self, digits: Digits, nonces: Octets, randomness: Octets) -> tuple[Octets, list[Octets]]:
        layout, count = self._prio3.layout, len(digits)
        seeds = seeds_of(self._prio3, randomness)
        public = np.empty((count, layout.public_bytes), np.uint8)
        leader = np.empty((count, layout.input_bytes(LEADER)), np.uint8)
        helpers = [
            np.concatenate(pair, axis=1) for pair in zip(seeds.helpers, seeds.blinds[1:], strict=True)
        ]
        inputs = [leader, *helpers]
        rejected = np.zeros(count, np.uint8)
        size = slice_size(self._prio3)
        for start in range(0, count, size):
            cut = slice(start, start + size)
            of = seeds_of(self._prio3, randomness[cut])
            self._fill(digits[cut], nonces[cut], of, public[cut], leader[cut], rejected[cut])
        again = rejected != 0
        if again.any():
            public[again], made = self._plain.shard(digits[again], nonces[again], randomness[again])
            leader[again] = made[LEADER]
        return public, inputs

    def _fill(
        self,
        digits: Digits,
        nonces: Octets,
        seeds: Seeds,
        public: Octets,
        leader: Octets,
        rejected: NDArray[np.uint8],
    ) -> None:
        encoded = self._empty(len(digits), digits.shape[1])
        encoded[:] = 0
        encoded[:, :: self._limbs] = digits
        rows, cut = as_words(leader), encoded.shape[1]
        self._share_measurements(encoded, as_words(nonces), seeds, as_words(public), rows, rejected)
        joint = self._empty(len(digits), self._shape.joint * self._shape.proofs)
        if self._shape.joint:
            joint_seeds = self._empty(len(digits), 0, SEED_WORDS)
            self._derive.joint_seeds(as_words(public), joint_seeds)
            self._derive.joint_coins(joint_seeds, joint)
        self._prove(encoded, joint, seeds, rows[:, cut:], rejected)

    def _write_proofs(
        self, encoded: Words, coins: Words, joint: Words, rejected: NDArray[np.uint8], leader: Words
    ) -> None:
        shape, zero = self._shape, self._zero
        if self._between is not None:
            self._steps.prove_one(shape, self._between, zero, encoded, coins, joint, rejected, leader)
        else:
            self._steps.prove(
                shape, self._constants, zero, self._one, encoded, coins, joint, rejected, leader
            )

    def _empty(self, count: int, elements: int, words: int = 0) -> Words:
        return np.empty((count, self._limbs * elements + words), np.uint64)

    def _share_measurements(
        self,
        encoded: Words,
        nonces: Words,
        seeds: Seeds,
        public: Words,
        rows: Words,
        rejected: NDArray[np.uint8],
    ) -> None:
        """The leader's shares of the measurements, and every server's part of the joint randomness."""
        length = self._shape.encoded
        leader, share = rows[:, : encoded.shape[1]], np.empty_like(encoded)
        leader[:] = encoded
        for server, seed in enumerate(seeds.helpers, 1):
            self._derive.helper_measurements(server, as_words(seed), share)
            self._steps.take_away(self._zero, length, leader, share, rejected)
            self._part(server, seeds, share, nonces, public)
        self._part(LEADER, seeds, leader, nonces, public)
        if self._shape.joint:
            rows[:, -SEED_WORDS:] = as_words(seeds.blinds[LEADER])

    def _part(self, server: int, seeds: Seeds, share: Words, nonces: Words, public: Words) -> None:
        if self._shape.joint:
            blinds = as_words(seeds.blinds[server])
            own = public[:, server * SEED_WORDS : (server + 1) * SEED_WORDS]
            self._derive.joint_parts(server, blinds, share, nonces, own)

    def _prove(
        self, encoded: Words, joint: Words, seeds: Seeds, leader: Words, rejected: NDArray[np.uint8]
    ) -> None:
        """The leader's shares of the proofs."""
        shape, count = self._shape, len(encoded)
        coins = self._empty(count, shape.arity * shape.proofs)
        self._derive.prove_coins(as_words(seeds.prove), coins)
        self._write_proofs(encoded, coins, joint, rejected, leader)
        length = (shape.arity + shape.gadget) * shape.proofs
        share = self._empty(count, length)
        for server, seed in enumerate(seeds.helpers, 1):
            self._derive.helper_proofs(server, as_words(seed), share)
            self._steps.take_away(self._zero, length, leader, share, rejected)
