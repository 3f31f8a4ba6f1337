"""One server's view of joint noise and of a selection at full size, proof included: two distinguishers find nothing in it.

The view is all that server 0 receives.  Three pairs are to be told apart: a sum of 0 from one of 10**6 to which noise is
added; noise above 0 from noise below it; and two sets of scores of which the same one is the largest by far.  Server 0's
keys are the same in every run, the key that it has not got is new.  They learn from one half of the views and are asked
about the other half; hits stay within the margin of Hoeffding's inequality at alpha = 1e-6: by day 0.5 +- 0.28 at 100 new
views, which catches gross mistakes alone; by night 0.5 +- 0.08 at 1,200.

The broken twins use one pad for both inputs, hand a share on without a mask, and save the digits of a noise where its sign
shows that there are none.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from itertools import count as numbers

import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.computing.dialogue import Dialogue, Exchange, others, run_together
from localdp.computing.gates import elements_in, octets_of, pack_elements
from localdp.computing.joint_noise import NOISE, joint_noise, noisy_sums
from localdp.computing.keyed_streams import HeldKeys, KeyedAttempt
from localdp.computing.noisy_maximum import noisy_maximum
from localdp.computing.seat import Seat, SharedElements
from localdp.computing.verification import verified
from localdp.sharing.blocks import Octets
from localdp.sharing.digit_coins import LaplaceCoins
from localdp.sharing.field import PRIME
from localdp.sharing.prio3.batch.words import Words
from localdp.sharing.selection_law import SelectionLaw
from tests.support.computing import FIELD64_KERNEL, reshared, secret_elements
from tests.support.distinguishers import by_all_bytes, by_one_bit, margin

ONE = Epsilon.requested(1)
LAW, SELECTION = LaplaceCoins.of(ONE, 1), SelectionLaw.of(ONE, 1)
NONCES = (bytes(16),) * 3
SHARES = (5, 7)  # of servers 0 and 2; the rest is server 1's
SUMS = (np.array([5 + 7]), np.array([10**6]))
SCORES = (np.array([10**6, 0, 3, 5, 10**5]), np.array([10**7, 10**6, 10**6, 12, 0]))

Part = Callable[[Seat, Words], Dialogue[object]]


def noised(seat: Seat, share: Words) -> Dialogue[None]:
    yield from noisy_sums(seat, (yield from reshared(seat, share)), LAW)
    yield from verified(seat)


def selected(seat: Seat, share: Words) -> Dialogue[int]:
    return (yield from noisy_maximum(seat, (yield from reshared(seat, share)), SELECTION))


def only_noise(seat: Seat, _share: Words) -> Dialogue[SharedElements]:
    noise = yield from joint_noise(seat, LAW, 1)
    yield from verified(seat)
    return noise


def seen(part: Part, secret: Words, unknown: bytes) -> tuple[bytes, list[object]]:
    """What server 0 receives, and what came of it; it holds the keys 0 and 1, and `unknown` is key 2."""
    keys = [bytes(32), bytes([1]) * 32, unknown]
    heard: list[bytes] = []

    def note(_round: int, _sender: int, receiver: int, octets: bytes) -> bytes:
        if receiver == 0:
            heard.append(octets)
        return octets

    attempts = [KeyedAttempt(HeldKeys(keys[i], keys[(i + 1) % 3]), b"view", NONCES) for i in range(3)]
    rest = [(int(number) - sum(SHARES)) % PRIME for number in secret]
    shares = [[SHARES[0]] * len(rest), rest, [SHARES[1]] * len(rest)]
    seats = [Seat(i, attempts[i], FIELD64_KERNEL) for i in range(3)]
    parts = [part(seat, np.array([share], np.uint64)) for seat, share in zip(seats, shares, strict=True)]
    results = run_together(parts, note)
    return b"".join(heard), results


def fresh_keys(name: str) -> Iterator[bytes]:
    return (hashlib.sha256(f"{name} {run}".encode()).digest() for run in numbers())


def stacked(views: list[bytes]) -> Octets:
    return np.stack([np.frombuffer(view, np.uint8) for view in views])


def of_inputs(part: Part, secrets: tuple[Words, Words], count: int, *, fresh: bool = True) -> list[Octets]:
    """So many views of each input."""
    told = []
    for place, secret in enumerate(secrets):
        keys = fresh_keys(str(place)) if fresh else iter([bytes(32)] * count)
        told.append(stacked([seen(part, secret, next(keys))[0] for _ in range(count)]))
    return told


def of_signs(part: Part, count: int) -> list[Octets]:
    """So many views of noise below zero, and of noise above it."""
    found: tuple[list[bytes], list[bytes]] = ([], [])
    for key in fresh_keys("sign"):
        view, noise = seen(part, np.array([0]), key)
        value = int(secret_elements(noise, FIELD64_KERNEL)[0, 0])  # type: ignore[arg-type]
        if value:
            found[value < PRIME // 2].append(view)
        if min(map(len, found)) >= count:
            break
    return [stacked(views[:count]) for views in found]


def hits(views: list[Octets]) -> list[float]:
    half = len(views[0]) // 2
    known, new = [one[:half] for one in views], [one[half:] for one in views]
    return [by_all_bytes(known, new), by_one_bit(known, new)]


PAIRS = {
    "sums": lambda count: of_inputs(noised, SUMS, count),
    "signs of noise": lambda count: of_signs(only_noise, count),
    "scores": lambda count: of_inputs(selected, SCORES, count),
}


@pytest.mark.parametrize("pair", ["sums", "signs of noise"])
def test_distinguishers_guess(pair: str) -> None:
    assert all(abs(share - 0.5) < margin(100) for share in hits(PAIRS[pair](100)))


@pytest.mark.nightly
@pytest.mark.parametrize("pair", PAIRS)
def test_distinguishers_guess_after_many_views(pair: str) -> None:
    assert all(abs(share - 0.5) < margin(1200) for share in hits(PAIRS[pair](1200)))


def test_a_pad_for_both_inputs_is_seen_through() -> None:
    assert min(hits(of_inputs(noised, SUMS, 20, fresh=False))) > 0.9


def test_a_share_without_a_mask_is_seen_through() -> None:
    def unmasked(seat: Seat, share: Words) -> Dialogue[None]:
        """Twin: what a server enters is handed on as it is."""
        received = yield Exchange(to_previous=pack_elements(share), from_next=share.nbytes)
        following = elements_in(seat.kernel, received.next, others(seat.server)[1])
        yield from noisy_sums(seat, SharedElements(np.stack([share, following])), LAW)
        yield from verified(seat)

    assert max(hits(of_inputs(unmasked, SUMS, 40))) > 0.9


def test_a_sign_that_shows_before_the_digits_is_seen_through() -> None:
    def with_sign(seat: Seat, share: Words) -> Dialogue[SharedElements]:
        """Twin: the sign is opened, to save digits."""
        own = octets_of(seat.lasting(NOISE).words(1, 1)[1])
        seat._streams.pop(b"lasting " + NOISE)  # the noise is drawn from its start
        yield Exchange(to_previous=own, from_next=len(own))
        return (yield from only_noise(seat, share))

    assert max(hits(of_signs(with_sign, 40))) > 0.9
