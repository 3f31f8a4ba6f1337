"""Rounds as what an oracle asks: whatever is asked goes through the journal, and some may be missing if a quorum answers.

With `LocalOracle` in front it is a `StatisticalQueryOracle`, so every learner and every release runs while a party is gone.
An answer is the mean over those who answered: `people` says whom it is about, `reports` how many there are of, and the
standard error says what is lost if who is missing is so at random (`partial`).

Checked in tests/integration/test_quorum_oracle.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from localdp.accounting.epsilon import Epsilon
from localdp.cohorts import Cohort
from localdp.domains import Schema
from localdp.errors import QuorumMissed, Unreachable
from localdp.party.party import Request
from localdp.randomizers.definition import Tally
from parties.rounds.partial import RoundResult
from parties.rounds.plan import Part, Quorum
from parties.rounds.round import Rounds

_MOST_NAMED = 8
Heard = Callable[[Sequence[Part], Epsilon], None]  # who answered a new round, and what each person paid


class QuorumReports:
    """The enrolled parties of a coordinator, of whom a quorum is enough."""

    def __init__(
        self,
        rounds: Rounds,
        quorum: Quorum,
        deadline_seconds: float,
        *,
        by_row: bool = False,
        samples: bool = False,
        heard: Heard = lambda parts, cost: None,
        resuming: Callable[[str], None] = lambda round_id: None,
    ) -> None:
        """`deadline_seconds` is for each request; `heard` is told of new rounds that have ended, `resuming` of old ones."""
        self._rounds, self._quorum, self._seconds = rounds, quorum, deadline_seconds
        self.by_row, self.samples, self.bytes_moved = by_row, samples, 0
        self._heard, self._resuming = heard, resuming
        self.results: list[RoundResult] = []  # of how many each answer is, and who is missing

    @property
    def schema(self) -> Schema:
        return self._rounds.roster.schema

    @property
    def people(self) -> int:
        """How many people there are, over all parties, those who are away included."""
        return sum(party.people for party in self._rounds.parties)

    def tally(self, request: Request, cohort: Cohort) -> Tally:
        """The sums over those who answered; a round that asked the same and is still open goes on."""
        try:
            result = self._ended(request, cohort)
        except (QuorumMissed, Unreachable) as error:
            raise type(error)(f"{error}{self._names()}") from error
        self.results.append(result)
        self.bytes_moved += -(-result.tally.reports * request.randomizer.report_bits // 8)
        return result.tally

    def _ended(self, request: Request, cohort: Cohort) -> RoundResult:
        whole = None if cohort == Cohort(0, self.people) else cohort
        begun = self._rounds.unfinished(request.query, request.randomizer, whole)
        if begun is not None:
            self._resuming(begun.round_id)
            return self._rounds.resume(begun.round_id, deadline_seconds=self._seconds, quorum=self._quorum)
        result = self._rounds.begin(request, self._quorum, self._seconds, whole)
        parts, missing = self._rounds.journal.plan(result.round_id).parts, self._rounds.refusals
        self._heard([one for one in parts if one.party not in missing], request.randomizer.epsilon)
        return result

    def _names(self) -> str:
        """The parties that are missing: whoever operates the roster knows them."""
        missing = sorted({**self._rounds.away, **self._rounds.refusals})
        more = f" and {len(missing) - _MOST_NAMED} more" if len(missing) > _MOST_NAMED else ""
        return f"; not there: {', '.join(missing[:_MOST_NAMED])}{more}" if missing else ""
