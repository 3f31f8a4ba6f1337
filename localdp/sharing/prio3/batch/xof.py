"""XofTurboShake128 for a block of reports: one seed and one binder per row, one tag for all.

The stream of each row is that of the reference, `localdp.sharing.prio3.xof`.  Where a row draws a word that is not an
element (once in 2**32 for Field64, once in 2**59 for Field128), the whole row is expanded again by the reference,
which skips such words.

Checked against the reference, with a modulus that rejects a quarter of all words, in tests/unit/sharing/prio3/test_xof.py.
"""

import numpy as np

from localdp.sharing.prio3 import xof as reference
from localdp.sharing.prio3.batch import kernels
from localdp.sharing.prio3.batch.keccak import turboshake128
from localdp.sharing.prio3.batch.kernels import Kernel
from localdp.sharing.prio3.batch.words import Octets, Words
from localdp.sharing.prio3.xof import DOMAIN, SEED_BYTES


def repeated(data: bytes, count: int) -> Octets:
    """The same bytes in every row."""
    return np.broadcast_to(np.frombuffer(data, np.uint8), (count, len(data)))


def _streams(seeds: Octets, tag: bytes, binders: Octets, size: int) -> Octets:
    head = b"".join(reference.frame(tag, seeds.shape[1]))
    return turboshake128(np.concatenate([repeated(head, len(seeds)), seeds, binders], axis=1), DOMAIN, size)


def derive_seeds(seeds: Octets, tag: bytes, binders: Octets) -> Octets:
    """A new seed for each row."""
    return _streams(seeds, tag, binders, SEED_BYTES)


def expand(kernel: Kernel, seeds: Octets, tag: bytes, binders: Octets, count: int) -> Words:
    """A vector of field elements for each row: (limbs, count, rows)."""
    width = kernel.field.encoded_bytes
    words = kernels.unpack(kernel, _streams(seeds, tag, binders, count * width))
    for row in np.flatnonzero(kernel.unreduced(words).any(axis=0)):
        again = reference.expand(kernel.field, seeds[row].tobytes(), tag, binders[row].tobytes(), count)
        words[:, :, row] = kernels.elements(kernel, again)[:, :, 0]
    return words
