"""Plans: parts of bounded time, cut by request and cohort alone."""

from dataclasses import replace

import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.cohorts import Cohort, Split
from localdp.party.cost_of_shares import share_work
from localdp.party.party import Request
from localdp.randomizers.definition import LocalRandomizer
from localdp.randomizers.one_bit import OneBitRandomizer
from localdp.randomizers.priv_unit import PrivUnit
from localdp.randomizers.unary import OptimizedUnaryEncoding
from localdp.sharing.collection import Contributor
from localdp.sharing.encoding import Encoding
from parties.agent.plan import MESSAGE_BYTES, WorkPlan, randomize_plan, share_plan, wants_compiled
from parties.agent.work import WorkLimits
from tests.support.broken_work import cut_by_people
from tests.support.federations import collection_of, parties_of, people

ONE = Epsilon.requested(1)
LIMITS = WorkLimits()
SCHEMA = people(1).schema
BALL = f"ball({', '.join(['smoker'] * 1000)})"
REQUESTS: list[tuple[str, LocalRandomizer]] = [
    ("smoker", OneBitRandomizer(ONE)),
    ("age", OptimizedUnaryEncoding(ONE, 121)),
    (BALL, PrivUnit(ONE, 1000, candidates=2048)),
    (" and ".join(["age < 30"] * 1000), OneBitRandomizer(ONE)),
]


def longest_part(plan: WorkPlan) -> float:
    return max(plan.work.of(part) for part in plan.parts())


@pytest.mark.parametrize(("query", "randomizer"), REQUESTS)
@pytest.mark.parametrize("split", [None, Split(bytes(16), 3, 1)])
def test_parts_are_short_and_make_up_the_cohort(
    query: str, randomizer: LocalRandomizer, split: Split | None
) -> None:
    cohort = Cohort(5, 3000, split)
    plan = randomize_plan(Request(bytes(16), query, randomizer), cohort, SCHEMA, LIMITS)
    parts = list(plan.parts())
    assert [part.start for part in parts] == [5, *(part.stop for part in parts[:-1])]
    assert parts[-1].stop == 3000 and {part.split for part in parts} == {split}
    assert longest_part(plan) <= LIMITS.part_seconds
    assert plan.seconds == pytest.approx(plan.charge + sum(map(plan.work.of, parts)))
    assert all((part.stop - part.start) * randomizer.report_bits <= 8 * MESSAGE_BYTES for part in parts)


def test_parts_that_are_cut_by_people_alone_take_minutes() -> None:
    request = Request(bytes(16), *REQUESTS[2])
    plan = cut_by_people(request, Cohort(0, 60_000), SCHEMA, LIMITS)
    assert longest_part(plan) > 100


def test_a_cohort_is_cut_alike_whatever_the_limits_of_the_day_are() -> None:
    """A request that was cut off is answered in the same messages after the operator changed what is allowed."""
    request, cohort = Request(bytes(16), *REQUESTS[2]), Cohort(0, 50)
    other = WorkLimits(quantum_seconds=0.1, request_seconds=1e6, piece_seconds=9.0)
    cuts = [list(randomize_plan(request, cohort, SCHEMA, one).parts()) for one in (LIMITS, other)]
    assert (
        cuts[0] == cuts[1] == list(randomize_plan(request, cohort, SCHEMA, WorkLimits.unbounded()).parts())
    )


def test_the_smallest_piece_is_the_charge_with_one_person() -> None:
    small = randomize_plan(Request(bytes(16), *REQUESTS[0]), Cohort(0, 9), SCHEMA, LIMITS)
    large = randomize_plan(Request(bytes(16), *REQUESTS[2]), Cohort(0, 9), SCHEMA, LIMITS)
    assert small.charge < small.piece < 1.2 * small.charge and large.piece > large.charge + 0.01


def test_shares_are_cut_by_time_as_well() -> None:
    holders = parties_of(people(3000), 1)
    collection = replace(
        collection_of(holders), tier="prio3", query="age", encoding=Encoding.histogram(121)
    )
    plan = share_plan(collection, Cohort(0, 3000), 3000, SCHEMA, LIMITS)
    assert longest_part(plan) <= max(LIMITS.part_seconds, 1.5 * plan.work.of(Cohort(0, 1)))
    assert list(plan.parts())[-1].stop == 3000


def test_proofs_are_compiled_where_there_are_many_or_one_is_slow() -> None:
    count = replace(collection_of(parties_of(people(4), 1)), tier="prio3")
    assert not wants_compiled(count, 4, 0.2)
    assert not wants_compiled(replace(count, tier="additive"), 1 << 20, 0.0001)
    wide = replace(count, query="age", encoding=Encoding.histogram(256))
    assert wants_compiled(wide, 20, 0.2) and not wants_compiled(wide, 20, float("inf"))
    assert wants_compiled(wide, 1 << 20, float("inf")) and not wants_compiled(wide, 1, 0.2)
    huge = replace(wide, encoding=Encoding.histogram(1 << 14))
    assert wants_compiled(huge, 1, 0.2)


def test_one_report_of_a_large_collection_is_made_and_priced_alone() -> None:
    """A phone in a collection of millions compiles nothing, and waits for what it does and not for a block."""
    parties = (Contributor("party-0", 1), Contributor("others", 5_000_000))
    collection = replace(
        collection_of(parties_of(people(1), 1)),
        tier="prio3",
        query="age",
        encoding=Encoding.histogram(256),
        parties=parties,
    )
    plan = share_plan(collection, Cohort(0, 1), 1, SCHEMA, LIMITS)
    assert plan.seconds < 0.1 < share_work(collection, "arrays").of(Cohort(0, 1))
    crowd = share_plan(collection, Cohort(0, 1), 5_000_000, SCHEMA, LIMITS)
    assert crowd.seconds < plan.seconds
