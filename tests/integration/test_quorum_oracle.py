"""A quorum is an oracle: learners run while a party is gone, and with everybody there it changes no bit."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import numpy as np
import pytest

from localdp.algorithms.learners.logistic import LogisticRegression
from localdp.errors import InvalidParameter, QuorumMissed
from localdp.experiments.population import made_up_people
from localdp.randomness.hazmat import SeededSource
from parties.federation import Federation

PEOPLE = made_up_people(4000, SeededSource(1))
QUERIES = ["smoker", "age >= 65", "clip(bmi/60)"]


def test_with_everybody_there_a_quorum_changes_no_bit() -> None:
    told = []
    for options in ({}, {"quorum": 1, "deadline_seconds": 20}):
        with Federation.launch(PEOPLE, parties=[1500, 2500], insecure_seed=7) as federation:
            oracle = federation.oracle("local", 1, **options)
            numbers, vector = oracle.answer(QUERIES), oracle.answer_vectors(["cells(region)"])[0]
            left = federation.budgets().remaining
            told.append((numbers, vector.values.tolist(), oracle.cost.epsilon_promised, left))
    assert told[0] == told[1]


def test_a_learner_fits_while_a_party_is_gone_and_without_a_quorum_it_is_told_who_is_missing(
    tmp_path: Path,
) -> None:
    learner = LogisticRegression("smoker", ["age", "bmi"], rounds=2, check_signal=False)
    journal = tmp_path / "rounds"
    with Federation.launch(PEOPLE, parties=[2500, 1500], budget=9, insecure_seed=7) as federation:
        os.kill(federation.process_ids["party-1"], signal.SIGKILL)
        some = federation.oracle("local", 4, quorum=0.5, deadline_seconds=20)
        learner.fit(some)
        assert federation.events.missing == {"unreachable": 1500}, "fresh people in each of the two rounds"
        assert np.isfinite(learner.coef_).all() and learner.rounds_ == 2
        answer = some.answer(["smoker"])[0]
        assert (answer.people, answer.reports) == (4000, 2500)
        everybody = federation.oracle("local", 1, quorum=1, deadline_seconds=20, journal=journal)
        with pytest.raises(QuorumMissed, match=r"2,500 of 4,000 people answered .* not there: party-1$"):
            everybody.answer(["smoker"])
        left = federation.budgets().remaining
        enough = federation.oracle("local", 1, quorum=0.5, deadline_seconds=20, journal=journal)
        assert enough.answer(["smoker"])[0].reports == 2500
        assert federation.budgets().remaining == left, "a round that went on was charged again"


def test_a_view_asks_and_charges_nobody_else_although_its_journal_knows_more(tmp_path: Path) -> None:
    journal = tmp_path / "rounds"
    with Federation.launch(PEOPLE, parties=[1500, 2500], budget=9) as federation:
        federation.oracle("local", 1, quorum=1, journal=journal).answer(["smoker"])
        one = federation.of(["party-0"]).oracle("local", 1, quorum=1, journal=journal)
        answer = one.answer(["age >= 65"])[0]
        assert (answer.people, answer.reports) == (1500, 1500)
        assert [set(ledger.spent().tolist()) for ledger in federation._place.ledgers] == [
            {2 * 10**9},
            {10**9},
        ]


def test_an_open_round_of_some_of_the_people_is_not_resumed_for_a_question_to_everybody(
    tmp_path: Path,
) -> None:
    journal = tmp_path / "rounds"
    with Federation.launch(PEOPLE, parties=[2500, 1500], budget=9) as federation:
        halves = federation.oracle("local", 1, quorum=1, journal=journal, deadline_seconds=1)
        os.kill(federation.process_ids["party-1"], signal.SIGSTOP)
        with pytest.raises(QuorumMissed):
            halves.answer(["smoker", "age >= 65"])  # each of them is asked of half of the people
        os.kill(federation.process_ids["party-1"], signal.SIGCONT)
        answer = federation.oracle("local", 1, quorum=1, journal=journal).answer(["smoker"])[0]
        assert (answer.people, answer.reports) == (4000, 4000)


def test_a_quorum_is_of_the_local_model_and_of_processes() -> None:
    with Federation.launch(PEOPLE, parties=2, processes=False) as federation:
        with pytest.raises(InvalidParameter, match="never late"):
            federation.oracle("local", 1, quorum=0.5)
        with pytest.raises(InvalidParameter, match="local model"):
            federation.oracle("shared", 1, quorum=0.5)
