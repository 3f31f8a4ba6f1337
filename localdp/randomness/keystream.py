"""The production source: an AES counter-mode keystream (NIST SP 800-38A, section 6.5).

Keyed from the operating system (`from_system`), or with a derived key that the caller holds.  Bytes are
made in chunks of 256 KiB: one call per draw would cost a thousand times the draw.

Claims.
- The bytes are indistinguishable from uniform ones as long as AES is a pseudorandom permutation and fewer
  than 2**48 blocks are drawn from one key (the PRP/PRF distance is then below 2**-33).
- After a fork, a system-keyed source in the child takes a new key from the operating system and forgets the
  bytes that it had buffered: parent, child and siblings share no coin.  A source with a *given* key is
  deterministic by design: whoever forks it has two copies of it.
- One source belongs to one thread at a time.  Two threads that meet inside one source would share coins;
  the second one is refused with `SourceBusy`.
Checked in tests/unit/randomness/test_keystream.py.
"""

import os

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext, algorithms, modes
from numpy.typing import NDArray

from localdp.errors import InvalidParameter, LocalDpError
from localdp.randomness.source import Words
from localdp.randomness.stream import StreamSource

CHUNK_BYTES = 1 << 18
BLOCK_BYTES = 16
_DIRECT_BYTES = 1 << 14
_ZEROS = memoryview(bytes(CHUNK_BYTES))
_KEY_SIZES = (16, 32)
_forks = [0]


def _count_fork() -> None:
    _forks[0] += 1


os.register_at_fork(after_in_child=_count_fork)


class SourceBusy(LocalDpError):
    """Two threads draw from one source at once; each thread needs its own."""


def keystream(key: bytes, first_block: int = 0) -> CipherContext:
    """The AES-CTR keystream of a key, from a block of 16 bytes on."""
    if len(key) not in _KEY_SIZES:
        raise InvalidParameter("a keystream key has 16 or 32 bytes")
    return Cipher(algorithms.AES(key), modes.CTR(first_block.to_bytes(BLOCK_BYTES, "big"))).encryptor()


def fill(cipher: CipherContext, out: NDArray[np.uint8]) -> None:
    """Fill the array with the next bytes of the keystream."""
    for start in range(0, len(out), CHUNK_BYTES):
        part = out[start : start + CHUNK_BYTES]
        cipher.update_into(_ZEROS[: len(part)], part.data)


def room_for(size: int) -> NDArray[np.uint8]:
    """Memory in which so many bytes can be encrypted: the library asks for a block less a byte more."""
    return np.empty(size + BLOCK_BYTES - 1, np.uint8)


def encrypted(key: bytes, blocks: Words, room: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The bytes of whole blocks, encrypted in `room`: of counters in any order, those blocks of the keystream."""
    # The blocks are all different: ECB is the permutation itself, which is wanted.
    cipher = Cipher(algorithms.AES(key), modes.ECB()).encryptor()  # noqa: S305
    cipher.update_into(blocks.view(np.uint8).reshape(-1).data, room.data)
    return room[: blocks.nbytes]


class KeystreamSource(StreamSource):
    """Draws from an AES-CTR keystream; see the module's text for what it claims."""

    def __init__(self, key: bytes) -> None:
        self._system_keyed = False
        self._turn = [True]
        self._rekey(key)

    @classmethod
    def from_system(cls) -> "KeystreamSource":
        """A source keyed by the operating system, and keyed anew in every forked process."""
        source = cls(os.urandom(16))
        source._system_keyed = True
        return source

    def _rekey(self, key: bytes) -> None:
        self._cipher = keystream(key)
        self._buffer = np.empty(CHUNK_BYTES, np.uint8)
        self._used = CHUNK_BYTES
        self._forks = _forks[0]

    def _take(self, size: int) -> NDArray[np.uint8]:
        try:
            turn = self._turn.pop()  # Atomic, so that only one thread at a time gets past this line.
        except IndexError:
            raise SourceBusy("a random source was used by two threads at once") from None
        try:
            return self._next(size)
        finally:
            self._turn.append(turn)

    def _next(self, size: int) -> NDArray[np.uint8]:
        if self._system_keyed and self._forks != _forks[0]:
            self._rekey(os.urandom(16))
        taken = np.empty(size, np.uint8)
        if size >= _DIRECT_BYTES:
            fill(self._cipher, taken)
        else:
            self._copy_buffered(taken)
        return taken

    def _copy_buffered(self, taken: NDArray[np.uint8]) -> None:
        ready = min(len(taken), CHUNK_BYTES - self._used)
        taken[:ready] = self._buffer[self._used : self._used + ready]
        self._used += ready
        if ready < len(taken):
            fill(self._cipher, self._buffer)
            self._used = len(taken) - ready
            taken[ready:] = self._buffer[: self._used]
