"""The sensitive surveyor, shown: what a budget buys, with ledgers that are charged what was paid for (section 10.3.2).

Checked in tests/unit/experiments/test_play_runs.py.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from localdp.accounting.epsilon import Epsilon
from localdp.algorithms.games.surveyor import Survey
from localdp.domains import BitDomain, Records, Schema
from localdp.experiments.attack_trials import Range
from localdp.experiments.draws import uniforms
from localdp.experiments.panels import Demonstration, Panel
from localdp.experiments.parties_in_process import asked_in_process
from localdp.oracles.curator import CuratorOracle
from localdp.oracles.definition import StatisticalQueryOracle
from localdp.oracles.shared import SharedOracle
from localdp.randomness.source import RandomSource

PEOPLE = 1000
BUDGETS = (10, 30, 100, 300)
SHOWN = (CuratorOracle.model, SharedOracle.model)


def surveyed(budget: float, source: RandomSource) -> tuple[Survey, Records]:
    """A survey of people with fair bits, whose privacy is worth 1 on average."""
    bits = source.bernoulli(1 << 63, PEOPLE)
    survey = Survey.bought(-np.log(uniforms(source, PEOPLE)), budget)
    return survey, Records(Schema({"ill": BitDomain()}), {"ill": bits})


def error(model: str, budget: float, source: RandomSource) -> float:
    """How far off the share is that a survey finds."""
    survey, records = surveyed(budget, source)

    def oracle_at(epsilon: Epsilon) -> StatisticalQueryOracle:
        return asked_in_process(model, records, epsilon, source)

    found = survey.answered("ill", oracle_at).share
    return abs(found - float(records.column("ill").mean()))


def asked(budget: float, source: RandomSource) -> float:
    """The fraction of the people who are asked, and paid."""
    return len(surveyed(budget, source)[0].asked) / PEOPLE


def surveyor(tried: Range) -> Demonstration:
    """By the budget."""
    errors = [
        tried.point(model, budget, partial(error, model, budget))
        for model in tried.shown(SHOWN)
        for budget in BUDGETS
    ]
    parts = [tried.point("asked and paid", budget, partial(asked, budget)) for budget in BUDGETS]
    panels = (
        Panel(f"{PEOPLE:,} people", "budget", "mean error of the share", tuple(errors)),
        Panel(f"{PEOPLE:,} people", "budget", "fraction of the people who are asked", tuple(parts)),
    )
    notes = (
        "a person is charged 1 / (people left out) if asked and nothing otherwise, and is paid what that is worth or more",
        "nobody gains by asking for more than privacy is worth to them",
    )
    return Demonstration("surveyor", "Privacy that is bought, person by person", panels, notes)
