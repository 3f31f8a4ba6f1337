"""An oracle, its parties and its share servers, watched: the same answers, with events and an account of what was spent.

The account is the coordinator's own: what it knows that each person was charged for, because the answer came.  Others may
have asked them, too, and of a request that failed nobody knows here whom it has charged.  So it is the least that was
spent, and what is left is at most the rest; parties themselves know better (`RemoteParties.budgets`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from localdp.accounting.epsilon import Epsilon
from localdp.cohorts import Cohort
from localdp.computing.dialogue import Traffic
from localdp.domains import Schema
from localdp.errors import InvalidParameter, LocalDpError
from localdp.oracles.collecting import ShareServers
from localdp.oracles.definition import Answer, OnRecords, Selected, StatisticalQueryOracle, VectorAnswer
from localdp.oracles.flood_mixing import FloodedParties, MixedFlood
from localdp.oracles.lr import LROracle, cohorts_by_party
from localdp.oracles.shuffler import Mixer, Promise
from localdp.oracles.wrapping import OracleAround, ReportsAround
from localdp.party.party import Request
from localdp.queries.asked import Asked, AskedVector
from localdp.queries.scores import LARGEST, Rule
from localdp.queries.vector_query import VectorQuery
from localdp.randomizers.definition import Reports
from localdp.sharing.binding import Binding
from localdp.sharing.collection import Collection, Contributor
from localdp.sharing.flooded_batch import Messages
from localdp.sharing.flooded_round import FloodedQuestion, FloodedRound
from localdp.sharing.storage import Holding, Published
from parties.federated.events import Event, Events
from parties.status import reason

AnyAsked = TypeVar("AnyAsked")
_Told = TypeVar("_Told")
AnyAnswer = TypeVar("AnyAnswer", Answer, VectorAnswer, Selected)


class Spending:
    """Nanonats that each person has spent here at least, in the numbering of all people."""

    def __init__(self, people: int) -> None:
        self.nanonats: NDArray[np.int64] = np.zeros(people, np.int64)

    def add(self, cohort: Cohort, sizes: Sequence[int], epsilon: Epsilon) -> None:
        """One report of each person of the cohort; who they are depends on the party where there is a split."""
        for number, part in cohorts_by_party(cohort, sizes):
            self.add_part(number, part, sizes, epsilon)

    def add_part(self, number: int, part: Cohort, sizes: Sequence[int], epsilon: Epsilon) -> None:
        """One report of each person of a part of one party, in the party's own numbering."""
        first = sum(sizes[:number])
        own = self.nanonats[first : first + sizes[number]]
        own[part.selection()] += epsilon.nanonats


class WatchedReports(ReportsAround):
    """An LR oracle that tells when each party has answered."""

    def __init__(
        self,
        behind: LROracle,
        contributors: tuple[Contributor, ...],
        events: Events,
        spending: Spending,
        model: str,
    ) -> None:
        super().__init__(behind)
        self.contributors: tuple[Contributor, ...] = contributors
        self.events, self.spending, self.model = events, spending, model

    def reports(self, request: Request, cohort: Cohort) -> Iterator[Reports]:
        sizes = [party.people for party in self.contributors]
        parts = [(number, part, part.size()) for number, part in cohorts_by_party(cohort, sizes)]
        waiting = iter([one for one in parts if one[2]])
        current, received = next(waiting, None), 0
        for some in self.behind.reports(request, cohort):
            yield some
            received += len(some)
            while current is not None and received >= current[2]:
                number, part, size = current
                self.spending.add_part(number, part, sizes, request.randomizer.epsilon)
                name = self.contributors[number].name
                self.events.tell(Event("party answered", self.model, party=name, reports=size))
                received, current = received - size, next(waiting, None)

    @property
    def seals(self) -> bool:
        return self._flooding.seals

    def granted_flooded(self, asked: FloodedRound) -> Sequence[LocalDpError | None]:
        """Of each part, why its party would not answer now."""
        return self._flooding.granted_flooded(asked)

    def flooded(
        self, asked: FloodedRound, parts: Sequence[int]
    ) -> Iterator[tuple[int, Messages | LocalDpError]]:
        """The messages of these parts, or why there are none."""
        sizes, names = [one.people for one in self.contributors], [one.name for one in self.contributors]
        for number, messages in self._flooding.flooded(asked, parts):
            if not isinstance(messages, LocalDpError):
                part = asked.parts[number]
                self.spending.add_part(names.index(part.name), part.cohort, sizes, asked.plan.epsilon)
                self.events.tell(Event("party answered", self.model, party=part.name, reports=part.people))
            yield number, messages

    @property
    def _flooding(self) -> FloodedParties:
        if not isinstance(self.behind, FloodedParties):
            raise InvalidParameter("these parties cannot be asked for flooded messages")
        return self.behind


