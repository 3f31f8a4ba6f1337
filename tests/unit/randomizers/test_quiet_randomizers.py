"""The time of a randomizer on an agent tells neither values nor coins: every randomizer, and twins that tell.

In `make test` a difference of 10 % is looked for in the randomizer's own work: coins are replayed.  The nightly has the
criterion itself, with coins drawn from their lanes: two classes of values, or of coins, differ by at most 1 %, for one
person and for a thousand.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from localdp.randomizers.one_bit import OneBitRandomizer
from localdp.randomizers.registry import REGISTRY
from localdp.randomness.lanes import LanedSource
from parties.codec import randomizer_to_wire
from parties.wire.v1 import randomizer_pb2 as pb
from tests.support.leaks import Arrays
from tests.support.randomizer_leaks import (
    CASES,
    EPSILON,
    KEY,
    MANY,
    SIZES,
    answered,
    coins_of,
    made,
    quickest,
    replayed,
    values_of,
)
from tests.support.telling_randomizers import (
    CopiedWhere,
    MaskedSteps,
    MaskedTruth,
    SearchedLaws,
    SplitByValue,
    Stretches,
)

COARSE = 0.1
ROUNDS = 180  # so that another worker of the machine leaves the quickest third alone
FINE = 0.01
CROWD = 20_000  # people, of whom a twin tells more
_FINE_ROUNDS = 1000


def _classes(randomizer: Any, people: int, call: int) -> tuple[Arrays, Arrays, Arrays]:
    """Values and coins that are all low, all high, and mixed: of a mixed class no branch is foreseen."""
    values, coins = values_of(randomizer, people), coins_of(randomizer, people)[call]
    return (
        [values["lowest"], *coins.of(coins.low)],
        [values["highest"], *coins.of(coins.high)],
        [values["mixed"], *coins.of(coins.mixed)],
    )


def test_every_randomizer_of_the_catalogue_and_of_the_wire_is_measured() -> None:
    assert set(SIZES) == set(REGISTRY)
    kinds = {randomizer_to_wire(made(name)).WhichOneof("kind") for name in SIZES}
    assert kinds == {field.name for field in pb.Randomizer.DESCRIPTOR.oneofs_by_name["kind"].fields}


@pytest.mark.parametrize("name", CASES)
def test_no_randomizer_takes_longer_for_other_values_and_coins(name: str) -> None:
    randomizer = made(name)
    for call in range(len(coins_of(randomizer, MANY))):
        low, high, mixed = _classes(randomizer, MANY, call)
        for other in (high, mixed):
            assert abs(quickest(partial(replayed, randomizer), low, other, ROUNDS)) < COARSE


@pytest.mark.parametrize(
    ("name", "call", "twin"),
    [("k-ary", 0, MaskedSteps), ("hybrid", 4, CopiedWhere)],
)
def test_masks_are_caught(name: str, call: int, twin: Callable[[Any], Any]) -> None:
    randomizer = made(name)
    low, _, mixed = _classes(randomizer, CROWD, call)
    assert replayed(twin(randomizer), *mixed) == replayed(randomizer, *mixed)
    assert abs(quickest(partial(replayed, twin(randomizer)), low, mixed)) > COARSE
    assert abs(quickest(partial(replayed, randomizer), low, mixed)) < COARSE


def test_a_channel_that_is_searched_by_value_is_caught() -> None:
    randomizer = made("finite-channel")
    values, coins = values_of(randomizer, CROWD), coins_of(randomizer, CROWD)[0]
    first, second = [values["lowest"], *coins.of(coins.low)], [values["mixed"], *coins.of(coins.usual)]
    assert replayed(SplitByValue(randomizer), *second) == replayed(randomizer, *second)
    for quiet in (randomizer, SplitByValue(randomizer)):
        leak = quickest(partial(replayed, quiet), first, second)
        assert (abs(leak) < COARSE) is (quiet is randomizer), leak


def test_a_truth_put_in_by_a_mask_is_caught() -> None:
    randomizer, people = OneBitRandomizer(EPSILON), CROWD
    values = values_of(randomizer, people)
    for sound in (True, False):
        quiet = randomizer if sound else MaskedTruth(randomizer)
        leak = quickest(partial(answered, quiet, range(people)), [values["lowest"]], [values["mixed"]])
        assert (abs(leak) < COARSE) is sound, leak


def test_a_law_that_is_searched_is_caught() -> None:
    randomizer = made("local-discrete-laplace")
    values, coins = values_of(randomizer, CROWD)["lowest"], coins_of(randomizer, CROWD)[0]
    for kind in (LanedSource, SearchedLaws):
        leak = quickest(
            lambda lanes, k=kind: randomizer.randomize(values, k(KEY, lanes)), [coins.low], [coins.usual]
        )
        assert (abs(leak) < COARSE) is (kind is LanedSource), leak


def test_lanes_chosen_by_value_take_a_time_that_does_not_depend_on_them() -> None:
    near, far = np.tile([127, 0], 8), np.tile([0, 127], 8)
    for kind in (LanedSource, Stretches):
        leak = quickest(
            lambda c, k=kind: k.of_choices(KEY, range(16), c, 128).raw(np.uint64, 1024), [near], [far]
        )
        assert (abs(leak) < COARSE) is (kind is LanedSource), leak


def _assert_quiet(run: Callable[..., object], first: Arrays, second: Arrays) -> None:
    leak = quickest(run, first, second, _FINE_ROUNDS)
    assert abs(leak) < FINE, f"{leak:+.2%}"


@pytest.mark.nightly
@pytest.mark.parametrize("people", [1, MANY])
@pytest.mark.parametrize("name", CASES)
def test_the_time_tells_no_value(name: str, people: int) -> None:
    randomizer = made(name)
    values = values_of(randomizer, people)
    for other in ("highest", "mixed"):
        _assert_quiet(partial(answered, randomizer, range(people)), [values["lowest"]], [values[other]])


@pytest.mark.nightly
@pytest.mark.parametrize("people", [1, MANY])
@pytest.mark.parametrize("name", CASES)
def test_the_time_tells_no_coin(name: str, people: int) -> None:
    randomizer = made(name)
    values = values_of(randomizer, people)["lowest"]
    for coins in coins_of(randomizer, people):
        for other in (coins.high, coins.mixed):
            _assert_quiet(partial(answered, randomizer), [coins.low, values], [other, values])
