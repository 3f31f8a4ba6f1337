"""A batch has a size that tells nothing, noise of the right law, and messages that are sealed each by itself."""

from collections import Counter
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import nbinom, poisson

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.flood_plan import Flooded, FloodPlan, planned
from localdp.accounting.flooding import Moved
from localdp.randomness.hazmat import SeededSource
from localdp.sharing.flooded_batch import (
    SEALED_BYTES,
    Codes,
    FloodedBatch,
    added,
    batch_codes,
    opened_codes,
    packed_codes,
    unpacked_codes,
)
from tests.support.flooding import KEY, SECRET, plan_of

PLAN = plan_of(40, 20)
HISTOGRAM = plan_of(40, None, "2", Flooded(3, Moved(1, 1, 1), 1))
DIGEST = b"d" * 32
Batch = Callable[[FloodPlan, int, np.ndarray, SeededSource], Codes]


def dummy_for_each_zero(plan: FloodPlan, people: int, sums: np.ndarray, source: SeededSource) -> Codes:
    """The twin: noise, values, and one dummy for each 0, without a fixed size."""
    codes = batch_codes(plan, people, sums, source)
    zeros = people - int(sums.sum())
    return np.concatenate([codes[codes > 0], np.zeros(zeros, np.uint32)])


def counts_of(batch: Batch, ones: int, trials: int = 300) -> Counter[tuple[int, int]]:
    """How many messages there are, and dummies with them less what noise explains."""
    told = Counter[tuple[int, int]]()
    for trial in range(trials):
        codes = batch(PLAN, 20, np.array([ones]), SeededSource(trial))
        noise = int((codes == 2).sum()) * 2 + int((codes == 1).sum() - (codes == 2).sum() - ones)
        told[len(codes), int((codes == 0).sum()) + noise] += 1
    return told


def test_the_number_of_messages_says_nothing_about_values() -> None:
    """Whatever the values, the same coins make as many messages; dummies are what values and noise leave."""
    sizes = [{size for size, _ in counts_of(batch_codes, ones)} for ones in (0, 7, 20)]
    assert sizes == [{PLAN.size(20)}] * 3


def test_at_full_size_the_number_of_messages_tells_nobody_apart() -> None:
    """250,000 people of a million: whoever counts messages sees one number, whatever all of them say."""
    plan = planned(Epsilon.requested(1), Fraction(1, 10**6), Flooded(), 10**6)
    sizes = {
        len(batch_codes(plan, 250_000, np.array([ones]), SeededSource(seed)))
        for ones in (0, 125_000, 250_000)
        for seed in range(3)
    }
    assert sizes == {plan.size(250_000)}
    told = [len(dummy_for_each_zero(plan, 250_000, np.array([ones]), SeededSource(0))) for ones in (0, 1)]
    assert told[0] == told[1]  # the twin's number says nothing either, but its dummies do:
    zeros = [
        int((dummy_for_each_zero(plan, 250_000, np.array([ones]), SeededSource(seed)) == 0).sum())
        for ones in (100, 101)
        for seed in range(2)
    ]
    assert zeros == [249_900, 249_900, 249_899, 249_899]


def test_one_dummy_for_each_0_is_caught() -> None:
    """Its number of dummies is the exact count."""
    told = [
        Counter((dummy_for_each_zero(PLAN, 20, np.array([n]), SeededSource(5)) == 0).tolist())[True]
        for n in (3, 9)
    ]
    assert told == [17, 11]
    kept = [int((batch_codes(PLAN, 20, np.array([n]), SeededSource(5)) == 0).sum()) for n in (3, 9)]
    size = PLAN.size(20)  # of ours the dummies are the rest of a public number, and noise with them
    assert all(size - dummies != n for dummies, n in zip(kept, (3, 9), strict=True))


@pytest.mark.parametrize("people", [1, 7, 20])
def test_the_noise_of_a_part_has_its_part_of_the_law(people: int) -> None:
    """5,000 draws; means are within 6 standard errors, which the law exceeds with probability below 1e-8."""
    trials, share = 5_000, people / PLAN.honest
    source, nothing = SeededSource(people), np.zeros(1, np.int64)
    codes = [batch_codes(PLAN, people, nothing, source) for _ in range(trials)]
    drawn = np.array([np.bincount(one, minlength=3) for one in codes])
    plus, minus = drawn[:, 1], drawn[:, 2]
    mean = share / np.expm1(float(PLAN.flood.rate)) + PLAN.flood.pairs * share
    geometric = nbinom(share, -np.expm1(-float(PLAN.flood.rate)))
    variance = geometric.var() + poisson(PLAN.flood.pairs * share).var()
    for one in (plus, minus):
        assert abs(one.mean() - mean) < 6 * np.sqrt(variance / trials)
    assert abs((plus - minus).var() - 2 * geometric.var()) < 0.3 * 2 * geometric.var() + 0.1
    assert abs((plus - minus).mean()) < 6 * np.sqrt(2 * geometric.var() / trials)


