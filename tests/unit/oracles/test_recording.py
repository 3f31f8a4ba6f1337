"""Transcripts: written, carried as JSON, and replayed to an algorithm that cannot tell the difference."""

import json

import numpy as np
import pytest

from localdp.errors import InvalidParameter, QueryRefused
from localdp.oracles.definition import StatisticalQueryOracle, VectorAnswer
from localdp.oracles.exact import ExactOracle
from localdp.oracles.local import LocalOracle
from localdp.oracles.lr import InProcessLROracle
from localdp.oracles.recording import CountingOracle, RecordingOracle, ReplayingOracle, Transcript
from localdp.queries.scores import Furthest
from localdp.queries.vector_query import VectorQuery
from tests.support.people import KEYRING, ONE, parties_of, population

PEOPLE = population(500)


def local() -> LocalOracle:
    return LocalOracle(InProcessLROracle(parties_of(PEOPLE, 2)), ONE, KEYRING.source("recorded"))


def algorithm(oracle: StatisticalQueryOracle) -> float:
    """Two rounds, the second of which depends on the first."""
    view = oracle.in_rounds(2)
    frequencies = view.answer_vectors(["region"])[0].values
    sign = ">=" if frequencies[0] > frequencies[1] else "<"
    return view.answer([f"age {sign} 50", "smoker"])[0].value


def test_a_replayed_transcript_gives_the_same_result_and_asks_nobody() -> None:
    recording = RecordingOracle(local())
    result = algorithm(recording)
    carried = Transcript.from_data(json.loads(json.dumps(recording.transcript.to_data())))
    replayed = ReplayingOracle(ExactOracle(PEOPLE), carried)
    assert algorithm(replayed) == result
    assert replayed.cost.rounds == 0


def test_an_algorithm_that_asks_something_else_is_refused() -> None:
    recording = RecordingOracle(local())
    recording.answer(["smoker"])
    replayed = ReplayingOracle(local(), recording.transcript)
    with pytest.raises(QueryRefused):
        replayed.answer(["age > 3"])
    ended = ReplayingOracle(local(), Transcript())
    with pytest.raises(QueryRefused):
        ended.answer(["smoker"])


def test_everything_is_counted_over_all_views() -> None:
    counting = CountingOracle(local())
    algorithm(counting)
    counts = counting.counts
    assert (counts.rounds, counts.queries, counts.rounds_announced) == (2, 3, [2])
    assert counts.entries == 2 + VectorQuery.parse("region", PEOPLE.schema).length


def test_recorded_vectors_keep_their_errors() -> None:
    recording = RecordingOracle(local())
    answer = recording.answer_vectors(["region"])[0]
    again = Transcript.from_data(recording.transcript.to_data()).rounds[0][0]
    assert isinstance(again, VectorAnswer)
    assert np.array_equal(again.values, answer.values)
    assert np.array_equal(np.asarray(again.variance_empirical), answer.variance_empirical)


def test_a_recorded_selection_is_replayed_and_another_one_refused() -> None:
    recording = RecordingOracle(local())
    chosen = recording.select("region")
    carried = Transcript.from_data(json.loads(json.dumps(recording.transcript.to_data())))
    assert ReplayingOracle(ExactOracle(PEOPLE), carried).select("region") == chosen
    with pytest.raises(QueryRefused):
        ReplayingOracle(ExactOracle(PEOPLE), carried).select("region", Furthest([0.5] * chosen.candidates))
    with pytest.raises(QueryRefused):
        ReplayingOracle(ExactOracle(PEOPLE), carried).answer_vectors(["region"])


def test_a_selection_counts_as_one_round_with_one_answer() -> None:
    counting = CountingOracle(local())
    counting.select(["smoker", "age > 3"])
    assert (counting.counts.rounds, counting.counts.queries, counting.counts.entries) == (1, 2, 1)


def test_garbage_is_not_a_transcript() -> None:
    with pytest.raises(InvalidParameter):
        Transcript.from_data([[{"query": "smoker"}]])
