"""Scores on whole numbers: what they are, and that no record moves them further than their sensitivity says."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from localdp.domains import BitDomain, IntegerDomain, RealDomain, Records, Schema
from localdp.queries.encoded import GRID
from localdp.queries.scores import LARGEST, Furthest, Largest, Quantile, Rule, Scores

SCHEMA = Schema({"smoker": BitDomain(), "age": IntegerDomain(0, 4), "bmi": RealDomain(0.0, 1.0)})
AGES = [0, 1, 1, 1, 3, 3, 4]
CASES: dict[str, tuple[Any, Rule, int]] = {  # with the sensitivity
    "conditions": (["smoker", "age >= 2"], LARGEST, 1),
    "a condition and a number": (["smoker", "clip(bmi)"], LARGEST, GRID),
    "a guess": (["smoker", "age >= 2", "age < 1"], Furthest([0.3, 0.9, 0.5]), 1),
    "values": ("age", LARGEST, 1),
    "the median": ("age", Quantile(0.5), 1),
    "the lower quartile": ("age", Quantile(0.25), 1),
    "rows of bits": ("age", Furthest([0.2, 0.8], [[1, 1, 0, 0, 0], [0, 1, 0, 1, 1]]), 1),
    "rows of numbers": ("age", Largest([[0.5, 0.5, 0.25, 0.5, 0.5], [0.0, 0.1, 0.2, 0.3, 0.5]]), GRID // 2),
    "rows that are all alike": ("age", Largest([[1, 1, 1, 1, 1]]), 1),
}


def people(ages: list[int], smokers: int = 2) -> Records:
    count = len(ages)
    columns = {
        "smoker": np.arange(count) < smokers,
        "age": np.array(ages),
        "bmi": np.array(ages) / 4,
    }
    return Records.from_columns(SCHEMA, columns)


def scores(of: Any, by: Rule, records: Records) -> NDArray[np.int64]:
    return Scores.checked(of, by, SCHEMA).of(records)


def test_scores_are_sums_distances_and_ranks() -> None:
    records = people(AGES)
    assert scores(["smoker", "age >= 2"], LARGEST, records).tolist() == [2, 3]
    assert scores(["smoker", "clip(bmi)"], LARGEST, records).tolist() == [2 * GRID, 13 * GRID // 4]
    assert scores(["smoker", "age >= 2"], Furthest([5 / 7, 1 / 7]), records).tolist() == [3, 2]
    assert scores("age", LARGEST, records).tolist() == [1, 3, 0, 2, 1]
    assert scores(
        "age", Largest([[1.0, 1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.5, 1.0]]), records
    ).tolist() == [
        4 * GRID,
        2 * GRID,
    ]


@pytest.mark.parametrize(
    ("at", "expected"),
    [
        (0.5, [-3, 0, 0, 0, -2]),
        (3 / 7, [-2, 0, -1, -1, -3]),
        (1.0, [-6, -3, -3, -1, 0]),
        (0.0, [0, -1, -4, -4, -6]),
    ],
)
def test_a_quantile_scores_how_many_people_are_in_between(at: float, expected: list[int]) -> None:
    # Of 7 people, 3.5 is rounded to 4; 1 has 1 to 4 of them, 2 has nobody at 4, 3 has 4 to 6.
    assert scores("age", Quantile(at), people(AGES)).tolist() == expected


def moved(case: str) -> int:
    """How far replacing one record moves a score at most, over all replacements of anybody."""
    of, by, _ = CASES[case]
    here, furthest = scores(of, by, people(AGES)), 0
    for place in range(len(AGES)):
        for age in range(5):
            ages = [*AGES[:place], age, *AGES[place + 1 :]]
            for smokers in (1, 2, 3):
                furthest = max(furthest, int(np.abs(scores(of, by, people(ages, smokers)) - here).max()))
    return furthest


@pytest.mark.parametrize("case", CASES)
def test_no_record_moves_a_score_further_than_the_sensitivity(case: str) -> None:
    of, by, sensitivity = CASES[case]
    assert Scores.checked(of, by, SCHEMA).sensitivity == sensitivity
    assert moved(case) == (0 if case == "rows that are all alike" else sensitivity)


@pytest.mark.parametrize("shift", [-40, -3, 5, 1000])
@pytest.mark.parametrize("rule", [LARGEST, Furthest([0.5, 0.1, 0.2, 0.9, 0.0]), Quantile(0.5)])
def test_a_rule_moves_no_further_than_its_sums_wherever_somebody_has_shifted_them(
    rule: Rule, shift: int
) -> None:
    # Whoever adds up could shift a sum before it is scored: by so much for the first, and nothing for the others.
    sums = np.array([1, 3, 0, 2, 1]) + shift * np.array([1, 0, 0, 0, 0])
    for out, into in [(0, 4), (1, 0), (3, 2), (4, 1)]:
        other = sums.copy()
        other[out] -= 1
        other[into] += 1
        assert np.abs(rule.scored(sums, 7) - rule.scored(other, 7)).max() <= 1


def test_estimated_scores_are_those_of_the_means() -> None:
    records = people(AGES)
    for of, by, _ in CASES.values():
        asked = Scores.checked(of, by, SCHEMA)
        if asked.category is None:
            means = np.array([float(np.mean(query.evaluate(records))) for query in asked.numbers])
        else:
            means = np.bincount(AGES, minlength=5) / len(AGES)
        whole = asked.resolution * len(AGES)
        np.testing.assert_allclose(asked.estimated(means), asked.of(records) / whole, atol=0.6 / len(AGES))


def test_texts_tell_selections_apart() -> None:
    rules: list[Rule] = [
        LARGEST,
        Largest([[1, 1, 0, 0, 0]]),
        Furthest([0.5] * 5),
        Furthest([0.4] * 5),
        Quantile(0.5),
        Quantile(0.25),
    ]
    assert len({Scores.checked("age", rule, SCHEMA).text for rule in rules}) == len(rules)
    assert Scores.checked("age", Quantile(0.5), SCHEMA).text == "quantile at 0.5 of age"
    assert [Scores.checked("age", LARGEST, SCHEMA).name(place) for place in (0, 4)] == ["0", "4"]


def test_errors_of_shares_reach_a_score_as_its_weights_say() -> None:
    def reach(rule: Rule, independent: bool) -> float:
        return Scores.checked("age", rule, SCHEMA).reach(independent=independent)

    rows = [[1.0, 1.0, 1.0, 1.0, 0.0], [0.5, 0.0, 0.0, 0.0, 0.0]]
    assert [reach(LARGEST, both) for both in (True, False)] == [1, 1]
    assert [reach(Largest(rows), both) for both in (True, False)] == [2, 4]
    assert [reach(Quantile(0.5), both) for both in (True, False)] == [pytest.approx(2.5**0.5), 2.5]
