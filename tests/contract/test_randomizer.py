"""The contract of a local randomizer, for every one of `tests/support/randomizer_registry.py`."""

import inspect
import os
from collections.abc import Callable
from typing import Any, get_type_hints

import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter, MalformedReport
from localdp.randomizers.definition import FrequencyRandomizer, LocalRandomizer, MeanRandomizer
from localdp.randomness.hazmat import SeededSource
from localdp.randomness.keystream import KeystreamSource
from localdp.randomness.lanes import LanedSource
from tests.support.broken_twins import DebiasForgotten, EpsilonDoubled, SeedFixed, SeedReused
from tests.support.randomizer_checks import (
    KEY,
    assert_caught,
    check_exact_law,
    check_lanes,
    check_packing,
    check_people_independent,
    check_refuses_inputs,
    check_tally_merges,
    check_unbiased,
    some_reports,
    some_values,
)
from tests.support.randomizer_registry import ENTRIES, ONE, TWO, Entry

INSTANCES = [entry.at(ONE) for entry in ENTRIES]
every = pytest.mark.parametrize("randomizer", INSTANCES, ids=lambda randomizer: randomizer.canonical)
every_enumerable = pytest.mark.parametrize(
    "entry", [entry for entry in ENTRIES if entry.enumerable], ids=lambda entry: entry.at(ONE).canonical
)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.at(ONE).canonical)
def test_it_has_every_part_of_the_protocol(entry: Entry) -> None:
    randomizer = entry.at(ONE)
    estimator = MeanRandomizer if hasattr(randomizer, "resolution") else FrequencyRandomizer
    for name in _members(estimator if entry.estimates_inputs else LocalRandomizer):
        assert hasattr(randomizer, name), f"{name} is missing"
    assert isinstance(randomizer.epsilon, Epsilon)
    assert isinstance(randomizer.canonical, str)
    assert randomizer.inputs >= 2 and randomizer.report_bits >= 1


def _members(protocol: Any) -> set[str]:
    return {name for name, _ in inspect.getmembers(protocol) if not name.startswith("_")} | set(
        get_type_hints(protocol)
    )


@every
def test_it_is_frozen_and_hashable(randomizer: Any) -> None:
    assert hash(randomizer) == hash(randomizer)
    with pytest.raises((AttributeError, TypeError)):
        randomizer.requested = TWO


def test_different_randomizers_have_different_canonical_texts() -> None:
    everything = INSTANCES + [entry.at(TWO) for entry in ENTRIES]
    assert (
        len({randomizer.canonical for randomizer in everything}) == len(set(everything)) == len(everything)
    )


@every
def test_equal_coins_give_equal_reports(randomizer: Any) -> None:
    assert (some_reports(randomizer, 300) == some_reports(randomizer, 300)).all()
    values = some_values(randomizer, 300)
    for make in (lambda: LanedSource(KEY, range(300)), lambda: KeystreamSource(KEY)):
        one, other = randomizer.randomize(values, make()), randomizer.randomize(values, make())
        assert (one == other).all()


@every
def test_the_values_are_not_changed_by_randomizing_them(randomizer: Any) -> None:
    values = some_values(randomizer, 50)
    before = values.copy()
    randomizer.randomize(values, SeededSource(0))
    assert (values == before).all()


@every
def test_any_integer_type_of_the_values_gives_the_same_reports(randomizer: Any) -> None:
    values = some_values(randomizer, 50)
    expected = randomizer.randomize(values, SeededSource(0))
    for kind in (np.uint8, np.int32, np.uint64):
        assert (randomizer.randomize(values.astype(kind), SeededSource(0)) == expected).all()


@every
def test_reports_survive_packing_and_malformed_ones_are_refused(randomizer: Any) -> None:
    check_packing(randomizer)
    for length in (1, 1000):
        with pytest.raises(MalformedReport):
            randomizer.unpack(bytes(length), 0)


@every
def test_the_length_of_the_reports_does_not_depend_on_the_values(randomizer: Any) -> None:
    lengths = {
        len(randomizer.pack(randomizer.randomize(np.full(9, value), SeededSource(seed))))
        for value in (0, randomizer.inputs - 1)
        for seed in range(20)
    }
    assert len(lengths) == 1


@every
def test_whatever_unpacks_packs_to_the_same_bytes(randomizer: Any) -> None:
    size, accepted = len(randomizer.pack(some_reports(randomizer, 1))), 0
    generator = np.random.default_rng(0)
    for _ in range(300):
        data = generator.bytes(size)
        try:
            reports = randomizer.unpack(data, 1)
        except MalformedReport:
            continue
        accepted += 1
        assert randomizer.pack(reports) == data
        assert randomizer.tally(reports).reports == 1
    assert accepted or size > 1 or randomizer.report_bits < 8


@every
def test_a_person_depends_on_the_own_lane_alone(randomizer: Any) -> None:
    check_lanes(randomizer)


@every
def test_tallies_merge_in_any_order_and_grouping(randomizer: Any) -> None:
    check_tally_merges(randomizer)


@every
def test_nobody_is_served_and_estimated_as_nobody(randomizer: Any) -> None:
    nobody = randomizer.randomize(np.array([], np.int64), SeededSource(0))
    assert len(nobody) == 0 and randomizer.pack(nobody) == b"" and len(randomizer.unpack(b"", 0)) == 0
    empty, some = randomizer.tally(nobody), randomizer.tally(some_reports(randomizer, 10))
    merged = empty.merge(some)
    assert merged.reports == 10 and (merged.sums == some.sums).all()
    with pytest.raises(InvalidParameter):
        randomizer.estimate(empty)


@every
def test_inputs_out_of_range_are_refused(randomizer: Any) -> None:
    check_refuses_inputs(randomizer)


@every_enumerable
def test_the_law_is_exact_and_has_the_claimed_epsilon(entry: Entry) -> None:
    check_exact_law(entry.at(ONE))


@every_enumerable
def test_the_estimate_is_unbiased(entry: Entry) -> None:
    if entry.estimates_inputs:
        check_unbiased(entry.at(ONE), tolerance=1e-11)


@every_enumerable
def test_every_broken_twin_is_caught(entry: Entry) -> None:
    sound = entry.at(ONE)
    doubled = EpsilonDoubled(sound, entry.at(TWO))
    assert_caught(check_exact_law, doubled)
    if entry.estimates_inputs:
        assert_caught(check_unbiased, doubled, DebiasForgotten(sound))
    assert_caught(check_people_independent, SeedReused(sound))


def _in_forked_child(draw: Callable[[], bytes]) -> bytes:
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writer, draw())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        received = pipe.read()
    os.waitpid(child, 0)
    return received


def check_forks(randomizer: Any) -> None:
    """The parent and two forked workers draw different coins from one source of the system."""
    source = KeystreamSource.from_system()
    values = np.zeros(2000, np.int64)

    def draw() -> bytes:
        packed: bytes = randomizer.pack(randomizer.randomize(values, source))
        return packed[:4096]

    draw()  # the buffer of the parent is filled before the fork
    drawn = [_in_forked_child(draw), _in_forked_child(draw), draw()]
    assert all(drawn) and len(set(drawn)) == 3, "forked workers share coins"


@every
def test_forked_workers_never_share_coins(randomizer: Any) -> None:
    check_forks(randomizer)
    assert_caught(check_forks, SeedFixed(randomizer))
