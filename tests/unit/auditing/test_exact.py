"""The exact audit: every randomizer keeps its claim, and every broken twin of every one is caught."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.auditing import exact_audit
from localdp.auditing.exact import largest_ratio
from localdp.errors import InvalidParameter
from localdp.randomizers.k_ary import KaryRandomizedResponse
from localdp.randomizers.unary import SymmetricUnaryEncoding
from tests.support.broken_twins import ItemKept, LastBitKept, NoiseTwice, SeedFixed, SeedReused
from tests.unit.auditing.twins import EPSILON, NAMES, epsilon_times, item_kept, small, tried

K_ARY = KaryRandomizedResponse(EPSILON, 4)
NOT_EXACTLY_REQUESTED = {"finite-channel"}  # its weights are small integers


@pytest.mark.parametrize("name", NAMES)
def test_every_randomizer_holds_and_is_tight(name: str) -> None:
    sound = small(name)
    finding = exact_audit(sound, tried(name, sound))
    assert finding.verdict in ("holds", "holds where tried")
    assert finding.rounded == finding.claimed == sound.epsilon, (
        "the claim is exact, not only an upper bound"
    )
    if name not in NOT_EXACTLY_REQUESTED:
        assert EPSILON.nanonats - finding.claimed.nanonats in range(1000)


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 3])
@pytest.mark.parametrize(
    "name", ["one-bit", "k-ary", "projective-geometry", "hybrid", "local-discrete-laplace"]
)
def test_other_epsilons_hold_too(name: str, epsilon: float) -> None:
    finding = exact_audit(small(name, Epsilon.requested(epsilon)))
    assert finding.verdict == "holds"
    assert finding.tightness == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_twice_the_epsilon_is_seen(name: str) -> None:
    sound = small(name)
    finding = exact_audit(epsilon_times(name, sound, 2), tried(name, sound))
    assert finding.overspent
    assert finding.tightness == pytest.approx(2, rel=0.01)


@pytest.mark.parametrize("name", ["one-bit", "subset-selection", "hadamard", "piecewise", "basic-rappor"])
def test_a_thousandth_more_than_claimed_is_seen(name: str) -> None:
    assert exact_audit(epsilon_times(name, small(name), 1.001)).overspent


@pytest.mark.parametrize("name", NAMES)
def test_an_item_that_is_kept_is_seen(name: str) -> None:
    sound = small(name)
    finding = exact_audit(item_kept(name, sound), tried(name, sound))
    assert finding.measured == math.inf and finding.verdict == "violated"


def test_a_bit_that_was_left_unrandomized_has_no_epsilon() -> None:
    def keep_last(values: Any, reports: Any) -> Any:
        return (reports & 0xF0) | ((values == 3) * 0x10)[:, None].astype(np.uint8)

    finding = exact_audit(LastBitKept(SymmetricUnaryEncoding(EPSILON, 4), keep_last))
    assert finding.measured == math.inf and finding.rounded is None
    assert finding.verdict == "violated"
    assert finding.to_data()["measured_epsilon_is_infinite"] is True


def test_one_input_that_is_never_hidden_is_seen() -> None:
    def keep_two(values: Any, reports: Any) -> Any:
        return np.where(values == 2, 2, reports).astype(reports.dtype)

    finding = exact_audit(ItemKept(K_ARY, keep_two))
    assert finding.verdict == "violated" and 2 in finding.pair
    # ... but not where nobody looked: an audit speaks of the inputs that it tried.
    assert exact_audit(ItemKept(K_ARY, keep_two), [0, 1]).overspent is False


def test_noise_twice_is_private_and_yet_not_what_was_stated() -> None:
    finding = exact_audit(NoiseTwice(K_ARY))
    assert not finding.overspent and finding.tightness < 0.5
    assert finding.verdict == "violated" and "law" in finding.faults[0]


def test_shared_coins_are_seen() -> None:
    finding = exact_audit(SeedReused(K_ARY))
    assert not finding.overspent
    assert finding.faults == ("the reports of two people are not independent",)


def test_a_fixed_seed_has_no_epsilon() -> None:
    assert exact_audit(SeedFixed(K_ARY)).measured == math.inf


def test_the_measured_epsilon_is_that_of_the_integers() -> None:
    kept = Fraction(K_ARY.keep * 3, (1 << 64) - K_ARY.keep)
    finding = exact_audit(K_ARY)
    assert finding.rounded == Epsilon.of_ratio(kept)
    assert finding.measured == pytest.approx(1, abs=1e-12)
    assert finding.effort == 4 * 2 * 3  # for each of 4 inputs: kept or not, and 3 others


def test_the_largest_ratio_names_its_inputs() -> None:
    laws: dict[int | tuple[int, ...], dict[bytes, Fraction]] = {
        0: {b"a": Fraction(1, 2), b"b": Fraction(1, 2)},
        1: {b"a": Fraction(1, 4), b"b": Fraction(3, 4)},
        2: {b"a": Fraction(1, 8), b"b": Fraction(7, 8)},
    }
    assert largest_ratio(laws) == (Fraction(4), (0, 2))
    laws[3] = {b"b": Fraction(1)}
    assert largest_ratio(laws)[0] is None and 3 in largest_ratio(laws)[1]


def test_what_cannot_be_followed_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="paths"):
        exact_audit(SymmetricUnaryEncoding(EPSILON, 1 << 16), [0, 1])
    with pytest.raises(InvalidParameter, match="two inputs"):
        exact_audit(K_ARY, [0])
