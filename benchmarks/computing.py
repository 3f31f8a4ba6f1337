"""Secure computation between three share servers, in one process: processor time of all three together, with proofs.

What it is measured against is AES alone: a keystream of 16 MiB, of which the servers draw all shared randomness.
Targets are generous, for busy machines; what was measured on a quiet one is in docs/computing.md.  The network is not
in it.

Run with `python -m benchmarks.computing`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import partial
from time import process_time

import numpy as np

from benchmarks.rows import Row, best_seconds, print_rows, row_of
from localdp.accounting.epsilon import Epsilon
from localdp.computing.dialogue import SERVERS, Dialogue, run_together
from localdp.computing.gates import conjunction
from localdp.computing.joint_noise import joint_noise
from localdp.computing.keyed_streams import HeldKeys, KeyedAttempt, KeyedStream
from localdp.computing.noisy_maximum import noisy_maximum
from localdp.computing.seat import Seat, SharedElements, SharedWords
from localdp.computing.verification import verified
from localdp.sharing.digit_coins import LaplaceCoins
from localdp.sharing.prio3.batch.kernels import kernel_for
from localdp.sharing.prio3.fields import FIELD64
from localdp.sharing.selection_law import SelectionLaw

ONE = Epsilon.requested(1)
LAPLACE, SELECTION = LaplaceCoins.of(ONE, 1), SelectionLaw.of(ONE, 1)
STREAM_WORDS = 1 << 21
YARDSTICK = "16 MiB of keystream"
WORDS = 1 << 17  # of 64 gates each
NOISES = {1: 7.0, 256: 11.0, 65_536: 500.0}  # and how many keystreams of 16 MiB they may take
SCORES = {256: 28.0, 4_096: 110.0}


def seats() -> list[Seat]:
    """Three seats with keys of their own."""
    keys = [hashlib.sha256(bytes([server])).digest() for server in range(SERVERS)]
    nonces = (bytes(16),) * SERVERS
    return [
        Seat(
            server,
            KeyedAttempt(HeldKeys(keys[server], keys[(server + 1) % SERVERS]), b"bench", nonces),
            kernel_for(FIELD64),
        )
        for server in range(SERVERS)
    ]


def gates(words: int) -> None:
    """So many words of conjunctions, all of them verified."""
    held = SharedWords(np.zeros((2, words), np.uint64))

    def part(seat: Seat) -> Dialogue[None]:
        yield from conjunction(seat, held, held)
        yield from verified(seat)

    run_together([part(seat) for seat in seats()])


def noises(count: int) -> None:
    """So many joint noises, verified."""

    def part(seat: Seat) -> Dialogue[None]:
        yield from joint_noise(seat, LAPLACE, count)
        yield from verified(seat)

    run_together([part(seat) for seat in seats()])


def selection(count: int) -> None:
    """One noisy maximum, from shared scores to the opened index."""
    scores = SharedElements(np.zeros((2, 1, count), np.uint64))
    run_together([noisy_maximum(seat, scores, SELECTION) for seat in seats()])


def _measured(name: str, work: Callable[[], object], each: int, unit: str, limit: float, turns: int) -> Row:
    seconds, stream = best_seconds(
        [work, lambda: KeyedStream(bytes(32)).words(STREAM_WORDS)], turns, process_time
    )
    scale = 1e9 if unit.startswith("ns") else 1e3
    return row_of(name, scale * seconds / each, unit, YARDSTICK, seconds / stream, limit)


def computing() -> list[Row]:
    """Gates, noises and selections."""
    gates(64)  # compiled code is loaded before anything is measured
    rows = [
        _measured("AND of three servers, proved", partial(gates, WORDS), 64 * WORDS, "ns of CPU", 70.0, 5)
    ]
    for count, limit in NOISES.items():
        turns = 3 if count > 999 else 9
        name = f"Joint noise, {count:,} proved"
        rows.append(_measured(name, partial(noises, count), 1, "ms of CPU", limit, turns))
    for count, limit in SCORES.items():
        name = f"Noisy maximum of {count:,} scores, proved"
        rows.append(_measured(name, partial(selection, count), 1, "ms of CPU", limit, 5))
    return rows


if __name__ == "__main__":
    print_rows(computing())
