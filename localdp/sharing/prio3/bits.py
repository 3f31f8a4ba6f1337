"""Zeros and ones as field elements, and how a circuit checks many of them at once (draft-irtf-cfrg-vdaf-20, section 7.4).

Range.  An integer in 0 .. largest is written with b = bit length of `largest` digits 0 or 1, whose weights are 1, 2, ...,
2**(b - 2) and, last, largest - (2**(b - 1) - 1): the weights add up to `largest`, so no digits stand for more.

Chunks.  x is 0 or 1 exactly when x (x - 1) = 0.  The measurement is cut into chunks, the last one filled up with zeros.
With a random r_k for chunk k, the sum over k and j of (r_k**(j + 1) x_kj) (x_kj - 1) is zero if all are digits, and
otherwise with probability at most chunk / modulus (Schwartz and Zippel: of degree `chunk` in each r_k).

Checked exhaustively for small ranges in tests/unit/sharing/prio3/test_circuits.py.
"""

from collections.abc import Sequence

from localdp.errors import InvalidParameter, InvalidRecord
from localdp.sharing.prio3.fields import PrimeField


def require_range(field: PrimeField, largest: int) -> None:
    """Refuses ranges that are empty or do not fit in the field."""
    if not 0 < largest < field.modulus:
        raise InvalidParameter("the largest value must be at least 1 and fit in the field")


def require_positive(**parameters: int) -> None:
    """Refuses lengths below one, by name."""
    for name, value in parameters.items():
        if value < 1:
            raise InvalidParameter(f"{name} must be at least 1")


def range_weights(largest: int) -> list[int]:
    """The weights of the digits; they add up to `largest`."""
    rest = [1 << i for i in range(largest.bit_length() - 1)]
    return [*rest, largest - sum(rest)]


def encode_in_range(value: int, largest: int) -> list[int]:
    """The digits of an integer in 0 .. largest."""
    if not 0 <= value <= largest:
        raise InvalidRecord("a measurement is outside of the range of its collection")
    *rest, last = range_weights(largest)
    # Without a branch on the value: how long this takes should not depend on it.
    top = int(value > sum(rest))
    remaining = value - top * last
    return [*(remaining >> i & 1 for i in range(len(rest))), top]


def decode_in_range(field: PrimeField, digits: Sequence[int], largest: int) -> int:
    """The integer of the digits, or a share of it: a linear function."""
    return field.dot(digits, range_weights(largest))


def chunk_count(length: int, chunk: int) -> int:
    """How many chunks hold `length` elements."""
    return -(-length // chunk)


def chunk_inputs(
    field: PrimeField, encoded: Sequence[int], joint: Sequence[int], one: int, chunk: int
) -> list[list[int]]:
    """For each chunk the pairs r**(j + 1) x_j and x_j - 1, in order."""
    filled = [*encoded, *([0] * (len(joint) * chunk - len(encoded)))]
    calls = []
    for k, r in enumerate(joint):
        inputs, power = list[int](), r
        for x in filled[k * chunk : (k + 1) * chunk]:
            inputs += (power * x % field.modulus, (x - one) % field.modulus)
            power = power * r % field.modulus
        calls.append(inputs)
    return calls
