"""What three processes of this machine take to compute the same as `mpyc_methods.py`, with every gate proved.

    python localdp_computing.py <method> <size> <repetitions>

Each process runs the part of one server, and sockets carry what they say.  What is compared are field elements, which first
become bits (`tent`).  Prints one JSON object: the best of all repetitions in seconds, and the processor time of all three.
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import queue
import socket
import sys
import threading
from collections.abc import Callable
from time import perf_counter, process_time
from typing import TypeVar

import numpy as np

from localdp.accounting.epsilon import Epsilon
from localdp.computing.adding import widened
from localdp.computing.comparing import greater_than
from localdp.computing.dialogue import SERVERS, Dialogue, Received
from localdp.computing.gates import opened_words, to_field
from localdp.computing.joint_noise import words_for
from localdp.computing.keyed_streams import NONCE_BYTES, HeldKeys, KeyedAttempt
from localdp.computing.noisy_maximum import VALUE_BITS, lane_order, noisy_maximum, tournament
from localdp.computing.seat import Seat, SharedElements, SharedWords
from localdp.computing.tent import tent
from localdp.computing.verification import verified
from localdp.sharing.prio3.batch.kernels import kernel_for
from localdp.sharing.prio3.fields import FIELD64
from localdp.sharing.selection_law import SelectionLaw

_Result = TypeVar("_Result")
SHIFT = 1 << 29
LAW = SelectionLaw.of(Epsilon.requested(1), 1)


def random_bits(seat: Seat, size: int) -> Dialogue[None]:
    """In the field."""
    bits = SharedWords(seat.lasting(b"bits").words(1, words_for(size)))
    yield from to_field(seat, bits, size)
    yield from verified(seat)


def comparisons(seat: Seat, size: int) -> Dialogue[None]:
    """Of two shared numbers each."""
    left = yield from tent(seat, _entered(seat, size), size, SHIFT)
    right = yield from tent(seat, _entered(seat, size), size, SHIFT)
    greater = yield from greater_than(seat, left[::-1], right[::-1])
    yield from verified(seat)
    yield from opened_words(seat, greater[None])


def argmax(seat: Seat, size: int) -> Dialogue[None]:
    """The index of the largest; the size is a power of two."""
    doublings = (size - 1).bit_length()
    scores = SharedElements(_entered(seat, size).both[..., lane_order(doublings)])
    values = yield from tent(seat, scores, size, SHIFT)
    index = yield from tournament(seat, widened(values, VALUE_BITS), doublings)
    yield from verified(seat)
    yield from opened_words(seat, index[:, :1].where(np.array([1], np.uint64)))


def noisy(seat: Seat, size: int) -> Dialogue[int]:
    """Numbers, and one-sided geometric noise of scale 2 for each."""
    return (yield from noisy_maximum(seat, _entered(seat, size), LAW))


METHODS: dict[str, Callable[[Seat, int], Dialogue[object]]] = {
    "random bits": random_bits,
    "comparisons": comparisons,
    "argmax": argmax,
    "noisy maximum": noisy,
}


def _entered(seat: Seat, size: int) -> SharedElements:
    """Shared numbers, which all servers know: how they came is not measured."""
    numbers = (np.arange(size) * 7919 % 65_521).astype(np.uint64)
    parts = [
        numbers if (seat.server + place) % SERVERS == 0 else np.zeros_like(numbers) for place in (0, 1)
    ]
    return SharedElements(np.stack(parts)[:, None])


class Link:
    """A socket to a neighbour; what is said waits in a thread of its own, so that nobody waits for a reader."""

    def __init__(self, end: socket.socket) -> None:
        self._end, self._said = end, queue.SimpleQueue[bytes]()
        threading.Thread(target=self._say, daemon=True).start()

    def _say(self) -> None:
        while True:
            self._end.sendall(self._said.get())

    def send(self, payload: bytes) -> None:
        if payload:
            self._said.put(payload)

    def receive(self, size: int) -> bytes:
        parts = list[bytes]()
        while size:
            parts.append(self._end.recv(min(size, 1 << 20)))
            size -= len(parts[-1])
        return b"".join(parts)


def driven(dialogue: Dialogue[_Result], previous: Link, following: Link) -> _Result:
    """A server's part to its end."""
    told: Received | None = None
    while True:
        try:
            said = next(dialogue) if told is None else dialogue.send(told)
        except StopIteration as end:
            result: _Result = end.value
            return result
        previous.send(said.to_previous)
        following.send(said.to_next)
        told = Received(previous.receive(said.from_previous), following.receive(said.from_next))


def seat_of(server: int, attempt: int) -> Seat:
    """With keys of its own, and masks that are new in every attempt."""
    keys = [hashlib.sha256(bytes([number])).digest() for number in (server, (server + 1) % SERVERS)]
    nonces = (attempt.to_bytes(NONCE_BYTES, "big"),) * SERVERS
    return Seat(server, KeyedAttempt(HeldKeys(*keys), b"bench", nonces), kernel_for(FIELD64))


def served(
    server: int, name: str, size: int, repetitions: int, links: tuple[Link, Link]
) -> tuple[float, float]:
    """The best of all repetitions of one server, in seconds and in processor time; compiled code is loaded before."""
    seconds = work = float("inf")
    driven(METHODS[name](seat_of(server, 0), 64), *links)
    for attempt in range(1, repetitions + 1):
        wall, own = perf_counter(), process_time()
        driven(METHODS[name](seat_of(server, attempt), size), *links)
        seconds, work = min(seconds, perf_counter() - wall), min(work, process_time() - own)
    return seconds, work


def main(name: str, size: int, repetitions: int) -> None:
    """Three processes; the first one is this."""
    pairs = [socket.socketpair() for _ in range(SERVERS)]  # of server i and i + 1
    told = multiprocessing.get_context("fork").SimpleQueue()

    def part(server: int) -> tuple[float, float]:
        links = Link(pairs[server - 1][1]), Link(pairs[server][0])
        return served(server, name, size, repetitions, links)

    children = []
    for server in (1, 2):
        if not (child := os.fork()):
            told.put(part(server))
            os._exit(0)
        children.append(child)
    seconds, work = part(0)
    others = [told.get() for _ in children]
    for child in children:
        os.waitpid(child, 0)
    print(json.dumps({"seconds": seconds, "work": work + sum(other[1] for other in others)}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
