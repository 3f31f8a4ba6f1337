"""A round from its plan to its answer, and again after a crash.

    plan in the journal -> health check, schema, request to everybody at once -> tallies in the journal
                        -> at the deadline, or when all have answered: quorum? -> end in the journal -> answer

A party that is away, or goes away half way, is asked again before the deadline, from its health check on: somebody else
may answer at its address by then (`parties.repeating`).

Claim.  Whatever happens to the coordinator in between, `resume` asks only those whose tally is missing, under the same
request identifier: no party is charged twice, and the answer is that of an uninterrupted round.  A round that misses its
quorum stays open; going on with it costs those who were charged nothing.  What arrives after the deadline is dropped.
Checked by killing the coordinator at every step in tests/fault/test_round_faults.py.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import reduce
from pathlib import Path
from queue import SimpleQueue

import grpc

from localdp.cohorts import Cohort
from localdp.errors import InvalidParameter, LocalDpError, QuorumMissed, Unreachable
from localdp.party.party import SHORTEST_REQUEST_ID, Request
from localdp.party.question import Question
from localdp.randomizers.definition import LocalRandomizer, Tally
from parties.coordinator import Peer, RemoteParty
from parties.identity import Identity
from parties.receiving import Reception
from parties.repeating import Begun, Patience, Persistence
from parties.rounds.asking import fan_out, reason_of, tallied
from parties.rounds.journal import Journal, missing_by_reason
from parties.rounds.liveness import enrolling, require_live
from parties.rounds.partial import RoundResult
from parties.rounds.plan import Headcount, Part, Quorum, RoundPlan, asks_everybody, in_words, planned
from parties.rounds.roster import Enrolled, Roster
from parties.rounds.storage import Storage

LONGEST_ROUND_SECONDS = 86_400.0
EVERYBODY = Quorum.of_text(1)
Step = Callable[[str], None]  # told of each step: planned, asking, again, received, recorded, ended


class Withdrawn(LocalDpError):
    """The party left the roster after the round was planned."""


class Rounds:
    """A coordinator: a roster, a journal, and the rounds between them."""

    def __init__(
        self,
        place: str | Path,
        identity: Identity | None = None,
        *,
        identifiers: Callable[[], bytes] = lambda: os.urandom(SHORTEST_REQUEST_ID),
        step: Step = lambda name: None,
        patience: Patience | None = None,
    ) -> None:
        """`place`: the path of roster and journal, or the address of a PostgreSQL database.

        `identifiers` gives each new round its request identifier, never the same one twice.
        """
        self._storage = Storage(place)
        self.roster = Roster(self._storage)
        self.journal = Journal(self._storage)
        self._named: frozenset[str] | None = None  # None: everybody on the roster
        self._identity = identity
        self._identifiers = identifiers
        self._step = step
        self._telling = threading.Lock()  # steps are told one after the other, whoever takes them
        self._patience = patience or Patience()
        self.repeated = 0  # how often a party was asked again so far, because it was away
        # Of the latest run, by party, for whoever operates the roster: who could not be enrolled, and who did not answer.
        self.away: dict[str, LocalDpError] = {}
        self.refusals: dict[str, LocalDpError] = {}

    def close(self) -> None:
        """Let go of the file."""
        self._storage.close()

    def only(self, names: Iterable[str]) -> None:
        """From now on these parties are asked and nobody else, although the roster knows more from earlier rounds."""
        self._named = frozenset(names)

    @property
    def parties(self) -> list[Enrolled]:
        """Who is asked, in the order of the roster."""
        return [one for one in self.roster.enrolled() if self._named is None or one.name in self._named]

    def enrol(
        self, peers: Sequence[Peer], people: Mapping[str, int] | None = None
    ) -> dict[str, LocalDpError]:
        """Enrol whoever was not met yet; returns who could not be, and why: they are missing, and counted.

        `people` says how many somebody who was never met has; an earlier round knows it of whoever was.
        """
        known = {(party.name, party.address) for party in self.parties if party.met}
        new = [peer for peer in peers if (peer.name, peer.address) not in known]
        refused = enrolling(self.roster, new, self._identity, self._named)
        self.away = {peer.name: error for peer, error in refused}
        if any(party.met for party in self.parties):
            for peer, _ in refused:
                self.roster.expect(peer.name, peer.address, (people or {}).get(peer.name))
        return self.away

    def ask(
        self,
        query: str,
        randomizer: LocalRandomizer,
        *,
        deadline_seconds: float,
        quorum: Quorum = EVERYBODY,
        cohort: Cohort | None = None,
    ) -> RoundResult:
        """A new round over everybody who is enrolled and not left out (`only`)."""
        question = Question.asked(query, self.roster.schema, randomizer)  # or nobody is asked at all
        return self.begin(
            Request(self._identifiers(), question.text, randomizer), quorum, deadline_seconds, cohort
        )

    def begin(
        self, request: Request, quorum: Quorum, deadline_seconds: float, cohort: Cohort | None = None
    ) -> RoundResult:
        """The same for a request that is checked; nobody is asked where those who are there are no quorum."""
        _require_seconds(deadline_seconds)
        plan = planned(request, cohort, quorum, self.parties)
        _require_there(plan, self.away)
        self.journal.begin(plan)
        self._tell("planned")
        return self._run(plan, plan.quorum, deadline_seconds)

    def unfinished(
        self, query: str, randomizer: LocalRandomizer, cohort: Cohort | None = None
    ) -> RoundPlan | None:
        """The latest open round that asked just this, of these parties and this cohort: to be resumed, not asked anew.

        By default the cohort is everybody: an open round of a part of the people is another question.
        """
        asked = Question.asked(query, self.roster.schema, randomizer).text, randomizer
        known = {one.name for one in self.roster.enrolled()}
        for plan in reversed(self.journal.unfinished()):
            parts = [
                part for part in plan.parts if part.party in known
            ]  # who was withdrawn since then is missing
            same = asks_everybody(parts, self.parties) if cohort is None else plan.cohort == cohort
            only = {part.party for part in parts} <= {one.name for one in self.parties}
            if same and only and (plan.request.query, plan.request.randomizer) == asked:
                return plan
        return None

    def resume(
        self, round_id: str, *, deadline_seconds: float, quorum: Quorum | None = None
    ) -> RoundResult:
        """Go on with a round; one that has ended gives its answer again, and asks nobody."""
        _require_seconds(deadline_seconds)
        plan = self.journal.plan(round_id)
        if (missing := self.journal.ended(plan)) is not None:
            return _result(plan, self.journal.tallies(plan), missing)
        return self._run(plan, quorum or plan.quorum, deadline_seconds)

    def _run(self, plan: RoundPlan, quorum: Quorum, deadline_seconds: float) -> RoundResult:
        answered = self.journal.tallies(plan)
        waiting = [part for part in plan.parts if part.people and part.party not in answered]
        fan = _Fan(self, plan)
        try:
            self.refusals = self._uncounted(plan) | fan.asked(waiting, deadline_seconds)
        finally:
            self.repeated += fan.persistence.repeated
        reasons = {party: reason_of(error) for party, error in self.refusals.items()}
        _require_quorum(plan, quorum, self.journal.tallies(plan), reasons)
        self.journal.close(plan, reasons)
        self._tell("ended")
        ended = self.journal.ended(plan)
        assert ended is not None
        return _result(plan, self.journal.tallies(plan), ended)

    def _tell(self, step: str) -> None:
        with self._telling:
            self._step(step)

    def _uncounted(self, plan: RoundPlan) -> dict[str, LocalDpError]:
        """Who is asked for nothing, because nobody knew how many people there are, and why nobody did."""
        names = [part.party for part in plan.parts if not part.people]
        was = {name: Unreachable(f"party {name} was away when the round was planned") for name in names}
        return {name: self.away.get(name, error) for name, error in was.items()}


class _Fan:
    """The calls of one run of a round, and the one who writes down what they bring."""

    def __init__(self, rounds: Rounds, plan: RoundPlan) -> None:
        self._rounds = rounds
        self._plan = plan
        self._addresses = {party.name: party.address for party in rounds.parties}
        self._received: SimpleQueue[tuple[str, Tally] | None] = SimpleQueue()
        self._open: set[grpc.Channel] = set()
        self.persistence = Persistence(rounds._patience)

    def asked(self, parts: list[Part], seconds: float) -> dict[str, LocalDpError]:
        """Ask until all have answered or the time is over; returns why whoever is missing is missing."""
        deadline = time.monotonic() + seconds
        with ThreadPoolExecutor(1) as thread:
            writing = thread.submit(self._write)
            try:
                outcomes = fan_out(parts, self._one, deadline, give_up=self._hang_up)
            finally:
                self._received.put(None)
            writing.result()
        return {
            part.party: outcome
            for part, outcome in zip(parts, outcomes, strict=True)
            if isinstance(outcome, LocalDpError)
        }

    def _one(self, part: Part, seconds: float) -> bool:
        if part.party not in self._addresses:
            raise Withdrawn("a party was withdrawn")
        with self._dialled(part.party) as party:
            reception = Reception(
                lambda left: self._begun(party, part, left),
                party.name,
                seconds,
                self.persistence,
                again=lambda: self._rounds._tell("again"),
            )
            tally = tallied(self._plan.request.randomizer, reception.counted(part.people))
        self._rounds._tell("received")
        self._received.put((part.party, tally))
        return True

    @contextmanager
    def _dialled(self, name: str) -> Iterator[RemoteParty]:
        peer = Peer(name, self._addresses[name])
        with peer.open(self._rounds._identity) as channel:
            self._open.add(channel)
            try:
                yield RemoteParty(peer, channel)
            finally:
                self._open.discard(channel)

    def _begun(self, party: RemoteParty, part: Part, seconds: float) -> Begun:
        """Its reports on their way, from a party that is there and is still the one that was enrolled."""
        until = time.monotonic() + seconds
        require_live(party, self._plan.schema_digest, seconds)
        self._rounds._tell("asking")
        return party.reports(self._plan.request, part.cohort)(max(0.0, until - time.monotonic()))

    def _hang_up(self) -> None:
        """End the calls that are still going on."""
        self.persistence.stop()
        for channel in list(self._open):
            channel.close()

    def _write(self) -> None:
        """Commit whatever has come in since the last commit at once: a sync for each party would be the bottleneck."""
        more = True
        while more:
            batch = [self._received.get()]
            while not self._received.empty():
                batch.append(self._received.get())
            more = None not in batch
            some = [entry for entry in batch if entry is not None]
            if some:
                self._rounds.journal.record(self._plan.round_id, some)
                self._rounds._tell("recorded")


def _require_seconds(seconds: float) -> None:
    if not 0 < seconds <= LONGEST_ROUND_SECONDS:
        raise InvalidParameter("a round's deadline lies above 0 seconds and within a day")


def _headcount(plan: RoundPlan, tallies: Mapping[str, Tally]) -> Headcount:
    return sum((part.headcount for part in plan.parts if part.party in tallies), Headcount())


def _require_there(plan: RoundPlan, away: Mapping[str, LocalDpError]) -> None:
    """Refuse a round whose quorum cannot be met without those who are away, before anybody pays for it."""
    there = [part.party for part in plan.parts if part.party not in away]
    counted = sum((part.headcount for part in plan.parts if part.party in there), Headcount())
    if plan.quorum.met(counted, plan.asked):
        return
    missing = missing_by_reason(plan, there, {name: reason_of(error) for name, error in away.items()})
    hint = '; the file of parties can say it: "people": 1200' if plan.asked.unknown else ""
    raise Unreachable(
        f"{counted.people:,} of {plan.asked.at_least()} people are there ({counted.parties} of {plan.asked.parties}"
        f" parties; missing: {in_words(missing)}), and the quorum is {plan.quorum}; nobody was asked{hint}"
    )


def _require_quorum(
    plan: RoundPlan, quorum: Quorum, tallies: Mapping[str, Tally], reasons: Mapping[str, str]
) -> None:
    answered, asked = _headcount(plan, tallies), plan.asked
    if quorum.met(answered, asked):
        return
    missing = missing_by_reason(plan, tallies, reasons)
    raise QuorumMissed(
        f"{answered.people:,} of {asked.at_least()} people answered ({answered.parties} of {asked.parties} parties;"
        f" missing: {in_words(missing)}), and the quorum is {quorum}; round {plan.round_id} stays open"
    )


def _result(plan: RoundPlan, tallies: Mapping[str, Tally], missing: Mapping[str, Headcount]) -> RoundResult:
    return RoundResult(
        plan.round_id,
        plan.request.query,
        plan.range_people,
        reduce(Tally.merge, tallies.values()),
        plan.asked,
        _headcount(plan, tallies),
        missing,
    )
