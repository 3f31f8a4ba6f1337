"""Overfitting, shown on parties: what adaptive questions make an analyst believe, under several models (section 13.2).

Checked in tests/unit/experiments/test_attack_runs.py.
"""

from __future__ import annotations

from functools import partial

from localdp.accounting.epsilon import Epsilon
from localdp.attacks.overfitting import (
    asked_vote,
    believed,
    expected_belief,
    labelled_people,
    most_believed,
)
from localdp.attacks.subset_sums import random_bits, random_subsets
from localdp.domains import Records
from localdp.experiments.attack_trials import Range
from localdp.experiments.panels import Demonstration, Panel, Point
from localdp.experiments.parties_in_process import asked_in_process
from localdp.oracles.curator import CuratorOracle
from localdp.oracles.exact import ExactOracle
from localdp.oracles.local import LocalOracle
from localdp.oracles.shared import SharedOracle
from localdp.randomness.source import RandomSource

PEOPLE = 1000
QUESTIONS = (10, 30, 100)
MANY = 100
FEWEST_REPORTS = 15  # a question, in the local model
EPSILONS = ("0.1", "1", "10", "30")
SHOWN = (ExactOracle.model, CuratorOracle.model, SharedOracle.model, LocalOracle.model)
FRESH = "fresh people"
BELIEVED = "fraction of the labels that the vote predicts, as answered; in truth one half"


def people(questions: int, source: RandomSource) -> Records:
    """Bits and labels that have nothing to do with each other."""
    return labelled_people(random_subsets(PEOPLE, questions, source), random_bits(PEOPLE, source))


def belief(model: str, epsilon: str, questions: int, source: RandomSource) -> float:
    """What two parties' people make the analyst believe."""
    oracle = asked_in_process(model, people(questions, source), Epsilon.requested(epsilon), source)
    return min(max(believed(oracle), 0.0), 1.0)


def fresh(questions: int, source: RandomSource) -> float:
    """What is believed where the vote is asked of people who had no part in choosing it."""
    first, second = (ExactOracle(people(questions, source)) for _ in range(2))
    return second.answer([asked_vote(first)])[0].value


def overfitting(tried: Range) -> Demonstration:
    """By the number of questions, and by epsilon."""
    notes = (
        "nothing predicts the label; exact answers about the people whom one has looked at say otherwise, and those about "
        "fresh people do not",
        "private answers cannot: at epsilon they mislead by at most tanh(epsilon / 2) on average, and in truth by far less",
    )
    panels = (_by_questions(tried), _by_epsilon(tried))
    return Demonstration("overfitting", "What adaptive questions make one believe", panels, notes)


def _by_questions(tried: Range) -> Panel:
    points = [
        tried.point(
            model,
            questions,
            partial(belief, model, "1", questions),
            predicted=expected_belief(questions, PEOPLE) if model == ExactOracle.model else None,
        )
        for model in SHOWN
        for questions in QUESTIONS
        if model != LocalOracle.model or questions * 2 * FEWEST_REPORTS <= PEOPLE
    ]
    points += [
        tried.point(FRESH, questions, partial(fresh, questions), predicted=0.5) for questions in QUESTIONS
    ]
    title = f"{PEOPLE:,} people in two parties, epsilon = 1"
    return Panel(title, "questions before the vote", BELIEVED, tuple(points))


def _by_epsilon(tried: Range) -> Panel:
    points = [
        tried.point(
            CuratorOracle.model, float(epsilon), partial(belief, CuratorOracle.model, epsilon, MANY)
        )
        for epsilon in EPSILONS
    ]
    points += [
        Point("at most, on average", float(epsilon), most_believed(float(epsilon)), 1)
        for epsilon in EPSILONS
    ]
    points += [Point("exact answers", float(one), expected_belief(MANY, PEOPLE), 1) for one in EPSILONS]
    return Panel(f"{MANY} questions before the vote", "epsilon", BELIEVED, tuple(points))
