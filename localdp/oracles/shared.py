"""The shared curator: share servers that together run the discrete Laplace mechanism (section 9.3).

Parties split their encoded answers into shares, one for each server, perhaps with proofs; the servers verify them,
agree on the set of reports, add up what they hold, add noise and release; the sum of what they release is the noisy
sum of the answers, entry by entry.  The error is the curator's, up to the noise plan's factor, and does not depend on
n.  Nobody pays for a collection that one of the parties refuses (`lr.require_granted`), or for a round of which the servers
refuse a collection.  A round that broke off is gone on with when it is asked for again, of this oracle or of another one
with the same `broken` rounds: it is paid for once.

A selection (`select`) is by answers about all candidates, and where three servers draw joint noise by the noisy maximum on
shares, at the curator's price and with its law: one collection, of which an index is released and no sums.

Checked in tests/contract/test_statistical_query_oracle.py and test_select.py, tests/unit/oracles/test_shared.py and
test_shared_again.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple, Self, TypeVar

from localdp.accounting.claim import PrivacyClaim
from localdp.accounting.epsilon import Epsilon
from localdp.cohorts import Cohort
from localdp.computing.dialogue import Traffic
from localdp.computing.joint_release import run_joint_release
from localdp.domains import Schema
from localdp.errors import InvalidParameter, LocalDpError, TooFewReports
from localdp.oracles.base import CohortOracle
from localdp.oracles.by_answers import planned_by_answers, selected, selected_by_answers
from localdp.oracles.collecting import PASSING, RoundOfCollections, ShareServers, Sums, given_up
from localdp.oracles.curator import planned_selection, planned_sum, sum_answer, sums_answer
from localdp.oracles.definition import LEVEL, Answer, Selected, VectorAnswer
from localdp.oracles.lr import cohorts_by_party, refusals_of, require_granted
from localdp.oracles.plans import Plan, PlannedSelection
from localdp.party.party import Party
from localdp.queries.asked import Asked, AskedVector, checked_plan, checked_round, checked_vectors
from localdp.queries.blocks import SEED_BYTES, BlockEstimate, PeopleInBlocks, blocks_of_parties
from localdp.queries.encoded import Query, encoding_of
from localdp.queries.scores import LARGEST, Rule, Scores
from localdp.queries.statistical import StatisticalQuery
from localdp.queries.vector_query import VectorQuery
from localdp.randomness.source import RandomSource, uniform_bytes
from localdp.sharing.agreement import agree, prove_together
from localdp.sharing.binding import Binding
from localdp.sharing.coalitions import promise
from localdp.sharing.collection import COLLECTION_ID_BYTES, Collection, Contributor, Tier
from localdp.sharing.noise_plans import NoisePlan, ServerNoise, central_law
from localdp.sharing.selection import Selection
from localdp.sharing.share_server import ShareServer
from localdp.sharing.storage import Holding, Published
from localdp.sharing.tiers import people_per_block

# In process nothing travels, and the system hands out few large arrays faster than many small ones.
_BLOCKS_AT_ONCE = 4

_LIES: dict[Tier, str] = {
    "prio3": "A malicious party can answer falsely for its own people, each entry in its range: answers come with proofs.",
    "additive": "A malicious party can spoil the sum: nothing is proved.",
}

MINIMUM_BATCH = 2  # unless another one is asked for

_Asked = tuple[object, ...]  # the queries of a round, and all else that its collections have in common
Broken = dict[
    _Asked, tuple[object, RoundOfCollections]
]  # rounds that broke off when somebody may have paid, and whose
_AnyQuery = TypeVar("_AnyQuery", StatisticalQuery, VectorQuery)


def default_tier(*, simulated: bool) -> Tier:
    """Proofs wherever parties are somebody else's; a simulation has nobody who could lie, and does without them."""
    return "additive" if simulated else "prio3"


DEFAULT_TIER = default_tier(simulated=False)


