"""How an answer comes about: what the charge takes, into which parts the cohort is cut, and what each of them takes.

A part is made in one piece, so it is cut by predicted time and by the size of its message.  How a cohort is cut is a
function of request and cohort alone, on every machine: an answer that was cut off is sent again in the very same
messages.

Checked in tests/unit/parties/agent/test_plan.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from localdp.cohorts import Cohort
from localdp.domains import Schema
from localdp.party.cost import Work, charge_seconds, draw_work, inputs_work, reports_work, sampling_work
from localdp.party.cost_of_floods import drawn_flood_seconds, sealed_flood_work
from localdp.party.cost_of_queries import blocks_seconds, fingerprint_work, query_work
from localdp.party.cost_of_shares import Way, share_work
from localdp.party.flood_drawing import FloodDrawing
from localdp.party.party import Request
from localdp.queries.asked import query_of
from localdp.queries.blocks import PeopleInBlocks
from localdp.queries.encoded import Query, encoding_of
from localdp.randomizers.definition import LocalRandomizer
from localdp.randomizers.input_kinds import FingerprintInput
from localdp.sharing.collection import Collection
from localdp.sharing.prio3.batch.engine import can_compile
from localdp.sharing.prio3_tier import Prio3Tier
from localdp.sharing.tiers import people_per_block
from parties.agent.work import WorkLimits
from parties.flood_codec import MESSAGES_OF_A_PART

PEOPLE_PER_PART = 1 << 20
NO_WORK = Work()
MESSAGE_BYTES = 1 << 18  # an answer that nobody reads holds a few of these


@dataclass(frozen=True, slots=True)
class WorkPlan:
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
) -> WorkPlan:
    """The plan of an answer of randomized reports; `sampled`: of one row of each person."""
    question = request.question(schema)
    work = _randomize_work(question.query, request.randomizer) + _sampling(question.columns, sampled)
    most = min(reports_per_part(request), max(1, cohort.stop - cohort.start))
    people = work.people_within(limits.part_seconds, cohort, most)
    return WorkPlan(cohort, charge_seconds(question.text, cohort), work, people)


def share_plan(
    collection: Collection,
    cohort: Cohort,
    reports: int,
    schema: Schema,
    limits: WorkLimits,
    *,
    sealed: bool = False,
    sampled: bool = False,
) -> WorkPlan:
    """The plan of an answer of shares, by a party that makes so many `reports` for a collection in which people report."""
    if collection.blocks:
        return _blocks_plan(collection, cohort, reports, schema, limits, sealed, sampled)
    query = query_of(collection.query, schema)
    return _shares(collection, cohort, reports, query, limits, sealed, _sampling(query.columns, sampled))


def _blocks_plan(
    collection: Collection,
    cohort: Cohort,
    people: int,
    schema: Schema,
    limits: WorkLimits,
    sealed: bool,
    sampled: bool,
) -> WorkPlan:
    """PeopleInBlocks of all people report; what is computed of them comes with the charge."""
    blocks, everybody = PeopleInBlocks.parse(collection.blocks, schema), Cohort(0, people)
    plan = _shares(collection, cohort, people, query_of(collection.query, blocks.table), limits, sealed)
    most = min(people, max(collection.sizes))  # blocks of this party, whichever of them it is
    computed = blocks_seconds(blocks, people, most) + _sampling(blocks.columns, sampled).of(everybody)
    return replace(plan, charge=charge_seconds(collection.blocks, everybody) + plan.charge + computed)


def _shares(
    collection: Collection,
    cohort: Cohort,
    reports: int,
    query: Query,
    limits: WorkLimits,
    sealed: bool,
    before: Work = NO_WORK,
) -> WorkPlan:
    people, way = cohort.stop - cohort.start, _way(collection, cohort, reports, limits.piece_seconds)
    work = query_work(query) + share_work(collection, way, sealed=sealed)
    work += before + inputs_work(collection.encoding)
    most = min(people_per_block(collection), max(1, people))
    if way == "alone":
        most = min(most, Prio3Tier(collection).few)
    part = work.people_within(limits.part_seconds, cohort, most)
    return WorkPlan(cohort, charge_seconds(query.text, cohort), work, part)


def flood_plan(
    drawing: FloodDrawing, cohort: Cohort, limits: WorkLimits, *, sampled: bool = False
) -> WorkPlan:
    """The plan of a part of a flooded round: people are read and noise is drawn with the charge; parts are messages."""
    query, people = drawing.query, Cohort(0, max(1, cohort.stop - cohort.start))
    size = drawing.asked.plan.size(drawing.part.people)
    read = query_work(query) + inputs_work(encoding_of(query)) + _sampling(query.columns, sampled)
    charge = charge_seconds(query.text, cohort) + read.of(people) + drawn_flood_seconds(drawing)
    work = sealed_flood_work(2 if drawing.asked.question.second_key else 1)
    most = work.people_within(limits.part_seconds, Cohort(0, size), MESSAGES_OF_A_PART)
    return WorkPlan(Cohort(0, size), charge, work, most)


def wants_compiled(collection: Collection, reports: int, piece_seconds: float) -> bool:
    """Whether a party that makes so many reports has proofs made by compiled code: there are many, or others are slow.

    Few reports are made alone; with more of them there is no other way where a block of them takes too long.  Where blocks
    of people report, of all parties together there are so many at most.
    """
    if collection.tier != "prio3":
        return False
    reports = min(reports, collection.people) if collection.blocks else reports
    tier = Prio3Tier(collection, reports)
    slow = share_work(collection, "alone").person > piece_seconds
    slow |= reports > tier.few and _is_slow(collection, piece_seconds)
    return (tier.is_large or slow) and can_compile(tier.prio3)


def _way(collection: Collection, cohort: Cohort, reports: int, piece_seconds: float) -> Way:
    """How shares are made."""
    if collection.tier != "prio3":
        return "arrays"
    if wants_compiled(collection, reports, piece_seconds):
        return "compiled"
    few = cohort.stop - cohort.start <= Prio3Tier(collection).few
    return "alone" if few or _is_slow(collection, piece_seconds) else "arrays"


def _is_slow(collection: Collection, piece_seconds: float) -> bool:
    """Whether a block of reports on arrays takes too long, however few they are."""
    return share_work(collection, "arrays").fixed > piece_seconds


def _randomize_work(query: Query, randomizer: LocalRandomizer) -> Work:
    asked = fingerprint_work if randomizer.takes == FingerprintInput() else query_work
    return asked(query) + draw_work(randomizer) + reports_work(randomizer)


def _sampling(columns: frozenset[str], sampled: bool) -> Work:
    return sampling_work(len(columns)) if sampled else Work()
