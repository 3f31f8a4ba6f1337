"""What several fits spend together."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone

from localdp.accounting.epsilon import Epsilon
from localdp.algorithms.learners.naive_bayes import NaiveBayes
from localdp.algorithms.spending import record_fit, spending
from localdp.errors import InvalidParameter, SignalTooWeak

X = np.random.default_rng(1).random((4000, 2)) < 0.5


def test_epsilons_add_up_over_the_fits_of_the_block_and_of_no_other() -> None:
    learner = NaiveBayes(model="curator", epsilon=0.5)
    learner.fit(X, X[:, 0])
    with spending(people=4000) as spent:
        learner.fit(X, X[:, 0])
        learner.set_params(epsilon=0.25).fit(X[:2000], X[:2000, 0])
    learner.fit(X, X[:, 0])
    assert spent.fits == [(4000, Epsilon.requested(0.5)), (2000, Epsilon.requested(0.25))]
    assert spent.at_most == Epsilon.requested(0.75)
    assert spent.on_average == 0.625
    assert str(spent) == (
        "2 fits: epsilon 0.75 for whoever was in all of them, 0.625 for a person on average"
    )


def test_accounts_can_be_open_within_each_other() -> None:
    with spending() as outer:
        record_fit(1, Epsilon(3))
        with spending() as inner:
            record_fit(1, Epsilon(4))
        record_fit(1, Epsilon(5))
    assert outer.at_most == Epsilon(12)
    assert inner.at_most == Epsilon(4)


def test_what_is_refused_before_anybody_is_asked_spends_nothing() -> None:
    with spending() as spent, pytest.raises(SignalTooWeak):
        NaiveBayes(model="local", epsilon=0.01).fit(X, X[:, 0])
    assert spent.fits == []


def test_what_the_exact_model_answers_costs_no_epsilon() -> None:
    with spending() as spent:
        NaiveBayes(model="exact").fit(X, X[:, 0])
    assert (len(spent.fits), spent.at_most) == (1, Epsilon(0))


def test_an_account_that_learners_left_for_other_processes_gives_no_sum() -> None:
    learner = NaiveBayes(model="curator", epsilon=0.5)
    with spending(people=4000) as spent:
        pickle.dumps(learner.fit(X, X[:, 0]))
        assert spent.at_most == Epsilon.requested(0.5)
        pickle.dumps(clone(learner))
    for told in (lambda: spent.at_most, lambda: spent.on_average):
        with pytest.raises(InvalidParameter, match="n_jobs"):
            told()
    assert "not known" in str(spent)


def test_an_average_needs_the_number_of_people() -> None:
    with spending() as spent:
        record_fit(1, Epsilon(3))
    with pytest.raises(InvalidParameter, match="people=len"):
        _ = spent.on_average
    with pytest.raises(InvalidParameter), spending(people=0):
        pass
