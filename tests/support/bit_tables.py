"""Tables of bits with a target, and oracles about them with fixed keys."""

import numpy as np
from numpy.typing import NDArray

from localdp.accounting.epsilon import Epsilon
from localdp.domains import BitDomain, Records, Schema
from localdp.oracles.curator import CuratorOracle
from localdp.oracles.local import LocalOracle
from localdp.oracles.lr import InProcessLROracle
from localdp.randomness.keyring import Keyring
from tests.support.people import ONE, party_of

Bits = NDArray[np.bool_]


def bit_records(rows: Bits, target: Bits) -> Records:
    """Columns x0, x1, ... and y."""
    columns = {f"x{place}": rows[:, place] for place in range(rows.shape[1])}
    return Records(Schema(dict.fromkeys([*columns, "y"], BitDomain())), {**columns, "y": target})


def all_rows(bits: int, times: int = 1) -> Bits:
    """Every combination of so many bits: a population in which they are exactly independent and uniform."""
    numbers = np.repeat(np.arange(1 << bits), times)
    return (numbers[:, None] >> np.arange(bits) & 1).astype(np.bool_)


def random_rows(people: int, bits: int, seed: int) -> Bits:
    """Uniform and independent bits."""
    return np.random.default_rng(seed).random((people, bits)) < 0.5


def flipped(labels: Bits, share: float, seed: int) -> Bits:
    """The labels, with a random share of them wrong."""
    return labels ^ (np.random.default_rng([seed, 1]).random(len(labels)) < share)


def local_oracle(records: Records, seed: int, epsilon: Epsilon = ONE) -> LocalOracle:
    """Everybody in one party; the same seed gives the same reports of the same people."""
    source = Keyring.insecurely_seeded(seed).source("analyst")
    party = party_of(records, number=seed, budget=epsilon)
    return LocalOracle(InProcessLROracle([party]), epsilon, source)


def curator_oracle(records: Records, seed: int, epsilon: Epsilon = ONE) -> CuratorOracle:
    """A curator with noise from a fixed key."""
    return CuratorOracle(records, epsilon, Keyring.insecurely_seeded(seed).source("curator"))
