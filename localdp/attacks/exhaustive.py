"""Blatant non-privacy by trying everything (Theorem 8.1; Dinur and Nissim 2003).

Ask all 2^n subset sums, each answered within E.  Any candidate that agrees with all answers within E differs from the
secret in at most 4E places: of the places where the secret has a one and the candidate a zero, and of those the other way
round, each set is itself a query, on which secret and candidate differ by its size and both are within E of the answer.

Checked for every candidate in tests/unit/attacks/test_reconstruction.py.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from localdp.errors import InvalidParameter
from localdp.randomizers.definition import Floats
from localdp.randomness.source import Bits, Integers

MOST_PEOPLE = 12  # 4^n comparisons


def all_sums(bits: Bits) -> Floats:
    """The true answer to every subset; bit i of a subset's number says whether person i is in it."""
    sums: Floats = _overlaps(len(bits), np.array([_number(bits)], np.uint32))[0].astype(np.float64)
    return sums


def consistent(answers: Floats, error: float) -> Integers:
    """The numbers of all candidates whose every sum is within `error` of its answer."""
    people = len(answers).bit_length() - 1
    if len(answers) != 1 << people:
        raise InvalidParameter("an exhaustive attack has an answer to every subset")
    sums = _overlaps(people, np.arange(1 << people, dtype=np.uint32))
    within = np.abs(sums - answers[None, :]) <= error
    return np.flatnonzero(within.all(axis=1))


def distances(candidates: Integers, bits: Bits) -> Integers:
    """In how many places each candidate differs from the secret."""
    differing: Integers = np.bitwise_count(candidates ^ _number(bits)).astype(np.int64)
    return differing


def _overlaps(people: int, candidates: NDArray[np.uint32]) -> NDArray[np.uint8]:
    if not 1 <= people <= MOST_PEOPLE:
        raise InvalidParameter(f"trying everything is for 1 to {MOST_PEOPLE} people")
    subsets = np.arange(1 << people, dtype=np.uint32)
    common: NDArray[np.uint8] = np.bitwise_count(candidates[:, None] & subsets[None, :])
    return common


def _number(bits: Bits) -> int:
    return sum(1 << int(place) for place in np.flatnonzero(bits))
