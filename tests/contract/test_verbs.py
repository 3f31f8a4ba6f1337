"""Every verb answers under every trust model, through the one oracle, with its labels, its interval and its price."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

import localdp as ldp
from localdp.asking.result import Result
from localdp.oracles.models import MODELS, ModelName
from parties.federation import Federation
from tests.support.people import KEYRING

PEOPLE = 4000
Ask = Callable[[Federation, float | None, ModelName], Result]
VERBS: dict[str, tuple[Ask, float]] = {  # and how far off an answer may be, in intervals
    "count": (lambda f, epsilon, model: f.count("smoker", epsilon=epsilon, model=model), 3),
    "share": (lambda f, epsilon, model: f.share("smoker", epsilon=epsilon, model=model), 3),
    "mean": (lambda f, epsilon, model: f.mean("bmi", epsilon=epsilon, model=model), 3),
    "sum": (lambda f, epsilon, model: f.sum("age", epsilon=epsilon, model=model), 3),
    "median": (
        lambda f, epsilon, model: f.median("age", epsilon=epsilon, model=model, check_signal=False),
        3,
    ),
    "histogram": (lambda f, epsilon, model: f.histogram("region", epsilon=epsilon, model=model), 3),
    "crosstab": (lambda f, epsilon, model: f.crosstab("region", "smoker", epsilon=epsilon, model=model), 3),
    "top": (lambda f, epsilon, model: f.top("region", 2, epsilon=epsilon, model=model), 4),
}


@pytest.fixture(scope="module")
def people() -> Iterator[Federation]:
    records = ldp.made_up_people(PEOPLE, KEYRING.source("verbs"))
    with ldp.simulate(records, parties=3, budget=30, insecure_seed=7) as made:
        yield made


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_answers_with_its_terms(people: Federation, verb: str, model: ModelName) -> None:
    ask, _ = VERBS[verb]
    with ldp.simulate(
        ldp.made_up_people(PEOPLE, KEYRING.source("verbs")), budget=30, insecure_seed=3
    ) as few:
        found, truth = ask(few, 2 if MODELS[model].spends else None, model), ask(people, None, "exact")
    assert (found.people, found.answered, found.model) == (PEOPLE, PEOPLE, model)
    assert (found.epsilon_promised > 0) == MODELS[model].spends
    assert str(found) and found.to_dict()["privacy"] == found.claim.statement()
    assert _near(found, truth, VERBS[verb][1])


def _near(found: Result, truth: Result, widths: float) -> bool:
    if isinstance(found, ldp.Statistic) and isinstance(truth, ldp.Statistic):
        slack = 0.02 * max(abs(truth.value), 1) if found.model == "exact" else max(found.half_width, 2.0)
        return abs(found.value - truth.value) <= widths * slack
    assert isinstance(found, ldp.Tabulation) and isinstance(truth, ldp.Tabulation)
    shared = [label for label in found.labels if label in truth.labels]
    slack = max(float(found.half_widths.max()) * PEOPLE, 1.0)
    return all(abs(found[label] - truth[label]) <= widths * slack for label in shared)


def test_a_learner_and_a_release_run_on_the_same_people(people: Federation) -> None:
    tree = people.fit(ldp.DecisionTree(depth=1), features=["age"], target="smoker", model="exact")
    assert tree.features == ["age"] and tree.target == "smoker"
    ages = people.release(ldp.RangeRelease("age"), model="exact")
    assert 45 <= ages.quantile(0.5) <= 60


def test_a_learner_without_that_parameter_says_so(people: Federation) -> None:
    with pytest.raises(ldp.LocalDpError, match="KMeans has no target"):
        people.fit(ldp.KMeans(), target="smoker", model="exact")


def test_an_epsilon_is_part_of_the_question_unless_the_model_is_exact(people: Federation) -> None:
    with pytest.raises(ldp.LocalDpError, match="what each person may spend"):
        people.count("smoker")
