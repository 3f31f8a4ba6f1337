"""The LR oracle of Definition 12.2: LR(i, R) draws from R(x_i), and is all that a local algorithm may see of x.

People are numbered through over all parties: first those of party 0, then those of party 1, and so on.  A call names
a cohort of them and one request, and returns what the aggregator keeps of the reports.  Each party enforces its
people's budgets; the oracle has no say in it.

Nobody pays for a request that somebody refuses: of several parties each is first asked whether it would answer, and only if
all would is anybody asked to (`require_granted`).  If a budget is spent by others in between, those who were asked before
the one that refuses have paid.

Checked in tests/contract/test_lr_oracle.py and tests/contract/test_granting.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol, runtime_checkable

from localdp.cohorts import Cohort
from localdp.domains import Schema
from localdp.errors import InvalidParameter, LocalDpError, UnknownIndex, said_by
from localdp.party.party import Party, Request
from localdp.randomizers.definition import Reports, Tally, require_tallied
from localdp.sharing.collection import Contributor
from localdp.sharing.flooded_batch import Messages
from localdp.sharing.flooded_round import FloodedPart, FloodedRound

PEOPLE_PER_PART = 1 << 20  # drawn at a time, so that memory does not grow with the number of people


class Population(Protocol):
    """Who can be asked, and what came so far."""

    @property
    def schema(self) -> Schema:
        """What the parties' records consist of."""
        ...

    @property
    def people(self) -> int:
        """How many people there are, over all parties."""
        ...

    @property
    def by_row(self) -> bool:
        """Whether what is numbered is rows, somewhere, of which one person may own several."""
        ...

    @property
    def samples(self) -> bool:
        """Whether a question looks at one row of each person, somewhere, drawn by chance."""
        ...

    @property
    def bytes_moved(self) -> int:
        """Bytes of reports received so far, as packed."""
        ...


class LROracle(Population, Protocol):
    """LR(cohort, request): randomized reports from the people of the cohort."""

    def reports(self, request: Request, cohort: Cohort) -> Iterator[Reports]:
        """The reports of the cohort, in order of index, party by party."""
        ...


@runtime_checkable
class Tallying(Protocol):
    """Whoever sums reports up by itself, perhaps of fewer people than were asked: some may be missing."""

    def tally(self, request: Request, cohort: Cohort) -> Tally:
        """The sums of the reports of those of the cohort who answered."""
        ...


class TallyOracle(Population, Tallying, Protocol):
    """An LR oracle that keeps the reports to itself."""


def tally_of(oracle: LROracle | TallyOracle, request: Request, cohort: Cohort) -> Tally:
    """Ask, and keep only the sums."""
    if isinstance(oracle, Tallying):
        return oracle.tally(request, cohort)
    randomizer = require_tallied(request.randomizer)
    tallies = [randomizer.tally(reports) for reports in oracle.reports(request, cohort)]
    if not tallies:
        raise InvalidParameter("the cohort is empty")
    merged = tallies[0]
    for tally in tallies[1:]:
        merged = merged.merge(tally)
    return merged


def cohorts_by_party(cohort: Cohort, sizes: Sequence[int]) -> Iterator[tuple[int, Cohort]]:
    """A cohort of all people as a cohort for each party that has some of them, in the party's own numbering."""
    if cohort.stop > sum(sizes):
        raise UnknownIndex(f"the cohort ends at {cohort.stop}, but there are {sum(sizes)} people")
    first = 0
    for number, size in enumerate(sizes):
        start, stop = max(cohort.start, first) - first, min(cohort.stop, first + size) - first
        if start < stop:
            yield number, Cohort(start, stop, cohort.split.at_party(number) if cohort.split else None)
        first += size


@contextmanager
def refusals_of(party: Party) -> Iterator[None]:
    """A refusal says whose it is, as it does over a network."""
    try:
        yield
    except LocalDpError as error:
        raise said_by(f"party {party.name}", error) from error


def _refusal(party: Party, asked: FloodedRound, part: FloodedPart) -> LocalDpError | None:
    try:
        party.granted_flooded(asked, part.cohort)
    except LocalDpError as error:
        return error
    return None


def require_granted(
    parties: Sequence[Party],
    parts: Sequence[tuple[int, Cohort]],
    ask: Callable[[Party, Cohort], object],
) -> None:
    """Have every party say that it would answer, or raise the first refusal; of one alone the request itself is enough."""
    if len(parts) > 1:
        for number, part in parts:
            with refusals_of(parties[number]):
                ask(parties[number], part)


class InProcessLROracle:
    """Parties in this process: for simulations, and as the reference that the gRPC oracle is compared with."""

    seals = False  # nothing travels

    def __init__(self, parties: Sequence[Party]) -> None:
        if not parties or any(party.records.schema != parties[0].records.schema for party in parties):
            raise InvalidParameter("an LR oracle needs at least one party, and all of one schema")
        self.parties = list(parties)
        self.bytes_moved = 0

    @property
    def contributors(self) -> tuple[Contributor, ...]:
        return tuple(Contributor(party.name, party.people) for party in self.parties)

    @property
    def by_content(self) -> tuple[str, ...]:
        return tuple(party.name for party in self.parties if party.policy.by_content)

    @property
    def schema(self) -> Schema:
        return self.parties[0].records.schema

    @property
    def people(self) -> int:
        return sum(party.people for party in self.parties)

    @property
    def by_row(self) -> bool:
        return any(party.by_row for party in self.parties)

    @property
    def samples(self) -> bool:
        return any(party.samples for party in self.parties)

    def reports(self, request: Request, cohort: Cohort) -> Iterator[Reports]:
        """The reports of the cohort, party by party, through their packed form as on the wire."""
        parts = list(cohorts_by_party(cohort, [party.people for party in self.parties]))
        require_granted(self.parties, parts, lambda party, part: party.granted(request, part))
        for number, part in parts:
            with refusals_of(self.parties[number]):
                draw = self.parties[number].charged(request, part)
            for some in part.parts(PEOPLE_PER_PART):
                yield self._over_the_wire(request, draw(some))

    def granted_flooded(self, asked: FloodedRound) -> list[LocalDpError | None]:
        """Of each part, why its party would not answer now."""
        return [_refusal(self._named(part), asked, part) for part in asked.parts]

    def flooded(
        self, asked: FloodedRound, parts: Sequence[int]
    ) -> Iterator[tuple[int, Messages | LocalDpError]]:
        """The messages of these parts, or why there are none."""
        for number in parts:
            part = asked.parts[number]
            try:
                batch = self._named(part).flooded(asked, part.cohort)(part.cohort)
            except LocalDpError as error:
                yield number, error
                continue
            messages = batch.messages(0, len(batch))
            self.bytes_moved += messages.nbytes
            yield number, messages

    def _named(self, part: FloodedPart) -> Party:
        return next(party for party in self.parties if party.name == part.name)

    def _over_the_wire(self, request: Request, drawn: Reports) -> Reports:
        packed = request.randomizer.pack(drawn)
        self.bytes_moved += len(packed)
        return request.randomizer.unpack(packed, len(drawn))
