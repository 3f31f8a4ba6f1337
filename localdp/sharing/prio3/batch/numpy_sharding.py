"""The client's steps on blocks of measurements, in plain numpy.

Checked against the reference in tests/unit/sharing/prio3/test_sharding.py.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from localdp.sharing.prio3.batch import kernels
from localdp.sharing.prio3.batch.derivations import BlockDerivations
from localdp.sharing.prio3.batch.encoding import Digits
from localdp.sharing.prio3.batch.kernels import Kernel
from localdp.sharing.prio3.batch.proving import prove
from localdp.sharing.prio3.batch.words import Octets, Words
from localdp.sharing.prio3.derivations import Prio3Task
from localdp.sharing.prio3.prio3 import Prio3
from localdp.sharing.prio3.xof import SEED_BYTES


@dataclass(frozen=True, slots=True)
class Seeds:
    """A client's randomness, cut as `Prio3.shard` cuts it."""

    helpers: list[Octets]
    # Of every server, the leader first; without columns where there is no joint randomness.
    blinds: list[Octets]
    prove: Octets


def seeds_of(prio3: Prio3, randomness: Octets) -> Seeds:
    """What each part of the randomness is for."""
    *seeds, prove_seed = np.split(randomness, randomness.shape[1] // SEED_BYTES, axis=1)
    if not prio3.circuit.joint_length:
        return Seeds(seeds, [randomness[:, :0]] * prio3.shares, prove_seed)
    *helpers, leader_blind = seeds
    return Seeds(helpers[::2], [leader_blind, *helpers[1::2]], prove_seed)


class NumpySharding:
    """The client of one task."""

    def __init__(self, prio3: Prio3, task: Prio3Task) -> None:
        self._prio3, self._kernel = prio3, kernels.kernel_for(prio3.field)
        self._derive = BlockDerivations(task, self._kernel)

    def shard(self, digits: Digits, nonces: Octets, randomness: Octets) -> tuple[Octets, list[Octets]]:
        seeds, derive = seeds_of(self._prio3, randomness), self._derive
        encoded = np.zeros((self._kernel.limbs, digits.shape[1], len(digits)), np.uint64)
        encoded[0] = digits.T
        helpers = [derive.helper_measurements(server, each) for server, each in enumerate(seeds.helpers, 1)]
        leader = _leader_part(self._kernel, encoded, helpers)
        public, joint = self._joint(seeds.blinds, [leader, *helpers], nonces)
        proofs = self._proofs(encoded, derive.prove_coins(seeds.prove), joint)
        helper_proofs = (derive.helper_proofs(server, each) for server, each in enumerate(seeds.helpers, 1))
        leader_proofs = _leader_part(self._kernel, proofs, helper_proofs)
        inner = kernels.pack(np.concatenate([leader, leader_proofs], axis=1))
        inputs = zip([inner, *seeds.helpers], seeds.blinds, strict=True)
        return public, [np.concatenate(pair, axis=1) for pair in inputs]

    def _joint(self, blinds: list[Octets], shares: list[Words], nonces: Octets) -> tuple[Octets, Words]:
        """The public shares, and the joint randomness."""
        if not self._prio3.circuit.joint_length:
            return np.empty((len(nonces), 0), np.uint8), np.empty(
                (self._kernel.limbs, 0, len(nonces)), np.uint64
            )
        each = enumerate(zip(blinds, shares, strict=True))
        parts = [self._derive.joint_parts(server, blind, share, nonces) for server, (blind, share) in each]
        public = np.concatenate(parts, axis=1)
        return public, self._derive.joint_coins(self._derive.joint_seeds(public))

    def _proofs(self, encoded: Words, coins: Words, joint: Words) -> Words:
        cut = (np.split(words, self._prio3.proofs, axis=1) for words in (coins, joint))
        made = [prove(self._kernel, self._prio3.circuit, encoded, *of) for of in zip(*cut, strict=True)]
        return np.concatenate(made, axis=1)


def _leader_part(kernel: Kernel, value: Words, helper_parts: Iterable[Words]) -> Words:
    """What is missing from the helpers' shares."""
    for part in helper_parts:
        value = kernel.subtract(value, part)
    return value
