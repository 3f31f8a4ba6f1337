"""Any finite class: the best condition is found, and what is no class is refused before anybody is asked."""

from __future__ import annotations

import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.algorithms.learners.finite_class import FiniteClass
from localdp.domains import BitDomain, IntegerDomain, Records, Schema
from localdp.errors import LocalDpError
from localdp.experiments.parties_in_process import asked_in_process
from localdp.oracles.exact import ExactOracle
from localdp.randomness.hazmat import SeededSource

SCHEMA = Schema({"age": IntegerDomain(0, 99), "smoker": BitDomain(), "target": BitDomain()})
THRESHOLDS = [f"age >= {age}" for age in range(0, 100, 10)]


def people(number: int = 2000) -> Records:
    source = np.random.default_rng(1)
    ages = source.integers(0, 100, number)
    columns = {"age": ages, "smoker": source.random(number) < 0.5, "target": ages >= 60}
    return Records(SCHEMA, columns)


@pytest.mark.parametrize("model", ["exact", "curator", "shared", "local"])
def test_the_best_hypothesis_is_found_under_every_trust_model(model: str) -> None:
    records = people(20_000)
    oracle = asked_in_process(model, records, Epsilon.requested(2), SeededSource(1))
    found = FiniteClass(THRESHOLDS).fit(oracle)
    assert found.hypothesis_ == "age >= 60" and found.place_ == 6
    assert found.score(records, records.column("target")) == 1.0
    assert found.features_ == ("age",)


def test_a_rule_is_a_hypothesis_as_well() -> None:
    rules = ["if smoker then age >= 90 else age >= 60", "age >= 60 or smoker", "age >= 60"]
    assert FiniteClass(rules).fit(ExactOracle(people())).hypothesis_ == "age >= 60"


@pytest.mark.parametrize(
    "hypotheses", ["smoker", [], ["target"], ["clip(age/100)"], ["smoker and target"], ["nobody"]]
)
def test_what_is_no_class_is_refused(hypotheses: list[str]) -> None:
    oracle = ExactOracle(people())
    with pytest.raises(LocalDpError):
        FiniteClass(hypotheses).fit(oracle)
    assert oracle.cost.rounds == 0
