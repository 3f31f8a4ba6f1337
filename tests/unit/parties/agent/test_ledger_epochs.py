"""Epochs, settings and losses in the ledger: who may be charged then, and what stands in the chain."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.ledger import Charge
from localdp.cohorts import Cohort
from localdp.errors import BudgetExhausted, PolicyRefused, RequestExpired, StorageFailed, UnknownIndex
from parties.agent.entries import EpochEnded, EpochOpened, Loss, SettingsStated
from parties.agent.ledger import SqliteLedger
from tests.support.ledgers import NAT, Clock, charge, entries_in, sqlite_ledger

PEOPLE = 6
EVERYBODY = Cohort(0, PEOPLE)
FIRST, SECOND = b"1" * 16, b"2" * 16


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger"


def opened(path: Path, people: int = PEOPLE, limit: Epsilon = NAT * 4, **options: int) -> SqliteLedger:
    return sqlite_ledger(path, people, limit, clock=Clock(), **options)


@pytest.fixture
def ledger(path: Path) -> Iterator[SqliteLedger]:
    with closing(opened(path)) as made:
        yield made


def test_without_epochs_in_the_file_none_is_open(ledger: SqliteLedger) -> None:
    assert ledger.epoch is None
    assert ledger.charge(charge(1, EVERYBODY, epoch=7))


def test_a_charge_is_of_the_epoch_that_is_open(ledger: SqliteLedger) -> None:
    first = ledger.open_epoch(FIRST, b"pin 1")
    assert (first.number, first.identifier, first.records) == (1, FIRST, b"pin 1")
    assert ledger.charge(charge(1, EVERYBODY, epoch=1))
    for epoch in (0, 2):
        with pytest.raises(RequestExpired):
            ledger.charge(charge(2, EVERYBODY, epoch=epoch))
    assert ledger.open_epoch(SECOND, b"pin 2").number == 2
    for number in (1, 2):
        with pytest.raises(RequestExpired, match="epoch 2 is open"):
            ledger.charge(charge(number, EVERYBODY, epoch=1))
    with pytest.raises(RequestExpired, match="has ended"):
        ledger.charge(charge(1, EVERYBODY, epoch=2))
    assert ledger.charge(charge(2, EVERYBODY, epoch=2))


@pytest.mark.parametrize("remembered", [1, 1 << 20])
def test_a_request_of_an_earlier_epoch_is_refused_also_when_it_is_no_longer_in_memory(
    path: Path, remembered: int
) -> None:
    with closing(opened(path, remembered_bytes=remembered)) as ledger:
        ledger.open_epoch(FIRST, b"pin")
        ledger.charge(charge(1, Cohort(0, 1), epoch=1))
        ledger.open_epoch(SECOND, b"pin")
        for number in range(2, 6):
            ledger.charge(charge(number, Cohort(0, 1), NAT.divided_by(9), epoch=2))
        for asked in (ledger.charge, ledger.require):
            with pytest.raises(RequestExpired, match="was charged in has ended"):
                asked(charge(1, Cohort(0, 1), epoch=2))


def test_an_epoch_that_another_process_opened_is_the_one_that_is_open(path: Path) -> None:
    with closing(opened(path)) as one, closing(opened(path)) as other:
        one.open_epoch(FIRST, b"pin")
        assert other.epoch is not None and other.epoch.identifier == FIRST
        other.open_epoch(SECOND, b"pin")
        with pytest.raises(RequestExpired):
            one.charge(charge(1, EVERYBODY, epoch=1))
        assert one.epoch is not None and one.epoch.number == 2


def test_an_epoch_that_ended_is_over_also_after_a_restart(path: Path) -> None:
    with closing(opened(path)) as ledger:
        ledger.end_epoch()
        ledger.open_epoch(FIRST, b"pin")
        ledger.end_epoch()
        ledger.end_epoch()
    with closing(opened(path)) as ledger:
        assert ledger.epoch is None
        with pytest.raises(RequestExpired, match="no epoch is open"):
            ledger.charge(charge(1, EVERYBODY, epoch=1))
        assert ledger.open_epoch(SECOND, b"pin").number == 2
    kinds = [type(entry.content) for entry in entries_in(path)]
    assert kinds == [EpochOpened, EpochEnded, EpochOpened]


def test_settings_are_written_when_they_change(path: Path) -> None:
    for _ in range(2):
        with closing(opened(path)) as ledger:
            for text in ("budget 4", "budget 4", "budget 5"):
                ledger.note_settings(text)
    told = [entry.content.text for entry in entries_in(path) if isinstance(entry.content, SettingsStated)]
    assert told == ["budget 4", "budget 5", "budget 4", "budget 5"]


def test_a_loss_is_paid_by_everybody_and_by_whoever_comes_later(path: Path) -> None:
    with closing(opened(path)) as ledger:
        ledger.charge(charge(1, Cohort(0, 1), NAT))
        ledger.charge_everybody(NAT * 3, "a lost disk")
        assert ledger.losses == NAT * 3
        assert ledger.spent().tolist() == [4 * 10**9] + [3 * 10**9] * 5
        with pytest.raises(BudgetExhausted):
            ledger.charge(charge(2, EVERYBODY))
        ledger.charge_everybody(NAT * 9, "more than the budget")
    with closing(opened(path, PEOPLE + 1)) as ledger:
        assert ledger.spent().tolist() == [13 * 10**9] + [12 * 10**9] * 6
    assert [type(entry.content) for entry in entries_in(path)][1:] == [Loss, Loss]


def test_requests_of_an_epoch_are_counted_and_the_next_has_its_own(path: Path) -> None:
    for _ in range(2):  # the second time after a restart
        with closing(opened(path, most_requests=2)) as ledger:
            if ledger.epoch is None:
                ledger.open_epoch(FIRST, b"pin")
                ledger.charge(charge(1, Cohort(0, 1), epoch=1))
                ledger.charge(charge(2, Cohort(0, 1), epoch=1))
            with pytest.raises(PolicyRefused, match="most_requests"):
                ledger.charge(charge(3, Cohort(0, 1), epoch=1))
            assert not ledger.charge(charge(2, Cohort(0, 1), epoch=1))
            ledger.charge(charge(2, Cohort(1, 2), epoch=1))  # known, for one more
    with closing(opened(path, most_requests=2)) as ledger:
        ledger.open_epoch(SECOND, b"pin")
        assert ledger.charge(charge(3, Cohort(0, 1), epoch=2))


def test_one_caller_does_not_use_up_the_requests_of_all(path: Path) -> None:
    for _ in range(2):  # the second time after a restart
        with closing(opened(path, most_requests=5, most_requests_of_caller=2)) as ledger:
            if ledger.epoch is None:
                ledger.open_epoch(FIRST, b"pin")
                for number in (1, 2):
                    ledger.charge(charge(number, Cohort(0, 1), epoch=1, caller="mallory"))
            for ask in (ledger.charge, ledger.require):
                with pytest.raises(PolicyRefused, match="most_requests_of_caller"):
                    ask(charge(9, Cohort(0, 1), epoch=1, caller="mallory"))
            ledger.charge(charge(2, Cohort(1, 2), epoch=1, caller="mallory"))  # known, for one more
            ledger.charge(charge(3, Cohort(1, 2), epoch=1, caller="analyst"))
            ledger.charge(charge(3, Cohort(2, 3), epoch=1, caller="mallory"))  # somebody else's
    with closing(opened(path, most_requests=5, most_requests_of_caller=2)) as ledger:
        ledger.open_epoch(SECOND, b"pin")
        assert ledger.charge(charge(4, Cohort(0, 1), epoch=2, caller="mallory"))


def test_what_was_charged_is_read_again_where_it_is_recalled(path: Path) -> None:
    with closing(opened(path, remembered_bytes=1)) as ledger:
        for number in (1, 2):
            ledger.charge(charge(number, EVERYBODY))
        loads: list[bytes] = []
        really = ledger._charges_of

        def counted(name: bytes) -> Iterator[Charge]:
            loads.append(name)
            return really(name)

        ledger._accounts._requests._load = counted  # type: ignore[attr-defined]
        ledger.recall(b"request 1")
        assert loads == [b"request 1"]
        assert not ledger.charge(charge(1, EVERYBODY))
        assert loads == [b"request 1"]


def test_the_head_moves_with_every_entry(ledger: SqliteLedger) -> None:
    heads = [ledger.head]
    ledger.note_settings("budget 4")
    heads.append(ledger.head)
    ledger.open_epoch(FIRST, b"pin")
    heads.append(ledger.head)
    ledger.charge(charge(1, EVERYBODY, epoch=1))
    heads.append(ledger.head)
    assert [entries for entries, _ in heads] == [0, 1, 2, 3]
    assert len({link for _, link in heads}) == 4


def test_whoever_was_charged_stays_among_the_people_and_newcomers_have_lost_what_everybody_has(
    path: Path, ledger: SqliteLedger
) -> None:
    ledger.charge_everybody(NAT, "lost")
    with closing(opened(path, PEOPLE + 2)) as other:
        other.charge(charge(1, Cohort(PEOPLE, PEOPLE + 1)))
    assert ledger.spent().tolist() == [NAT.nanonats] * PEOPLE
    with pytest.raises(UnknownIndex):
        ledger.charge(charge(2, Cohort(0, PEOPLE + 1)))  # they are people of the next epoch
    with pytest.raises(StorageFailed, match="more people than the party's 6"):
        ledger.open_epoch(FIRST, b"pin")
    with pytest.raises(StorageFailed, match="more people than the party's 6"):
        opened(path)
    ledger.speak_for(PEOPLE + 2)
    assert ledger.spent().tolist() == [NAT.nanonats] * PEOPLE + [2 * NAT.nanonats, NAT.nanonats]
    assert ledger.charge(charge(1, Cohort(0, PEOPLE + 2)))
    assert ledger.spent().tolist() == [2 * NAT.nanonats] * (PEOPLE + 2)
    ledger.open_epoch(FIRST, b"pin")
