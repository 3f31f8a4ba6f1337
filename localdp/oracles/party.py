"""A party: it holds people's records, and answers for them through local randomizers, within their budgets.

On a request it type-checks the query, takes the epsilon from the randomizer's own law, charges the ledger, and only
then draws.  The coins of person i are a function of the party's secret key, the canonical bytes of the request and i:
the same request has the same report, at no further charge and without a stored answer, and different requests
never share coins.

This is the whole of the party's behaviour, without network or disk; `parties.agent` puts it behind gRPC with a
durable ledger.  In process and over gRPC the same requests therefore give bit-identical reports.

Checked in tests/unit/oracles/test_party.py, tests/contract/test_lr_oracle.py and tests/fault/.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.ledger import Charge, Ledger
from localdp.cohorts import Cohort
from localdp.domains import Ownership, Records, Schema
from localdp.errors import InvalidParameter, UnknownIndex
from localdp.framing import digest
from localdp.oracles.definition import checked_plan
from localdp.oracles.policy import Policy
from localdp.oracles.question import MEMOISED, Question
from localdp.oracles.secrets import Secrets
from localdp.queries.encoded import Query, encoded, encoding_of
from localdp.randomizers.definition import LocalRandomizer, Reports
from localdp.randomizers.memoised import Memo, MemoisedUnary
from localdp.randomizers.memoised_hashing import MemoisedHashing
from localdp.randomness.keys import derive_key
from localdp.randomness.lanes import LanedSource
from localdp.randomness.source import RandomSource
from localdp.sharing.blocks import ShareBlock, positions_in
from localdp.sharing.collection import Collection
from localdp.sharing.tiers import sharing_of

SHORTEST_REQUEST_ID = 16
LONGEST_REQUEST_ID = 64

Draw = Callable[[Cohort], Reports]  # reports of a part of a cohort that was charged
Shares = Callable[
    [Cohort], list[ShareBlock]
]  # shares of a part of a cohort that was charged, for each server


@dataclass(frozen=True, slots=True)
class Request:
    """One call of the LR oracle: apply this randomizer to this query of each person's record."""

    request_id: bytes
    query: str  # text; the party parses and checks it against its own schema
    randomizer: LocalRandomizer

    def __post_init__(self) -> None:
        if not SHORTEST_REQUEST_ID <= len(self.request_id) <= LONGEST_REQUEST_ID:
            raise InvalidParameter(
                f"a request identifier has {SHORTEST_REQUEST_ID} to {LONGEST_REQUEST_ID} bytes"
            )

    @classmethod
    def fresh(cls, query: str, randomizer: LocalRandomizer, source: RandomSource) -> Request:
        """A request under a new identifier."""
        return cls(source.raw("u1", SHORTEST_REQUEST_ID).tobytes(), query, randomizer)

    def digest(self, text: str) -> bytes:
        """What names the request in the ledger and keys its coins, given the query's canonical text."""
        return digest(
            b"localdp request v1", self.request_id, text.encode(), self.randomizer.canonical.encode()
        )

    def content_digest(self, text: str) -> bytes:
        """What names all requests that ask the same, under whatever identifier."""
        return digest(b"localdp content v1", text.encode(), self.randomizer.canonical.encode())


@dataclass(frozen=True, slots=True)
class Table:
    """The records of one moment: what a request is charged for is what it is answered from."""

    records: Records
    ownership: Ownership | None

    def state(self) -> bytes:
        """What pins the records: it changes with any value, and with whose row it is."""
        if self.ownership is None:
            return self.records.fingerprint()
        return digest(
            self.records.fingerprint(), self.ownership.rows.encode(), self.ownership.owners.tobytes()
        )

    def owners_of_indices(self) -> NDArray[np.int64] | None:
        """Whose each index of a cohort is, where one person has several."""
        each = self.ownership is not None and self.ownership.rows == "each"
        return self.ownership.owners if self.ownership is not None and each else None

    def rows_of(self, cohort: Cohort, name: bytes, secret: bytes) -> Records:
        """The rows that answer for these people; of several, one that depends on the name and not on the rows."""
        selection = cohort.selection()
        if self.ownership is not None and self.ownership.rows == "sample":
            coins = LanedSource(derive_key(secret, b"rows", name), cohort.lanes())
            words = coins.raw(np.uint64, len(cohort.lanes()))
            return self.records.take(self.ownership.sampled(selection, words))
        if isinstance(selection, slice):
            return self.records.slice(cohort.start, cohort.stop)
        return self.records.take(selection)


@lru_cache(maxsize=256)
def _query_of(text: str, schema: Schema) -> Query:
    """What a collection asks; remembered, because a party is asked again for every part of its people."""
    return checked_plan([text], schema)[0]


