"""Products of hidden bits over small circuits: complete, and a wrong product is seen.

Twins that must be caught: a product, a sum, or a coefficient that is off by one bit.
"""

from collections.abc import Iterator

import numpy as np
import pytest

from localdp.sharing.prio3.batch.words import Words
from localdp.sharing.proved.lines import CheckedLines, ProvedLines, filled

LANES, ROWS, KEY, DELTA = 70, 6, b"f" * 32, 0x0000_BEEF_0102_0304


def world(wrong: int | None = None) -> tuple[Words, Words, Words]:
    """Bits of a, b, ab, c, abc, d for 70 lanes, their lines, and the keys."""
    generator = np.random.default_rng(8)
    a, b, c, d = (generator.integers(0, 2, LANES).astype(np.bool_) for _ in range(4))
    bits = np.stack([a, b, a & b, c, a & b & c, d])
    if wrong is not None:
        bits[wrong, 13] ^= True
    lines = generator.integers(0, 1 << 48, (ROWS + 1, LANES), dtype=np.uint64)
    keys = lines[:ROWS] ^ (filled(bits) & np.uint64(DELTA))
    return np.stack([filled(bits), lines[:ROWS]], axis=1), keys, lines[ROWS]


def circuit(algebra: ProvedLines | CheckedLines) -> None:
    a, b = algebra.fixed(), algebra.fixed()
    product = algebra.product(a, b)
    c = algebra.said(a)
    algebra.product(product, c)
    nothing = algebra.public(np.zeros(LANES, np.bool_))
    one = algebra.public(np.ones(LANES, np.bool_))
    d = algebra.said(a)
    algebra.require_product(one ^ d, d, nothing)
    algebra.require_product(one, d, d)


def outcome(wrong: int | None = None, change: tuple[int, int] = (0, 0)) -> bool:
    pairs, keys, spare = world(wrong)
    proved = ProvedLines(iter(pairs), KEY)
    circuit(proved)
    mask = 0x0F0F_F0F0_1234_4321
    bits = filled(np.array([mask >> place & 1 for place in range(64)], np.bool_))
    lines = spare[:64]
    told = proved.told(mask, lines)
    rows: Iterator[Words] = iter(keys)
    checked = CheckedLines(rows, KEY, DELTA)
    circuit(checked)
    return checked.holds(told[0] ^ change[0], told[1] ^ change[1], lines ^ (bits & np.uint64(DELTA)))


def test_right_products_hold() -> None:
    assert outcome()


@pytest.mark.parametrize("row", [2, 4])
def test_one_wrong_bit_in_one_lane_is_seen(row: int) -> None:
    assert not outcome(row)


@pytest.mark.parametrize("change", [(1, 0), (0, 1), (1 << 63, 1)])
def test_coefficients_are_these_and_no_others(change: tuple[int, int]) -> None:
    assert not outcome(change=change)
