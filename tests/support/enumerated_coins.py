"""Every coin at once, lane by lane: what one of three servers sees of a protocol, for all coins that it does not hold.

Gates work lane by lane, so that one run with as many lanes as there are assignments of coins runs the protocol for
all of them.  Coins of the key that the watching server has not got run through all values; those of the two keys that
it holds are the same in every lane.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence

import numpy as np

from localdp.computing.dialogue import SERVERS, Dialogue, run_together
from localdp.computing.gates import lanes
from localdp.computing.keyed_streams import StreamPair
from localdp.computing.seat import Seat
from localdp.sharing.prio3.batch.kernels import Kernel
from localdp.sharing.prio3.batch.words import Words
from tests.support.computing import T

TAG = bytes(32)


class AllCoins:
    """Which digit of the number of a lane each unknown coin is; the same for both holders of the unknown key."""

    def __init__(self, instances: int) -> None:
        self.instances = instances
        self.weights: dict[tuple[object, ...], int] = {}
        self.used = 1

    def digit(self, name: tuple[object, ...], base: int) -> Words:
        """Coin `name` in every lane."""
        if name not in self.weights:
            self.weights[name] = self.used
            self.used *= base
        return np.arange(self.instances, dtype=np.uint64) // np.uint64(self.weights[name]) % np.uint64(base)


def packed(bits: Words) -> Words:
    """Bits as words of 64 lanes."""
    return np.packbits(bits.astype(np.uint8), bitorder="little").view("<u8").astype(np.uint64, copy=False)


class LaneStream:
    """A stream of one key and purpose: all values, or the same in every lane."""

    def __init__(self, coins: AllCoins, key: int, purpose: bytes, *, is_known: bool) -> None:
        self._coins, self._name, self._is_known = coins, (key, purpose), is_known
        self._drawn = 0

    def _next(self, base: int) -> Words:
        self._drawn += 1
        name = (*self._name, self._drawn)
        if not self._is_known:
            return self._coins.digit(name, base)
        fixed = int.from_bytes(hashlib.sha256(repr(name).encode()).digest(), "big") % base
        return np.full(self._coins.instances, fixed, np.uint64)

    def words(self, count: int) -> Words:
        rows = count * 64 // self._coins.instances
        return np.concatenate([packed(self._next(2)) for _ in range(rows)])

    def elements(self, kernel: Kernel, count: int) -> Words:
        rows = count // self._coins.instances
        return np.concatenate([self._next(kernel.field.modulus) for _ in range(rows)])[None]


class LaneAttempt:
    """The streams of one server while another one, or itself, watches."""

    tag = TAG

    def __init__(self, coins: AllCoins, server: int, watching: int) -> None:
        self._coins, self._server, self._unknown = coins, server, (watching + 2) % SERVERS

    def lasting(self, purpose: bytes) -> StreamPair:
        keys = self._server, (self._server + 1) % SERVERS
        own, following = (
            LaneStream(self._coins, key, purpose, is_known=key != self._unknown) for key in keys
        )
        return StreamPair(own, following)

    fresh = lasting

    def secrets(self, label: bytes) -> tuple[bytes, bytes]:
        raise AssertionError(label)


def watched(dialogue: Dialogue[T], heard: list[tuple[int, bytes]]) -> Dialogue[T]:
    """The same dialogue, with whatever a server receives written down."""
    received = None
    while True:
        try:
            asked = next(dialogue) if received is None else dialogue.send(received)
        except StopIteration as stop:
            result: T = stop.value
            return result
        received = yield asked
        heard += [(place, octets) for place, octets in enumerate(received) if octets]


def view_of(
    watching: int, kernel: Kernel, coins: AllCoins, part: Callable[[Seat], Dialogue[T]]
) -> tuple[Words, list[T]]:
    """What a server received in each lane, as rows of small numbers; and the results of all three."""
    heard: list[tuple[int, bytes]] = []
    parts = []
    for server in range(SERVERS):
        dialogue = part(Seat(server, LaneAttempt(coins, server, watching), kernel))
        parts.append(watched(dialogue, heard) if server == watching else dialogue)
    results = run_together(parts)
    assert coins.instances % coins.used == 0, "lanes run through all coins equally often"
    rows = [_rows(octets, coins.instances) for _, octets in heard]
    return np.concatenate([np.zeros((1, coins.instances), np.uint64), *rows]), results


def _rows(octets: bytes, instances: int) -> Words:
    """Elements, one for each lane, or words of 64 lanes: no protocol here sends 64 rows of words at once."""
    words = np.frombuffer(octets, "<u8").astype(np.uint64)
    if len(words) % instances == 0:
        return words.reshape(-1, instances)
    return lanes(words.reshape(-1, instances // 64), instances).reshape(-1, instances)


def laws_of_views(view: Words, secrets: Sequence[Words]) -> set[bytes]:
    """The law of the view for each value of the secrets, each as one name: one name only if the view tells nothing."""
    group = np.zeros(view.shape[1], np.int64)
    for secret in secrets:
        group = group * 64 + secret.astype(np.int64)
    codes = np.zeros(view.shape[1], np.int64)
    for row in view:
        codes = codes * (int(row.max()) + 1) + row.astype(np.int64)
    laws = []
    for value in np.unique(group):
        outcomes, counts = np.unique(codes[group == value], return_counts=True)
        laws.append(outcomes.tobytes() + counts.tobytes())
    return set(laws)
