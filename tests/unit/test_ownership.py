"""One person behind several rows: sampled, or charged for each."""

import numpy as np
import pytest

from localdp.accounting.ledger import MemoryLedger
from localdp.cohorts import Cohort
from localdp.domains import BitDomain, Ownership, Records, Schema
from localdp.errors import BudgetExhausted, InvalidParameter, InvalidRecord
from localdp.oracles.local import LocalOracle
from localdp.oracles.lr import InProcessLROracle
from localdp.oracles.shared import InProcessShareServers
from localdp.oracles.shuffler import Shuffler
from localdp.party.party import Party, Request
from localdp.party.policy import Policy
from localdp.randomizers.one_bit import binary_randomized_response
from localdp.randomness.hazmat import SeededSource
from tests.support.people import KEYRING, ONE

OWNERS = np.array([0, 0, 0, 1, 2, 2], np.int64)
RECORDS = Records.from_columns(Schema({"ill": BitDomain()}), {"ill": np.array([1, 1, 1, 0, 1, 0], bool)})
NEARLY_EXACT = binary_randomized_response(30)


def party(rows: str, budget: int) -> Party:
    ownership = Ownership(OWNERS, rows)  # type: ignore[arg-type]
    policy = Policy(largest_epsilon=ONE * 30, most_rows=3 if rows == "each" else 1)
    ledger = MemoryLedger(ownership.indices, (ONE * budget).divided_by(policy.most_rows))
    return Party("party", RECORDS, KEYRING.party(0), ledger, policy, ownership)


def request(number: int, epsilon: int = 1) -> Request:
    return Request(b"%16d" % number, "ill", binary_randomized_response(epsilon))


def test_each_row_has_its_share_of_its_owners_budget() -> None:
    each = party("each", 6)
    assert each.people == 6
    each.randomize(request(0), Cohort(0, 6))
    each.randomize(request(1), Cohort(0, 2))
    assert each.ledger.spent().tolist() == [2 * 10**9] * 2 + [10**9] * 4
    with pytest.raises(BudgetExhausted, match="2 of 6"):  # whoever's they are
        each.randomize(request(2), Cohort(0, 6))
    each.randomize(request(2), Cohort(2, 6))


def test_somebody_with_more_rows_than_the_budget_was_divided_by_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="more than 2 rows"):
        Party(
            "p",
            RECORDS,
            KEYRING.party(0),
            MemoryLedger(6, ONE),
            Policy(most_rows=2),
            Ownership(OWNERS, "each"),
        )


def test_a_replay_of_rows_costs_their_owner_nothing() -> None:
    each = party("each", 3)
    first = each.randomize(request(0), Cohort(0, 6))
    assert (each.randomize(request(0), Cohort(0, 6)) == first).all()
    assert (each.randomize(request(0), Cohort(2, 4)) == first[2:4]).all()


def test_a_sampled_person_pays_once_and_answers_from_a_row_of_their_own() -> None:
    sampled = party("sample", 1000)
    assert sampled.people == 3
    drawn = np.array(
        [sampled.randomize(Request(b"%16d" % n, "ill", NEARLY_EXACT), Cohort(0, 3)) for n in range(30)]
    )
    assert (sampled.ledger.spent() == 30 * NEARLY_EXACT.epsilon.nanonats).all()
    assert drawn[:, 0].all()  # all three rows of the first person say yes
    assert not drawn[:, 1].any()
    assert (
        0 < drawn[:, 2].sum() < 30
    )  # the third person has one of each: missing one has probability 2**-29


def test_which_row_is_sampled_does_not_depend_on_who_else_is_asked() -> None:
    sampled = party("sample", 1000)
    whole = sampled.randomize(request(7, 30), Cohort(0, 3))
    assert (sampled.randomize(request(7, 30), Cohort(2, 3)) == whole[2:]).all()


def test_rows_are_sampled_evenly() -> None:
    ownership = Ownership(OWNERS, "sample")
    words = (np.arange(3000, dtype=np.uint64) * np.uint64(2**64 // 3000))[:, None]
    rows = np.array([ownership.sampled(np.array([0]), word)[0] for word in words])
    assert np.abs(np.bincount(rows) - 1000).max() <= 1


def test_the_owner_of_a_row_is_part_of_what_pins_the_records() -> None:
    states = {
        Party(
            "p",
            RECORDS,
            KEYRING.party(0),
            MemoryLedger(6, ONE),
            Policy(most_rows=3),
            Ownership(np.array(owners), rows),
        ).state()
        for owners in ([0, 0, 0, 1, 2, 2], [0, 0, 1, 1, 2, 2])
        for rows in ("sample", "each")
    }
    assert len(states) == 4


@pytest.mark.parametrize(
    ("rows", "hidden"), [("sample", "one person's record"), ("each", "one row, of which")]
)
def test_a_promise_says_whether_it_is_about_a_person_or_a_row(rows: str, hidden: str) -> None:
    reports = InProcessLROracle([party(rows, 10)])
    oracle = LocalOracle(reports, ONE, SeededSource(1))
    oracle.answer(["ill"])
    assert f"replacing {hidden}" in oracle.claim.statement()
    shares = InProcessShareServers(reports.parties, [])
    assert shares.by_row is reports.by_row is (rows == "each")
    assert shares.samples is reports.samples is (rows == "sample")
    assert ("a random visit" in oracle.claim.statement()) is (rows == "sample")
    assert (oracle.claim.to_data().get("about") is not None) is (rows == "sample")


def test_nobody_hides_among_their_own_rows() -> None:
    with pytest.raises(InvalidParameter, match="whose every row answers"):
        Shuffler(InProcessLROracle([party("each", 10)]), SeededSource(1))


@pytest.mark.parametrize("owners", [[], [1, 1], [0, 2], [0, 1, 0]])
def test_owners_are_numbered_and_stand_together(owners: list[int]) -> None:
    with pytest.raises(InvalidRecord):
        Ownership(np.array(owners, np.int64), "sample")


def test_there_are_two_ways_to_treat_several_rows() -> None:
    with pytest.raises(InvalidParameter):
        Ownership(OWNERS, "all")  # type: ignore[arg-type]
