"""The Walsh-Hadamard transform of real numbers: from a distribution on words of bits to the means of all parities.

For a distribution p on the words of d bits, the transform at S is the mean of the sign (-1)**<S, x>; applied twice, it
gives 2**d p again.  The list is folded into a matrix and transformed along both sides, some columns at a time, which
stay in the cache: d 2**d additions and no product.

Checked against the definition in tests/unit/estimation/test_sign_transform.py.
"""

import numpy as np

from localdp.errors import InvalidParameter
from localdp.randomness.source import Floats

_COLUMNS_AT_A_TIME = 64


def sign_transform(values: Floats) -> Floats:
    """W(S) = sum over x of (-1)**<S, x> v(x), for a list whose length is a power of two."""
    length = len(values)
    if values.ndim != 1 or length < 1 or length & (length - 1):
        raise InvalidParameter("a Walsh-Hadamard transform has a power of two as its length")
    folded = np.array(values, np.float64).reshape(1 << (length.bit_length() // 2), -1)
    _transform_columns(folded)
    turned = np.ascontiguousarray(folded.T)
    _transform_columns(turned)
    return turned.T.ravel()


def _transform_columns(matrix: Floats) -> None:
    for start in range(0, matrix.shape[1], _COLUMNS_AT_A_TIME):
        block = np.ascontiguousarray(matrix[:, start : start + _COLUMNS_AT_A_TIME])
        half = 1
        while half < len(block):
            pairs = block.reshape(len(block) // (2 * half), 2, -1)
            difference = pairs[:, 0] - pairs[:, 1]
            pairs[:, 0] += pairs[:, 1]
            pairs[:, 1] = difference
            half *= 2
        matrix[:, start : start + _COLUMNS_AT_A_TIME] = block
