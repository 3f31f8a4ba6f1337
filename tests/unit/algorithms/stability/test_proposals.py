"""Medians and trimmed means with noise for a proposed bound: distances and bounds against all data of small size."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np
import pytest

from localdp.algorithms.stability.proposals import Middle, ProposedMiddle
from localdp.domains import IntegerDomain, RealDomain, Records, Schema
from localdp.errors import InvalidParameter, SignalTooWeak
from tests.support.people import KEYRING, ONE

DELTA = Fraction(1, 10**6)
VALUES, PEOPLE = 5, 8
DATA = list(combinations_with_replacement(range(VALUES), PEOPLE))
Data = tuple[int, ...]
MIDDLES = [Middle.of(PEOPLE, None), Middle.of(PEOPLE, 0.5)]


def neighbours(data: Data) -> set[Data]:
    return {
        tuple(sorted([*data[:person], value, *data[person + 1 :]]))
        for person in range(PEOPLE)
        for value in range(VALUES)
    }


def local_sensitivity(data: Data, middle: Middle) -> int:
    here = middle.sum_of(np.array(data))
    return max(abs(here - middle.sum_of(np.array(other))) for other in neighbours(data))


def replaced(one: Data, other: Data) -> int:
    counts = np.bincount(one, minlength=VALUES) - np.bincount(other, minlength=VALUES)
    return int(np.maximum(counts, 0).sum())


@pytest.mark.parametrize("middle", MIDDLES)
@pytest.mark.parametrize("bound", [1, 2, 3])
def test_the_distance_is_to_the_nearest_data_that_one_record_moves_further(
    middle: Middle, bound: int
) -> None:
    unstable = [data for data in DATA if local_sensitivity(data, middle) > bound]
    for data in DATA[::11]:
        found = middle.distance(np.array(data), VALUES - 1, bound)
        assert found == min((replaced(data, other) for other in unstable), default=PEOPLE + 1)


def test_a_distance_that_looks_at_one_side_is_found() -> None:
    """The broken twin: gaps above the middle alone."""
    middle = MIDDLES[0]
    low_side = [
        data
        for data in DATA
        if data[middle.high + 1] - data[middle.low] <= 1 < local_sensitivity(data, middle)
    ]
    assert low_side


SCHEMA = Schema({"x": RealDomain(-1000.0, 1000.0), "age": IntegerDomain(0, 120)})


def people(number: int, seed: int = 0) -> Records:
    generator = np.random.default_rng(seed)
    columns = {"x": generator.normal(size=number), "age": generator.integers(0, 121, number)}
    return Records(SCHEMA, columns)


@pytest.mark.parametrize("kept", [None, 0.5])
def test_the_noise_is_that_of_the_bound_and_the_answer_is_right(kept: float | None) -> None:
    """150 runs at 10,000 people; the standard error of a standard deviation is 8 %, and 4.5 of them are allowed."""
    bound = 0.02 if kept is None else 0.0005
    mechanism, records = ProposedMiddle("x", bound, DELTA, kept), people(10_000)
    mechanism.require(SCHEMA, 10_000, ONE)
    truth = mechanism.truth(records)
    told = [
        mechanism.release(records, ONE, KEYRING.source("proposed", f"{kept} {run}")) for run in range(150)
    ]
    assert truth is not None and None not in told
    off = np.array(told, np.float64) - truth
    expected = mechanism.error(ONE)
    assert expected == pytest.approx(2 * math.sqrt(2) * bound)
    assert float(np.sqrt((off**2).mean())) == pytest.approx(expected, rel=0.5)
    assert abs(float(off.mean())) < 4.5 * expected / math.sqrt(150)


def test_data_that_one_record_moves_further_than_proposed_have_no_answer() -> None:
    two_heaps = Records(SCHEMA, {"x": np.repeat([-500.0, 500.0], 500), "age": np.zeros(1000, np.int64)})
    mechanism = ProposedMiddle("x", 1.0, DELTA)
    told = [mechanism.release(two_heaps, ONE, KEYRING.source("heaps", str(run))) for run in range(40)]
    assert told == [None] * 40


def test_what_cannot_be_proposed_is_refused() -> None:
    for bound in (0.0, -1.0, math.inf, 1e-15):
        with pytest.raises(InvalidParameter):
            ProposedMiddle("x", bound, DELTA).require(SCHEMA, 1000, ONE)
    with pytest.raises(InvalidParameter, match="share of the people"):
        ProposedMiddle("x", 1.0, DELTA, 1.5).require(SCHEMA, 1000, ONE)
    with pytest.raises(SignalTooWeak, match="nothing was asked"):
        ProposedMiddle("x", 1.0, DELTA).require(SCHEMA, 20, ONE)


@pytest.mark.parametrize("kept", [1e-9, 0.01, 0.999])
@pytest.mark.parametrize("people", [8, 9])
def test_a_trimmed_mean_is_of_somebody_and_not_of_everybody(people: int, kept: float) -> None:
    middle = Middle.of(people, kept)
    assert 1 <= middle.number < people - 1
    assert middle.low == people - 1 - middle.high
