"""Plans and the journal: what is written is what is read, a tally counts once, and an ended round stays ended."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.cohorts import Cohort, Split
from localdp.errors import InvalidParameter, StorageFailed, UnknownIndex
from localdp.party.party import Request
from localdp.randomizers.definition import LocalRandomizer, Tally
from localdp.randomizers.k_ary import KaryRandomizedResponse
from localdp.randomizers.local_hashing import OptimalLocalHashing
from localdp.randomizers.one_bit import OneBitRandomizer
from localdp.randomizers.priv_unit import PrivUnit
from parties.rounds.journal import Journal
from parties.rounds.plan import Headcount, Quorum, RoundPlan, in_words, planned
from parties.rounds.roster import Enrolled
from parties.rounds.storage import Storage
from tests.support.postgres import new_database

ONE = Epsilon.requested(1)
PARTIES = [Enrolled(f"party-{n}", f"127.0.0.1:{5000 + n}", 10, bytes(32)) for n in range(4)]
ONE_BIT = OneBitRandomizer(ONE)
HALF = Quorum.of_text("0.5")


def plan_of(
    number: int = 0, cohort: Cohort | None = None, randomizer: LocalRandomizer = ONE_BIT
) -> RoundPlan:
    request = Request(number.to_bytes(16, "big"), "smoker", randomizer)
    return planned(request, cohort, HALF, PARTIES)


def tally(plan: RoundPlan, ones: int) -> Tally:
    return Tally(plan.randomizer, 10, np.array([ones], dtype=np.int64))


@pytest.fixture(params=["file", "database"])
def journal(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Journal]:
    place = new_database() if request.param == "database" else tmp_path / "journal"
    with closing(Storage(place)) as storage:
        yield Journal(storage)


@pytest.mark.parametrize(
    "plan",
    [
        plan_of(1),
        plan_of(2, Cohort(5, 25)),
        plan_of(3, Cohort(0, 40, Split(b"public coins 16b", 3, 1))),
        plan_of(4, randomizer=KaryRandomizedResponse(ONE, 4)),
    ],
    ids=["everybody", "a range", "a split", "another randomizer"],
)
def test_a_plan_is_read_as_it_was_written(journal: Journal, plan: RoundPlan) -> None:
    journal.begin(plan)
    assert journal.plan(plan.round_id) == plan
    assert journal.unfinished() == [plan]
    assert journal.ended(plan) is None


def test_a_plan_numbers_people_through_and_leaves_out_parties_without_any_of_them() -> None:
    plan = plan_of(0, Cohort(5, 25))
    assert [(part.party, part.cohort) for part in plan.parts] == [
        ("party-0", Cohort(5, 10)),
        ("party-1", Cohort(0, 10)),
        ("party-2", Cohort(0, 5)),
    ]
    assert plan.asked == Headcount(3, 20)
    assert plan.range_people == 20
    with pytest.raises(UnknownIndex):
        plan_of(0, Cohort(0, 41))
    with pytest.raises(InvalidParameter, match="empty"):
        plan_of(0, Cohort(3, 3))


def test_reports_that_cannot_be_summed_up_are_not_for_rounds() -> None:
    with pytest.raises(InvalidParameter, match="open domain"):
        plan_of(0, randomizer=OptimalLocalHashing(ONE))


def test_a_tally_counts_once_and_the_first_one_stays(journal: Journal) -> None:
    plan = plan_of()
    journal.begin(plan)
    journal.record(plan.round_id, [("party-0", tally(plan, 3)), ("party-1", tally(plan, 4))])
    journal.record(plan.round_id, [("party-0", tally(plan, 9))])
    assert {name: int(t.sums[0]) for name, t in journal.tallies(plan).items()} == {
        "party-0": 3,
        "party-1": 4,
    }


def test_a_round_that_has_ended_takes_nothing_more_and_keeps_its_first_end(journal: Journal) -> None:
    plan = plan_of()
    journal.begin(plan)
    journal.record(plan.round_id, [("party-0", tally(plan, 3))])
    journal.close(plan, {"party-1": "budget_exhausted", "party-2": "unreachable", "party-0": "late"})
    journal.record(plan.round_id, [("party-1", tally(plan, 4))])
    journal.close(plan, {})
    assert list(journal.tallies(plan)) == ["party-0"]
    assert journal.ended(plan) == {
        "budget_exhausted": Headcount(1, 10),
        "deadline_missed": Headcount(1, 10),  # party-3, of whom nothing is known
        "unreachable": Headcount(1, 10),
    }
    assert journal.unfinished() == []


def test_the_journal_keeps_no_name_beside_a_reason(tmp_path: Path) -> None:
    with closing(Storage(tmp_path / "journal")) as storage:
        journal, plan = Journal(storage), plan_of()
        journal.begin(plan)
        journal.close(plan, {"party-1": "budget_exhausted"})
        (kept,) = storage.file.execute("SELECT missing FROM rounds").fetchone()
    assert "party" not in kept


def test_a_request_identifier_is_never_used_for_two_rounds(journal: Journal) -> None:
    journal.begin(plan_of(7))
    with pytest.raises(StorageFailed):
        journal.begin(plan_of(7))


def test_an_unknown_round_and_a_damaged_one_are_told_apart(tmp_path: Path) -> None:
    with closing(Storage(tmp_path / "journal")) as storage:
        journal, plan = Journal(storage), plan_of()
        with pytest.raises(InvalidParameter, match="no round"):
            journal.plan("0123456789abcdef")
        journal.begin(plan)
        storage.file.execute("UPDATE rounds SET request = x'ff'")
        with pytest.raises(StorageFailed, match="cannot be read"):
            journal.plan(plan.round_id)


@pytest.mark.parametrize(
    ("fraction", "of", "asked", "needed"),
    [
        ("0.7", "people", Headcount(3, 10), 7),
        ("0.7", "people", Headcount(3, 11), 8),
        ("0.7", "parties", Headcount(30, 999), 21),
        ("1", "people", Headcount(3, 11), 11),
        ("1e-9", "people", Headcount(3, 11), 1),
        ("2/3", "parties", Headcount(3, 11), 2),
    ],
)
def test_a_quorum_is_exact(fraction: str, of: str, asked: Headcount, needed: int) -> None:
    quorum = Quorum.of_text(fraction, of)
    assert quorum.needed(asked) == needed
    enough = Headcount(needed, needed)
    assert quorum.met(enough, asked)
    assert not quorum.met(Headcount(needed - 1, needed - 1), asked)


@pytest.mark.parametrize(
    ("fraction", "answered", "met"),
    [
        ("1", Headcount(2, 20), False),
        ("0.7", Headcount(2, 20), False),
        ("0.6", Headcount(2, 20), True),
        ("0.6", Headcount(2, 11), False),
    ],
)
def test_where_a_number_is_unknown_the_parties_count_as_well(
    fraction: str, answered: Headcount, met: bool
) -> None:
    """Three parties, 20 people, and one party of which nobody knows how many it has."""
    assert Quorum.of_text(fraction).met(answered, Headcount(3, 20, 1)) is met
    assert Quorum.of_text(fraction).met(answered, Headcount(3, 20)) is (answered.people >= 12)


def test_a_party_of_unknown_size_is_in_the_plan_and_in_what_is_missing(journal: Journal) -> None:
    known, unknown = Enrolled("north", "here", 3, bytes(32)), Enrolled("south", "there", 0, b"")
    plan = planned(plan_of().request, None, HALF, [unknown, known])
    journal.begin(plan)
    assert journal.plan(plan.round_id) == plan
    assert (plan.asked, plan.range_people) == (Headcount(2, 3, 1), 3)
    journal.close(plan, {"south": "unreachable", "north": "budget_exhausted"})
    missing = journal.ended(plan)
    assert missing is not None
    assert missing == {"budget_exhausted": Headcount(1, 3), "unreachable": Headcount(1, 0, 1)}
    assert in_words(missing) == "1 budget_exhausted (3 people), 1 unreachable (nobody knows how many)"
    assert Headcount(3, 1200, 1).told() == "1,200 people, and nobody knows how many of 1 of them"


@pytest.mark.parametrize("fraction", ["0", "-1", "1.01", "nan", "inf", "", "many", "1/0"])
def test_a_quorum_is_a_fraction(fraction: str) -> None:
    with pytest.raises(InvalidParameter):
        Quorum.of_text(fraction)
    with pytest.raises(InvalidParameter):
        Quorum(Fraction(1, 2), "servers")


def test_sums_come_back_in_the_shape_that_the_randomizer_adds_up(journal: Journal) -> None:
    plan = plan_of(randomizer=PrivUnit(ONE, 3))
    journal.begin(plan)
    kept = plan.randomizer.tally(plan.randomizer.unpack(b"", 0))
    assert kept.sums.ndim == 2
    journal.record(plan.round_id, [("party-0", kept)])
    assert journal.tallies(plan)["party-0"].sums.shape == kept.sums.shape
