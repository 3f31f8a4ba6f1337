"""The interface through which every random choice enters the library.

A `RandomSource` hands out whole arrays of draws.  Its probabilities are integers over 2**64, or integer
weights: no floating-point number takes part in a draw (Mironov 2012).  Which source stands behind the
interface decides what a draw is: a keystream in production, every possible coin in an exact test, a script
in a forced test.

The contract, in words:

- `raw(dtype, count)`: independent uniform unsigned integers of that width (uint8, uint16, uint32 or
  uint64).
- `bernoulli(threshold, count)`: True with probability exactly threshold / 2**64; one threshold for all
  draws, or one for each.
- `below(bound, count)`: exactly uniform on 0 .. bound - 1, for 1 <= bound <= 2**64.
- `categorical(law, count)`: index i with probability exactly law.weights[i] / law.total.

Checked for every implementation by tests/contract/test_random_source.py.
"""

from dataclasses import dataclass, field
from itertools import accumulate
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from localdp.errors import InvalidParameter

WORD_BITS = 64
WORD_RANGE = 1 << WORD_BITS

Bits = NDArray[np.bool_]
Words = NDArray[np.uint64]
Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Numbers = NDArray[np.bool_ | np.number]  # from a caller, of any numeric type
RawWord = TypeVar("RawWord", bound=np.unsignedinteger)
Width = type[RawWord] | np.dtype[RawWord]


@dataclass(frozen=True, slots=True)
class IntegerLaw:
    """A finite distribution given by non-negative integer weights whose total is at most 2**64."""

    weights: tuple[int, ...]
    cumulative: tuple[int, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not self.weights or min(self.weights) < 0:
            raise InvalidParameter("a law needs at least one weight, and none below zero")
        object.__setattr__(self, "cumulative", tuple(accumulate(self.weights)))
        if not 0 < self.total <= WORD_RANGE:
            raise InvalidParameter("the weights of a law must add up to between 1 and 2**64")

    @property
    def total(self) -> int:
        """The sum of the weights: the denominator of every probability."""
        return self.cumulative[-1]


class RandomSource(Protocol):
    """Where randomness comes from; see the module's text for the contract of each method."""

    def raw(self, dtype: Width[RawWord], count: int) -> NDArray[RawWord]:
        """Independent uniform unsigned integers of the width of `dtype`."""
        ...

    def bernoulli(self, threshold: int | Words, count: int) -> Bits:
        """True with probability exactly threshold / 2**64."""
        ...

    def below(self, bound: int, count: int) -> Words:
        """Exactly uniform integers on 0 .. bound - 1."""
        ...

    def categorical(self, law: IntegerLaw, count: int) -> Integers:
        """Indices into the law's weights, each with probability exactly weight / total."""
        ...


def uniform_bytes(source: RandomSource, count: int) -> bytes:
    """So many independent uniform bytes: a key, a seed or a name that nobody guesses."""
    return source.raw(np.uint8, count).tobytes()


def require_bound(bound: int) -> None:
    """Refuse a bound outside 1 .. 2**64."""
    if not 1 <= bound <= WORD_RANGE:
        raise InvalidParameter("the bound of a uniform integer must lie between 1 and 2**64")


def require_count(count: int) -> None:
    """Refuse a negative number of draws."""
    if count < 0:
        raise InvalidParameter("the number of draws must not be negative")
