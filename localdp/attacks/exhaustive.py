"""Blatant non-privacy (Definition 8.1) by trying everything (Theorems 8.1 and 8.2; Dinur and Nissim 2003).

Ask all 2^n subset sums, each answered within E.  Any candidate that agrees with all answers within E differs from the
secret in at most 4E places: of the places where the secret has a one and the candidate a zero, and of those the other way
round, each set is itself a query, on which secret and candidate differ by its size and both are within E of the answer.

Theorem 8.2 needs few questions, and survives any share of garbage below one half (Dwork, McSherry and Talwar 2007).  Bits
are -1 and +1, and so are the entries of the questions.  Keep the candidates that at least 1/2 + eta of the answers agree
with, within alpha.  If so many answers are within alpha of the truth, secret and candidate agree within 2 alpha on a share
of 2 eta at least, and random questions tell them apart oftener where they differ in more than (2 alpha / eta)**2 places
(Lemma 8.3).  It is not efficient: the linear program of the same paper is, for 0.239 of garbage (`linear_program.py`).
**Deviation.**  The book says so for any alpha; for alpha = 0 it is not so.  A candidate that is wrong in 2 places agrees on
half of all questions, and three quarters of the answers that are exact do not rule it out.

Checked for every candidate and the worst garbage in tests/unit/attacks/test_reconstruction.py.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from localdp.errors import InvalidParameter
from localdp.randomizers.definition import Floats
from localdp.randomness.source import Bits, Integers

MOST_PEOPLE = 12  # 4^n comparisons
_ROUNDING = 1e-9  # a share of so many questions may be a whole number that floats miss


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


def signed_answers(signs: Bits, bits: Bits) -> Floats:
    """The true answers to questions of -1 and +1 (True) about bits that are read as -1 and +1."""
    sums: Floats = (2.0 * signs - 1.0) @ (2.0 * bits - 1.0)
    return sums


def outvoting(signs: Bits, answers: Floats, error: float, margin: float) -> Integers:
    """The numbers of all candidates that at least 1/2 + `margin` of the answers are within `error` of."""
    questions, people = signs.shape
    if len(answers) != questions or not 0 < margin <= 0.5:
        raise InvalidParameter(
            "an attack has an answer to each question, and a margin above 0 and at most 1/2"
        )
    _require_few(people)
    candidates = np.arange(1 << people)
    each = (candidates[:, None] >> np.arange(people) & 1).astype(np.bool_)
    agreeing = np.zeros(len(candidates), np.int64)
    for row, answer in zip(signs, answers, strict=True):  # one at a time: all of them need 2^n m numbers
        agreeing += np.abs(signed_answers(each, row) - answer) <= error
    return np.flatnonzero(agreeing >= math.ceil((0.5 + margin) * questions - _ROUNDING))


def most_outvoting(error: float, margin: float) -> float:
    """In how many places a candidate that outvotes the garbage can differ: (2 alpha / eta)**2."""
    return (2 * error / margin) ** 2


def distances(candidates: Integers, bits: Bits) -> Integers:
    """In how many places each candidate differs from the secret."""
    differing: Integers = np.bitwise_count(candidates ^ _number(bits)).astype(np.int64)
    return differing


def _overlaps(people: int, candidates: NDArray[np.uint32]) -> NDArray[np.uint8]:
    _require_few(people)
    subsets = np.arange(1 << people, dtype=np.uint32)
    common: NDArray[np.uint8] = np.bitwise_count(candidates[:, None] & subsets[None, :])
    return common


def _require_few(people: int) -> None:
    if not 1 <= people <= MOST_PEOPLE:
        raise InvalidParameter(f"trying everything is for 1 to {MOST_PEOPLE} people")


def _number(bits: Bits) -> int:
    return sum(1 << int(place) for place in np.flatnonzero(bits))
