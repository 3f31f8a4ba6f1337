"""How an answer comes about: what the charge takes, into which parts the cohort is cut, and what each of them takes.

A part is made in one piece, so it is cut by predicted time and by the size of its message.  How a cohort is cut is a
function of request and cohort alone, on every machine: an answer that was cut off is sent again in the very same
messages.

Checked in tests/unit/parties/test_plan.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from localdp.cohorts import Cohort
from localdp.domains import Schema
from localdp.oracles.cost import Work, charge_seconds, sampling_work
from localdp.oracles.cost_of_draws import draw_work
from localdp.oracles.cost_of_queries import fingerprint_work, query_work
from localdp.oracles.cost_of_shares import share_work
from localdp.oracles.party import Request
from localdp.oracles.question import FINGERPRINTED
from localdp.queries.expressions import Expression, columns_of
from localdp.queries.parser import parse
from localdp.randomizers.definition import LocalRandomizer
from localdp.sharing.collection import Collection
from localdp.sharing.prio3.batch.engine import can_compile
from localdp.sharing.prio3_tier import WORTH_COMPILING, Prio3Tier
from localdp.sharing.tiers import people_per_block
from parties.agent.work import WorkLimits

PEOPLE_PER_PART = 1 << 20
MESSAGE_BYTES = 1 << 18  # an answer that nobody reads holds a few of these


@dataclass(frozen=True, slots=True)
class Plan:
    """The steps of an answer, and what each of them takes in seconds of the machine that prices were measured on."""

    cohort: Cohort
    charge: float
    work: Work
    people: int  # consecutive indices in a part

    def parts(self) -> Iterator[Cohort]:
        """The cohort, cut."""
        return self.cohort.parts(self.people)

    @property
    def seconds(self) -> float:
        """What all of it takes."""
        return sum(number * step for number, step in self.steps)

    @property
    def steps(self) -> tuple[tuple[int, float], ...]:
        """What is done in one piece, and how often: the charge with the first part, whole parts, and a shorter one."""
        whole, over = divmod(self.cohort.stop - self.cohort.start, self.people)
        of_whole, of_rest = (self._of(count) for count in (self.people, over))
        if not whole:
            return ((1, self.charge + of_rest),)
        return (1, self.charge + of_whole), (whole - 1, of_whole), (1 if over else 0, of_rest)

    @property
    def piece(self) -> float:
        """The longest step that cannot be made shorter: the charge with a part of one person."""
        return self.charge + self._of(1)

    def _of(self, people: int) -> float:
        return self.work.of(Cohort(0, people, self.cohort.split)) if people else 0.0


def reports_per_part(request: Request) -> int:
    """How many reports fill one message; few enough that drawing them takes bounded memory."""
    return min(PEOPLE_PER_PART, max(1, MESSAGE_BYTES * 8 // request.randomizer.report_bits // 8 * 8))


def randomize_plan(
    request: Request, cohort: Cohort, schema: Schema, limits: WorkLimits, *, sampled: bool = False
) -> Plan:
    """The plan of an answer of randomized reports; `sampled`: of one row of each person."""
    expression = parsed(request.query)
    work = _randomize_work(expression, request.randomizer, schema) + _sampling(expression, sampled)
    most = min(reports_per_part(request), max(1, cohort.stop - cohort.start))
    people = work.people_within(limits.part_seconds, cohort, most)
    return Plan(cohort, charge_seconds(expression, cohort), work, people)


def share_plan(
    collection: Collection,
    cohort: Cohort,
    schema: Schema,
    limits: WorkLimits,
    *,
    sealed: bool = False,
    sampled: bool = False,
) -> Plan:
    """The plan of an answer of shares."""
    expression = parsed(collection.query)
    compiled = wants_compiled(collection, limits.piece_seconds)
    work = query_work(expression, schema) + share_work(collection, compiled=compiled, sealed=sealed)
    work += _sampling(expression, sampled)
    most = min(people_per_block(collection), max(1, cohort.stop - cohort.start))
    people = work.people_within(limits.part_seconds, cohort, most)
    return Plan(cohort, charge_seconds(expression, cohort), work, people)


def wants_compiled(collection: Collection, piece_seconds: float) -> bool:
    """Whether proofs are to be made by compiled code: there are many, or one takes too long without it."""
    if collection.tier != "prio3":
        return False
    prio3 = Prio3Tier(collection).prio3
    many = collection.people * prio3.layout.leader_elements >= WORTH_COMPILING
    slow = share_work(collection, compiled=False).fixed > piece_seconds
    return (many or slow) and can_compile(prio3)


@lru_cache(maxsize=64)
def parsed(text: str) -> Expression:
    """A query is asked for a quote, and then for an answer, and perhaps again."""
    return parse(text)


def _randomize_work(expression: Expression, randomizer: LocalRandomizer, schema: Schema) -> Work:
    asked = fingerprint_work if isinstance(randomizer, FINGERPRINTED) else query_work
    return asked(expression, schema) + draw_work(randomizer)


def _sampling(expression: Expression, sampled: bool) -> Work:
    return sampling_work(len(columns_of(expression))) if sampled else Work()
