"""The prime field of order 2**64 - 2**32 + 1, on numpy arrays of uint64.

Additive shares are elements of this field.  It is the Field64 of the CFRG draft on verifiable distributed aggregation
functions, so that proofs of well-formedness fit on top of the same shares.  Sums are taken in the field, never
in floats: a sum of shares cannot saturate, and its sensitivity is that of the encoded integers.

Checked against Python integers in tests/unit/sharing/test_field.py.
"""

import numpy as np
from numpy.typing import NDArray

from localdp.errors import MalformedReport

PRIME = (1 << 64) - (1 << 32) + 1
ELEMENT_BYTES = 8

Elements = NDArray[np.uint64]

_PRIME = np.uint64(PRIME)


def subtract(left: Elements, right: Elements, out: Elements | None = None) -> Elements:
    """left - right, element by element, both reduced; into `out`, which may be `left`, if it is given."""
    borrowed = left < right
    difference = np.subtract(left, right, out=out)
    # A borrow wrapped around 2**64; adding the prime modulo 2**64 gives the reduced difference.
    return np.add(difference, _PRIME, out=difference, where=borrowed)


def total(elements: Elements) -> int:
    """The sum of reduced elements, as an integer below the prime."""
    if elements.size >= 1 << 32:
        raise MalformedReport("more than 2**32 elements in one sum")
    high = int((elements >> np.uint64(32)).sum(dtype=np.uint64))
    wrapped = int(elements.sum(dtype=np.uint64))
    # The true sum lies in [high * 2**32, high * 2**32 + 2**64), and `wrapped` is that sum modulo 2**64.
    true_sum = (high << 32) + ((wrapped - (high << 32)) % (1 << 64))
    return true_sum % PRIME


def totals(elements: Elements) -> list[int]:
    """The sums of the columns of a matrix of reduced elements, as integers below the prime."""
    if elements.shape[1] == 1:
        return [total(elements[:, 0])]
    if len(elements) >= 1 << 32:
        raise MalformedReport("more than 2**32 elements in one sum")
    high = (elements >> np.uint64(32)).sum(axis=0, dtype=np.uint64)
    low = (elements & np.uint64(0xFFFFFFFF)).sum(axis=0, dtype=np.uint64)
    return [((int(a) << 32) + int(b)) % PRIME for a, b in zip(high, low, strict=True)]


def reduced(elements: Elements) -> NDArray[np.bool_]:
    """Which rows of a matrix have reduced elements only."""
    if elements.size == 0 or int(elements.max()) < PRIME:
        return np.ones(len(elements), np.bool_)
    return np.asarray((elements < _PRIME).all(axis=1))


def centred(element: int) -> int:
    """The representative of least absolute value: how a noisy sum is read."""
    reduced = element % PRIME
    return reduced - PRIME if reduced > PRIME // 2 else reduced


def pack(elements: Elements) -> bytes:
    """Little-endian, eight bytes each."""
    return elements.astype("<u8", copy=False).tobytes()


def unpack(data: bytes) -> Elements:
    """The elements again; refuses a partial element, and values of the prime or above."""
    if len(data) % ELEMENT_BYTES:
        raise MalformedReport("field elements take eight bytes each")
    elements = np.frombuffer(data, dtype="<u8").astype(np.uint64, copy=False)
    if elements.size and int(elements.max()) >= PRIME:
        raise MalformedReport("a share is not a reduced field element")
    return elements
