"""Learners in scikit-learn's hands: its own checks, clones, pipelines, searches, data frames; and nothing in silence.

The checks run with `model="exact"`: they compare fits with each other, and noise would make every two fits differ.
"""

from __future__ import annotations

import doctest
import inspect
import re
import subprocess
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import estimator_checks, get_tags

from localdp.accounting.epsilon import Epsilon
from localdp.algorithms.definition import OF_ARRAYS, Learner
from localdp.algorithms.learners.decision_tree import DecisionTree
from localdp.algorithms.learners.k_means import KMeans
from localdp.algorithms.learners.linear_regression import LinearRegression
from localdp.algorithms.learners.logistic import LogisticRegression
from localdp.algorithms.learners.naive_bayes import NaiveBayes
from localdp.algorithms.learners.pca import PCA
from localdp.algorithms.quick_start import oracle_of_records
from localdp.algorithms.scikit_learn import NotFitted
from localdp.algorithms.spending import spending
from localdp.errors import InvalidParameter
from localdp.experiments.catalogue import LEARNERS, RELEASES, learner_named
from localdp.oracles.models import MODELS
from tests.support.people import population

MOST_EXPECTED_FAILURES = 5
# Of each learner, the checks of scikit-learn that it is expected to fail, and why a maintainer of scikit-learn would agree.
EXPECTED_FAILURES: dict[str, dict[str, str]] = {}
# Checks that scikit-learn itself leaves out, and why.
SKIPPED = {"check_array_api_input": "needs SCIPY_ARRAY_API in the environment"}
# What keeps the checks short and changes nothing that they are about.
SHORT: dict[str, dict[str, object]] = {
    "k-means": {"n_clusters": 3},
    "logistic-regression": {"rounds": 5},
    "decision-tree": {"depth": 2},
}
PRIVATE = [name for name, model in MODELS.items() if model.spends]
OVER_BITS = {"conjunction", "parity"}
# scikit-learn recommends its own base class; the library does not depend on scikit-learn.
pytestmark = pytest.mark.filterwarnings("ignore:Estimator .* does not inherit:UserWarning")


def made(name: str, **parameters: object) -> Any:
    kind: Any = learner_named(name)
    return kind(**parameters)


def checked(name: str) -> Any:
    return made(name, model="exact", **SHORT.get(name, {}))


def fitted_kind(name: str) -> str:
    return str(get_tags(checked(name)).estimator_type)


def table(rows: int = 4000) -> tuple[pd.DataFrame, np.ndarray]:
    """Bits, ages, and a label that depends on them."""
    generator = np.random.default_rng(5)
    smoker, tall = generator.random((2, rows)) < 0.5
    age = generator.uniform(0, 100, rows)
    return pd.DataFrame({"smoker": smoker, "age": age, "tall": tall}), smoker & (age > 50)


@pytest.mark.parametrize("name", LEARNERS)
def test_a_learner_passes_the_checks_of_scikit_learn(name: str) -> None:
    results = estimator_checks.check_estimator(checked(name), on_skip=None, on_fail=None)
    failed = {
        result["check_name"]: result["exception"] for result in results if result["status"] == "failed"
    }
    skipped = {result["check_name"] for result in results if result["status"] == "skipped"}
    expected = EXPECTED_FAILURES.get(name, {})
    assert not failed.keys() - expected.keys(), failed
    assert not expected.keys() - failed.keys(), "these pass: take them from the table"
    assert skipped <= SKIPPED.keys()
    assert len(results) > 40


def test_few_failures_are_expected_and_each_has_a_reason() -> None:
    assert EXPECTED_FAILURES.keys() <= LEARNERS.keys()
    for reasons in EXPECTED_FAILURES.values():
        assert len(reasons) <= MOST_EXPECTED_FAILURES
        assert all(len(reason) > 20 for reason in reasons.values())


@pytest.mark.parametrize("name", LEARNERS)
def test_the_names_of_a_data_frame_are_kept_and_must_be_the_same_to_predict(name: str) -> None:
    estimator_checks.check_dataframe_column_names_consistency(name, checked(name))