class WatchedMixer(ReportsAround):
    """A shuffler of its own, with an account of what was asked for; who has answered is its secret."""

    def __init__(self, behind: Mixer, contributors: tuple[Contributor, ...], spending: Spending) -> None:
        super().__init__(behind)
        self._mixer, self.contributors, self.spending = behind, contributors, spending

    @property
    def promise(self) -> Promise | None:
        """What it enforces."""
        return self._mixer.promise

    @property
    def hiding(self) -> int:
        return self._mixer.hiding

    @property
    def second_key(self) -> bytes:
        return self._mixer.second_key

    def reports(self, request: Request, cohort: Cohort) -> Iterator[Reports]:
        """The reports of the cohort, mixed."""
        yield from self.behind.reports(request, cohort)
        # All at once, when everybody's reports are there: before that, nobody has answered.
        sizes = [party.people for party in self.contributors]
        self.spending.add(cohort, sizes, request.randomizer.epsilon)

    def flooded(self, question: FloodedQuestion, cohorts: Sequence[Cohort]) -> MixedFlood:
        """The codes of a flooded round's messages, mixed."""
        mixed = self._mixer.flooded(question, cohorts)
        for cohort in cohorts:  # who was away is the shuffler's secret, too: all of them may have paid
            self.spending.add(cohort, [party.people for party in self.contributors], question.plan.epsilon)
        return mixed


@dataclass(frozen=True, slots=True)
class WatchedShares:
    """Share servers and their contributors, with an account of what was asked for."""

    behind: ShareServers
    spending: Spending
    # Collections: one that broke off may be contributed to again.
    _counted: set[bytes] = field(default_factory=set)

    @property
    def schema(self) -> Schema:
        return self.behind.schema

    @property
    def contributors(self) -> tuple[Contributor, ...]:
        return self.behind.contributors

    @property
    def by_row(self) -> bool:
        return self.behind.by_row

    @property
    def samples(self) -> bool:
        return self.behind.samples

    @property
    def servers(self) -> tuple[str, ...]:
        return self.behind.servers

    @property
    def relayed(self) -> bool:
        return self.behind.relayed

    @property
    def traffic(self) -> Traffic:
        return self.behind.traffic

    def bind(self, collection_id: bytes) -> Binding:
        return self.behind.bind(collection_id)

    def open(self, collection: Collection) -> bool:
        """Announce a collection to every server."""
        return self.behind.open(collection)

    def contribute(self, collection: Collection, *cohorts: Cohort) -> int:
        """Have the parties upload their shares."""
        counted = self.behind.contribute(collection, *cohorts)
        if collection.digest not in self._counted:
            sizes = [party.people for party in self.contributors]
            for cohort in [Cohort(0, sum(sizes))] if collection.blocks else cohorts:
                self.spending.add(cohort, sizes, collection.epsilon)
            self._counted.add(collection.digest)
        return counted

    def agree(self, collection: Collection) -> Holding:
        return self.behind.agree(collection)

    def holdings(self, collection: Collection) -> list[Holding]:
        return self.behind.holdings(collection)

    def release(self, collection: Collection, accepted: bytes, signed: Sequence[bytes]) -> list[Published]:
        """Each server's noisy sums over exactly the agreed reports."""
        return self.behind.release(collection, accepted, signed)


