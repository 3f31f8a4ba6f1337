"""Every kernel against Python integers, at the edges and in between."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localdp.errors import InvalidParameter
from localdp.sharing.prio3.batch import kernels
from localdp.sharing.prio3.batch.field64 import NumpyField64
from localdp.sharing.prio3.batch.field128 import NumpyField128
from localdp.sharing.prio3.batch.kernels import Kernel
from localdp.sharing.prio3.batch.words import Words
from localdp.sharing.prio3.fields import FIELD64, FIELD128, PrimeField

KERNELS: list[Kernel] = [NumpyField64(), NumpyField128()]
EACH = pytest.mark.parametrize("kernel", KERNELS, ids=["Field64", "Field128"])


def edges(kernel: Kernel) -> list[int]:
    p, near = kernel.field.modulus, [-2, -1, 0, 1, 2]
    words = [
        0,
        1 << 32,
        1 << 63,
        1 << 64,
        1 << 66,
        1 << 96,
        1 << 127,
        p // 2,
        p - (1 << 32),
        p - (1 << 64),
        p,
    ]
    return sorted({(word + step) % p for word in words for step in near})


def integers(kernel: Kernel, words: Words) -> list[int]:
    """Of an array (limbs, n, 1)."""
    return kernel.field.unpack(kernels.pack(words).tobytes())


def check(kernel: Kernel, left: list[int], right: list[int]) -> None:
    p = kernel.field.modulus
    a, b = kernels.elements(kernel, left), kernels.elements(kernel, right)
    pairs = list(zip(left, right, strict=True))
    assert integers(kernel, kernel.add(a, b)) == [(x + y) % p for x, y in pairs]
    assert integers(kernel, kernel.subtract(a, b)) == [(x - y) % p for x, y in pairs]
    assert integers(kernel, kernel.multiply(kernel.lift(a), b)) == [x * y % p for x, y in pairs]
    lifted = kernel.multiply(kernel.lift(a), kernel.lift(b))
    assert (lifted == kernel.lift(kernels.elements(kernel, [x * y % p for x, y in pairs]))).all()


@EACH
def test_sums_differences_and_products_at_all_pairs_of_edges(kernel: Kernel) -> None:
    left = [x for x in edges(kernel) for _ in edges(kernel)]
    right = [y for _ in edges(kernel) for y in edges(kernel)]
    check(kernel, left, right)


@EACH
@settings(max_examples=25, deadline=None)
@given(
    seeds=st.lists(st.tuples(st.integers(0, 1 << 128), st.integers(0, 1 << 128)), min_size=1, max_size=40)
)
def test_sums_differences_and_products_anywhere(kernel: Kernel, seeds: list[tuple[int, int]]) -> None:
    p = kernel.field.modulus
    check(kernel, [x % p for x, _ in seeds], [y % p for _, y in seeds])


@EACH
def test_operands_are_left_as_they_were(kernel: Kernel) -> None:
    a, b = kernels.elements(kernel, edges(kernel)), kernels.elements(kernel, edges(kernel)[::-1])
    before = a.copy(), b.copy()
    kernel.add(a, b), kernel.subtract(a, b), kernel.multiply(a, b), kernel.lift(a), kernels.total(kernel, a)
    assert (a == before[0]).all() and (b == before[1]).all()


@EACH
def test_words_that_are_not_reduced_are_found(kernel: Kernel) -> None:
    p, top = kernel.field.modulus, (1 << 64 * kernel.limbs) - 1
    values = [0, p - 1, p, p + 1, top - (1 << 64 * (kernel.limbs - 1)), top]
    data = b"".join(value.to_bytes(kernel.field.encoded_bytes, "little") for value in values)
    words = kernels.unpack(kernel, np.frombuffer(data, np.uint8).reshape(1, -1))
    assert kernel.unreduced(words)[:, 0].tolist() == [value >= p for value in values]


@EACH
@pytest.mark.parametrize("count", [0, 1, 2, 3, 7, 8])
def test_totals_add_up_any_number_of_elements(kernel: Kernel, count: int) -> None:
    values = edges(kernel)[-count:] if count else []
    words = kernels.elements(kernel, values) if count else kernels.elements(kernel, [1])[:, :0]
    found = kernels.total(kernel, words)[:, None]
    assert integers(kernel, found) == [sum(values) % kernel.field.modulus]


@EACH
def test_sums_over_reports_do_not_wrap(kernel: Kernel) -> None:
    p = kernel.field.modulus
    words = kernels.elements(kernel, [p - 1, p - 2]).repeat(10_000, axis=2)
    assert kernels.sums_over_reports(kernel, words) == [-10_000 % p, -20_000 % p]


def test_each_field_has_its_kernel_and_others_have_none() -> None:
    assert kernels.kernel_for(FIELD64) == NumpyField64()
    assert kernels.kernel_for(FIELD128) == NumpyField128()
    with pytest.raises(InvalidParameter):
        kernels.kernel_for(PrimeField(17, 1, 3, 16))
