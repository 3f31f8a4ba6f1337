"""The selector: expected picks, the bound against subset selection, and every wish."""

import json
from typing import Any

import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter
from localdp.randomizers.parts.singer import difference_set
from localdp.randomizers.recursive_hadamard import RecursiveHadamardResponse
from localdp.selection import Choice, choose

PEOPLE = 10**6
EPSILONS = (0.1, 0.25, 0.5, 1, 2, 3, 4, 5)
# Around every change of the choice, and just above the sizes of geometries, where the next one is needed.
DOMAINS = (
    2,
    3,
    4,
    6,
    12,
    32,
    79,
    128,
    129,
    257,
    273,
    782,
    1094,
    1366,
    1850,
    4097,
    5462,
    21846,
    29525,
    65536,
)
LARGEST_LOSS = 1.025


def picked(inputs: int, epsilon: float, **wishes: Any) -> str:
    return choose(inputs, epsilon, PEOPLE, **wishes).chosen.family


def loss(inputs: int, epsilon: float) -> float:
    """The mean variance of what is chosen, over that of subset selection."""
    choice = choose(inputs, epsilon, PEOPLE)
    return choice.chosen.variance / choice.subset_variance


@pytest.mark.parametrize(
    ("epsilon", "last_k_ary", "last_subset"), [(1, 5, 128), (2, 11, 272), (4, 78, 1806)]
)
def test_the_choice_goes_from_k_ary_to_subsets_to_geometries(
    epsilon: float, last_k_ary: int, last_subset: int
) -> None:
    assert {picked(inputs, epsilon) for inputs in (2, 3, last_k_ary)} == {"k-ary"}
    for inputs in (last_k_ary + 1, last_subset):
        assert picked(inputs, epsilon) == "subset-selection"
    for inputs in (last_subset + 1, 65536):
        assert picked(inputs, epsilon) == "projective-geometry"


@pytest.mark.parametrize("inputs", [13, 21, 85])
def test_where_a_geometry_is_as_good_as_subsets_the_simpler_one_is_chosen(inputs: int) -> None:
    assert picked(inputs, 1) == "subset-selection"


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_choice_loses_at_most_two_and_a_half_per_cent(epsilon: float) -> None:
    losses = [loss(inputs, epsilon) for inputs in DOMAINS]
    assert max(losses) <= LARGEST_LOSS
    assert min(losses) >= 1 - 1e-12, "nothing is better than subset selection"


@pytest.mark.nightly
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_choice_loses_at_most_two_and_a_half_per_cent_on_a_fine_grid(epsilon: float) -> None:
    domains = sorted({*range(2, 400), *(round(2 ** (step / 16)) for step in range(130, 257))})
    assert max(loss(inputs, epsilon) for inputs in domains) <= LARGEST_LOSS


def test_the_bound_is_not_vacuous() -> None:
    assert loss(129, 0.25) == pytest.approx(1.0225, abs=1e-4)  # the known worst case
    choice = choose(129, 0.25, PEOPLE)
    assert {row.family: row for row in choice.candidates}["k-ary"].variance > 2 * choice.chosen.variance


def test_the_variance_of_subset_selection_is_that_of_its_closed_form() -> None:
    d, w, e = 1024, 275, 2.718281828459045
    total = (d - 1) ** 2 * (e * w + d - w) ** 2 / (d * w * (d - w) * (e - 1) ** 2) - (1 - 1 / d)
    assert choose(d, 1, PEOPLE).subset_variance == pytest.approx(total / d, rel=1e-12)


def test_one_private_bit_leaves_one_bit_hadamard() -> None:
    for inputs in (3, 100, 1024, 1 << 20):
        choice = choose(inputs, 1, PEOPLE, bits=1)
        assert choice.randomizer == RecursiveHadamardResponse(Epsilon.requested(1), inputs, 1)
        assert choice.chosen.private_bits == 1


@pytest.mark.parametrize("bits", range(1, 13))
def test_private_bits_are_kept_and_more_of_them_never_hurt(bits: int) -> None:
    fewer, more = (choose(1024, 3, PEOPLE, bits=allowed) for allowed in (bits, bits + 1))
    assert fewer.chosen.private_bits <= bits
    assert more.chosen.variance <= fewer.chosen.variance