@pytest.mark.parametrize(
    "name", [name for name in LEARNERS if fitted_kind(name) in ("transformer", "clusterer")]
)
def test_what_comes_out_of_a_transformer_has_names(name: str) -> None:
    estimator_checks.check_transformer_get_feature_names_out(name, checked(name))


def test_clusters_are_found_as_scikit_learn_expects_it() -> None:
    estimator_checks.check_clustering("k-means", KMeans(model="exact"))
    estimator_checks.check_clusterer_compute_labels_predict("k-means", KMeans(3, model="exact"))


@pytest.mark.parametrize("name", LEARNERS)
def test_tags_say_which_learners_read_every_feature_as_a_bit_and_which_fits_draw_noise(name: str) -> None:
    learner = checked(name)
    assert get_tags(learner).input_tags.bits == (name in OVER_BITS)
    assert not get_tags(learner).non_deterministic
    assert get_tags(learner.set_params(model="local")).non_deterministic


# Nothing is answered, clipped or spent in silence.


@pytest.mark.parametrize("name", LEARNERS)
def test_a_fit_of_arrays_without_a_model_or_without_an_epsilon_raises(name: str) -> None:
    people, y = table(50)
    with spending() as spent:
        with pytest.raises(InvalidParameter, match='model="local"'):
            made(name, epsilon=1.0).fit(people, y)
        for model in PRIVATE:
            with pytest.raises(InvalidParameter, match=r"epsilon=1\.0"):
                made(name, model=model, bounds=(0, 100)).fit(people, y)
    assert not spent.fits


@pytest.mark.parametrize("model", PRIVATE)
@pytest.mark.parametrize("name", LEARNERS)
def test_bounds_that_are_missing_or_do_not_fit_raise_before_anything_is_spent(
    name: str, model: str
) -> None:
    people, y = table(200)
    target = {"target_bounds": (0, 1)} if name == "linear-regression" else {}
    with spending() as spent:
        for bounds, words in (
            (None, "column 'age' has no bounds"),
            ((-1, 1), "% of column 'age' lies outside"),
        ):
            learner = made(name, model=model, epsilon=1.0, bounds=bounds, **target)
            with pytest.raises(InvalidParameter, match=words):
                learner.fit(people, y.astype(int))
    assert not spent.fits


@pytest.mark.parametrize("model", MODELS)
def test_ages_are_learned_from_under_every_model_once_their_bounds_are_said(model: Any) -> None:
    age = np.random.default_rng(1).uniform(0, 100, (20_000, 1))
    learner = LogisticRegression(model=model, epsilon=4.0, bounds=(0, 100)).fit(age, age[:, 0] > 50)
    assert learner.score(age, age[:, 0] > 50) > 0.9


def test_absent_bounds_are_the_data_s_own_in_the_exact_model_alone() -> None:
    people, y = table()
    own = LogisticRegression(model="exact").fit(people, y)
    pair = (float(people.age.min()), float(people.age.max()))
    said = LogisticRegression(model="exact", bounds={"age": pair}).fit(people, y)
    assert np.array_equal(own.coef_, said.coef_)


def test_under_a_private_model_a_learner_keeps_nothing_about_a_single_person() -> None:
    people = np.random.default_rng(1).uniform(0, 1, (2000, 2))
    learner = KMeans(2, model="exact").fit(people)
    assert learner.labels_.shape == (2000,)
    learner.set_params(model="curator", epsilon=1.0, bounds=(0, 1)).fit(people)
    assert not hasattr(learner, "labels_")
    assert not [key for key, value in vars(learner).items() if getattr(value, "shape", ())[:1] == (2000,)]


def test_a_learner_without_a_model_is_fitted_with_an_oracle() -> None:
    class OfAnOracle(LogisticRegression):
        def __init__(self) -> None:
            super().__init__("smoker", ["age"], check_signal=False)

    with pytest.raises(InvalidParameter, match=r"fit\(oracle\)"):
        OfAnOracle().fit(*table(10))
    assert OfAnOracle().fit(oracle_of_records(population(500), None, "exact")).n_features_in_ == 1


