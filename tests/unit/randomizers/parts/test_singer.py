"""Singer difference sets: their autocorrelation, their construction, and that everybody builds the same."""

import hashlib
from itertools import product

import numpy as np
import pytest

from localdp.errors import InvalidParameter
from localdp.randomizers.parts.singer import (
    LARGEST_POINTS,
    Geometry,
    _recurrence,
    difference_set,
    power_of_x,
    prime_factors,
    prime_power,
    primitive_polynomial,
)

SMALL = [(q, t) for q in (2, 3, 4, 5, 7, 8, 9, 16, 25, 27) for t in (2, 3, 4, 5) if q**t < 20_000]


@pytest.mark.parametrize(("order", "dimension"), SMALL)
def test_every_shift_shares_exactly_as_many_elements(order: int, dimension: int) -> None:
    geometry = Geometry(order, dimension)
    members, others = difference_set(geometry)
    assert len(members) == geometry.on_hyperplane
    assert (np.sort(np.concatenate([members, others])) == np.arange(geometry.points)).all()
    # The differences of all pairs, counted: the definition itself, without a transform.
    differences = (members[:, None] - members) % geometry.points
    shared = np.bincount(differences.ravel(), minlength=geometry.points)
    assert shared[0] == geometry.on_hyperplane
    assert (shared[1:] == geometry.on_two).all()


@pytest.mark.parametrize(("order", "dimension"), SMALL)
def test_the_sizes_are_those_of_the_projective_space(order: int, dimension: int) -> None:
    geometry = Geometry(order, dimension)
    sizes = [(order**power - 1) // (order - 1) for power in (dimension, dimension - 1, dimension - 2)]
    assert [geometry.points, geometry.on_hyperplane, geometry.on_two] == sizes


def test_the_smallest_planes_are_the_classical_ones() -> None:
    assert difference_set(Geometry(2, 3))[0].tolist() == [0, 1, 3]
    assert difference_set(Geometry(3, 3))[0].tolist() == [0, 1, 3, 9]


@pytest.mark.parametrize(
    ("order", "dimension", "digest"),
    [(4, 6, "df50863e075d7dda"), (3, 7, "e84acd4e373dec58"), (8, 5, "6e49cab025cef9bf")],
)
def test_party_and_aggregator_build_the_same_set(order: int, dimension: int, digest: str) -> None:
    # Frozen: another set of the same geometry would decode every report of this one to noise.
    members, _ = difference_set(Geometry(order, dimension))
    assert hashlib.sha256(members.astype("<i4").tobytes()).hexdigest()[:16] == digest


@pytest.mark.parametrize(("prime", "degree"), [(2, 4), (2, 6), (3, 3), (5, 2), (7, 2)])
def test_a_primitive_polynomial_gives_x_the_full_order(prime: int, degree: int) -> None:
    tail = primitive_polynomial(prime, degree)
    powers = {power_of_x(exponent, tail, prime) for exponent in range(prime**degree - 1)}
    assert powers == set(product(range(prime), repeat=degree)) - {(0,) * degree}


@pytest.mark.parametrize(("prime", "degree", "length"), [(2, 4, 100), (3, 3, 7), (5, 3, 333), (2, 9, 10)])
def test_doubling_gives_the_recurrence_term_by_term(prime: int, degree: int, length: int) -> None:
    tail = primitive_polynomial(prime, degree)
    terms = [0] * (degree - 1) + [1]
    while len(terms) < length:
        terms.append(sum(a * b for a, b in zip(tail, terms[-degree:], strict=True)) % prime)
    assert _recurrence(prime, tail, length).tolist() == terms[:length]


def test_a_set_of_a_million_points_has_its_size_and_is_kept() -> None:
    geometry = Geometry(4, 11)
    members, others = difference_set(geometry)
    assert geometry.points == 1_398_101
    assert len(members) == geometry.on_hyperplane
    assert difference_set(geometry)[0] is members
    with pytest.raises(ValueError, match="read-only"):
        others[0] = 1


def test_prime_powers_and_factors_are_recognised() -> None:
    assert [prime_power(q) for q in (2, 4, 8, 9, 25, 149, 2048)] == [
        (2, 1), (2, 2), (2, 3), (3, 2), (5, 2), (149, 1), (2, 11),
    ]  # fmt: skip
    assert prime_factors(2**22 - 1) == [3, 23, 89, 683]
    assert prime_factors(1) == []


@pytest.mark.parametrize(
    ("order", "dimension"),
    [(0, 3), (1, 3), (6, 3), (12, 2), (-2, 3), (2, 1), (2, 23), (2053, 3), (1 << 40, 2)],
)
def test_impossible_and_huge_geometries_are_refused(order: int, dimension: int) -> None:
    with pytest.raises(InvalidParameter):
        Geometry(order, dimension)


def test_a_huge_dimension_is_refused_at_once() -> None:
    with pytest.raises(InvalidParameter):
        Geometry(2, 10**9)
    assert LARGEST_POINTS == 1 << 22
