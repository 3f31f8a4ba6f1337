"""The LR oracle of Definition 12.2: LR(i, R) draws from R(x_i), and is all that a local algorithm may see of x.

People are numbered through over all parties: first those of party 0, then those of party 1, and so on.  A call names
a cohort of them and one request, and returns what the aggregator keeps of the reports.  Each party enforces its
people's budgets; the oracle has no say in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from localdp.cohorts import Cohort
from localdp.domains import Schema
from localdp.errors import InvalidParameter, UnknownIndex
from localdp.oracles.party import Party, Request
from localdp.randomizers.definition import Reports, TalliedRandomizer, Tally

PEOPLE_PER_PART = 1 << 20  # drawn at a time, so that memory does not grow with the number of people


class LROracle(Protocol):
    """LR(cohort, request): randomized reports from the people of the cohort."""

    @property
    def schema(self) -> Schema:
        """What the parties' records consist of."""
        ...

    @property
    def people(self) -> int:
        """How many people there are, over all parties."""
        ...

    @property
    def bytes_moved(self) -> int:
        """Bytes of reports received so far, as packed."""
        ...

    def reports(self, request: Request, cohort: Cohort) -> Iterator[Reports]:
        """The reports of the cohort, in order of index, party by party."""
        ...


def tally_of(oracle: LROracle, request: Request, cohort: Cohort) -> Tally:
    """Ask, and keep only the sums."""
    randomizer = request.randomizer
    if not isinstance(randomizer, TalliedRandomizer):
        raise InvalidParameter(
            "reports over an open domain are not summed up: keep them, and score candidates"
        )
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


class InProcessLROracle:
    """Parties in this process: for simulations, and as the reference that the gRPC oracle is compared with."""

    def __init__(self, parties: Sequence[Party]) -> None:
        if not parties or any(party.records.schema != parties[0].records.schema for party in parties):
            raise InvalidParameter("an LR oracle needs at least one party, and all of one schema")
        self.parties = list(parties)
        self.bytes_moved = 0

    @property
    def schema(self) -> Schema:
        """What the parties' records consist of."""
        return self.parties[0].records.schema

    @property
    def people(self) -> int:
        """How many people there are, over all parties."""
        return sum(party.people for party in self.parties)

    def reports(self, request: Request, cohort: Cohort) -> Iterator[Reports]:
        """The reports of the cohort, party by party, through their packed form as on the wire."""
        sizes = [party.people for party in self.parties]
        for number, part in cohorts_by_party(cohort, sizes):
            draw = self.parties[number].charged(request, part)
            for some in part.parts(PEOPLE_PER_PART):
                yield self._over_the_wire(request, draw(some))

    def _over_the_wire(self, request: Request, drawn: Reports) -> Reports:
        packed = request.randomizer.pack(drawn)
        self.bytes_moved += len(packed)
        return request.randomizer.unpack(packed, len(drawn))