# Labels and features as users have them.


@pytest.mark.parametrize("labels", [("no", "yes"), (-1, 1), (0, 1), (False, True), (1.0, 2.0)])
@pytest.mark.parametrize("name", [name for name in LEARNERS if fitted_kind(name) == "classifier"])
def test_a_classifier_predicts_the_labels_that_it_was_given(name: str, labels: tuple[Any, Any]) -> None:
    people, y = table(500)
    told = np.array(labels)[y.astype(int)]
    learner = made(name, model="curator", epsilon=2.0, bounds=(0, 100), classes=labels, check_signal=False)
    predicted = learner.fit(people, told).predict(people)
    assert set(predicted.tolist()) <= set(labels)
    assert learner.classes_.tolist() == sorted(labels)


@pytest.mark.parametrize("kind", [NaiveBayes, DecisionTree])
def test_several_classes_and_categories_are_learned_from_a_frame(kind: type[Any]) -> None:
    generator = np.random.default_rng(3)
    ward = generator.integers(0, 3, 5000)
    frame = pd.DataFrame({"ward": pd.Categorical.from_codes(ward, ["a", "b", "c"]), "noise": ward > 5})
    found = np.array(["cold", "flu", "gout"])[ward]
    learner = kind(model="curator", epsilon=1.0, classes=["flu", "cold", "gout"]).fit(frame, found)
    assert learner.score(frame, found) == 1.0
    assert learner.predict(frame.head(2)).dtype.kind == "U"


# clone, Pipeline, cross_val_score, GridSearchCV.


def required(name: str) -> dict[str, str]:
    """What has no default."""
    parameters = inspect.signature(learner_named(name)).parameters
    return {key: "x" for key, one in parameters.items() if one.default is inspect.Parameter.empty}


@pytest.mark.parametrize("name", [*LEARNERS, *RELEASES])
def test_a_clone_carries_every_parameter(name: str) -> None:
    said: dict[str, object] = {"model": "local", "epsilon": 0.5, "bounds": {"age": (0, 100)}}
    taken = inspect.signature(learner_named(name)).parameters  # some are fitted with an oracle alone
    assert name not in LEARNERS or said.keys() <= taken.keys()
    said = said if said.keys() <= taken.keys() else {}
    learner = made(name, **said, **required(name))
    again = clone(learner)
    assert again is not learner
    assert repr(again.get_params()) == repr(learner.get_params())
    assert said.keys() <= again.get_params().keys()


def test_a_pipeline_of_learners_under_a_private_model() -> None:
    people, _ = table()
    halved = FunctionTransformer(lambda features: features / 100)
    numbers = people[["age"]].assign(other=50.0)
    pipeline = make_pipeline(
        halved,
        PCA(1, model="curator", epsilon=4.0, bounds=(0, 1)),
        LogisticRegression(model="curator", epsilon=4.0, bounds=(-2, 2)),
    )
    with spending() as spent:
        pipeline.fit(numbers, people.age > 50)
    assert pipeline.score(numbers, people.age > 50) > 0.9
    # Rounds take whole parts of an epsilon, which together are a few nanonats less at the most.
    assert 0 <= Epsilon.requested(8).nanonats - spent.at_most.nanonats < 100


def test_a_cross_validation_says_what_it_spends_in_all() -> None:
    people, y = table()
    learner = NaiveBayes(model="curator", epsilon=0.5, bounds=(0, 100))
    with spending(people=len(people)) as spent:
        scores = cross_val_score(learner, people, y, cv=5)
    assert scores.min() > 0.9
    assert len(spent.fits) == 5
    assert spent.at_most == Epsilon.requested(2.5)
    assert spent.on_average == pytest.approx(4 * 0.5)  # each row is left out of one of five fits


