"""Signed rows: what is valid without the key is a record, and the count alone is easy."""

from __future__ import annotations

import numpy as np
import pytest

from localdp.attacks.signed_rows import SignedRows, copied, independent, product, turned
from localdp.errors import InvalidParameter
from localdp.experiments.attack_synthesis import SYNTHESIZERS, told
from localdp.randomness.hazmat import SeededSource


def test_every_valid_row_of_a_synthesizer_without_the_key_is_a_record() -> None:
    source = SeededSource(1)
    table = SignedRows.drawn(60, source)
    assert table.counted(table.rows) == 1.0
    for synthesizer in SYNTHESIZERS.values():
        made = synthesizer(table.rows, source)
        assert [table.valid(row) for row in made] == [row in table.rows for row in made]


def test_only_rows_of_the_data_count() -> None:
    source = SeededSource(2)
    table = SignedRows.drawn(50, source)
    assert table.counted(copied(table.rows, source)) == table.records(copied(table.rows, source)) == 1.0
    assert table.counted(turned(table.rows, source)) == 0.0
    assert table.counted(independent(table.rows, source)) == 0.0
    assert table.counted(product(table.rows, source)) <= 0.2  # one in 50 meets its own signature


def test_the_bits_of_independent_rows_are_as_often_one_as_those_of_the_data() -> None:
    source = SeededSource(3)
    rows = [(bytes([255] * 4 + [0] * 4), bytes([255] * 32 + [0] * 32))] * 5
    assert independent(rows, source) == rows  # columns that are alike have no other value


def test_a_curator_releases_the_count_within_a_few() -> None:
    table = SignedRows.drawn(200, SeededSource(4))
    off = [1 - told(table, SeededSource(seed)) for seed in range(10)]
    assert np.max(off) <= 20 / 200  # e^-20 each


def test_who_has_the_key_makes_rows_that_count_and_are_nobodys() -> None:
    # The broken twin of the claim: with the key synthetic data are easy.
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    key = Ed25519PrivateKey.from_private_bytes(bytes(32))
    table = SignedRows((((b"a" * 8), key.sign(b"a" * 8)),), key.public_key())
    forged = [(b"b" * 8, key.sign(b"b" * 8))]
    assert table.counted(forged) == 1.0 and table.records(forged) == 0.0


def test_a_database_has_a_row() -> None:
    with pytest.raises(InvalidParameter):
        SignedRows.drawn(0, SeededSource(1))
