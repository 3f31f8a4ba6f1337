"""A party: it holds people's records, and answers for them through local randomizers, within their budgets.

On a request it type-checks the query, takes the epsilon from the randomizer's own law, charges the ledger, and only
then draws.  The coins of person i are a function of the party's secret key, the canonical bytes of the request and i:
the same request has the same report, at no further charge and without a stored answer, and different requests
never share coins.

Before several parties are asked, each can be asked whether it would answer (`granted`, `granted_shares`): the same checks
by the same code, and the ledger's `require` in place of its charge.  A yes holds for that moment.  It tells a caller what a
request would have told, except that it costs nothing; so where a refusal depends on whose rows they are (each row answers,
and a person's budget is one sum over them), the question leaves that part out, or it would tell who owns what for free.

This is the whole of the party's behaviour, without network or disk; `parties.agent` puts it behind gRPC with a
durable ledger.  In process and over gRPC the same requests therefore give bit-identical reports.

Checked in tests/unit/oracles/test_party.py, tests/unit/oracles/test_granted.py, tests/contract/test_lr_oracle.py and
tests/fault/.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.ledger import Charge, Ledger
from localdp.cohorts import Cohort
from localdp.domains import Ownership, Records, Schema
from localdp.errors import InvalidParameter, PolicyRefused, UnknownIndex
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
from localdp.sharing.tiers import Sharing, sharing_of

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
    mixed: bool = False  # a shuffler asks, and will mix the reports with other people's

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
    pin: bytes = field(repr=False)

    def state(self) -> bytes:
        """What pins the records: it changes with any value, and with whose row it is; without the key it says nothing."""
        if self.ownership is None:
            return derive_key(self.pin, b"records", self.records.fingerprint())
        return derive_key(self.pin, b"records", self.records.fingerprint(), self.ownership.fingerprint)

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


@dataclass(frozen=True, slots=True)
class Bill:
    """What a request is charged as, and what each report costs."""

    name: bytes  # what the ledger calls it, and most coins are keyed by
    table: Table
    cost: Epsilon
    purpose: str
    caller: str


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
        self._secrets = secret if isinstance(secret, Secrets) else Secrets.of(secret)

    @property
    def people(self) -> int:
        """How many people can be asked: one for each index of a cohort (or row, where each row answers)."""
        return self.records.people if self.ownership is None else self.ownership.indices

    @property
    def by_row(self) -> bool:
        """Whether every row answers by itself, and one person may own several."""
        return self.policy.most_rows > 1 or self._table().owners_of_indices() is not None

    def state(self) -> bytes:
        """What pins the records, in the ledger and to whoever reads it."""
        return self._table().state()

    def _table(self) -> Table:
        return Table(self.records, self.ownership, self._secrets.pin)

    def randomize(self, request: Request, cohort: Cohort) -> Reports:
        """Charge, draw and return one report for each person of the cohort."""
        return self.charged(request, cohort)(cohort)

    def charged(self, request: Request, cohort: Cohort, caller: str = "") -> Draw:
        """Charge for the whole cohort at once; what is returned draws the reports of any part of it."""
        question, bill = self._billed(request, caller)
        secret = self._charge(bill, cohort)
        randomizer, table, name = request.randomizer, bill.table, bill.name
        if isinstance(randomizer, MEMOISED):
            return self._remembered(request, question, randomizer, table, secret)
        key = derive_key(secret, b"reports", name)
        return lambda part: randomizer.randomize(
            question.inputs(table.rows_of(part, name, secret)), LanedSource(key, part.lanes())
        )

    def granted(self, request: Request, cohort: Cohort, caller: str = "") -> Epsilon:
        """What a report costs each person who has not paid for it yet, if `charged` would answer now; or its refusal."""
        return self._granted(self._billed(request, caller)[1], cohort)

    def _billed(self, request: Request, caller: str) -> tuple[Question, Bill]:
        """What is asked, and what it is charged as; or a refusal that has nothing to do with who is asked."""
        self.policy.require_caller(caller)
        if request.mixed:
            self._require_mixable()
        randomizer, table = request.randomizer, self._table()
        question = Question.asked(request.query, table.records.schema, randomizer)
        self.policy.require_columns(question.columns)
        name, cost = request.digest(question.text), randomizer.epsilon
        if isinstance(randomizer, MEMOISED):
            name = digest(b"memo", request.content_digest(question.text), table.state())
            cost = randomizer.epsilon_permanent
        elif (
            self.policy.by_content
        ):  # with the records' state: once they have changed, it is a new question
            name = digest(request.content_digest(question.text), table.state())
        return question, Bill(name, table, cost, question.about(randomizer), caller)

    def _require_mixable(self) -> None:
        """Refuse where mixing would not hide a person; whoever mixes cannot know what the owner decided meanwhile."""
        if self.policy.by_content:
            raise PolicyRefused(
                "this party answers by content: mixed reports of n people and of n - 1 of them would differ by one person's"
            )
        if self.by_row:
            raise PolicyRefused("this party answers by row: people would hide among their own rows")

    def _remembered(
        self,
        request: Request,
        question: Question,
        randomizer: MemoisedUnary | MemoisedHashing,
        table: Table,
        secret: bytes,
    ) -> Draw:
        """Reports from permanent answers, charged once for each state of the records and not for each request.

        Any number of reports costs a person epsilon_permanent for each distinct value; a new state of the records may have
        a new value for anybody, so it is charged to everybody, and has fresh coins for the second round.
        """
        name, state = request.content_digest(question.text), table.state()
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
        query, sharing, bill = self._billed_shares(collection, caller)
        own = collection.positions_of(self.name)
        secret, table, name = self._charge(bill, cohort), bill.table, bill.name
        key = derive_key(secret, b"shares", name)

        def shares(part: Cohort) -> list[ShareBlock]:
            values = encoded(query, table.rows_of(part, name, secret))
            rows = sharing.split(values, positions_in(part, own.start), LanedSource(key, part.lanes()))
            return [ShareBlock(name, self.name, part, one) for one in rows]

        return shares

    def granted_shares(self, collection: Collection, cohort: Cohort, caller: str = "") -> Epsilon:
        """The same for a collection: its epsilon, if `shared` would answer now; or its refusal."""
        return self._granted(self._billed_shares(collection, caller)[2], cohort)

    def _billed_shares(self, collection: Collection, caller: str) -> tuple[Query, Sharing, Bill]:
        """What is asked, and what it is charged as; or a refusal that has nothing to do with who is asked."""
        self.policy.require_caller(caller)
        table = self._table()
        query = _query_of(collection.query, table.records.schema)
        self.policy.require_columns(query.columns)
        self.policy.require_batch(collection.minimum_batch)
        self.policy.require_withstanding(collection.plan.withstands(len(collection.servers)))
        if encoding_of(query) != collection.encoding:
            raise InvalidParameter(
                "the answers to this query have another encoding than the collection says"
            )
        if collection.people_of(self.name) != self.people:
            raise InvalidParameter("the collection is wrong about how many people this party speaks for")
        sharing, purpose = sharing_of(collection), f"{collection.plan.value} collection of {query.text}"
        return query, sharing, Bill(collection.digest, table, collection.epsilon, purpose, caller)

    def _charge(self, bill: Bill, cohort: Cohort) -> bytes:
        """Charge, and return the secret that the coins of this request are derived from."""
        charge = self._checked(bill, cohort, bill.table.owners_of_indices())
        return self._secrets.key(self.ledger.charge(charge).key)

    def _granted(self, bill: Bill, cohort: Cohort) -> Epsilon:
        """The price, unless the charge would be refused now."""
        charge = self._checked(bill, cohort, None)
        if bill.table.owners_of_indices() is None or self.policy.most_rows > 1:
            self.ledger.require(charge)
        return bill.cost

    def _checked(self, bill: Bill, cohort: Cohort, owners: NDArray[np.int64] | None) -> Charge:
        """The charge that the ledger is to decide on, if the policy has nothing against it.

        Without `owners` there are as many people as indices, so that what is refused then is refused with them, too.
        """
        if cohort.stop > self.people:
            raise UnknownIndex(
                f"the cohort ends at {cohort.stop}, but the party holds {self.people} people"
            )
        if bill.cost.nanonats == 0:
            raise InvalidParameter("a report of epsilon 0 can say nothing, and is not made")
        self.policy.require_cohort(cohort, owners)
        self.policy.require_cost(bill.cost)
        label, kept = self._secrets.label, self._secrets.labels
        return Charge(
            bill.name, bill.table.state(), cohort, bill.cost, bill.purpose, bill.caller, label, kept
        )
