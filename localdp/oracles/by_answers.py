"""Selecting by answers: the best of noisy means, where nobody is there who could compare sums without telling them.

Every candidate has to be answered, so people or epsilon are divided among the queries of the round, and the price grows
with their number; the plan says by how much.  What is told is post-processing of the answers (Proposition 2.1): the claim
and the cost are theirs.

Checked in tests/contract/test_select.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields

import numpy as np

from localdp.oracles.definition import LEVEL, Selected, StatisticalQueryOracle
from localdp.oracles.plans import Plan, PlannedQuery, PlannedSelection
from localdp.queries.asked import Asked, AskedVector
from localdp.queries.scores import Rule, Scores


def selected_by_answers(
    oracle: StatisticalQueryOracle, of: Sequence[Asked] | AskedVector, by: Rule
) -> Selected:
    """The first of the best candidates, by answers about all of them."""
    scores = Scores.checked(of, by, oracle.schema)
    shortfall = planned_by_answers(oracle, of, by).tolerance(1 - LEVEL)
    if scores.category is None:
        numbers = oracle.answer(scores.numbers)
        means, reports = np.array([one.value for one in numbers]), min(one.reports for one in numbers)
    else:
        (shares,) = oracle.answer_vectors([scores.category])
        means, reports = shares.values, shares.reports
    place = int(np.argmax(scores.estimated(means)))
    return selected(scores, place, oracle.people, reports, shortfall)


def planned_by_answers(oracle: StatisticalQueryOracle, of: Sequence[Asked] | AskedVector, by: Rule) -> Plan:
    """The plan of the answers, as one of a selection."""
    scores = Scores.checked(of, by, oracle.schema)
    answers = oracle.plan(scores.queries)
    worst = max(answers.rows, key=lambda row: row.standard_error)
    row = _row(scores, worst, len(answers.rows))
    return Plan(answers.model, (row,), answers.people, answers.epsilon, delta=answers.delta)


def _row(scores: Scores, worst: PlannedQuery, queries: int) -> PlannedSelection:
    kept = {one.name: getattr(worst, one.name) for one in fields(PlannedQuery)}
    kept["query"], kept["entries"] = scores.text, len(scores)
    kept["how"] = f"the best of {queries} answers, each by {worst.how}" if queries > 1 else worst.how
    kept["standard_error"] = worst.standard_error * scores.reach(independent=not worst.certain)
    return PlannedSelection(**kept)


def selected(scores: Scores, place: int, people: int, reports: int, shortfall: float) -> Selected:
    """A place among the candidates, with its name and its terms."""
    return Selected(scores.text, place, scores.name(place), len(scores), people, reports, shortfall)