def test_every_wish_is_met() -> None:
    assert picked(1024, 1, additive=True) == "optimized-unary"
    assert picked(1024, 1, open_domain=True) == "local-hashing"
    for epsilon in (0.5, 1, 4):
        assert picked(1024, epsilon, linear_post=True) == "recursive-hadamard"
    assert picked(100, 1, decode_seconds=0.1) == "projective-geometry"


def test_the_target_decides_between_the_mean_error_and_that_of_an_unseen_item() -> None:
    # At epsilon 4 and 100 inputs k-ary has the smaller error for unseen items, and the larger one on average.
    heavy, even = choose(100, 4, PEOPLE, target="heavy"), choose(100, 4, PEOPLE)
    assert (heavy.chosen.family, even.chosen.family) == ("k-ary", "subset-selection")
    assert heavy.chosen.variance == heavy.randomizer.variance(0.0)
    assert even.chosen.variance == even.randomizer.variance(0.01)


def test_the_error_at_n_people_is_that_of_the_randomizer() -> None:
    choice = choose(1024, 1, 10_000)
    assert choice.standard_error(choice.chosen) ** 2 * 10_000 == pytest.approx(
        choice.randomizer.variance(1 / 1024)
    )
    assert choice.optimum == pytest.approx(3.6827, abs=1e-4)


def test_no_difference_set_is_built_to_choose() -> None:
    before = difference_set.cache_info().misses
    for inputs in (1000, 1 << 20, (1 << 22) - 1):
        choose(inputs, 2, PEOPLE)
    assert difference_set.cache_info().misses == before


@pytest.mark.parametrize("inputs", [(1 << 22) - 1, 1 << 22, 1 << 32, (1 << 32) + 1, 1 << 64])
def test_huge_domains_are_answered(inputs: int) -> None:
    choice = choose(inputs, 1, PEOPLE)
    assert choice.chosen.family in ("projective-geometry", "local-hashing")


@pytest.mark.parametrize("epsilon", ["1e-6", 0.01, 10, 30])
def test_extreme_epsilons_are_answered(epsilon: float | str) -> None:
    for inputs in (2, 1000, 100_000):
        choice = choose(inputs, epsilon, PEOPLE)
        assert choice.randomizer.epsilon <= Epsilon.requested(epsilon)


def check_explained(choice: Choice) -> None:
    eligible = [row for row in choice.candidates if not row.excluded]
    assert choice.chosen in eligible
    assert choice.chosen.variance == min(row.variance for row in eligible)
    assert choice.chosen.family in choice.reason
    better = min(choice.candidates, key=lambda row: row.variance)
    assert better.variance == choice.chosen.variance or better.excluded in choice.reason


def test_the_choice_explains_itself() -> None:
    for wishes in ({}, {"bits": 2}, {"additive": True}, {"open_domain": True}, {"decode_seconds": 0.01}):
        choice = choose(1024, 1, PEOPLE, **wishes)
        check_explained(choice)
        data = json.loads(json.dumps(choice.to_data(), allow_nan=False))
        assert [row["name"] for row in data["candidates"] if row["chosen"]] == [choice.chosen.family]


def test_wishes_that_nothing_meets_are_refused_with_all_reasons() -> None:
    with pytest.raises(InvalidParameter, match=r"closed domain.*do not add up"):
        choose(1024, 1, PEOPLE, open_domain=True, additive=True)
    with pytest.raises(InvalidParameter, match="decoding takes about"):
        choose(1024, 1, PEOPLE, decode_seconds=1e-9)


@pytest.mark.parametrize(
    ("inputs", "epsilon", "people", "wishes"),
    [
        (0, 1, 10, {}),
        (1, 1, 10, {}),
        ((1 << 64) + 1, 1, 10, {}),
        (10, 0, 10, {}),
        (10, "nan", 10, {}),
        (10, 31, 10, {}),
        (10, 1, 0, {}),
        (10, 1, 10, {"bits": 0}),
        (10, 1, 10, {"decode_seconds": 0.0}),
        (10, 1, 10, {"decode_seconds": float("nan")}),
        (10, 1, 10, {"target": "median"}),
    ],
)
def test_bad_wishes_are_refused(inputs: int, epsilon: Any, people: int, wishes: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter):
        choose(inputs, epsilon, people, **wishes)
