"""Records that change while they are asked about: what is answered was paid for, and no difference of answers is free.

Permanent answers are looked at with a randomizer whose second round is as good as none, so that a report shows the
permanent answer, and different permanent answers are told apart.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.ledger import MemoryLedger
from localdp.cohorts import Cohort
from localdp.domains import CategoryDomain, IntegerDomain, Ownership, Records, Schema
from localdp.errors import RecordsChanged
from localdp.oracles.party import Party, Request
from localdp.oracles.policy import Policy
from localdp.oracles.secrets import Secrets
from localdp.randomizers.k_ary import KaryRandomizedResponse
from localdp.randomizers.memoised import MemoisedUnary, memoised_symmetric_unary
from localdp.randomizers.memoised_hashing import MemoisedHashing
from localdp.randomness.lanes import LanedSource
from tests.support.federations import KEYRING, people, request

PEOPLE = 300
EVERYBODY = Cohort(0, PEOPLE)
LABELS = tuple("abcdefgh")
SCHEMA = Schema({"value": CategoryDomain(LABELS), "row": IntegerDomain(0, 7)})
PLENTY = Epsilon.requested(30) * 1000
NEARLY = Epsilon(2 * 10**9 - 1)  # a second round that changes an answer once in a billion times
UNARY = memoised_symmetric_unary(Epsilon.requested(2), NEARLY, len(LABELS))
HASHING = MemoisedHashing(NEARLY, Epsilon.requested(2), 16)
# An epsilon of 30 keeps the value of all people with probability 1 - 1e-9: the report shows which row was drawn.
CLEAR = KaryRandomizedResponse(Epsilon.requested(30), 8)


def table(values: Any, rows: Any = 0) -> Records:
    """Records with these values."""
    value = np.broadcast_to(np.asarray(values, np.int64), (PEOPLE,)).copy()
    return Records.from_columns(SCHEMA, {"value": value, "row": np.broadcast_to(rows, (PEOPLE,)).copy()})


def party(
    records: Records,
    ledger: MemoryLedger,
    secrets: Secrets | None = None,
    ownership: Ownership | None = None,
) -> Party:
    """The party on the day that it has these records."""
    policy = Policy(largest_epsilon=Epsilon.requested(30))
    return Party("party-0", records, secrets or KEYRING.party(0), ledger, policy, ownership)


def asking(number: int, randomizer: object = UNARY, query: str = "value") -> Request:
    """A request of that number."""
    return Request(number.to_bytes(16, "big"), query, randomizer)  # type: ignore[arg-type]


def test_what_was_charged_for_is_what_is_answered_when_the_records_are_replaced_in_between() -> None:
    before, after = people(PEOPLE), people(PEOPLE + 1).slice(1, PEOPLE + 1)
    expected = party(before, MemoryLedger(PEOPLE, PLENTY)).randomize(request(1), EVERYBODY)
    asked = party(before, MemoryLedger(PEOPLE, PLENTY))
    draw = asked.charged(request(1), EVERYBODY)
    asked.records = after
    assert (draw(EVERYBODY) == expected).all()
    with pytest.raises(RecordsChanged):
        asked.randomize(request(1), EVERYBODY)


@pytest.mark.parametrize("randomizer", [UNARY, HASHING], ids=["unary", "hashing"])
def test_every_distinct_permanent_answer_was_paid_for(randomizer: MemoisedUnary | MemoisedHashing) -> None:
    ledger, seen = MemoryLedger(PEOPLE, PLENTY), [set[bytes]() for _ in range(PEOPLE)]
    draws = np.random.default_rng(1)
    states = [table(draws.integers(0, 8, PEOPLE)) for _ in range(5)]
    for number, state in enumerate([*states, *states, states[0]]):
        reports = party(state, ledger).randomize(asking(number, randomizer), EVERYBODY)
        for person in range(PEOPLE):
            seen[person].add(reports[person].tobytes())
    paid = ledger.spent() // randomizer.epsilon_permanent.nanonats
    assert (paid == len(states)).all()
    assert all(len(answers) <= count for answers, count in zip(seen, paid, strict=True))
    assert max(len(answers) for answers in seen) == len(states)  # some had five values, and five answers


def test_a_permanent_answer_after_a_rotation_is_paid_for_again() -> None:
    ledger, old, new = MemoryLedger(PEOPLE, PLENTY), b"o" * 32, b"n" * 32
    first, second = table(3, 0), table(3, 1)  # the same values, but other records
    keys = [Secrets("1", {"1": old}, bytes(32)), Secrets("2", {"1": old, "2": new}, bytes(32))]
    reports = [
        party(records, ledger, secrets).randomize(asking(number), EVERYBODY)
        for number, (records, secrets) in enumerate([(first, keys[0]), (second, keys[1])])
    ]
    assert (reports[0] != reports[1]).any()  # the new key's answers
    assert (ledger.spent() == 2 * UNARY.epsilon_permanent.nanonats).all()
    again = party(first, ledger, keys[1]).randomize(asking(0), EVERYBODY)
    assert (again == reports[0]).all()
    assert (ledger.spent() == 2 * UNARY.epsilon_permanent.nanonats).all()


class Watched(LanedSource):
    """Notes every key that coins were drawn from."""

    keys: list[bytes] = []  # noqa: RUF012

    def __init__(self, key: bytes, lanes: object) -> None:
        super().__init__(key, lanes)  # type: ignore[arg-type]
        self.keys.append(key)


def test_second_rounds_share_no_coins_between_states_requests_or_keys(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("localdp.oracles.party.LanedSource", Watched)
    monkeypatch.setattr(Watched, "keys", [])
    ledger, old, new = MemoryLedger(PEOPLE, PLENTY), b"o" * 32, b"n" * 32
    secrets = [Secrets("1", {"1": old}, bytes(32)), Secrets("2", {"2": new, "1": old}, bytes(32))]
    for state, number in [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0)]:
        keys = secrets[state == 2]
        party(table(3, state), ledger, keys).randomize(asking(number), EVERYBODY)
    assert len(Watched.keys) == len(set(Watched.keys)) == 5


OWNERS = np.repeat(np.arange(PEOPLE // 3), 3)
THREE_EACH = table(np.tile([1, 4, 6], PEOPLE // 3), np.tile([0, 1, 2], PEOPLE // 3))
SAMPLED = Ownership(OWNERS, "sample")
OWNING = Cohort(0, PEOPLE // 3)


def test_permanent_answers_look_at_one_row_of_a_person_however_often_they_are_asked() -> None:
    # With another row at each request a person would give three permanent answers for one charge.
    ledger = MemoryLedger(PEOPLE // 3, PLENTY)
    reports = [
        party(THREE_EACH, ledger, ownership=SAMPLED).randomize(asking(number), OWNING)
        for number in range(6)
    ]
    assert all((one == other).all() for one, other in pairwise(reports))
    assert (ledger.spent() == UNARY.epsilon_permanent.nanonats).all()


def test_an_ordinary_request_draws_its_row_anew_and_a_retry_does_not() -> None:
    asked = party(THREE_EACH, MemoryLedger(PEOPLE // 3, PLENTY), ownership=SAMPLED)
    rows = [asked.randomize(asking(number, CLEAR, "row"), OWNING) for number in (1, 1, 2)]
    assert (rows[0] == rows[1]).all()
    agreeing = int((rows[0] == rows[2]).sum())
    assert 10 < agreeing < 60  # about a third of a hundred: the second row is independent of the first


def test_a_part_of_the_cohort_answers_from_the_same_rows() -> None:
    asked = party(THREE_EACH, MemoryLedger(PEOPLE // 3, PLENTY), ownership=SAMPLED)
    draw = asked.charged(asking(1, CLEAR, "row"), OWNING)
    parts = np.concatenate([draw(part) for part in OWNING.parts(7)])
    assert (parts == draw(OWNING)).all()
    assert (asked.randomize(asking(1, CLEAR, "row"), Cohort(40, 60)) == parts[40:60]).all()


def test_by_content_a_changed_table_draws_rows_anew_so_that_a_difference_shows_no_row() -> None:
    ledger = MemoryLedger(PEOPLE // 3, PLENTY)
    values = THREE_EACH.column("value").copy()
    values[2] = 7  # one row of the first person changed
    changed = table(values, THREE_EACH.column("row"))
    policy = Policy(largest_epsilon=Epsilon.requested(30), by_content=True)
    rows = [
        Party("party-0", records, KEYRING.party(0), ledger, policy, SAMPLED).randomize(
            asking(1, CLEAR, "row"), OWNING
        )
        for records in (THREE_EACH, changed)
    ]
    assert 10 < int((rows[0] == rows[1]).sum()) < 60
    assert (ledger.spent() == 2 * CLEAR.epsilon.nanonats).all()


def test_rows_that_change_owner_are_other_records() -> None:
    ledger = MemoryLedger(PEOPLE // 3, PLENTY)
    party(THREE_EACH, ledger, ownership=SAMPLED).randomize(asking(1, CLEAR), OWNING)
    moved = OWNERS.copy()
    moved[3] = 0
    with pytest.raises(RecordsChanged):
        party(THREE_EACH, ledger, ownership=Ownership(moved, "sample")).randomize(asking(1, CLEAR), OWNING)