class WatchedOracle(OracleAround):
    """An oracle whose rounds are told: when they start, how they end, and why they fail."""

    def __init__(
        self,
        behind: StatisticalQueryOracle,
        events: Events,
        model: str,
        owner: object = None,
        parties: int | None = None,
        epsilon: float | None = None,
    ) -> None:
        """`owner` lives as long as the oracle does: a forgotten federation ends its parties.

        `epsilon` is what a round costs each person, in nats, where that is known beforehand.
        """
        super().__init__(behind)
        self.events, self.model, self.owner, self.parties = events, model, owner, parties
        self.epsilon = epsilon

    def answer(self, queries: Sequence[Asked]) -> list[Answer]:
        return self._told(queries, self.behind.answer)

    def answer_vectors(self, queries: Sequence[AskedVector]) -> list[VectorAnswer]:
        """One round: the means of all entries of every query, in order."""
        return self._told(queries, self.behind.answer_vectors)

    def select(self, of: Sequence[Asked] | AskedVector, by: Rule = LARGEST) -> Selected:
        """One round: the best of several queries, or of the values of a category."""
        queries: Sequence[Asked | AskedVector] = [of] if isinstance(of, str | VectorQuery) else of
        return self._told(queries, lambda _: [self.behind.select(of, by)])[0]

    def on_records(self, mechanism: OnRecords[_Told]) -> _Told:
        """One round: something of the records themselves."""
        event = Event("round started", self.model, (mechanism.text,), self.people, epsilon=self.epsilon)
        self.events.tell(event)
        told = self.behind.on_records(mechanism)
        self.events.tell(replace(event, kind="round ended", reports=self.people, asked=self.parties))
        return told

    def in_rounds(self, rounds: int) -> WatchedOracle:
        """A watched view whose rounds cost together what one round of this oracle costs."""
        view = copy(self)
        view.behind, view.epsilon = self.behind.in_rounds(rounds), None
        return view

    def among(self, ranges: Sequence[range], parts: int = 1) -> WatchedOracle:
        """A watched view of some of the people."""
        view = copy(self)
        view.behind, view.epsilon = self.behind.among(ranges, parts), None
        return view

    def in_blocks(
        self, estimate: str, blocks: int, low: float | None = None, high: float | None = None
    ) -> WatchedOracle:
        """A watched view of blocks of people."""
        view = copy(self)
        view.behind = self.behind.in_blocks(estimate, blocks, low, high)
        return view

    def _told(
        self,
        queries: Sequence[AnyAsked],
        ask: Callable[[Sequence[AnyAsked]], list[AnyAnswer]],
    ) -> list[AnyAnswer]:
        event = Event("round started", self.model, _texts(queries), self.people, epsilon=self.epsilon)
        self.events.tell(event)
        spent = self.cost.epsilon_promised
        try:
            answers = ask(queries)
        except (LocalDpError, KeyboardInterrupt) as error:
            why = reason(type(error)).lower() if isinstance(error, LocalDpError) else "interrupted"
            self.events.tell(replace(event, kind="round failed", reason=why))
            raise
        self.events.tell(self._ended(event, float(spent), answers))
        return answers

    def _ended(
        self, started: Event, spent: float, answers: Sequence[Answer | VectorAnswer | Selected]
    ) -> Event:
        only = answers[0] if len(answers) == 1 else None
        number = only if isinstance(only, Answer) else None
        return replace(
            started,
            kind="round ended",
            reports=sum(answer.reports for answer in answers),
            epsilon=round(float(self.cost.epsilon_promised) - spent, 9),
            value=None if number is None else number.value,
            standard_error=None if number is None else number.standard_error,
            half_width=None if number is None else number.half_width(),
            asked=self.parties,
        )


def _texts(queries: Sequence[object]) -> tuple[str, ...]:
    return tuple(str(getattr(query, "text", query)) for query in queries)
