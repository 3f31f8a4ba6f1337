"""XofTurboShake128: seeds into seeds and field elements (draft-irtf-cfrg-vdaf-20, section 6.2.1).

The stream is TurboSHAKE128, domain byte 1, of le16(len(tag)) | tag | le8(len(seed)) | seed | binder.  A tag says the
version of the draft (18), the class and number of the algorithm, the use, and the application's context, so that no two
uses share a stream.  A field element is the next `encoded_bytes` of the stream, cut to the modulus's bits and drawn again
when it is not reduced: exactly uniform for a uniform stream.  (Field64 rejects with probability 2**-32, Field128 2**-59.)

Checked in tests/unit/sharing/prio3/test_xof.py and tests/vectors/test_prio3_vectors.py.
"""

from typing import Protocol

from localdp.errors import InvalidParameter
from localdp.sharing.prio3.fields import PrimeField
from localdp.sharing.prio3.keccak import TurboShake128

VERSION = 18
SEED_BYTES = 32
DOMAIN = 1
_VDAF_CLASS = 0
_LONGEST_TAG = (1 << 16) - 1
_LONGEST_SEED = (1 << 8) - 1


class Stream(Protocol):
    """Bytes that are read one after the other."""

    def read(self, size: int) -> bytes:
        """The next `size` bytes."""
        ...


def tag(algorithm: int, use: int, context: bytes) -> bytes:
    """The domain-separation tag of one use within one algorithm and application."""
    head = bytes([VERSION, _VDAF_CLASS]) + algorithm.to_bytes(4, "big") + use.to_bytes(2, "big")
    if len(head) + len(context) > _LONGEST_TAG:
        raise InvalidParameter(f"an application context has at most {_LONGEST_TAG - len(head)} bytes")
    return head + context


def frame(tag_bytes: bytes, seed_length: int) -> tuple[bytes, bytes]:
    """What stands before the seed; the two length fields make the message unambiguous."""
    if seed_length > _LONGEST_SEED or len(tag_bytes) > _LONGEST_TAG:
        raise InvalidParameter("a seed has at most 255 bytes, a tag at most 65535")
    return len(tag_bytes).to_bytes(2, "little") + tag_bytes, bytes([seed_length])


def xof(seed: bytes, tag_bytes: bytes, binder: bytes) -> TurboShake128:
    """The stream of a seed, for one use."""
    head, length = frame(tag_bytes, len(seed))
    return TurboShake128(head + length + seed + binder, DOMAIN)


def derive_seed(seed: bytes, tag_bytes: bytes, binder: bytes) -> bytes:
    """A new seed."""
    return xof(seed, tag_bytes, binder).read(SEED_BYTES)


def elements(stream: Stream, field: PrimeField, count: int) -> list[int]:
    """The next `count` uniform field elements of the stream."""
    width, found = field.encoded_bytes, list[int]()
    while len(found) < count:
        data = stream.read(width * (count - len(found)))
        samples = (int.from_bytes(data[at : at + width], "little") for at in range(0, len(data), width))
        found.extend(x for x in (sample & field.sampling_mask for sample in samples) if x < field.modulus)
    return found


def expand(field: PrimeField, seed: bytes, tag_bytes: bytes, binder: bytes, count: int) -> list[int]:
    """A seed as a vector of field elements."""
    return elements(xof(seed, tag_bytes, binder), field, count)
