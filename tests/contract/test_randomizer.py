"""The contract of a local randomizer, for every row of `localdp/randomizers/registry.py`."""

import inspect
import os
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, get_type_hints

import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.auditing.drawing import counted_paths, stated_law
from localdp.errors import InvalidParameter, MalformedReport
from localdp.randomizers.definition import (
    FrequencyRandomizer,
    LocalRandomizer,
    MeanRandomizer,
    TalliedRandomizer,
)
from localdp.randomizers.input_kinds import FingerprintInput
from localdp.randomizers.registry import ENTRIES, Entry
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
)
from tests.support.randomizer_inputs import end_values, narrow_values, some_values

ONE, TWO = Epsilon.requested(1), Epsilon.requested(2)
# What has no exact estimate of single inputs from a tally: ranges, parities, a deconvolution, a projection ...
ESTIMATES_OTHERWISE = {
    "haar-ranges",
    "hierarchical-ranges",
    "hadamard-marginals",
    "square-wave",
    "priv-unit",
}
FEW_PATHS = 64  # so few that those of two people can be followed together
TOO_LARGE = {"optimized-unary(epsilon=1,inputs=130)", "subset-selection(epsilon=1,inputs=70,size=19)"}


@dataclass(frozen=True)
class Example:
    """A randomizer of the registry, and the same at twice the epsilon."""

    entry: Entry
    sound: Any
    louder: Any

    @property
    def tried(self) -> list[Any]:
        """Inputs among which there are two that attain the epsilon."""
        chosen = self.entry.tried(self.sound, self.entry.small)
        return list(range(self.sound.inputs) if chosen is None else chosen)

    @property
    def seed(self) -> int | None:
        """A public seed, if it draws one."""
        return 1 if counted_paths(self.sound, self.tried[0])[1] else None

    @property
    def paths(self) -> int:
        """How many paths the coins of one report have."""
        return counted_paths(self.sound, self.tried[0])[0]

    @property
    def of_fingerprints(self) -> bool:
        """Whether its estimates are of candidates, and unbiased over the hash functions only."""
        return bool(self.sound.takes == FingerprintInput())

    @property
    def estimates_inputs(self) -> bool:
        """Whether a report estimates the indicator of its input, or its place on the grid."""
        return not self.of_fingerprints and self.entry.name not in ESTIMATES_OTHERWISE

    def estimate(self, reports: Any) -> Any:
        """What it estimates from reports."""
        summed = self.sound.tally(reports) if isinstance(self.sound, TalliedRandomizer) else reports
        return self.sound.estimate(summed, *([np.arange(3)] if self.of_fingerprints else []))


EXAMPLES = [
    Example(entry, sound, louder)
    for entry in ENTRIES
    for sound, louder in zip(entry.examples(ONE), entry.examples(TWO), strict=True)
]
INSTANCES = [example.sound for example in EXAMPLES]
every = pytest.mark.parametrize("randomizer", INSTANCES, ids=lambda randomizer: randomizer.canonical)
every_tallied = pytest.mark.parametrize(
    "randomizer",
    [randomizer for randomizer in INSTANCES if isinstance(randomizer, TalliedRandomizer)],
    ids=lambda randomizer: randomizer.canonical,
)
every_example = pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.sound.canonical)
every_enumerable = pytest.mark.parametrize(
    "example",
    [example for example in EXAMPLES if example.sound.canonical not in TOO_LARGE],
    ids=lambda example: example.sound.canonical,
)


def test_every_construction_has_an_example_whose_coins_are_followed() -> None:
    followed = {type(example.sound) for example in EXAMPLES if example.sound.canonical not in TOO_LARGE}
    assert followed == {entry.construction for entry in ENTRIES}
    assert {example.sound.canonical for example in EXAMPLES} >= TOO_LARGE
    assert {entry.name for entry in ENTRIES} >= ESTIMATES_OTHERWISE


def test_only_randomizers_of_open_domains_keep_reports_untallied() -> None:
    untallied = {example for example in EXAMPLES if not isinstance(example.sound, TalliedRandomizer)}
    assert untallied and all(example.of_fingerprints for example in untallied)


