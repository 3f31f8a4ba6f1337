"""Epochs: every one has coins of its own, says publicly which it is, and pins its records for their owner alone."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from localdp.accounting.ledger import MemoryLedger
from localdp.cohorts import Cohort, Split
from localdp.domains import IntegerDomain, Ownership, Records, Schema
from localdp.errors import InvalidParameter, RequestExpired
from localdp.party.epoch import IDENTIFIER_BYTES, Epoch
from localdp.party.party import Party
from localdp.party.policy import Policy
from localdp.randomness.lanes import LanedSource
from tests.support.federations import KEYRING, ONE, request

ROWS = 60
KEY, OTHER = b"k" * 32, b"o" * 32
SCHEMA = Schema({"row": IntegerDomain(0, ROWS)})
THREE_EACH = Ownership(np.repeat(np.arange(ROWS // 3), 3), "sample")


def numbered(shift: int = 0) -> Records:
    """Records that hold their own number."""
    return Records.from_columns(SCHEMA, {"row": (np.arange(ROWS) + shift) % ROWS})


def test_the_keys_of_two_epochs_uses_names_or_secrets_differ() -> None:
    epochs = [Epoch.first(numbered())]
    for _ in range(20):
        epochs.append(epochs[-1].next(numbered()))  # the records stay, and the coins do not
    keys = [
        epoch.key(secret, use, *names)
        for epoch in epochs
        for secret in (KEY, OTHER)
        for use in (b"reports", b"rows")
        for names in ((), (b"a",), (b"b",), (b"a", b"b"), (b"ab",))
    ]
    assert len(set(keys)) == len(keys) == 21 * 2 * 2 * 5


def test_the_key_of_an_epoch_is_a_function_of_its_identifier_and_not_of_its_records() -> None:
    here, there = Epoch.first(numbered()), Epoch.first(numbered(1), THREE_EACH)
    assert here.key(KEY, b"reports", b"name") == there.key(KEY, b"reports", b"name")
    assert here.next(numbered()).identifier == there.next(numbered(2)).identifier


def test_numbers_rise_by_one_and_identifiers_never_come_back() -> None:
    epochs = [Epoch.first(numbered())]
    for _ in range(100):
        epochs.append(epochs[-1].next(numbered()))
    assert all(later.number == early.number + 1 for early, later in pairwise(epochs))
    assert len({epoch.identifier for epoch in epochs}) == len(epochs)


@pytest.mark.parametrize(
    ("number", "identifier"), [(0, bytes(IDENTIFIER_BYTES)), (-1, bytes(IDENTIFIER_BYTES)), (1, b"short")]
)
def test_an_epoch_has_a_number_from_one_on_and_a_whole_identifier(number: int, identifier: bytes) -> None:
    with pytest.raises(InvalidParameter):
        Epoch(number, identifier, numbered())


def test_every_row_has_an_owner() -> None:
    with pytest.raises(InvalidParameter, match="owner"):
        Epoch.first(numbered(), Ownership(np.arange(ROWS - 1), "sample"))


def test_an_identifier_is_not_shown() -> None:
    made = Epoch.first(numbered()).next(numbered())
    assert repr(made.identifier) not in repr(made) and made.identifier.hex() not in repr(made)


def test_records_and_owners_are_pinned_under_a_key_and_the_same_in_every_epoch() -> None:
    first = Epoch.first(numbered(), THREE_EACH)
    assert first.pinned(KEY) == first.next(numbered(), THREE_EACH).pinned(KEY)
    others = [
        first.pinned(OTHER),
        first.next(numbered(1), THREE_EACH).pinned(KEY),
        first.next(numbered()).pinned(KEY),
        first.next(numbered(), replace(THREE_EACH, rows="each")).pinned(KEY),
    ]
    assert len({first.pinned(KEY), *others}) == 5


def rows(
    epoch: Epoch, name: bytes = b"name", secret: bytes = KEY, cohort: Cohort | None = None
) -> list[int]:
    """Which rows answer."""
    taken = epoch.rows_of(cohort or Cohort(0, epoch.people), name, secret, frozenset({"row"}))
    return [int(row) for row in taken.column("row")]


def test_one_row_a_person_is_that_row_however_the_cohort_is_described() -> None:
    epoch = Epoch.first(numbered())
    assert epoch.people == ROWS and not epoch.by_row
    assert rows(epoch, cohort=Cohort(7, 11)) == [7, 8, 9, 10]
    some = Cohort(10, 50, Split(bytes(16), 3, 1))
    assert rows(epoch, cohort=some) == list(some.lanes())


def test_of_several_rows_one_is_drawn_by_name_epoch_and_secret() -> None:
    first = Epoch.first(numbered(), THREE_EACH)
    second = first.next(numbered(), THREE_EACH)
    drawn = rows(first)
    assert first.people == 20 and [row // 3 for row in drawn] == list(range(20))
    assert drawn == rows(first) and drawn[5:9] == rows(first, cohort=Cohort(5, 9))
    for other in (rows(second), rows(first, b"other"), rows(first, secret=OTHER)):
        assert other != drawn and [row // 3 for row in other] == list(range(20))


def test_where_each_row_answers_every_row_is_an_index() -> None:
    each = Epoch.first(numbered(), replace(THREE_EACH, rows="each"))
    assert each.by_row and each.people == ROWS and rows(each) == list(range(ROWS))


class Constant(LanedSource):
    """Broken: the same row of everybody in every epoch."""

    def __init__(self, key: bytes, lanes: range) -> None:
        super().__init__(bytes(32), lanes)


def test_the_test_of_rows_notices_rows_that_are_the_same_in_every_epoch(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("localdp.party.epoch.LanedSource", Constant)
    first = Epoch.first(numbered(), THREE_EACH)
    assert rows(first) == rows(first.next(numbered(), THREE_EACH))


def party() -> Party:
    records = Records.from_columns(SCHEMA, {"row": np.arange(ROWS)})
    return Party("party-0", records, KEYRING.party(0), MemoryLedger(ROWS, ONE * 10), Policy())


def test_a_party_answers_from_the_epoch_that_it_entered_last() -> None:
    asked, everybody = party(), Cohort(0, ROWS)
    early = asked.charged(request(1, "row >= 30"), everybody)
    asked.enter(asked.epoch.next(numbered(30)))
    late = asked.charged(request(2, "row >= 30"), everybody)
    assert (early.epoch, late.epoch) == (1, 2)
    assert (early.inputs(everybody) != late.inputs(everybody)).all()
    assert (asked.records.column("row") == numbered(30).column("row")).all()


@pytest.mark.parametrize(("named", "answered"), [(0, True), (1, False), (2, True), (3, False)])
def test_a_request_that_names_another_epoch_than_the_open_one_has_expired(
    named: int, answered: bool
) -> None:
    asked = party()
    asked.enter(asked.epoch.next(numbered()))
    one = replace(request(1, "row >= 30"), epoch=named)
    if answered:
        assert len(asked.randomize(one, Cohort(0, ROWS))) == ROWS
        return
    for ask in (asked.granted, asked.charged):
        with pytest.raises(RequestExpired, match="epoch 2 is open now"):
            ask(one, Cohort(0, ROWS))
    assert not asked.ledger.spent().any()


def test_people_come_and_go_with_an_epoch() -> None:
    asked = party()
    fewer = numbered().slice(0, 10)
    asked.enter(asked.epoch.next(fewer))
    assert asked.people == 10
    assert len(asked.randomize(request(1, "row >= 30"), Cohort(0, 10))) == 10
