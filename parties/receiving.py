"""One party's reports, over as many streams as it takes: each message is handed on once.

A stream that broke off is begun again by the same request.  A sound agent then sends the same messages, so those that were
handed on before are dropped; that they are the same is checked by their tags, because an answer must not consist of
one half of one report and the other half of another.  No more is held in memory than one message.

Tags are GHASH, an almost universal hash, under a key of this stream alone: whatever a peer sends, two different messages
of L bytes have the same tag with probability at most (L / 16 + 2) / 2^128, if AES is sound (McGrew and Viega 2004).  GCM
under one nonce throughout is no more than that, and no more is wanted: nothing is encrypted, and nobody sees a tag.  A
digest would take as long as adding up does; this takes a tenth of it.

Checked in tests/integration/test_repeating.py, and what is counted in tests/unit/parties/test_receiving.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import grpc
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from localdp.errors import MalformedReport
from parties.repeating import Begin, Begun, Persistence

_KEY_BITS = 128
_NONCE = bytes(12)


class Piece(NamedTuple):
    """Some reports, packed: taken out of their message once, because each time is a copy."""

    reports: int
    packed: bytes


class Expected:
    """How many reports are still to come from somebody."""

    def __init__(self, reports: int, peer: str) -> None:
        self._left, self._peer = reports, peer

    def take(self, message: Piece) -> None:
        """Count a message; refuse it at once if it is one too many or empty, because such a stream might have no end."""
        self._left -= message.reports
        if self._left < 0 or message.reports == 0:
            raise self._wrong()

    def require_none_left(self) -> None:
        """Refuse a stream that ended early."""
        if self._left:
            raise self._wrong()

    def _wrong(self) -> MalformedReport:
        return MalformedReport(f"{self._peer} sent another number of reports than it was asked for")


class Reception:
    """The messages of a stream that survives its connection."""

    def __init__(
        self,
        begin: Begin,
        peer: str,
        seconds: float,
        persistence: Persistence,
        again: Callable[[], None] = lambda: None,
    ) -> None:
        """`begin` may ask the peer other things first, and fail as a call does; `again` is told of each repetition."""
        self._begin, self._again = begin, again
        self._peer = peer
        self._persistence = persistence
        self._trials = persistence.trials(seconds)
        self._tags = AESGCM(AESGCM.generate_key(_KEY_BITS))
        self._handed: list[tuple[int, bytes]] = []
        self._call: Begun | None = None

    def begun(self) -> Reception:
        """Ask now, and not when the first message is wanted: others can be asked while this peer answers."""
        self._call = self._begin(self._trials.seconds_left)
        return self

    def cancel(self) -> None:
        """Stop waiting."""
        if self._call is not None:
            self._call.cancel()

    def messages(self) -> Iterator[Piece]:
        """Every message once, in order."""
        while True:
            try:
                if self._call is None:
                    self.begun()
                yield from self._new()
                return
            except grpc.RpcError as failure:
                self._persistence.wait(self._trials, failure, self._peer)
            self._call = None
            self._again()

    def counted(self, expected: int, *, all_of_them: bool = True) -> Iterator[Piece]:
        """The messages, of no more reports than are expected; nor of fewer, where all of them must come."""
        left = Expected(expected, self._peer)
        for message in self.messages():
            left.take(message)
            yield message
        if all_of_them:
            left.require_none_left()

    def _new(self) -> Iterator[Piece]:
        """The messages of this stream that were not handed on before."""
        assert self._call is not None
        for number, message in enumerate(self._call):
            piece = Piece(message.reports, message.packed)
            seen = piece.reports, self._tags.encrypt(_NONCE, b"", piece.packed)
            if number == len(self._handed):
                self._handed.append(seen)
                yield piece
            elif seen != self._handed[number]:
                raise MalformedReport(f"{self._peer} answered the same request with other reports")
