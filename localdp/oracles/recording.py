"""Oracles around oracles: one that writes a transcript, one that replays it, one that counts.

A transcript is what an algorithm saw: for every round its queries and their answers.  Replayed, it gives the same
algorithm the same answers without asking anybody, at no cost in privacy: post-processing (Proposition 2.1).  An
algorithm that asks anything else than what was recorded is refused.

Checked in tests/unit/oracles/test_recording.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from localdp.errors import InvalidParameter, QueryRefused
from localdp.oracles.definition import (
    Answer,
    GridNoise,
    OnRecords,
    Selected,
    StatisticalQueryOracle,
    VectorAnswer,
)
from localdp.oracles.wrapping import OracleAround, _Told
from localdp.queries.asked import Asked, AskedVector, checked_round, checked_vectors
from localdp.queries.scores import LARGEST, Rule, Scores
from localdp.sharing.summed_noise import SummedNoise

AnyAnswer = Answer | VectorAnswer | Selected
Row: TypeAlias = dict[str, Any]  # an answer as plain data


@dataclass(slots=True)
class Transcript:
    """What was asked and answered, round by round."""

    rounds: list[tuple[AnyAnswer, ...]] = field(default_factory=list)

    def to_data(self) -> list[list[Row]]:
        """As lists and numbers, for JSON."""
        return [[_plain(answer) for answer in answers] for answers in self.rounds]

    @classmethod
    def from_data(cls, data: Iterable[Iterable[Row]]) -> Transcript:
        """The transcript again."""
        try:
            return cls([tuple(_answer(row) for row in answers) for answers in data])
        except (KeyError, TypeError, ValueError) as error:
            raise InvalidParameter("this is not a transcript") from error


def _plain(answer: AnyAnswer) -> Row:
    row = {one.name: getattr(answer, one.name) for one in fields(answer)}
    plain = {
        name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in row.items()
    }
    if not isinstance(answer, Selected) and (noise := answer.noise) is not None:
        plain["noise"] = [str(noise.law.parameter), str(noise.law.shape), noise.unit]
    return plain


def _answer(row: Row) -> AnyAnswer:
    if "place" in row:
        return Selected(**row)
    if row.get("noise"):
        parameter, shape, unit = row["noise"]
        row = {**row, "noise": GridNoise(SummedNoise(Fraction(parameter), Fraction(shape)), float(unit))}
    if "values" not in row:
        return Answer(**row)
    arrays = ("values", "variance_empirical", "variance_population")
    return VectorAnswer(**{**row, **{name: np.array(row[name], np.float64) for name in arrays}})


class RecordingOracle(OracleAround):
    """Passes everything on, and keeps the transcript."""

    def __init__(self, inner: StatisticalQueryOracle, transcript: Transcript | None = None) -> None:
        super().__init__(inner)
        self.transcript = transcript or Transcript()

    def answer(self, queries: Sequence[Asked]) -> list[Answer]:
        """One round, noted."""
        answers = self.behind.answer(queries)
        self.transcript.rounds.append(tuple(answers))
        return answers

    def answer_vectors(self, queries: Sequence[AskedVector]) -> list[VectorAnswer]:
        """One round, noted."""
        answers = self.behind.answer_vectors(queries)
        self.transcript.rounds.append(tuple(answers))
        return answers

    def select(self, of: Sequence[Asked] | AskedVector, by: Rule = LARGEST) -> Selected:
        """One round, noted."""
        chosen = self.behind.select(of, by)
        self.transcript.rounds.append((chosen,))
        return chosen

    def in_rounds(self, rounds: int) -> RecordingOracle:
        """A view that writes the same transcript."""
        return RecordingOracle(self.behind.in_rounds(rounds), self.transcript)

    def among(self, ranges: Sequence[range], parts: int = 1) -> RecordingOracle:
        """A view of some of the people that writes the same transcript."""
        return RecordingOracle(self.behind.among(ranges, parts), self.transcript)

    def in_blocks(
        self, estimate: str, blocks: int, low: float | None = None, high: float | None = None
    ) -> RecordingOracle:
        """A view of blocks of people that writes the same transcript."""
        return RecordingOracle(self.behind.in_blocks(estimate, blocks, low, high), self.transcript)


@dataclass(slots=True)
class Counts:
    """What an algorithm asked, over all views of an oracle."""

    rounds: int = 0
    queries: int = 0
    entries: int = 0
    rounds_announced: list[int] = field(default_factory=list)


class CountingOracle(OracleAround):
    """Passes everything on, and counts rounds, queries and entries of answers."""

    def __init__(self, inner: StatisticalQueryOracle, counts: Counts | None = None) -> None:
        super().__init__(inner)
        self.counts = counts or Counts()

    def answer(self, queries: Sequence[Asked]) -> list[Answer]:
        """One round, counted."""
        answers = self.behind.answer(queries)
        self._count(len(answers), len(answers))
        return answers

    def answer_vectors(self, queries: Sequence[AskedVector]) -> list[VectorAnswer]:
        """One round, counted."""
        answers = self.behind.answer_vectors(queries)
        self._count(len(answers), sum(len(answer.values) for answer in answers))
        return answers

    def select(self, of: Sequence[Asked] | AskedVector, by: Rule = LARGEST) -> Selected:
        """One round, counted: its answer is one entry."""
        chosen = self.behind.select(of, by)
        self._count(len(Scores.checked(of, by, self.schema).queries), 1)
        return chosen

    def on_records(self, mechanism: OnRecords[_Told]) -> _Told:
        """One round, counted: what is told is one entry."""
        told = self.behind.on_records(mechanism)
        self._count(1, 1)
        return told

    def in_rounds(self, rounds: int) -> CountingOracle:
        """A view that counts into the same counts."""
        self.counts.rounds_announced.append(rounds)
        return CountingOracle(self.behind.in_rounds(rounds), self.counts)

    def among(self, ranges: Sequence[range], parts: int = 1) -> CountingOracle:
        """A view of some of the people, of one round, that counts into the same counts."""
        self.counts.rounds_announced.append(1)
        return CountingOracle(self.behind.among(ranges, parts), self.counts)

    def in_blocks(
        self, estimate: str, blocks: int, low: float | None = None, high: float | None = None
    ) -> CountingOracle:
        """A view of blocks of people that counts into the same counts."""
        return CountingOracle(self.behind.in_blocks(estimate, blocks, low, high), self.counts)

    def _count(self, queries: int, entries: int) -> None:
        self.counts.rounds += 1
        self.counts.queries += queries
        self.counts.entries += entries


class ReplayingOracle(OracleAround):
    """Answers from a transcript, in its order; schema, people and plans are those of the oracle given."""

    def __init__(self, inner: StatisticalQueryOracle, transcript: Transcript) -> None:
        """`inner` is never asked: it only says what the records look like, and what was promised."""
        super().__init__(inner)
        self._rounds = iter(transcript.rounds)

    def answer(self, queries: Sequence[Asked]) -> list[Answer]:
        """The answers of the next round, if these are its queries."""
        texts = [query.text for query in checked_round(queries, self.schema)]
        return [answer for answer in self._next(texts) if isinstance(answer, Answer)]

    def answer_vectors(self, queries: Sequence[AskedVector]) -> list[VectorAnswer]:
        """The answers of the next round, if these are its queries."""
        texts = [query.text for query in checked_vectors(queries, self.schema)]
        return [answer for answer in self._next(texts) if isinstance(answer, VectorAnswer)]

    def select(self, of: Sequence[Asked] | AskedVector, by: Rule = LARGEST) -> Selected:
        """What was selected in the next round, if it was this."""
        (chosen,) = self._next([Scores.checked(of, by, self.schema).text])
        assert isinstance(chosen, Selected)
        return chosen

    def on_records(self, mechanism: OnRecords[_Told]) -> _Told:
        """Never: a transcript has answers to queries."""
        raise QueryRefused("a transcript has answers to queries, and nothing of the records themselves")

    def in_rounds(self, rounds: int) -> ReplayingOracle:
        """The rest of the same transcript, with plans like those of the view that was recorded."""
        return self._of(self.behind.in_rounds(rounds))

    def among(self, ranges: Sequence[range], parts: int = 1) -> ReplayingOracle:
        """The rest of the same transcript, for a view of some of the people."""
        return self._of(self.behind.among(ranges, parts))

    def in_blocks(
        self, estimate: str, blocks: int, low: float | None = None, high: float | None = None
    ) -> ReplayingOracle:
        """The rest of the same transcript, for a view of blocks of people."""
        return self._of(self.behind.in_blocks(estimate, blocks, low, high))

    def _of(self, inner: StatisticalQueryOracle) -> ReplayingOracle:
        view = ReplayingOracle(inner, Transcript())
        view._rounds = self._rounds
        return view

    def _next(self, texts: list[str]) -> tuple[AnyAnswer, ...]:
        answers = next(self._rounds, ())
        if [answer.query for answer in answers] != texts:
            raise QueryRefused("the transcript has other queries in this place, or has ended")
        return answers
