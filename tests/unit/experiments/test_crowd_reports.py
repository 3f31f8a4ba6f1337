"""A crowd's reports: each person once, with coins of the block that it is in and of no other."""

from collections.abc import Hashable
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter
from localdp.experiments import crowd_reports
from localdp.experiments.crowd import Crowd
from localdp.experiments.crowd_reports import BlockRange, CrowdReports, sums_digest
from localdp.randomizers.definition import TalliedRandomizer, Tally, Values
from localdp.randomizers.registry import entry_of
from localdp.randomness.source import RandomSource

ONE, KEY = Epsilon.requested(1), bytes(32)
BLOCK, SLICE = 64, 24


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crowd_reports, "BLOCK", BLOCK)
    monkeypatch.setattr(crowd_reports, "SLICE", SLICE)


def reports(people: int, randomizer: Any, law: str = "uniform") -> CrowdReports:
    return CrowdReports(Crowd.by_law(people, randomizer.inputs, law), randomizer, KEY)


class Watched:
    """Says the truth, and notes the first coins that it is handed with every slice."""

    inputs, report_bits, canonical = 8, 3, "watched"

    def __init__(self) -> None:
        self.coins: list[bytes] = []
        self.sizes: list[int] = []

    def randomize(self, values: Values, source: RandomSource) -> Values:
        self.coins.append(source.raw(np.uint8, 16).tobytes())
        self.sizes.append(len(values))
        return values

    def tally(self, values: Values) -> Tally:
        return Tally(self, len(values), np.bincount(values, minlength=8))  # type: ignore[arg-type]

    def law(self, value: int) -> dict[Hashable, Fraction]:
        return {value: Fraction(1)}


for _name in (
    "epsilon",
    "takes",
    "draw_cost",
    "parameters",
    "pack",
    "unpack",
    "memoised",
    "shuffled_as",
    "likely",
    "at",
):
    setattr(Watched, _name, lambda *_: None)  # what a randomizer has, and nobody here asks for


@pytest.mark.parametrize("people", [1, SLICE, BLOCK - 1, BLOCK, BLOCK + 1, 5 * BLOCK + 7])
@pytest.mark.parametrize("workers", [0, 1, 3])
def test_everybody_reports_once_whatever_the_tasks(people: int, workers: int) -> None:
    watched = Watched()
    whole = reports(people, watched)
    tallies = [whole.tally(task) for task in whole.tasks(workers)]
    sums = np.sum([tally.sums for tally in tallies], axis=0)
    np.testing.assert_array_equal(sums, whole.crowd.counts())
    assert sum(tally.reports for tally in tallies) == people
    assert max(watched.sizes) <= SLICE and len(set(watched.coins)) == len(watched.coins)


def test_coins_belong_to_the_block_and_to_the_key() -> None:
    first, again, other = Watched(), Watched(), Watched()
    for watched, key in ((first, KEY), (again, KEY), (other, bytes(31) + b"1")):
        CrowdReports(Crowd.by_law(4 * BLOCK, 8, "uniform"), watched, key).tally(BlockRange(0, 4))  # type: ignore[arg-type]
    assert first.coins == again.coins and not set(first.coins) & set(other.coins)
    alone = Watched()
    reports(4 * BLOCK, alone).tally(BlockRange(2, 3))
    slices = -(-BLOCK // SLICE)
    assert alone.coins == first.coins[2 * slices : 3 * slices]


@pytest.mark.parametrize(
    "name", ["one-bit", "k-ary", "projective-geometry", "subset-selection", "hadamard"]
)
def test_the_sums_are_the_same_however_blocks_are_dealt_out(name: str) -> None:
    randomizer: TalliedRandomizer = entry_of(name).made(ONE, 8)
    whole = reports(10 * BLOCK + 3, randomizer)
    together = whole.tally(BlockRange(0, 11))
    apart = [whole.tally(BlockRange(number, number + 1)) for number in reversed(range(11))]
    merged = apart[0]
    for tally in apart[1:]:
        merged = merged.merge(tally)
    assert sums_digest(together) == sums_digest(merged) and together.reports == 10 * BLOCK + 3
    assert sums_digest(replace(whole, key=bytes(31) + b"1").tally(BlockRange(0, 11))) != sums_digest(
        together
    )


def test_long_reports_are_made_for_fewer_people_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crowd_reports, "SLICE", 1 << 16)
    unary = reports(1, entry_of("optimized-unary").made(ONE, 1024))
    assert unary._slice * 1024 <= crowd_reports._SLICE_BITS < 1 << 25
    assert reports(1, entry_of("k-ary").made(ONE, 1024))._slice == 1 << 16


def test_longer_slices_of_bits_have_the_sums_of_shorter_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crowd_reports, "BLOCK", 1 << 19)
    whole, told = reports((1 << 19) + 70_001, entry_of("one-bit").made(ONE, 2)), set[str]()
    for size in (1 << 16, 1 << 18):
        monkeypatch.setattr(crowd_reports, "_SLICE_OF_BITS", size)
        assert whole._slice == size
        told.add(sums_digest(whole.tally(BlockRange(0, 2))))
    assert len(told) == 1


def test_tasks_are_few_for_many_people_and_never_larger_than_a_worker_should_lose() -> None:
    crowd = Crowd.by_law(10**10, 2, "uniform")
    tasks = list(CrowdReports(crowd, entry_of("one-bit").made(ONE, 2), KEY).tasks(2))
    assert tasks[0].first == 0 and all(one.last == two.first for one, two in pairwise(tasks))
    assert max(task.last - task.first for task in tasks) <= 256


def test_what_is_not_summed_up_or_has_other_inputs_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="open domain"):
        CrowdReports(Crowd.by_law(5, 2, "uniform"), entry_of("local-hashing").made(ONE, 8), KEY)
    with pytest.raises(InvalidParameter, match="2 inputs, and the randomizer takes 8"):
        CrowdReports(Crowd.by_law(5, 2, "uniform"), entry_of("k-ary").made(ONE, 8), KEY)