def test_a_search_carries_epsilon_and_says_what_it_spends_in_all() -> None:
    people, y = table()
    grid = {"epsilon": [0.5, 1.0], "bins": [2, 4]}
    search = GridSearchCV(NaiveBayes(model="curator", bounds=(0, 100)), grid, cv=3)
    with spending(people=len(people)) as spent:
        search.fit(people, y)
    best = Epsilon.requested(search.best_params_["epsilon"])
    assert len(spent.fits) == 4 * 3 + 1
    assert spent.at_most == Epsilon.requested(3 * 2 * 1.5) + best
    assert spent.on_average == pytest.approx(2 * 2 * 1.5 + float(best))
    assert search.best_score_ > 0.9


def test_a_regression_is_searched_too() -> None:
    people, _ = table()
    learner = LinearRegression(model="curator", epsilon=1.0, bounds=(0, 100), target_bounds=(0, 100))
    search = GridSearchCV(learner, {"radius": [1.0, None]}, cv=2).fit(people, people.age)
    assert search.best_score_ > 0.5


# Parameters, one by one, and examples that run.


def documented(kind: type[Learner], section: str) -> list[str]:
    """The names in a section of the class's docstring, in order."""
    text = (
        (kind.__doc__ or "").partition(f"    {section}\n    {'-' * len(section)}\n")[2].partition("\n\n")[0]
    )
    return [
        name for line in re.findall(r"^    (\w[\w, ]*) : ", text, re.MULTILINE) for name in line.split(", ")
    ]


@pytest.mark.parametrize("name", [*LEARNERS, *RELEASES])
def test_every_parameter_is_documented_in_the_order_of_the_constructor(name: str) -> None:
    kind = learner_named(name)
    told = documented(kind, "Parameters")
    taken = made(name, **required(name)).get_params()
    assert sorted(told) == sorted(taken)
    own = [parameter for parameter in told if parameter not in (*OF_ARRAYS, "check_signal")]
    assert own == [parameter for parameter in taken if parameter in own]


def test_a_learner_shows_the_parameters_that_were_said() -> None:
    learner = NaiveBayes(bins=8, model="local", epsilon=1.0)
    assert repr(learner) == "NaiveBayes(bins=8, epsilon=1.0, model='local')"


def examples(kind: type[Learner]) -> Iterator[doctest.DocTest]:
    module = sys.modules[kind.__module__]
    yield from (
        test
        for test in doctest.DocTestFinder(recurse=False).find(kind, globs=vars(module))
        if test.examples
    )


@pytest.mark.parametrize("name", [*LEARNERS, *RELEASES])
def test_the_example_of_a_class_runs_and_sets_the_attributes_that_are_documented(name: str) -> None:
    kind = learner_named(name)
    (example,) = examples(kind)
    said: list[str] = []
    result = doctest.DocTestRunner(verbose=False).run(example, out=said.append, clear_globs=False)
    assert not result.failed, "".join(said)
    learner = example.globs.get("learner") or example.globs["release"]
    told = documented(kind, "Attributes")
    assert all(hasattr(learner, attribute) for attribute in set(told) - {"labels_", "feature_names_in_"})
    assert {"plan_", "cost_", "claim_"} <= set(told)


# scikit-learn is no dependency.


def test_what_is_not_fitted_is_scikit_learn_s_error_as_well() -> None:
    with pytest.raises(NotFittedError) as raised:
        NaiveBayes().predict([[1]])
    assert isinstance(raised.value, NotFitted)


def test_learners_neither_import_scikit_learn_nor_need_it() -> None:
    script = (
        "import sys; sys.modules['sklearn'] = None\n"
        "from localdp.algorithms.learners.naive_bayes import NaiveBayes\n"
        "print(NaiveBayes(model='exact').fit([[True], [False]], [True, False]).predict([[True]]))\n"
        "try: NaiveBayes().predict([[True]])\n"
        "except ValueError as error: print(type(error).__name__)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == ["[ True]", "NotFitted"], done.stderr
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert NaiveBayes(model="exact").fit([[True], [False]], [True, False]).n_features_in_ == 1