class Party:
    """Records, secret keys, a ledger and a policy."""

    def __init__(
        self,
        name: str,
        records: Records,
        secret: bytes | Secrets,
        ledger: Ledger,
        policy: Policy | None = None,
        ownership: Ownership | None = None,
    ) -> None:
        """`ownership` says whose rows they are, where one person has several."""
        if ownership is not None and len(ownership.owners) != records.people:
            raise InvalidParameter("every row has an owner")
        self.name = name
        self.records = records
        self.ledger = ledger
        self.policy = policy or Policy()
        self.ownership = ownership
        self._secrets = secret if isinstance(secret, Secrets) else Secrets("", {"": secret})

    @property
    def people(self) -> int:
        """How many people can be asked: one for each index of a cohort (or row, where each row answers)."""
        return self.records.people if self.ownership is None else self.ownership.indices

    def state(self) -> bytes:
        """What pins the records: it changes with any value, and with whose row it is."""
        return self._table().state()

    def _table(self) -> Table:
        return Table(self.records, self.ownership)

    def randomize(self, request: Request, cohort: Cohort) -> Reports:
        """Charge, draw and return one report for each person of the cohort."""
        return self.charged(request, cohort)(cohort)

    def charged(self, request: Request, cohort: Cohort, caller: str = "") -> Draw:
        """Charge for the whole cohort at once; what is returned draws the reports of any part of it."""
        self.policy.require_caller(caller)
        randomizer, table = request.randomizer, self._table()
        question = Question.asked(request.query, table.records.schema, randomizer)
        self.policy.require_columns(question.columns)
        if isinstance(randomizer, MEMOISED):
            return self._remembered(request, question, randomizer, cohort, caller)
        name = request.digest(question.text)
        if self.policy.by_content:  # with the records' state: once they have changed, it is a new question
            name = digest(request.content_digest(question.text), table.state())
        secret = self._charge(name, table, cohort, randomizer.epsilon, question.about(randomizer), caller)
        key = derive_key(secret, b"reports", name)
        return lambda part: randomizer.randomize(
            question.inputs(table.rows_of(part, name, secret)), LanedSource(key, part.lanes())
        )

    def _remembered(
        self,
        request: Request,
        question: Question,
        randomizer: MemoisedUnary | MemoisedHashing,
        cohort: Cohort,
        caller: str,
    ) -> Draw:
        """Reports from permanent answers, charged once for each state of the records and not for each request.

        Any number of reports costs a person epsilon_permanent for each distinct value; a new state of the records may have
        a new value for anybody, so it is charged to everybody, and has fresh coins for the second round.
        """
        table = self._table()
        name, state = request.content_digest(question.text), table.state()
        charge, purpose = digest(b"memo", name, state), question.about(randomizer)
        secret = self._charge(charge, table, cohort, randomizer.epsilon_permanent, purpose, caller)
        memo = Memo(randomizer, secret, name)
        asked = name if self.policy.by_content else request.digest(question.text)
        key = derive_key(secret, b"renewed reports", asked, state)

        def draw(part: Cohort) -> Reports:
            people = np.asarray(part.lanes(), dtype=np.int64)
            # The row of a person is that of the collection, not of the request: one value, one permanent answer.
            values = question.inputs(table.rows_of(part, name, secret))
            return memo.report(people, values, LanedSource(key, part.lanes()))

        return draw

    def share(self, collection: Collection, cohort: Cohort, caller: str = "") -> list[ShareBlock]:
        """Charge, encode and split the answers of the cohort: one block for each share server."""
        return self.shared(collection, cohort, caller)(cohort)

    def shared(self, collection: Collection, cohort: Cohort, caller: str = "") -> Shares:
        """Charge for the whole cohort at once; what is returned makes the shares of any part of it.

        A person's coins are a function of the party's key, the collection and the person, so a report that is asked for
        again, in whatever parts, is the same report.
        """
        self.policy.require_caller(caller)
        table = self._table()
        query = _query_of(collection.query, table.records.schema)
        self.policy.require_columns(query.columns)
        self.policy.require_batch(collection.minimum_batch)
        if encoding_of(query) != collection.encoding:
            raise InvalidParameter(
                "the answers to this query have another encoding than the collection says"
            )
        if collection.people_of(self.name) != self.people:
            raise InvalidParameter("the collection is wrong about how many people this party speaks for")
        sharing, own = sharing_of(collection), collection.positions_of(self.name)
        name, purpose = collection.digest, f"{collection.plan.value} collection of {query.text}"
        secret = self._charge(name, table, cohort, collection.epsilon, purpose, caller)
        key = derive_key(secret, b"shares", name)

        def shares(part: Cohort) -> list[ShareBlock]:
            values = encoded(query, table.rows_of(part, name, secret))
            rows = sharing.split(values, positions_in(part, own.start), LanedSource(key, part.lanes()))
            return [ShareBlock(name, self.name, part, one) for one in rows]

        return shares

    def _charge(
        self, name: bytes, table: Table, cohort: Cohort, cost: Epsilon, purpose: str, caller: str
    ) -> bytes:
        """Charge, and return the secret that the coins of this request are derived from."""
        if cohort.stop > self.people:
            raise UnknownIndex(
                f"the cohort ends at {cohort.stop}, but the party holds {self.people} people"
            )
        if cost.nanonats == 0:
            raise InvalidParameter("a report of epsilon 0 can say nothing, and is not made")
        self.policy.require_cohort(cohort, table.owners_of_indices())
        self.policy.require_cost(cost)
        label, kept = self._secrets.label, self._secrets.labels
        charge = Charge(name, table.state(), cohort, cost, purpose, caller, label, kept)
        return self._secrets.key(self.ledger.charge(charge).key)
