"""The shared curator: share servers that together run the discrete Laplace mechanism (section 9.3).

Parties split their encoded answers into additive shares, one for each server; the servers add up what they hold,
agree on the set of reports, add noise and release; the sum of what they release is the noisy sum of the answers.  The
error is the curator's, up to the noise plan's factor, and does not depend on n.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from localdp.accounting.claim import PrivacyClaim, Strength
from localdp.accounting.epsilon import Epsilon
from localdp.cohorts import Cohort
from localdp.domains import Schema
from localdp.errors import ShareMismatch, TooFewReports
from localdp.oracles.curator import sum_answer
from localdp.oracles.definition import Answer, Cost, checked_round, resolution_of
from localdp.oracles.lr import cohorts_by_party
from localdp.oracles.party import Party
from localdp.queries.statistical import StatisticalQuery
from localdp.randomness.source import RandomSource
from localdp.sharing import additive
from localdp.sharing.collection import COLLECTION_ID_BYTES, Collection, Contributor
from localdp.sharing.field import ELEMENT_BYTES
from localdp.sharing.noise_plans import NoisePlan
from localdp.sharing.share_server import Holding, ShareServer


class ShareServers(Protocol):
    """The parties and share servers behind a shared curator, in process or over gRPC."""

    @property
    def schema(self) -> Schema:
        """What the parties' records consist of."""
        ...

    @property
    def contributors(self) -> tuple[Contributor, ...]:
        """The parties, in order, and how many people each speaks for."""
        ...

    @property
    def servers(self) -> tuple[str, ...]:
        """Names of the share servers."""
        ...

    def open(self, collection: Collection) -> None:
        """Announce a collection to every server."""
        ...

    def contribute(self, collection: Collection, cohort: Cohort) -> int:
        """Have the parties upload the shares of a cohort of all people; returns how many reports were new."""
        ...

    def holdings(self, collection: Collection) -> list[Holding]:
        """What each server holds."""
        ...

    def release(self, collection: Collection, accepted: bytes) -> list[int]:
        """Each server's noisy sum over exactly the agreed reports."""
        ...


def run_collection(servers: ShareServers, collection: Collection, cohort: Cohort) -> tuple[int, int]:
    """The whole protocol, readably: returns the noisy sum and how many reports are in it."""
    servers.open(collection)
    servers.contribute(collection, cohort)
    holdings = servers.holdings(collection)
    if len(set(holdings)) != 1:
        raise ShareMismatch(
            "the share servers do not hold shares of the same reports; nothing was released"
        )
    if not collection.minimum_batch <= holdings[0].reports <= collection.people:
        raise TooFewReports(
            f"the servers hold {holdings[0].reports} reports; the collection is for {collection.minimum_batch}"
            f" to {collection.people}"
        )
    released = servers.release(collection, holdings[0].accepted)
    return additive.combine(released), holdings[0].reports


class InProcessShareServers:
    """Parties and share servers in this process: for simulations, and as the reference for the gRPC path."""

    def __init__(self, parties: Sequence[Party], servers: Sequence[ShareServer]) -> None:
        self._parties = list(parties)
        self._servers = list(servers)

    @property
    def schema(self) -> Schema:
        """What the parties' records consist of."""
        return self._parties[0].records.schema

    @property
    def contributors(self) -> tuple[Contributor, ...]:
        """The parties, and how many people each speaks for."""
        return tuple(Contributor(party.name, party.people) for party in self._parties)

    @property
    def servers(self) -> tuple[str, ...]:
        """Names of the share servers."""
        return tuple(server.name for server in self._servers)

    def open(self, collection: Collection) -> None:
        """Announce a collection to every server."""
        for server in self._servers:
            server.open(collection)

    def contribute(self, collection: Collection, cohort: Cohort) -> int:
        """Have each party split its answers and hand each server its share."""
        new = 0
        for number, part in cohorts_by_party(cohort, [party.people for party in self._parties]):
            batches = self._parties[number].share(collection, part)
            counts = [server.accept(batch) for server, batch in zip(self._servers, batches, strict=True)]
            new += min(counts)
        return new

    def holdings(self, collection: Collection) -> list[Holding]:
        """What each server holds."""
        return [server.holding(collection.digest) for server in self._servers]

    def release(self, collection: Collection, accepted: bytes) -> list[int]:
        """Each server's noisy sum."""
        return [server.release(collection.digest, accepted) for server in self._servers]


class SharedOracle:
    """Answers with the error of a curator that nobody has to trust."""

    def __init__(
        self,
        servers: ShareServers,
        epsilon: Epsilon,
        source: RandomSource,
        *,
        plan: NoisePlan = NoisePlan.EACH_SERVER,
        minimum_batch: int = 2,
        cohort: Cohort | None = None,
    ) -> None:
        """Spend `epsilon` per person and round; `source` only makes collection identifiers."""
        self._servers = servers
        self._epsilon = Epsilon.requested(epsilon)
        self._source = source
        self._plan = plan
        self._minimum_batch = minimum_batch
        self._cohort = cohort or Cohort(0, sum(party.people for party in servers.contributors))
        self.cost = Cost()

    @property
    def schema(self) -> Schema:
        """What queries may be about."""
        return self._servers.schema

    @property
    def people(self) -> int:
        """How many people the answers are about."""
        return self._cohort.stop - self._cohort.start

    @property
    def claim(self) -> PrivacyClaim:
        """Computational, and dependent on the servers as the plan says."""
        count = len(self._servers.servers)
        if self._plan is NoisePlan.EACH_SERVER:
            against, honest = (
                f"the collector together with any {count - 1} of the {count} share servers",
                ("At least one share server must be honest."),
            )
        else:
            against, honest = (
                "the collector, who knows no server's noise,",
                (f"All {count} share servers must keep their noise and their shares to themselves."),
            )
        return PrivacyClaim("shared", self.cost.epsilon_per_person, Strength.COMPUTATIONAL, against, honest)

    def answer(self, queries: Sequence[str | StatisticalQuery]) -> list[Answer]:
        """The means, each from a collection with its share of the round's epsilon."""
        checked = checked_round(queries, self.schema)
        part = Epsilon.requested(self._epsilon.divided_by(len(checked)))
        answers = [self._one(query, part) for query in checked]
        reports = sum(answer.reports for answer in answers)
        moved = reports * len(self._servers.servers) * ELEMENT_BYTES
        self.cost = self.cost.after_round(len(checked), self._epsilon, moved)
        return answers

    def _one(self, query: StatisticalQuery, epsilon: Epsilon) -> Answer:
        collection = Collection(
            self._source.raw("u1", COLLECTION_ID_BYTES).tobytes(),
            query.text,
            resolution_of(query),
            epsilon,
            self._plan,
            self._servers.servers,
            self._servers.contributors,
            self._minimum_batch,
        )
        noisy, reports = run_collection(self._servers, collection, self._cohort)
        return sum_answer(
            query.text, noisy, collection.resolution, reports, collection.noise.total_variance
        )
