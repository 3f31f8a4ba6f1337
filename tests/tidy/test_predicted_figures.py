"""Pages quote what formulas predict as the code computes it, and what was measured within its error of that.

docs/shuffling.md and docs/attacks.md have tables with rows of both kinds.  Twins that must be caught: a predicted figure
that was changed, and a measured one that is further from its prediction than trials allow.
"""

from __future__ import annotations

import math
import re
from fractions import Fraction
from pathlib import Path

import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.attacks.hadamard import most_wrong
from localdp.attacks.least_squares import expected_fraction
from localdp.oracles.bounds import randomized_response_error, shuffled_local_epsilon

DOCS = Path(__file__).resolve().parents[2] / "docs"
DELTA = Fraction(1, 10**6)
_NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?")


def table_under(page: str, heading: str) -> list[list[str]]:
    """The rows of the first table below these words, without its head."""
    lines = (DOCS / page).read_text().partition(heading)[2].splitlines()
    start = next(place for place, line in enumerate(lines) if line.startswith("|"))
    rows = []
    for line in lines[start:]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split("|")])
    return [rows[0], *rows[2:]]


def number(cell: str) -> float:
    found = _NUMBER.search(cell)
    assert found is not None, cell
    return float(found[0].replace(",", ""))


def is_quoted(cell: str, value: float) -> bool:
    """Whether a cell is this value, rounded as the cell is."""
    found = _NUMBER.search(cell)
    assert found is not None, cell
    places = len(found[0].partition(".")[2])
    return abs(number(cell) - value) <= 0.5 * 10.0**-places + 1e-9


def local_epsilon(people: int) -> float:
    return float(shuffled_local_epsilon(Epsilon.requested(1), DELTA, people))


SHUFFLED = table_under("shuffling.md", "At ε = 1 and δ = 10⁻⁶")[1:]
COLLUDING = table_under("shuffling.md", "largest parties are left out")[1:]


@pytest.mark.parametrize("row", SHUFFLED, ids=lambda row: row[0])
def test_errors_under_shuffling_are_those_of_the_formula(row: list[str]) -> None:
    people = int(number(row[0]))
    assert is_quoted(row[1], local_epsilon(people))
    predicted = randomized_response_error(local_epsilon(people), people)
    assert is_quoted(row[2], predicted)
    assert is_quoted(row[4], randomized_response_error(1.0, people))
    half = float(row[3].partition("±")[2])
    assert abs(number(row[3]) - predicted) <= 2.1 * half  # four standard errors


@pytest.mark.parametrize("row", COLLUDING, ids=lambda row: row[0])
def test_errors_among_parties_that_tell_are_those_of_the_formula(row: list[str]) -> None:
    counted_on = int(number(row[1]))
    assert counted_on == 1000 * (10 - int(number(row[0])))
    assert is_quoted(row[2], local_epsilon(counted_on))
    assert is_quoted(row[3], randomized_response_error(local_epsilon(counted_on), 10_000))


def test_least_squares_recover_what_is_predicted() -> None:
    head, recovered, predicted = table_under("attacks.md", "n = 256, m = 1,024, mean of 10 trials")
    for deviation, found, expected in zip(head[1:], recovered[1:], predicted[1:], strict=True):
        value = expected_fraction(1024, 256, number(deviation))
        assert is_quoted(expected, value)
        assert abs(number(found) - value) <= 4 * math.sqrt(value * (1 - value) / 2560) + 0.005


def test_hadamard_recovers_at_least_what_is_promised() -> None:
    head, recovered, least = table_under("attacks.md", "n = 1,024, uniform errors")
    for error, found, promised in zip(head[1:], recovered[1:], least[1:], strict=True):
        assert is_quoted(promised, max(1 - most_wrong(number(error), 1024) / 1024, 0.0))
        assert number(found) >= number(promised)


def test_a_changed_figure_is_caught() -> None:
    people = int(number(SHUFFLED[2][0]))
    assert not is_quoted("4.667", randomized_response_error(local_epsilon(people), people))
    assert not is_quoted("5.7", local_epsilon(people) + 0.1)