def test_noise_that_is_not_divided_is_caught() -> None:
    """The twin: each of two parts of ten draws all of the noise of twenty."""
    source = SeededSource(1)
    drawn = [
        np.bincount(batch_codes(PLAN, 20, np.zeros(1, np.int64), source), minlength=3)[1]
        for _ in range(2000)
    ]
    divided = PLAN.flood.pairs / 2 + 0.5 / np.expm1(float(PLAN.flood.rate))
    assert np.mean(drawn) - divided > 6 * np.sqrt(np.var(drawn) / 2000)


def test_noise_that_does_not_fit_is_left_out_whatever_the_values_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(FloodPlan, "room", lambda plan, people: 3)
    for ones in (0, 20):
        codes = batch_codes(PLAN, 20, np.array([ones]), SeededSource(0))
        assert (np.bincount(codes, minlength=3) == [23 - ones, ones, 0]).all()


def test_sums_are_what_comes_out_of_all_parts() -> None:
    source, sums = SeededSource(2), np.array([5, 0, 9])
    parts = [batch_codes(HISTOGRAM, 20, sums, source) for _ in range(2)]
    assert [len(part) for part in parts] == [HISTOGRAM.size(20)] * 2
    told = added(np.concatenate(parts), 3)
    assert (np.abs(told - 2 * sums) < 60).all()
    assert (told == sum(added(part, 3) for part in parts)).all()


def test_codes_that_mean_nothing_count_as_dummies() -> None:
    assert added(np.array([0, 1, 1, 2, 3, 7, 1 << 23], np.uint32), 1).tolist() == [1]


def test_codes_are_three_bytes() -> None:
    codes = np.array([0, 1, 1 << 17, (1 << 24) - 1], np.uint32)
    assert len(packed_codes(codes)) == 12
    assert (unpacked_codes(packed_codes(codes)) == codes).all()


def batch(codes: Codes, secret: bytes = b"s" * 16) -> FloodedBatch:
    return FloodedBatch.of(codes, secret, DIGEST, KEY)


CODES = np.arange(1, 41, dtype=np.uint32)


def test_messages_open_one_by_one_and_only_in_their_round() -> None:
    sealed = batch(CODES).messages(0, 40)
    assert sealed.shape == (40, SEALED_BYTES)
    assert (opened_codes(SECRET, DIGEST, sealed) == CODES).all()
    assert (opened_codes(SECRET, b"e" * 32, sealed) == 0).all()
    assert (opened_codes(b"\x07" * 32, DIGEST, sealed) == 0).all()
    spoiled = sealed.copy()
    spoiled[3, 40] ^= 1
    spoiled[4] = 0  # no public key
    assert (
        opened_codes(SECRET, DIGEST, spoiled) == np.where(np.isin(np.arange(40), (3, 4)), 0, CODES)
    ).all()


def test_the_same_batch_has_the_same_bytes_in_whatever_pieces() -> None:
    whole = batch(CODES).messages(0, 40)
    again = batch(CODES)
    assert (np.concatenate([again.messages(0, 7), again.messages(7, 40)]) == whole).all()


def test_no_key_seals_twice() -> None:
    """Another secret, and other codes under the same secret, have key pairs of their own."""
    other = CODES.copy()
    other[-1] = 0
    sealed = [batch(CODES), batch(CODES, b"t" * 16), batch(other), batch(np.zeros(40, np.uint32))]
    keys = [row[:32].tobytes() for one in sealed for row in one.messages(0, 40)]
    assert len(set(keys)) == 160


def linked(rows: np.ndarray) -> int:
    """How many messages an analyst can tell to have come with another one: they have a key in common."""
    shared = Counter(row[:32].tobytes() for row in rows)
    return sum(count for count in shared.values() if count > 1)


def test_messages_that_are_sealed_together_are_caught() -> None:
    """The twin seals a batch under one key pair: it tells each agent's messages apart, and so its own sum."""
    sealed = batch(CODES).messages(0, 40)
    together = sealed.copy()
    together[:, :32] = sealed[0, :32]
    assert (linked(sealed), linked(together)) == (0, 40)


def test_a_simulation_seals_nothing() -> None:
    plain = FloodedBatch.of(CODES, b"s" * 16, DIGEST, b"")
    assert (plain.messages(3, 9) == CODES[3:9]).all()


def test_the_room_is_what_the_plan_says() -> None:
    assert PLAN.size(20) == 20 + PLAN.room(20)
    assert PLAN.share(20) == Fraction(1)