def require_batch(minimum: int, people: int) -> None:
    """Refuse a batch that can never be full before anybody pays: the servers would refuse it when everybody has."""
    if people < minimum:
        raise TooFewReports(
            f"a minimum batch of {minimum:,} is more than the {people:,} people who are asked; nobody was charged: "
            "ask more people, or for a smaller minimum batch"
        )


class _Chosen(NamedTuple):
    """What a round is to select, in the place of answers."""

    selection: Selection
    queries: int  # that answers would be asked for


class InProcessShareServers:
    """Parties and share servers in this process: for simulations, and as the reference for the gRPC path."""

    relayed = False

    def __init__(self, parties: Sequence[Party], servers: Sequence[ShareServer]) -> None:
        self._parties = list(parties)
        self._servers = list(servers)
        self.traffic = Traffic()

    @property
    def schema(self) -> Schema:
        return self._parties[0].records.schema

    @property
    def contributors(self) -> tuple[Contributor, ...]:
        """The parties, and how many people each speaks for."""
        return tuple(Contributor(party.name, party.people) for party in self._parties)

    @property
    def by_row(self) -> bool:
        return any(party.by_row for party in self._parties)

    @property
    def samples(self) -> bool:
        return any(party.samples for party in self._parties)

    @property
    def servers(self) -> tuple[str, ...]:
        """Names of the share servers."""
        return tuple(server.name for server in self._servers)

    def bind(self, collection_id: bytes) -> Binding:
        """The servers as they are; time does not pass here."""
        return binding_of(self._servers, collection_id)

    def open(self, collection: Collection) -> bool:
        """Announce a collection to every server."""
        sealed = [server.open(collection) for server in self._servers]
        return any(sealed)

    def contribute(self, collection: Collection, *cohorts: Cohort) -> int:
        """Have each party split its answers and hand each server its share, if none of them refuses."""
        new = 0
        parts = [part for cohort in cohorts for part in cohorts_by_party(cohort, collection.sizes)]
        require_granted(self._parties, parts, lambda party, part: party.granted_shares(collection, part))
        for number, part in parts:
            with refusals_of(self._parties[number]):
                shares = self._parties[number].shared(collection, part)
            for block in part.parts(_BLOCKS_AT_ONCE * people_per_block(collection)):
                rows = shares(block)
                new += min(server.accept(one) for server, one in zip(self._servers, rows, strict=True))
        return new

    def agree(self, collection: Collection) -> Holding:
        """Verify, decide and seal."""
        return agree(self._servers[0], self._servers[1:], collection)

    def holdings(self, collection: Collection) -> list[Holding]:
        return [server.holding(collection.digest) for server in self._servers]

    def release(self, collection: Collection, accepted: bytes, signed: Sequence[bytes]) -> list[Published]:
        """Each server's noisy sums; with joint noise, after all of them have drawn it."""
        if collection.plan.is_proved:
            prove_together(self._servers, collection.digest, accepted, signed)
        if collection.plan.is_joint and all(
            server.in_progress(collection.digest) for server in self._servers
        ):
            return run_joint_release(self._servers, collection, accepted, signed, self.traffic)
        released = [server.release(collection.digest, accepted, signed) for server in self._servers]
        return [one.published for one in released]


def binding_of(servers: Sequence[ShareServer], collection_id: bytes) -> Binding:
    """What ties a collection to servers of this process."""
    return Binding(
        tuple(server.sealing_key.public for server in servers),
        tuple(server.witness_key for server in servers),
        servers[0].commitment(collection_id),
    )


