"""A party: it holds people's records, and answers for them through local randomizers, within their budgets.

On a request it type-checks the query, takes the epsilon from the randomizer's own law, charges the ledger, and only
then draws.  The coins of person i are a function of the party's secret key, the epoch, the canonical bytes of the request
and i: the same request has the same report, at no further charge, and different requests never share coins, nor do two
epochs.  What is charged comes in two steps, the inputs that are read off records and what is drawn from them, so that an
agent can keep one or the other and need not look at records again.

Before several parties are asked, each can be asked whether it would answer (`granted`, `granted_shares`): the same checks
by the same code, and the ledger's `require` in place of its charge.  A yes holds for that moment.  It costs nothing, so it
must tell nothing: every refusal here is a function of the request, of the owner's rules, of the epoch's number and of what
was charged before, and never of a record, nor of whether one changed (docs/threat-model.md lists them).

This is the whole of the party's behaviour, without network or disk; `parties.agent` puts it behind gRPC with a
durable ledger.  In process and over gRPC the same requests therefore give bit-identical reports.

Checked in tests/unit/party/test_party.py, tests/unit/party/test_granted.py, tests/contract/test_lr_oracle.py and
tests/fault/.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.ledger import Charge, Ledger
from localdp.accounting.remaining import Step, remaining
from localdp.cohorts import Asked, Cohort
from localdp.domains import Ownership, Records, Schema
from localdp.errors import InvalidParameter, PolicyRefused, RequestExpired, UnknownIndex
from localdp.framing import digest
from localdp.party.charging import Bill, Charged
from localdp.party.epoch import Epoch
from localdp.party.flooded_party import FloodedParty
from localdp.party.policy import ANY_DELTA, Policy
from localdp.party.question import Question
from localdp.party.secrets import Secrets
from localdp.queries.asked import query_of
from localdp.queries.blocks import PeopleInBlocks, require_blocks
from localdp.queries.encoded import Query, encoding_of, measured
from localdp.randomizers.definition import LocalRandomizer, Reports, Values
from localdp.randomizers.memoised import Memo, MemoisedRandomizer, epsilon_charged, is_memoised
from localdp.randomness.lanes import LanedSource
from localdp.randomness.source import RandomSource, uniform_bytes
from localdp.sharing.blocks import ShareBlock
from localdp.sharing.collection import Collection
from localdp.sharing.tiers import Sharing, sharing_of

SHORTEST_REQUEST_ID = 16
LONGEST_REQUEST_ID = 64

Draw = Charged[Reports]
Shares = Charged[list[ShareBlock]]  # a block for each share server


@dataclass(frozen=True, slots=True)
class Request:
    """One call of the LR oracle: apply this randomizer to this query of each person's record."""

    request_id: bytes
    query: str  # text; the party parses and checks it against its own schema
    randomizer: LocalRandomizer
    mixed: bool = False  # a shuffler asks, and will mix the reports with other people's
    epoch: int = 0  # the epoch that is asked about; 0: whichever is open
    _checked: list[tuple[Schema, Question]] = field(
        default_factory=list, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        if not SHORTEST_REQUEST_ID <= len(self.request_id) <= LONGEST_REQUEST_ID:
            raise InvalidParameter(
                f"a request identifier has {SHORTEST_REQUEST_ID} to {LONGEST_REQUEST_ID} bytes"
            )

    @classmethod
    def fresh(cls, query: str, randomizer: LocalRandomizer, source: RandomSource) -> Request:
        """A request under a new identifier."""
        return cls(uniform_bytes(source, SHORTEST_REQUEST_ID), query, randomizer)

    def question(self, schema: Schema) -> Question:
        """What it asks of records of a schema, or a refusal; its text is parsed and checked once."""
        for known, question in self._checked:
            if known == schema:
                return question
        self._checked[:] = [(schema, Question.asked(self.query, schema, self.randomizer))]
        return self._checked[0][1]

    def digest(self, text: str) -> bytes:
        """What names the request in the ledger and keys its coins, given the query's canonical text."""
        return digest(
            b"localdp request v1", self.request_id, text.encode(), self.randomizer.canonical.encode()
        )

    def content_digest(self, text: str) -> bytes:
        """What names all requests that ask the same, under whatever identifier."""
        return digest(b"localdp content v1", text.encode(), self.randomizer.canonical.encode())


class Party(FloodedParty):
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
        """`ownership` says whose rows they are, where one person has several; without a policy only budgets rule."""
        self.name = name
        self.ledger = ledger
        self.policy = policy or Policy(ledger.limit, largest_delta_flooded=ANY_DELTA)
        # Refuse what is not repeated, and what waits for its owner's approval.
        self.require_kept: Callable[[bytes, int], None] = lambda name, epoch: None
        self.require_approved: Callable[[Bill], None] = lambda bill: None
        self._secrets = secret if isinstance(secret, Secrets) else Secrets.of(secret)
        self.enter(Epoch.first(records, ownership))

    def enter(self, epoch: Epoch) -> None:
        """Answer from this epoch from now on; whatever was charged before is answered from its own."""
        if epoch.by_row and epoch.ownership is not None:
            self.policy.require_rows(int(epoch.ownership.counts.max()))
        self.epoch = epoch

    @property
    def records(self) -> Records:
        """The records of the epoch."""
        return self.epoch.records

    @property
    def people(self) -> int:
        """How many people can be asked: one for each index of a cohort (or row, where each row answers)."""
        return self.epoch.people

    @property
    def by_row(self) -> bool:
        """Whether every row answers by itself, and one person may own several."""
        return self.policy.most_rows > 1 or self.epoch.by_row

    @property
    def samples(self) -> bool:
        """Whether a request looks at one row of each person, drawn by chance."""
        return self.epoch.samples

    def state(self) -> bytes:
        """What pins the records, in the ledger, for its owner."""
        return self.epoch.pinned(self._secrets.pin)

    def randomize(self, request: Request, cohort: Cohort) -> Reports:
        """Charge, draw and return one report for each person of the cohort."""
        return self.charged(request, cohort)(cohort)

    def charged(self, request: Request, cohort: Cohort, caller: str = "") -> Draw:
        """Charge for the whole cohort at once; what is returned draws the reports of any part of it."""
        question, bill = self._billed(request, caller)
        secret = self._charge(bill, cohort)
        randomizer, epoch, name = request.randomizer, bill.epoch, bill.name

        def inputs(part: Asked) -> Values:
            return question.inputs(epoch.rows_of(part, name, secret, question.columns))

        if is_memoised(randomizer):
            asked = name if self.policy.by_content else request.digest(question.text)
            return _remembered(randomizer, inputs, bill, secret, asked)
        key = epoch.key(secret, b"reports", name)
        return Charged(
            name,
            epoch.number,
            inputs,
            lambda part, values: randomizer.randomize(values, LanedSource(key, part.lanes())),
        )

    def had(self, request: Request, cohort: Cohort, caller: str = "") -> bytes:
        """What a request of an epoch that has ended was charged as, if this caller had all of these reports; or a refusal.

        The owner's rules of now hold for it, too.
        """
        bill = self._billed(request, caller)[1]
        if bill.named > bill.epoch.number:
            raise RequestExpired(_another_epoch(bill))
        if not self.ledger.was_heard(self._permitted(bill, cohort)):
            raise RequestExpired("the epoch that this request was charged in has ended; make a new request")
        return bill.name

    def granted(self, request: Request, cohort: Cohort, caller: str = "") -> Epsilon:
        """What a report costs each person who has not paid for it yet, if `charged` would answer now; or its refusal."""
        return self._granted(self._billed(request, caller)[1], cohort)

    def budgets(self, caller: str = "") -> tuple[Step, ...]:
        """What people have left, in coarse steps, for a caller who may ask; no record has a part in it."""
        self.policy.require_caller(caller)
        return remaining(self.ledger.spent(), self.ledger.limit, self.policy.fewest)

    def _billed(self, request: Request, caller: str) -> tuple[Question, Bill]:
        """What is asked, and what it is charged as; or a refusal that has nothing to do with who is asked."""
        self.policy.require_caller(caller)
        if request.mixed:
            self._require_mixable()
        randomizer, epoch = request.randomizer, self.epoch
        question = request.question(epoch.records.schema)
        self.policy.require_query(question.query)
        cost = epsilon_charged(randomizer)
        name, about = self.name_of(request), question.about(randomizer)
        told = (question.text, question.columns, request.mixed, request.epoch)
        return question, Bill(name, epoch, cost, about, caller, *told)

    def name_of(self, request: Request) -> bytes:
        """What the ledger calls a request in this epoch; or a refusal of its query."""
        text = request.question(self.epoch.records.schema).text
        if request.randomizer.memoised:
            # Any number of reports of an epoch costs a person what one permanent answer costs; a new epoch may have a new
            # value for anybody, so it is charged to everybody, and has permanent answers of its own.
            return digest(b"memo", request.content_digest(text), self.epoch.identifier)
        if self.policy.by_content:
            return digest(request.content_digest(text), self.epoch.identifier)
        return request.digest(text)

    def _require_mixable(self) -> None:
        """Refuse where mixing would not hide a person; whoever mixes cannot know what the owner decided meanwhile."""
        if self.policy.by_content:
            raise PolicyRefused(
                "this party answers by content: mixed reports of n people and of n - 1 of them would differ by one person's"
            )
        if self.by_row:
            raise PolicyRefused("this party answers by row: people would hide among their own rows")

    def share(self, collection: Collection, cohort: Cohort, caller: str = "") -> list[ShareBlock]:
        """Charge, encode and split the answers of the cohort: one block for each share server."""
        return self.shared(collection, cohort, caller)(cohort)

    def shared(self, collection: Collection, cohort: Cohort, caller: str = "") -> Shares:
        """Charge for the whole cohort at once; what is returned makes the shares of any part of it.

        A person's coins are a function of the party's key, the collection and the person, so a report that is asked for
        again, in whatever parts, is the same report.
        """
        query, sharing, bill = self._billed_shares(collection, caller)
        secret, epoch, name = self._charge(bill, cohort), bill.epoch, bill.name
        key = epoch.key(secret, b"shares", name)
        rows: Callable[[Asked], Records] = partial(
            epoch.rows_of, name=name, secret=secret, columns=query.columns
        )
        if collection.blocks:
            rows = epoch.in_blocks(self._blocks_of(collection), bill.reports, name, secret)

        def inputs(part: Asked) -> Values:
            return measured(query, rows(part))

        def made(part: Asked, values: Values) -> list[ShareBlock]:
            assert isinstance(part, Cohort)  # inputs are kept for shares, so nobody is left over
            rows = sharing.split(collection.encoding.rows(values), LanedSource(key, part.lanes()))
            return [ShareBlock(name, self.name, part, one) for one in rows]

        return Charged(name, epoch.number, inputs, made, "inputs")

    def granted_shares(self, collection: Collection, cohort: Cohort, caller: str = "") -> Epsilon:
        """The same for a collection: its epsilon, if `shared` would answer now; or its refusal."""
        return self._granted(self._billed_shares(collection, caller)[2], cohort)

    def _billed_shares(self, collection: Collection, caller: str) -> tuple[Query, Sharing, Bill]:
        """What is asked, and what it is charged as; or a refusal that has nothing to do with who is asked."""
        self.policy.require_caller(caller)
        epoch, blocks = self.epoch, self._blocks_of(collection) if collection.blocks else None
        query = query_of(collection.query, epoch.records.schema if blocks is None else blocks.table)
        asked = query if blocks is None else blocks.estimate.inputs
        self.policy.require_query(asked)
        self.policy.require_batch(collection.minimum_batch)
        self.policy.require_withstanding(collection.plan.withstands(len(collection.servers)))
        if encoding_of(query) != collection.encoding:
            raise InvalidParameter(
                "the answers to this query have another encoding than the collection says"
            )
        reports = collection.people_of(self.name)
        if blocks is not None:
            require_blocks(reports, self.people)
        elif reports != self.people:
            raise InvalidParameter("the collection is wrong about how many people this party speaks for")
        sharing, purpose = (
            sharing_of(collection, reports),
            f"{collection.plan.value} {collection.purpose} {query.text}, servers' keys"
            f" {collection.binding.digest[:4].hex()}",
        )
        text, of = (query.text, None) if blocks is None else (f"{collection.blocks}: {query.text}", reports)
        about = (purpose, caller, text, asked.columns)
        return query, sharing, Bill(collection.digest, epoch, collection.epsilon, *about, blocks=of)

    def _blocks_of(self, collection: Collection) -> PeopleInBlocks:
        """What is asked of blocks of people, if the owner allows it."""
        blocks = PeopleInBlocks.parse(collection.blocks, self.epoch.records.schema)
        self.policy.require_estimator(blocks.estimate.estimator.name)
        return blocks

    def _charge(self, bill: Bill, cohort: Cohort) -> bytes:
        """Charge, and return the secret that the coins of this request are derived from."""
        return self._secrets.key(self.ledger.charge(self._checked(bill, cohort)).key)

    def _granted(self, bill: Bill, cohort: Cohort) -> Epsilon:
        """The price, unless the charge would be refused now."""
        self.ledger.require(self._checked(bill, cohort))
        return bill.cost

    def _checked(self, bill: Bill, cohort: Cohort) -> Charge:
        """The charge that the ledger is to decide on: the policy allows it, and it can be answered in this epoch."""
        charge = self._permitted(bill, cohort)
        if bill.named not in (0, bill.epoch.number):
            raise RequestExpired(_another_epoch(bill))
        self.require_approved(bill)
        self.require_kept(bill.name, bill.epoch.number)
        return charge

    def _permitted(self, bill: Bill, cohort: Cohort) -> Charge:
        """The charge, if the policy has nothing against it."""
        if cohort.stop > bill.reports:
            whose = "people" if bill.blocks is None else "blocks"
            raise UnknownIndex(
                f"the cohort ends at {cohort.stop}, but the party holds {bill.reports} {whose}"
            )
        self.policy.require_cohort(cohort, bill.people_each)
        cohort = bill.charged(cohort)
        if bill.cost.nanonats == 0:
            raise InvalidParameter("a report of epsilon 0 can say nothing, and is not made")
        self.policy.require_cost(bill.cost, bill.caller, mixed=bill.mixed)
        pin = bill.epoch.pinned(self._secrets.pin)
        label, kept = self._secrets.label, self._secrets.labels
        return Charge(
            bill.name, pin, cohort, bill.cost, bill.purpose, bill.caller, label, kept, bill.epoch.number
        )


def _another_epoch(bill: Bill) -> str:
    """Why a request that names an epoch is not answered in the open one."""
    if bill.named > bill.epoch.number:
        return (
            f"epoch {bill.epoch.number} is open now, and epoch {bill.named} is not yet; make a new request"
        )
    return f"epoch {bill.epoch.number} is open now; make a new request"


def _remembered(
    randomizer: MemoisedRandomizer,
    inputs: Callable[[Asked], Values],
    bill: Bill,
    secret: bytes,
    asked: bytes,
) -> Draw:
    """Reports from the permanent answers of an epoch, with coins of the second round for each request.

    The permanent answers stand for the inputs: all reports of the epoch together tell no more than they do.
    """
    memo = Memo(randomizer, secret, bill.name)
    key = bill.epoch.key(secret, b"renewed reports", asked)

    def answers(part: Asked) -> Reports:
        return memo.answers(part.indices(), inputs(part))

    def renewed(part: Asked, kept: Values) -> Reports:
        return randomizer.renew(kept, LanedSource(key, part.lanes()))

    return Charged(bill.name, bill.epoch.number, answers, renewed, "inputs")
