"""How an audit draws: paths are counted right, and only public words are held fixed."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from localdp.auditing.automatic import followable
from localdp.auditing.drawing import (
    CountingSource,
    FixedSeedSource,
    counted_paths,
    packed_report,
    received_reports,
    report_key,
    values_of,
)
from localdp.errors import InvalidParameter
from localdp.randomizers.local_hashing import OptimalLocalHashing
from localdp.randomness.enumerating import enumerate_law
from localdp.randomness.hazmat import SeededSource
from localdp.randomness.source import WORD_RANGE, IntegerLaw, RandomSource
from tests.support.broken_twins import BrokenTwin
from tests.unit.auditing.twins import EPSILON, NAMES, small, tried


@pytest.mark.parametrize("name", NAMES)
def test_as_many_paths_are_counted_as_there_are(name: str) -> None:
    sound = small(name)
    value = (tried(name, sound) or [0])[0]
    counted, seeded = counted_paths(sound, value)
    followed = 0

    def draw(source: RandomSource) -> bytes:
        nonlocal followed
        followed += 1
        return packed_report(sound, value, source, 0 if seeded else None)

    enumerate_law(draw)
    assert counted == followed
    assert seeded == (name in ("local-hashing", "memoised-hashing", "priv-unit"))


def test_impossible_outcomes_are_not_counted() -> None:
    source = CountingSource()
    assert source.bernoulli(WORD_RANGE, 2).all() and not source.bernoulli(0, 3).any()
    assert source.paths == 1
    source.bernoulli(np.array([0, 5], np.uint64), 2)
    assert source.paths == 2
    assert source.categorical(IntegerLaw((0, 3, 0, 1)), 1).tolist() == [1]
    assert source.paths == 4
    source.raw(np.uint8, 1)
    source.below(3, 2)
    assert source.paths == 4 * 256 * 9 and not source.words


class SeedSecret(BrokenTwin):
    """Draws a seed, and does not send it."""

    def randomize(self, values: NDArray[Any], source: RandomSource) -> NDArray[Any]:
        """Reports with another seed than the one that was used."""
        reports: NDArray[Any] = self.sound.randomize(values, source)
        reports["seed"] = 0
        return reports


def test_a_word_that_stays_with_the_party_is_not_taken_for_public() -> None:
    twin = SeedSecret(OptimalLocalHashing(EPSILON))
    with pytest.raises(InvalidParameter, match="not in the report"):
        counted_paths(twin, 0)
    assert not followable(twin, [0, 1])


def test_a_fixed_seed_is_in_every_report_and_leaves_the_other_coins_alone() -> None:
    hashing = OptimalLocalHashing(EPSILON)
    reports = received_reports(hashing, 5, 100, SeededSource(1), seed=7)
    assert set(reports["seed"].tolist()) == {7}
    assert len(set(reports["bucket"].tolist())) > 1
    source = FixedSeedSource(SeededSource(1), 7)
    assert source.raw(np.uint64, 2).tolist() == [7, 7]
    assert (source.raw(np.uint8, 50) == SeededSource(1).raw(np.uint8, 50)).all()


def test_inputs_may_be_numbers_of_vectors_or_vectors() -> None:
    sampling = small("coordinate-sampling")
    assert values_of(sampling, 5, 2).tolist() == [sampling.vector(5)] * 2
    assert values_of(sampling, (1, 2)).tolist() == [[1, 2]]
    assert values_of(small("k-ary"), 3, 2).tolist() == [3, 3]


def test_a_report_of_any_form_has_a_key() -> None:
    assert report_key(np.uint8(3)) == 3
    assert report_key(np.array([True, False])) == (1, 0)
    labelled = np.zeros(1, np.dtype([("label", np.uint32), ("bits", np.bool_, (2,))]))
    assert report_key(labelled[0]) == (0, 0, 0)
