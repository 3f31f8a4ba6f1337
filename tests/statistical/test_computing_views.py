"""One server's view of joint noise at full size, proof included: two distinguishers find nothing in it.

The view is all that server 0 receives while three servers add noise to a sum, prove and accept; the sum is 0 or
10**6.  Server 0's keys are the same in every run, the key that it has not got is new.  They learn from one half of
the views and are asked about the other half; hits stay within the margin of Hoeffding's inequality at alpha = 1e-6:
by day 0.5 +- 0.28 at 100 new views, which catches gross mistakes alone; by night 0.5 +- 0.08.  The broken twin uses
one pad for both inputs.
"""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.computing.dialogue import Dialogue, run_together
from localdp.computing.joint_noise import noisy_sums
from localdp.computing.keyed_streams import HeldKeys, KeyedAttempt
from localdp.computing.seat import Seat
from localdp.computing.verification import verified
from localdp.sharing.blocks import Octets
from localdp.sharing.digit_coins import LaplaceCoins
from localdp.sharing.prio3.batch.words import Words
from tests.support.computing import FIELD64_KERNEL
from tests.support.distinguishers import by_all_bytes, by_one_bit, margin

LAW = LaplaceCoins.of(Epsilon.requested(1), 1)
NONCES = (bytes(16),) * 3
SUMS = (0, 10**6)


def part(seat: Seat, share: Words) -> Dialogue[None]:
    yield from noisy_sums(seat, share, LAW)
    yield from verified(seat)


def view(total: int, unknown: bytes) -> bytes:
    """What server 0 receives; it holds the keys 0 and 1, and `unknown` is key 2."""
    keys = [bytes(32), bytes([1]) * 32, unknown]
    heard: list[bytes] = []

    def note(_round: int, _sender: int, receiver: int, octets: bytes) -> bytes:
        if receiver == 0:
            heard.append(octets)
        return octets

    attempts = [KeyedAttempt(HeldKeys(keys[i], keys[(i + 1) % 3]), b"view", NONCES) for i in range(3)]
    shares = [np.array([[value]], np.uint64) for value in (5, total, 7)]
    parts = [part(Seat(i, attempts[i], FIELD64_KERNEL), shares[i]) for i in range(3)]
    run_together(parts, note)
    return b"".join(heard)


def views(total: int, count: int, *, fresh: bool = True) -> Octets:
    keys = [hashlib.sha256(f"{total if fresh else 0} {run}".encode()).digest() for run in range(count)]
    if not fresh:
        keys = [keys[0]] * count
    return np.stack([np.frombuffer(view(total, key), np.uint8) for key in keys])


def hits(count: int, *, fresh: bool = True) -> list[float]:
    seen = [views(total, count, fresh=fresh) for total in SUMS]
    half = count // 2
    known, new = [one[:half] for one in seen], [one[half:] for one in seen]
    return [by_all_bytes(known, new), by_one_bit(known, new)]


def test_distinguishers_guess() -> None:
    assert all(abs(share - 0.5) < margin(100) for share in hits(100))


@pytest.mark.nightly
def test_distinguishers_guess_after_many_views() -> None:
    assert all(abs(share - 0.5) < margin(1200) for share in hits(1200))


def test_a_pad_for_both_inputs_is_seen_through() -> None:
    assert min(hits(20, fresh=False)) > 0.9
