"""Principal components: those of scikit-learn on exact answers, and within the angle of Davis and Kahan otherwise."""

import math

import numpy as np
import pytest
from sklearn import decomposition

from localdp.algorithms.learners.pca import CONSTANT, FEATURES, PCA, principal_axes
from localdp.errors import InvalidParameter, SignalTooWeak
from localdp.oracles.adversarial import STRATEGIES, AdversarialOracle
from localdp.oracles.exact import ExactOracle
from tests.support.number_tables import Floats, matrix_of, table_of

TURN = np.linalg.qr(np.random.default_rng(1).normal(size=(5, 5)))[0]
SPREADS = np.array([1.0, 0.6, 0.2, 0.15, 0.1])
PEOPLE = table_of(np.random.default_rng(2).normal(size=(3000, 5)) * SPREADS @ TURN + 0.5, 5.0)
TABLE = matrix_of(PEOPLE)


def test_on_exact_answers_they_are_the_principal_components() -> None:
    learner = PCA(3).fit(ExactOracle(PEOPLE))
    reference = decomposition.PCA(3).fit(TABLE)
    assert np.abs(np.sum(learner.components_ * reference.components_, axis=1)) == pytest.approx(
        [1, 1, 1], abs=1e-9
    )
    np.testing.assert_allclose(learner.mean_, reference.mean_, atol=1e-9)
    np.testing.assert_allclose(
        learner.explained_variance_, reference.explained_variance_ * 2999 / 3000, rtol=1e-7
    )
    np.testing.assert_allclose(
        learner.explained_variance_ratio_, reference.explained_variance_ratio_, rtol=1e-7
    )
    np.testing.assert_allclose(
        learner.inverse_transform(learner.transform(TABLE)),
        reference.inverse_transform(reference.transform(TABLE)),
        atol=1e-8,
    )


def test_whoever_is_shortened_counts_for_less() -> None:
    learner = PCA(5, radius=1.5).fit(ExactOracle(PEOPLE))
    units = np.column_stack([FEATURES * TABLE / 1.5, np.full(len(TABLE), CONSTANT)])
    weights = 1 / np.maximum(1, np.linalg.norm(units, axis=1)) ** 2
    assert weights.min() < 0.9
    means = np.average(TABLE, axis=0, weights=weights)
    np.testing.assert_allclose(learner.mean_, means, atol=1e-9)
    covariance = np.cov(TABLE.T, bias=True, aweights=weights)
    np.testing.assert_allclose(learner.explained_variance_, principal_axes(covariance)[0], rtol=1e-7)


def test_features_that_are_centred_take_no_means() -> None:
    learner = PCA(2, centred=True).fit(ExactOracle(PEOPLE))
    values, axes = principal_axes(TABLE.T @ TABLE / len(TABLE))
    np.testing.assert_allclose(learner.components_, axes[:2], atol=1e-9)
    np.testing.assert_allclose(learner.explained_variance_, values[:2], rtol=1e-7)
    assert learner.mean_.tolist() == [0.0] * 5 and learner.plan_.rows[0].entries == 15


def _sine(learned: Floats, true: Floats) -> float:
    """Of the largest angle between two spans of orthonormal rows."""
    cosines = np.linalg.svd(learned @ true.T, compute_uv=False)
    return math.sqrt(max(0.0, 1 - float(cosines.min()) ** 2))


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("centred", [False, True])
def test_within_tolerance_the_span_turns_no_further_than_claimed(strategy: str, centred: bool) -> None:
    learner = PCA(2, centred=centred, radius=4.0).fit(AdversarialOracle(PEOPLE, 5e-4, strategy))
    exact = PCA(5, centred=centred, radius=4.0).fit(ExactOracle(PEOPLE))
    gap = (exact.explained_variance_[1] - exact.explained_variance_[2]) / 16
    error = 5e-4 * 5 if centred else 5e-4 * (5 / FEATURES**2 + 2 * math.sqrt(5) / (FEATURES * CONSTANT))
    assert error < gap / 2
    assert _sine(learner.components_, exact.components_[:2]) <= error / (gap - error)


def test_beyond_the_tolerance_an_adversary_wins() -> None:
    exact = PCA(2).fit(ExactOracle(PEOPLE))
    learner = PCA(2, check_signal=False)
    turned = [
        _sine(learner.fit(AdversarialOracle(PEOPLE, 0.05, strategy)).components_, exact.components_)
        for strategy in STRATEGIES
    ]
    assert max(turned) > 0.3


def test_the_largest_entry_of_a_component_is_positive_and_no_variance_is_negative() -> None:
    values, axes = principal_axes(np.diag([-0.1, 0.5, 0.2]))
    assert values.tolist() == [0.5, 0.2, 0.0]
    assert (axes[np.arange(3), np.abs(axes).argmax(axis=1)] > 0).all()


def test_what_cannot_be_learned_is_refused() -> None:
    for components, reason in ((0, "at least one"), (6, "no more components")):
        with pytest.raises(InvalidParameter, match=reason):
            PCA(components).fit(ExactOracle(PEOPLE))
    with pytest.raises(SignalTooWeak, match="principal component"):
        PCA(2).fit(AdversarialOracle(PEOPLE, 0.2))