@every_example
def test_it_has_every_part_of_the_protocol(example: Example) -> None:
    randomizer = example.sound
    estimator = MeanRandomizer if hasattr(randomizer, "resolution") else FrequencyRandomizer
    for name in _members(estimator if example.estimates_inputs else LocalRandomizer):
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
    everything = INSTANCES + [example.louder for example in EXAMPLES]
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
    values = narrow_values(randomizer, 50)
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
        len(randomizer.pack(randomizer.randomize(values, SeededSource(seed))))
        for values in end_values(randomizer, 9)
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
        if isinstance(randomizer, TalliedRandomizer):
            assert randomizer.tally(reports).reports == 1
    assert accepted or size > 1 or randomizer.report_bits < 8


@every
def test_a_person_depends_on_the_own_lane_alone(randomizer: Any) -> None:
    check_lanes(randomizer)


@every_tallied
def test_tallies_merge_in_any_order_and_grouping(randomizer: Any) -> None:
    check_tally_merges(randomizer)


@every_example
def test_nobody_is_served_and_estimated_as_nobody(example: Example) -> None:
    randomizer = example.sound
    nobody = randomizer.randomize(some_values(randomizer, 0), SeededSource(0))
    assert len(nobody) == 0 and randomizer.pack(nobody) == b"" and len(randomizer.unpack(b"", 0)) == 0
    with pytest.raises(InvalidParameter):
        example.estimate(nobody)


@every_tallied
def test_the_tally_of_nobody_adds_nothing(randomizer: Any) -> None:
    empty, some = (
        randomizer.tally(some_reports(randomizer, 0)),
        randomizer.tally(some_reports(randomizer, 10)),
    )
    merged = empty.merge(some)
    assert merged.reports == 10 and (merged.sums == some.sums).all()


@every
def test_inputs_out_of_range_are_refused(randomizer: Any) -> None:
    check_refuses_inputs(randomizer)


@every_enumerable
def test_the_law_is_exact_and_has_the_claimed_epsilon(example: Example) -> None:
    check_exact_law(example.sound, example.tried, seed=example.seed)


@every_enumerable
def test_a_share_of_likely_reports_is_that_of_a_law_of_two_probabilities(example: Example) -> None:
    """What mixing is worth is worked out from it: a construction without two of them says a half."""
    share, ratio = example.sound.likely, Fraction(0)
    for value in example.tried if share < Fraction(1, 2) else []:
        law = stated_law(example.sound, value, example.seed)
        assert law is not None
        masses = law.values()
        highest, lowest = max(masses), min(masses)
        assert set(masses) == {highest, lowest} and share == Fraction(
            list(masses).count(highest), len(masses)
        )
        ratio = max(ratio, highest / lowest)
    assert not ratio or Epsilon.of_ratio(ratio) == example.sound.epsilon
    assert not ratio or 1.9 < float(example.sound.at(TWO).epsilon) <= 2


def test_constructions_of_two_probabilities_are_among_the_examples() -> None:
    named = {example.entry.name for example in EXAMPLES if example.sound.likely < Fraction(1, 2)}
    assert named == {"k-ary", "subset-selection", "local-hashing", "projective-geometry", "priv-unit"}


@every_enumerable
def test_the_estimate_is_unbiased(example: Example) -> None:
    if example.estimates_inputs:
        check_unbiased(example.sound, example.tried, tolerance=1e-11)


@pytest.mark.parametrize(
    "example",
    [
        example
        for example in EXAMPLES
        if example.sound.canonical not in TOO_LARGE and example.paths <= FEW_PATHS
    ],
    ids=lambda example: example.sound.canonical,
)
def test_people_share_no_coin(example: Example) -> None:
    """Of those with more paths, the unit tests say so."""
    check_people_independent(example.sound, example.tried[:2], seed=example.seed)


@every_enumerable
def test_every_broken_twin_is_caught(example: Example) -> None:
    sound, tried, seed = example.sound, example.tried, example.seed
    doubled = EpsilonDoubled(sound, example.louder)
    assert_caught(partial(check_exact_law, inputs=tried, seed=seed), doubled)
    if example.estimates_inputs:
        assert_caught(partial(check_unbiased, inputs=tried), doubled, DebiasForgotten(sound))
    assert_caught(partial(check_people_independent, values=tried[:2], seed=seed), SeedReused(sound))


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
    values = np.zeros_like(some_values(randomizer, 2000))

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