class SharedOracle(CohortOracle):
    """Answers with the error of a curator that nobody has to trust."""

    model = "shared"

    def __init__(
        self,
        servers: ShareServers,
        epsilon: Epsilon,
        source: RandomSource,
        *,
        plan: NoisePlan = NoisePlan.EACH_SERVER,
        minimum_batch: int = MINIMUM_BATCH,
        tier: Tier = DEFAULT_TIER,
        cohort: Cohort | None = None,
        broken: Broken | None = None,
    ) -> None:
        """Spend `epsilon` per person and round; `source` only makes collection identifiers.

        Oracles of the same servers that are given the same `broken` go on with each other's rounds.
        """
        everybody = Cohort(0, sum(party.people for party in servers.contributors))
        super().__init__(servers.schema, cohort or everybody, Epsilon.requested(epsilon))
        self._servers = servers
        self._contributors = servers.contributors
        self._blocks = ""  # what is asked of blocks of people, where these report
        self._source = source
        self._plan = plan
        self._minimum_batch = minimum_batch
        self._tier = tier
        self._broken: Broken = {} if broken is None else broken
        self.selects = plan.is_joint

    @property
    def claim(self) -> PrivacyClaim:
        """Computational, and dependent on the servers as the plan says."""
        against, honest = promise(self._plan, len(self._servers.servers))
        trust, spent = f"{honest} {_LIES[self._tier]}", self.cost.epsilon_promised
        return PrivacyClaim.of_shares(
            spent,
            against,
            trust,
            self._account.delta,
            by_row=self._servers.by_row,
            samples=self._servers.samples,
        )

    def answer(self, queries: Sequence[Asked]) -> list[Answer]:
        """The means, each from a collection with its share of the round's epsilon."""
        checked = checked_round(queries, self.schema)
        return [
            sum_answer(
                query.text,
                int(noisy[0]),
                collection.encoding.bound,
                reports,
                collection.noise.total,
            )
            for query, collection, noisy, reports in self._collected(checked)
        ]

    def answer_vectors(self, queries: Sequence[AskedVector]) -> list[VectorAnswer]:
        """The means of all entries, each query from one collection with its share of the round's epsilon."""
        checked = checked_vectors(queries, self.schema)
        return [
            sums_answer(query, noisy, reports, collection.noise.total)
            for query, collection, noisy, reports in self._collected(checked)
        ]

    def select(self, of: Sequence[Asked] | AskedVector, by: Rule = LARGEST) -> Selected:
        """The first of the largest noisy scores; or the best of noisy sums, where these servers can do no more than add."""
        if not self.selects:
            return selected_by_answers(self, of, by)
        scores = Scores.checked(of, by, self.schema)
        shortfall = self._planned_selection(scores).tolerance(1 - LEVEL)
        chosen = _Chosen(scores.selection(self.people), len(scores.queries))
        ((_, _, index, reports),) = self._collected([scores.collected], chosen)
        return selected(scores, int(index[0]), self.people, reports, shortfall)

    def plan(self, queries: Sequence[Asked | AskedVector]) -> Plan:
        """The noise of all servers, if everybody's report is accepted."""
        checked = checked_plan(queries, self.schema)
        require_batch(self._minimum_batch, self._asked_people)
        part = self._part(len(checked))
        rows = [planned_sum(query, part, self.people, self._noise_factor(query, part)) for query in checked]
        return self._planned(checked, rows)

    def plan_select(self, of: Sequence[Asked] | AskedVector, by: Rule = LARGEST) -> Plan:
        """The noise on a score; or what answers about all candidates would yield."""
        if not self.selects:
            return planned_by_answers(self, of, by)
        row = self._planned_selection(Scores.checked(of, by, self.schema))
        return Plan(self.model, (row,), self.people, self._epsilon)

    def in_rounds(self, rounds: int) -> Self:
        """A view that spends a part of epsilon in each round."""
        counted = self._rounds.within(rounds)
        view = self._at(self._epsilon.divided_by(rounds), self._cohorts)
        return view._as_view(self, counted)

    def _of_blocks(self, estimate: BlockEstimate, number: int) -> Self:
        """Each party computes its own blocks: no row moves, and no server or party sees another one's."""
        everybody = (Cohort(0, sum(party.people for party in self._contributors)),)
        if self._cohorts != everybody:
            raise InvalidParameter("blocks are of everybody: ask the whole federation")
        shares = blocks_of_parties(number, [party.people for party in self._contributors])
        view = self._at(self._epsilon, (Cohort(0, number),))
        pairs = zip(self._contributors, shares, strict=True)
        view._contributors = tuple(Contributor(party.name, share) for party, share in pairs)
        blocks = PeopleInBlocks(estimate, uniform_bytes(self._source, SEED_BYTES))
        view._blocks, view.schema = blocks.text, blocks.table
        return view

    @property
    def _asked_people(self) -> int:
        return sum(one.size() for one in self._cohorts)

    def _planned_selection(self, scores: Scores) -> PlannedSelection:
        """How one candidate is told; refused where servers could not, before anybody pays."""
        require_batch(self._minimum_batch, self._asked_people)
        people = sum(party.people for party in self._contributors)
        scores.selection(self.people).require_fitting(encoding_of(scores.collected), people)
        return planned_selection(scores, self._epsilon, self.people)

    def _noise_factor(self, query: Query, epsilon: Epsilon) -> float:
        """The variance of the servers' noise, in units of the curator's."""
        noise = self._noise(query, epsilon)
        return noise.total_variance / central_law(epsilon, noise.sensitivity).variance()

    def _noise(self, query: Query, epsilon: Epsilon) -> ServerNoise:
        return ServerNoise(self._plan, epsilon, encoding_of(query).sensitivity, len(self._servers.servers))

    def _risk(self, queries: Sequence[Query]) -> Fraction:
        part = self._part(len(queries))
        deltas = (self._noise(query, part).delta(encoding_of(query).length) for query in queries)
        return sum(deltas, Fraction(0))

    def _collected(
        self, queries: Sequence[_AnyQuery], chosen: _Chosen | None = None
    ) -> list[tuple[_AnyQuery, Collection, Sums, int]]:
        """One round: a collection for each query.  A round of the same queries that broke off is gone on with."""
        require_batch(self._minimum_batch, self._asked_people)
        asked = (*self._asked(queries), chosen)
        if self._broken.get(asked, (None,))[0] is not self:
            self._rounds.require_left()
        whose, broken = self._broken.pop(asked, (self, None))
        current = broken or self._begun(queries, chosen)
        if whose is not self:
            self._book(current.collections, chosen)  # it was another's account that had it
        try:
            if broken:
                current.open()
            current.finish()
        except BaseException as error:
            if broken and isinstance(error, LocalDpError) and not isinstance(error, PASSING):
                raise given_up(error) from error
            self._broken[asked] = self, current
            raise
        self._account.carry(current.moved, current.server_rounds, current.server_bytes)
        together = zip(queries, current.collections, current.done, strict=True)
        return [(query, collection, noisy, reports) for query, collection, (noisy, reports) in together]

    def _asked(self, queries: Sequence[Query]) -> _Asked:
        """What makes two rounds one: what is asked, of whom, at which price, and on which conditions."""
        texts = tuple((query.text, encoding_of(query)) for query in queries)
        how = (self._plan, self._minimum_batch, self._tier, self._blocks)
        return (texts, self._epsilon, self._cohorts, *how)

    def _begun(self, queries: Sequence[Query], chosen: _Chosen | None) -> RoundOfCollections:
        """A new round: all of its collections are made and opened, or refused, before anybody is asked to pay."""
        part, selection = self._part(len(queries)), None if chosen is None else chosen.selection
        made = [self._collection(query, part, selection) for query in queries]
        begun = RoundOfCollections(self._servers, made, self._cohorts)
        begun.open()
        self._book(made, chosen)
        return begun

    def _book(self, collections: Sequence[Collection], chosen: _Chosen | None) -> None:
        """Whoever contributes pays, wherever it breaks off."""
        self._rounds.begin()
        asked = len(collections) if chosen is None else chosen.queries
        self._account.book(asked, self._epsilon, self._epsilon, 0)
        for collection in collections:
            self._account.risk(collection.delta)

    def _collection(self, query: Query, epsilon: Epsilon, selection: Selection | None) -> Collection:
        collection_id = uniform_bytes(self._source, COLLECTION_ID_BYTES)
        return Collection(
            collection_id,
            query.text,
            encoding_of(query),
            epsilon,
            self._plan,
            self._servers.servers,
            self._contributors,
            self._minimum_batch,
            self._servers.bind(collection_id),
            self._tier,
            self._servers.relayed,
            selection,
            self._blocks,
        )
