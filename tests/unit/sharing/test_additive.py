"""Additive shares: exactly secret, exactly complete."""

from collections.abc import Callable
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray

from localdp.errors import InvalidParameter
from localdp.randomness.enumerating import enumerate_law
from localdp.randomness.hazmat import SeededSource
from localdp.randomness.source import RandomSource
from localdp.sharing import additive, field
from localdp.sharing.field import PRIME

SMALL_PRIME = 5
Splitter = Callable[[NDArray[np.int64], int, RandomSource], list[NDArray[np.uint64]]]


@pytest.fixture
def small_field(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same code over the integers modulo 5, where every coin can be tried."""
    monkeypatch.setattr(additive, "PRIME", SMALL_PRIME)
    monkeypatch.setattr(field, "PRIME", SMALL_PRIME)
    monkeypatch.setattr(field, "_PRIME", np.uint64(SMALL_PRIME))


def view_law(
    split: Splitter, value: int, servers: int, seen: tuple[int, ...]
) -> dict[tuple[int, ...], Fraction]:
    def view(source: RandomSource) -> tuple[int, ...]:
        shares = split(np.array([value]), servers, source)
        return tuple(int(shares[server][0]) for server in seen)

    return enumerate_law(view)


def check_secrecy(split: Splitter, servers: int) -> None:
    """Any m - 1 shares are exactly uniform, whatever the value; all m add up to it."""
    for value in range(SMALL_PRIME):
        for seen in combinations(range(servers), servers - 1):
            law = view_law(split, value, servers, seen)
            assert set(law.values()) == {Fraction(1, SMALL_PRIME ** (servers - 1))}
            assert len(law) == SMALL_PRIME ** (servers - 1)
        everything = view_law(split, value, servers, tuple(range(servers)))
        assert all(sum(shares) % SMALL_PRIME == value for shares in everything)


def small_sums(values: NDArray[np.int64], servers: int, source: RandomSource) -> list[NDArray[np.uint64]]:
    """Broken twin: shares below 4 instead of 5, as from a biased reduction."""
    parts = [source.below(SMALL_PRIME - 1, len(values)) for _ in range(servers - 1)]
    rest = values.astype(np.uint64)
    for part in parts:
        rest = field.subtract(rest, part)
    return [*parts, rest]


def same_coin_twice(
    values: NDArray[np.int64], servers: int, source: RandomSource
) -> list[NDArray[np.uint64]]:
    """Broken twin: one coin serves two servers."""
    part = source.below(SMALL_PRIME, len(values))
    rest = values.astype(np.uint64)
    for _ in range(servers - 1):
        rest = field.subtract(rest, part)
    return [*[part] * (servers - 1), rest]


@pytest.mark.usefixtures("small_field")
@pytest.mark.parametrize("servers", [2, 3])
def test_all_but_one_share_are_exactly_uniform_for_every_value(servers: int) -> None:
    check_secrecy(additive.split, servers)


@pytest.mark.usefixtures("small_field")
@pytest.mark.parametrize("broken", [small_sums, same_coin_twice])
def test_the_check_of_secrecy_catches_broken_twins(broken: Splitter) -> None:
    with pytest.raises(AssertionError):
        check_secrecy(broken, 3)


@pytest.mark.parametrize("servers", [2, 3, 7])
def test_sums_of_shares_add_up_to_the_sum_of_the_values(servers: int) -> None:
    values = np.array([0, 1, 1, 65536, 1 << 20] * 5000)
    shares = additive.split(values, servers, SeededSource(1))
    assert additive.combine([field.total(share) for share in shares]) == values.sum()
    assert all(int(share.max()) < PRIME for share in shares)


@pytest.mark.parametrize("servers", [0, 1, 256])
def test_values_are_shared_among_2_to_255_servers(servers: int) -> None:
    with pytest.raises(InvalidParameter):
        additive.split(np.array([1]), servers, SeededSource(1))
