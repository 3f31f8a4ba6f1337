"""Field elements from a stream: uniform by rejection; tags keep uses apart; blocks agree with single rows."""

from collections import Counter
from dataclasses import dataclass

import numpy as np
import pytest

from localdp.errors import InvalidParameter
from localdp.sharing.prio3 import xof
from localdp.sharing.prio3.batch import kernels
from localdp.sharing.prio3.batch import xof as batch
from localdp.sharing.prio3.batch.field64 import NumpyField64
from localdp.sharing.prio3.batch.words import Mask, Words
from localdp.sharing.prio3.fields import FIELD64, FIELD128, PrimeField

TOY = PrimeField(5, 1, 2, 4)
FIELDS = pytest.mark.parametrize("field", [FIELD64, FIELD128], ids=["Field64", "Field128"])


class Script:
    def __init__(self, data: bytes) -> None:
        self.data = data

    def read(self, size: int) -> bytes:
        piece, self.data = self.data[:size], self.data[size:]
        assert len(piece) == size
        return piece


@FIELDS
def test_words_of_the_modulus_or_above_are_skipped(field: PrimeField) -> None:
    p, width = field.modulus, field.encoded_bytes
    words = [p, 3, p + 1, p - 1, (1 << 8 * width) - 1, 0, 9]
    stream = Script(b"".join(word.to_bytes(width, "little") for word in words))
    assert xof.elements(stream, field, 3) == [3, p - 1, 0]
    assert len(stream.data) == width  # The stream was read exactly as far as needed.


def test_every_byte_is_cut_to_the_bits_of_the_modulus_so_that_elements_are_exactly_uniform() -> None:
    found = Counter[int]()
    for byte in range(256):
        found.update(xof.elements(Script(bytes([byte, 0])), TOY, 1) if byte % 8 < 5 else [])
    assert found == dict.fromkeys(range(5), 32)
    assert xof.elements(Script(bytes([5, 6, 7, 15, 12])), TOY, 1) == [4]


def test_a_tag_says_version_class_algorithm_use_and_context() -> None:
    assert xof.tag(3, 258, b"ctx") == bytes([18, 0, 0, 0, 0, 3, 1, 2]) + b"ctx"


def test_what_does_not_fit_its_length_field_is_refused() -> None:
    assert xof.tag(1, 1, bytes(65527))
    with pytest.raises(InvalidParameter):
        xof.tag(1, 1, bytes(65528))
    with pytest.raises(InvalidParameter):
        xof.derive_seed(bytes(256), b"", b"")


def test_moving_a_byte_from_tag_to_seed_to_binder_changes_the_stream() -> None:
    seeds = {
        xof.derive_seed(b"a", b"ab", b"b"),
        xof.derive_seed(b"aa", b"b", b"b"),
        xof.derive_seed(b"", b"ab", b"ab"),
    }
    assert len(seeds) == 3


@FIELDS
def test_a_block_expands_to_the_elements_of_each_row(field: PrimeField) -> None:
    kernel = kernels.kernel_for(field)
    seeds = np.arange(5 * 32, dtype=np.uint8).reshape(5, 32)
    binders = np.arange(5 * 3, dtype=np.uint8).reshape(5, 3)
    block = kernels.pack(batch.expand(kernel, seeds, b"tag", binders, 30))
    derived = batch.derive_seeds(seeds, b"tag", binders)
    for i in range(5):
        row = seeds[i].tobytes(), b"tag", binders[i].tobytes()
        assert block[i].tobytes() == field.pack(xof.expand(field, *row, 30))
        assert derived[i].tobytes() == xof.derive_seed(*row)


@dataclass(frozen=True, slots=True)
class PickyKernel(NumpyField64):
    """Takes three quarters of all words: a modulus for which nearly every row must be drawn again."""

    field: PrimeField = PrimeField(3 << 62, 8, 1, 1)

    def unreduced(self, words: Words) -> Mask:
        return np.asarray(words[0] >= np.uint64(self.field.modulus))


def test_a_block_skips_the_words_that_a_single_row_skips() -> None:
    kernel = PickyKernel()
    seeds = (
        np.arange(20 * 32, dtype=np.uint64).astype(np.uint8).reshape(20, 32)
        ^ np.arange(20, dtype=np.uint8)[:, None]
    )
    binders = np.zeros((20, 0), np.uint8)
    block = batch.expand(kernel, seeds, b"tag", binders, 4)
    rejected = 0
    for i in range(20):
        expected = xof.expand(kernel.field, seeds[i].tobytes(), b"tag", b"", 4)
        assert block[0, :, i].tolist() == expected
        plain = np.frombuffer(xof.xof(seeds[i].tobytes(), b"tag", b"").read(32), "<u8").tolist()
        rejected += plain != expected
    assert 5 <= rejected < 20
