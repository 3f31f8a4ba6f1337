"""Density, cropped mean and heavy hitters: the joint law of the state and the output, by every coin, and their errors."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from itertools import product

import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.errors import BudgetExhausted, InvalidParameter, InvalidRecord
from localdp.mechanisms.pan_private import (
    OneKeeper,
    PanPrivateCroppedMean,
    PanPrivateDensity,
    PanPrivateHeavyHitters,
    ShareKeepers,
)
from localdp.mechanisms.pan_private.appearances import PanPrivateAppearances, RunningAppearances
from localdp.mechanisms.pan_private.coins import BitCoins, Division
from localdp.mechanisms.pan_private.keepers import Keeper, Keepers
from localdp.randomness.enumerating import enumerate_law
from localdp.randomness.hazmat import SeededSource
from localdp.randomness.source import Bits, RandomSource, Words
from localdp.sharing.field import PRIME
from localdp.sharing.noise_plans import NoisePlan

ONE = Epsilon.requested(1)
HALVES = Division(Epsilon.requested("0.5"), Epsilon.requested("0.5"))
KINDS = [(PanPrivateDensity, 1), (PanPrivateCroppedMean, 3), (PanPrivateHeavyHitters, 3)]
Kind = type[PanPrivateAppearances]
View = tuple[object, ...]


def of_one_element(kind: Kind, most: int, source: RandomSource) -> RunningAppearances:
    return kind(1, ONE, OneKeeper(source), source, most, HALVES).start()


def state_of(running: RunningAppearances) -> tuple[int, ...]:
    """What an intruder sees whom nobody notices."""
    return (*running.kept.seen()[0].tolist(), *running.places.tolist(), *map(int, running.bits))


def number_of(running: RunningAppearances) -> int:
    return int(running.kept.seen()[0][0])


def view(kind: Kind, most: int, before: int, after: int, source: RandomSource) -> tuple[View, int]:
    """The state of one element between its appearances, and its number in the end, to which noise is added."""
    running = of_one_element(kind, most, source)
    running.appear([0] * before)
    seen = state_of(running)
    running.appear([0] * after)
    return seen, number_of(running)


def loss(laws: Sequence[dict[tuple[View, int], Fraction]]) -> Epsilon | None:
    """The largest loss of the state and the noisy number together; None is infinity."""
    joint = [_with_noise(law) for law in laws]
    worst = Fraction(1)
    for here, there in product(joint, repeat=2):
        if here.keys() - there.keys():
            return None
        worst = max(worst, *(mass / there[seen] for seen, mass in here.items()))
    return Epsilon.of_ratio(worst)


def _with_noise(law: dict[tuple[View, int], Fraction]) -> dict[tuple[View, int], Fraction]:
    """Of the outputs from -3 to 3: beyond all numbers the ratios stay as they are at the ends."""
    sensitivity = 2 if any(number < 0 for _, number in law) else 1
    base = Fraction(np.exp(-float(HALVES.output) / sensitivity)).limit_denominator(10**12)
    told: dict[tuple[View, int], Fraction] = {}
    for (seen, number), mass in law.items():
        for output in range(-3, 4):
            told[seen, output] = told.get((seen, output), Fraction(0)) + mass * base ** abs(output - number)
    return told


@pytest.mark.parametrize(("kind", "most"), KINDS)
def test_the_state_seen_once_and_the_output_cost_epsilon_whatever_an_element_does(
    kind: Kind, most: int
) -> None:
    streams = product(range(most + 2), repeat=2)
    laws = [enumerate_law(partial(view, kind, most, before, after)) for before, after in streams]
    spent = loss(laws)
    assert spent is not None
    assert Epsilon.requested("0.8") < spent <= Epsilon(ONE.nanonats + 2)


@pytest.mark.parametrize(("kind", "most"), KINDS)
def test_a_state_seen_twice_tells_whether_an_element_came_between(kind: Kind, most: int) -> None:
    def seen(after: int, source: RandomSource) -> tuple[View, int]:
        running = of_one_element(kind, most, source)
        first = state_of(running)
        running.appear([0] * after)
        return (first, state_of(running)), 0

    assert loss([enumerate_law(partial(seen, after)) for after in range(2)]) is None


def test_the_coins_as_printed_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The broken twin: a fair start, and 1/2 + epsilon once the element came, lose -log(1 - 2 epsilon)."""
    half = 1 << 63
    monkeypatch.setattr(BitCoins, "absent", property(lambda self: half))
    monkeypatch.setattr(BitCoins, "present", property(lambda self: half + (1 << 64) * 45 // 100))
    laws = [enumerate_law(partial(view, PanPrivateDensity, 1, b, 0)) for b in range(2)]
    spent = loss(laws)
    assert spent is not None
    assert spent > Epsilon.requested("1.9")


def test_a_place_that_begins_at_zero_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The broken twin: then the state counts."""
    begin = RunningAppearances.__post_init__

    def bare(self: RunningAppearances) -> None:
        begin(self)
        self.places[:] = 0

    monkeypatch.setattr(RunningAppearances, "__post_init__", bare)
    laws = [enumerate_law(partial(view, PanPrivateCroppedMean, 3, b, 0)) for b in range(2)]
    assert loss(laws) is None


def test_made_anew_a_density_may_be_seen_once_more_at_the_price_of_the_state() -> None:
    def seen(times: tuple[int, ...], renewed: bool, source: RandomSource) -> tuple[View, int]:
        running, states = of_one_element(PanPrivateDensity, 1, source), []
        running.appear([0] * times[0])
        for appeared in times[1:]:
            states.append(state_of(running))
            if renewed and len(states) == 1:
                running.intrusions.notice()
                running.renew()
                assert running.claim.epsilon == HALVES.state * 2 + HALVES.output
            running.appear([0] * appeared)
        return tuple(states), number_of(running)

    def spent(renewed: bool) -> Epsilon | None:
        streams = product(range(2), repeat=3)
        return loss([enumerate_law(partial(seen, times, renewed)) for times in streams])

    twice = spent(renewed=True)
    assert twice is not None
    assert Epsilon.requested(1) < twice <= Epsilon.requested("1.500000002")
    assert spent(renewed=False) is None


@pytest.mark.parametrize(("kind", "most"), KINDS)
def test_the_estimate_is_unbiased_by_every_coin(kind: Kind, most: int) -> None:
    for appeared in range(most + 3):
        law = enumerate_law(lambda source, a=appeared: view(kind, most, a, 0, source)[1])  # type: ignore[misc]
        mechanism = kind(1, ONE, OneKeeper(SeededSource(1)), SeededSource(1), most, HALVES)
        mean = sum(
            float(mass) * mechanism.estimate(number, mechanism.coins) for number, mass in law.items()
        )
        expected = float(appeared >= most) if kind is PanPrivateHeavyHitters else min(appeared, most)
        assert mean == pytest.approx(expected)


def stream(elements: int, seed: int) -> list[int]:
    """A tenth of the elements appear, half of them four times."""
    named = np.random.default_rng(seed).permutation(elements)[: elements // 10]
    return [*named.tolist(), *(named[: elements // 20].tolist() * 3)]


TRUTH = {PanPrivateDensity: 0.1, PanPrivateCroppedMean: 0.05 + 0.05 * 3, PanPrivateHeavyHitters: 0.05}


@pytest.mark.parametrize("keepers", [OneKeeper, ShareKeepers], ids=["one keeper", "two servers"])
@pytest.mark.parametrize(("kind", "most"), KINDS)
def test_measured_errors_are_those_that_are_said(
    kind: Kind, most: int, keepers: type[OneKeeper] | type[ShareKeepers]
) -> None:
    # n = 200 estimates: a mean square of normal errors deviates by a tenth; four of these are 0.4, and 0.2 in the root.
    errors = []
    for seed in range(200):
        source = SeededSource(seed)
        mechanism = kind(1000, ONE, keepers(source), source, most)
        running = mechanism.start()
        running.appear(stream(1000, seed))
        errors.append(running.tell() - TRUTH[kind])
    measured = float(np.sqrt(np.mean(np.square(errors))))
    assert measured == pytest.approx(mechanism.root_mean_square, rel=0.2)
    assert abs(np.mean(errors)) < 4 * mechanism.root_mean_square / np.sqrt(200)


@pytest.mark.parametrize(("elements", "told"), [(10**3, 0.044), (10**4, 0.0109), (10**5, 0.0032)])
def test_the_error_of_the_density_is_within_a_tenth_of_what_is_to_be_reached(
    elements: int, told: float
) -> None:
    source = SeededSource(1)
    density = PanPrivateDensity(elements, ONE, OneKeeper(source), source)
    assert density.root_mean_square == pytest.approx(told, rel=0.1)
    # A fair start has an error half as large again.
    q, gap = 0.5, np.exp(0.9) / (1 + np.exp(0.9)) - 0.5
    assert np.sqrt(q * (1 - q) / elements) / gap > 1.05 * density.root_mean_square


def test_heavy_hitters_by_places_are_better_than_by_two_cropped_means() -> None:
    source = SeededSource(1)
    heavy = PanPrivateHeavyHitters(10**4, ONE, OneKeeper(source), source, 8)
    half = PanPrivateCroppedMean(10**4, Epsilon.requested("0.5"), OneKeeper(source), source, 8)
    assert 2**0.5 * half.root_mean_square > 4 * heavy.root_mean_square


def test_an_intruder_into_all_servers_sees_the_noisy_bits_and_into_all_but_one_nothing() -> None:
    source = SeededSource(2)
    running = PanPrivateDensity(500, ONE, ShareKeepers(source, 3, NoisePlan.DIVIDED), source).start()
    running.appear(range(500))
    kept = running.seen().kept
    shares = [one.view(np.uint64).astype(object) for one in kept]
    bits = np.sum(shares, axis=0) % PRIME
    assert set(bits) == {0, 1}
    assert 500 * 0.55 < sum(bits) < 500 * 0.85  # 1 with 0.71, where there is no privacy with 1
    assert min(share.max() for share in shares) > 1 << 60  # two of three: as good as uniform


def test_shares_that_are_made_anew_do_not_tell_which_bits_were_flipped() -> None:
    source = SeededSource(3)
    running = PanPrivateDensity(200, ONE, ShareKeepers(source), source).start()
    before = running.seen().kept
    running.renew()
    after = running.kept.seen()
    for old, new in zip(before, after, strict=True):
        a, b = old.view(np.uint64).astype(object), new.view(np.uint64).astype(object)
        assert not any((a == b) | ((a + b) % PRIME <= 1))


def test_after_an_intrusion_nothing_is_taken_in_but_what_there_is_is_told_once() -> None:
    source = SeededSource(4)
    running = PanPrivateCroppedMean(50, ONE, OneKeeper(source), source, 4).start()
    running.appear([1, 2, 2, 3])
    running.seen()
    with pytest.raises(BudgetExhausted, match="seen"):
        running.appear([4])
    with pytest.raises(InvalidParameter, match="begin anew"):
        running.renew()
    told = running.tell()
    assert running.tell() == told
    with pytest.raises(InvalidParameter, match="over"):
        running.appear([4])


def test_after_two_intrusions_nothing_is_told() -> None:
    source = SeededSource(5)
    running = PanPrivateDensity(50, ONE, OneKeeper(source), source).start()
    running.seen()
    running.seen()
    for refused in (running.tell, running.renew):
        with pytest.raises(BudgetExhausted, match="twice"):
            refused()


class Counted(SeededSource):
    """Writes down how many bits are drawn each time."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.drawn: list[int] = []

    def bernoulli(self, threshold: int | Words, count: int) -> Bits:
        self.drawn.append(count)
        return super().bernoulli(threshold, count)


@pytest.mark.parametrize("most", [2, 5])
def test_an_appearance_draws_as_many_coins_whatever_the_state_is(most: int) -> None:
    """Neither time nor the number of coins tells whether a bit was drawn anew."""
    for seed in range(4):
        source = Counted(seed)
        PanPrivateCroppedMean(20, ONE, OneKeeper(source), source, most).start().appear([1, 2, 3, 3])
        assert source.drawn == [20, 3, 1]


@pytest.mark.parametrize(
    ("kind", "elements", "most", "division"),
    [
        (PanPrivateDensity, 0, 1, None),
        (PanPrivateDensity, 5, 2, None),
        (PanPrivateCroppedMean, 5, 1, None),
        (PanPrivateHeavyHitters, 5, 1, None),
        (PanPrivateHeavyHitters, 5, 10**6, None),
        (PanPrivateDensity, 5, 1, Division(ONE, ONE)),
    ],
)
def test_what_is_no_mechanism_is_refused(
    kind: Kind, elements: int, most: int, division: Division | None
) -> None:
    source = SeededSource(1)
    with pytest.raises(InvalidParameter):
        kind(elements, ONE, OneKeeper(source), source, most, division)


@pytest.mark.parametrize("elements", [[-1], [50], [0.5], [[1]]])
def test_what_is_no_element_is_refused(elements: Sequence[int]) -> None:
    source = SeededSource(1)
    with pytest.raises(InvalidRecord):
        PanPrivateDensity(50, ONE, OneKeeper(source), source).start().appear(elements)


def test_a_keeper_keeps_what_was_put() -> None:
    makers: list[Keepers] = [OneKeeper(SeededSource(1)), ShareKeepers(SeededSource(1))]
    for make in makers:
        kept: Keeper = make.start(4)
        kept.put(np.array([1, 3]), np.array([-1, 1]))
        added = np.sum([one.view(np.uint64).astype(object) for one in kept.seen()], axis=0) % PRIME
        wanted = [0, -1, 0, 1]
        assert [int(one) for one in added] == [
            one % (PRIME if len(kept.seen()) > 1 else 1 << 64) % PRIME for one in wanted
        ]


@pytest.mark.parametrize("renewals", [0, 1, 2])
def test_the_error_that_is_told_is_that_of_a_state_made_anew_so_often(renewals: int) -> None:
    # n = 300 runs: four deviations of a root mean square are 16 %; without the renewals it is off by 60 %.
    errors = []
    for seed in range(300):
        source = SeededSource(seed)
        running = PanPrivateDensity(400, Epsilon.requested(4), OneKeeper(source), source).start()
        running.appear(np.arange(100))
        for _ in range(renewals):
            running.seen()
            running.renew()
        errors.append(running.tell() - 0.25)
    assert np.sqrt(np.mean(np.square(errors))) == pytest.approx(running.root_mean_square, rel=0.16)
    assert (running.root_mean_square == running.mechanism.root_mean_square) == (renewals == 0)


def test_what_nobody_saw_is_not_made_anew() -> None:
    source = SeededSource(1)
    running = PanPrivateDensity(400, ONE, OneKeeper(source), source).start()
    with pytest.raises(InvalidParameter, match="nobody has said"):
        running.renew()
    running.seen()
    running.renew()
    with pytest.raises(InvalidParameter, match="nobody has said"):
        running.renew()
