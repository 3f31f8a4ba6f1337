"""Records that change while they are asked about: what is answered was paid for, and no difference of answers is free.

Records change with an epoch and never within one, and an epoch may begin with the records of the one before: nothing that
is refused depends on which it was.

Permanent answers are looked at with a randomizer whose second round is as good as none, so that a report shows the
permanent answer, and different permanent answers are told apart.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.ledger import MemoryLedger
from localdp.cohorts import Cohort
from localdp.domains import CategoryDomain, IntegerDomain, Ownership, Records, Schema
from localdp.errors import LocalDpError, RequestExpired
from localdp.party.party import Party, Request
from localdp.party.policy import Policy
from localdp.party.secrets import Secrets
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
REGIONS = memoised_symmetric_unary(Epsilon.requested(2), NEARLY, 4)
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
    by_content: bool = False,
) -> Party:
    """The party in its first epoch."""
    policy = Policy(largest_epsilon=Epsilon.requested(30), by_content=by_content)
    return Party("party-0", records, secrets or KEYRING.party(0), ledger, policy, ownership)


def later(asked: Party, records: Records, ownership: Ownership | None = None) -> Party:
    """The same party, which has begun the next epoch."""
    asked.enter(asked.epoch.next(records, ownership))
    return asked


def asking(number: int, randomizer: object = UNARY, query: str = "value") -> Request:
    """A request of that number."""
    return Request(number.to_bytes(16, "big"), query, randomizer)  # type: ignore[arg-type]


def test_what_was_charged_for_is_what_is_answered_when_an_epoch_begins_in_between() -> None:
    before, after = people(PEOPLE), people(PEOPLE + 1).slice(1, PEOPLE + 1)
    expected = party(before, MemoryLedger(PEOPLE, PLENTY)).randomize(request(1), EVERYBODY)
    asked = party(before, MemoryLedger(PEOPLE, PLENTY))
    draw = asked.charged(request(1), EVERYBODY)
    later(asked, after)
    assert (draw(EVERYBODY) == expected).all()


def outcome(act: Callable[[], object]) -> str:
    """The refusal in words; nothing if it was none."""
    try:
        act()
    except LocalDpError as error:
        return f"{type(error).__name__}: {error}"
    return ""


def told_later(records: Records, by_content: bool) -> list[str]:
    """What is said of requests of the first epoch, and of new ones, in a second one that has these records."""
    asked = party(people(PEOPLE), MemoryLedger(PEOPLE, PLENTY), by_content=by_content)
    asked.randomize(request(1), Cohort(0, 9))
    asked.randomize(asking(1, REGIONS, "region"), Cohort(0, 9))
    later(asked, records)
    told = []
    for one in (request(1), request(2), asking(1, REGIONS, "region"), replace(request(3), epoch=1)):
        for cohort in (Cohort(0, 9), Cohort(20, 30), EVERYBODY):
            told += [outcome(partial(ask, one, cohort)) for ask in (asked.granted, asked.charged)]
    return told


@pytest.mark.parametrize("by_content", [False, True])
def test_what_is_refused_in_a_new_epoch_does_not_say_whether_anything_changed(by_content: bool) -> None:
    same, other = people(PEOPLE), people(PEOPLE + 1).slice(1, PEOPLE + 1)
    told = told_later(same, by_content)
    assert told == told_later(other, by_content)
    expired = [one.startswith("RequestExpired") for one in told]
    assert expired == [not by_content] * 6 + [False] * 12 + [True] * 6


@pytest.mark.parametrize("randomizer", [UNARY, HASHING], ids=["unary", "hashing"])
def test_every_distinct_permanent_answer_was_paid_for(randomizer: MemoisedUnary | MemoisedHashing) -> None:
    ledger, seen = MemoryLedger(PEOPLE, PLENTY), [set[bytes]() for _ in range(PEOPLE)]
    draws = np.random.default_rng(1)
    tables = [table(draws.integers(0, 8, PEOPLE)) for _ in range(3)]
    asked = party(tables[0], ledger)
    for number, records in enumerate([*tables[1:], tables[0], tables[0]]):
        for again in (0, 1):
            reports = asked.randomize(asking(2 * number + again, randomizer), EVERYBODY)
            for person in range(PEOPLE):
                seen[person].add(reports[person].tobytes())
        later(asked, records)
    paid = ledger.spent() // randomizer.epsilon_permanent.nanonats
    assert (paid == 4).all()
    assert all(len(answers) <= count for answers, count in zip(seen, paid, strict=True))
    assert max(len(answers) for answers in seen) == 4  # a new epoch has new answers, for old values too


def test_a_permanent_answer_survives_a_rotation_within_its_epoch_and_is_paid_for_again_after_it() -> None:
    ledger, old, new = MemoryLedger(PEOPLE, PLENTY), b"o" * 32, b"n" * 32
    keys = [Secrets("1", {"1": old}, bytes(32)), Secrets("2", {"1": old, "2": new}, bytes(32))]
    first = party(table(3), ledger, keys[0]).randomize(asking(0), EVERYBODY)
    rotated = party(table(3), ledger, keys[1])
    assert (rotated.randomize(asking(1), EVERYBODY) == first).all()
    assert (ledger.spent() == UNARY.epsilon_permanent.nanonats).all()
    second = later(rotated, table(3)).randomize(asking(2), EVERYBODY)
    assert (first != second).any()  # the new key's answers
    assert (ledger.spent() == 2 * UNARY.epsilon_permanent.nanonats).all()


class Watched(LanedSource):
    """Notes every key that coins were drawn from."""

    keys: list[bytes] = []  # noqa: RUF012

    def __init__(self, key: bytes, lanes: object) -> None:
        super().__init__(key, lanes)  # type: ignore[arg-type]
        self.keys.append(key)


def test_second_rounds_share_no_coins_between_epochs_requests_or_keys(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("localdp.party.party.LanedSource", Watched)
    monkeypatch.setattr(Watched, "keys", [])
    old, new = b"o" * 32, b"n" * 32
    keys = [Secrets("1", {"1": old}, bytes(32)), Secrets("2", {"2": new, "1": old}, bytes(32))]
    for secrets in keys:
        asked = party(table(3), MemoryLedger(PEOPLE, PLENTY), secrets)
        for _ in range(2):
            for number in range(2):
                asked.randomize(asking(number), EVERYBODY)
            later(asked, table(3))
    assert len(Watched.keys) == len(set(Watched.keys)) == 8


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


@pytest.mark.parametrize("by_content", [False, True])
def test_a_new_epoch_draws_rows_anew_so_that_a_difference_shows_no_row(by_content: bool) -> None:
    ledger = MemoryLedger(PEOPLE // 3, PLENTY)
    values = THREE_EACH.column("value").copy()
    values[2] = 7  # one row of the first person changed
    asked = party(THREE_EACH, ledger, ownership=SAMPLED, by_content=by_content)
    first = asked.randomize(asking(1, CLEAR, "row"), OWNING)
    later(asked, table(values, THREE_EACH.column("row")), SAMPLED)
    second = asked.randomize(asking(2, CLEAR, "row"), OWNING)
    assert 10 < int((first == second).sum()) < 60
    assert (ledger.spent() == 2 * CLEAR.epsilon.nanonats).all()


@pytest.mark.parametrize("moved", [False, True])
def test_rows_that_change_owner_do_so_with_an_epoch(moved: bool) -> None:
    asked = party(THREE_EACH, MemoryLedger(PEOPLE // 3, PLENTY), ownership=SAMPLED)
    asked.randomize(asking(1, CLEAR), OWNING)
    owners = OWNERS.copy()
    owners[3] = 0 if moved else 1
    pin = asked.state()
    later(asked, THREE_EACH, Ownership(owners, "sample"))
    assert (asked.state() != pin) == moved  # which the owner sees in the ledger, and nobody else
    with pytest.raises(RequestExpired):
        asked.randomize(asking(1, CLEAR), OWNING)
