"""A party's keys: rotation keeps old reports, a destroyed key is refused before anybody pays, a name is not a key."""

from __future__ import annotations

from dataclasses import replace

import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.ledger import MemoryLedger
from localdp.cohorts import Cohort
from localdp.errors import InvalidParameter, KeyRetired
from localdp.party.party import Party
from localdp.party.policy import Policy
from localdp.party.secrets import SECRET_BYTES, Secrets
from localdp.randomizers.memoised import memoised_symmetric_unary
from tests.support.federations import ONE, people, request

PLENTIFUL = Epsilon.requested(10)
PEOPLE = 200
EVERYBODY = Cohort(0, PEOPLE)
OLD, NEW, PIN = (letter * SECRET_BYTES for letter in (b"o", b"n", b"p"))
BEFORE = Secrets("key-1", {"key-1": OLD}, PIN)
ROTATED = Secrets("key-2", {"key-1": OLD, "key-2": NEW}, PIN)
DESTROYED = Secrets("key-2", {"key-2": NEW}, PIN)


@pytest.fixture
def ledger() -> MemoryLedger:
    return MemoryLedger(PEOPLE, Epsilon.requested(10))


def party(ledger: MemoryLedger, secrets: Secrets) -> Party:
    """The same people and ledger, with these keys."""
    return Party("party-0", people(PEOPLE), secrets, ledger, Policy(largest_epsilon=PLENTIFUL))


def test_a_request_answered_before_a_rotation_is_answered_identically_after_it(
    ledger: MemoryLedger,
) -> None:
    before = party(ledger, BEFORE).randomize(request(1), EVERYBODY)
    after = party(ledger, ROTATED).randomize(request(1), EVERYBODY)
    assert (before == after).all()
    assert (ledger.spent() == request().randomizer.epsilon.nanonats).all()


def test_a_new_request_after_a_rotation_draws_from_the_new_key(ledger: MemoryLedger) -> None:
    rotated = party(ledger, ROTATED).randomize(request(1), EVERYBODY)
    only_new = party(MemoryLedger(PEOPLE, ONE * 10), DESTROYED).randomize(request(1), EVERYBODY)
    assert (rotated == only_new).all()


def test_newcomers_of_an_old_request_are_drawn_with_its_old_key(ledger: MemoryLedger) -> None:
    party(ledger, BEFORE).randomize(request(1), Cohort(0, 50))
    whole = party(ledger, ROTATED).randomize(request(1), EVERYBODY)
    unrotated = party(MemoryLedger(PEOPLE, ONE * 10), BEFORE).randomize(request(1), EVERYBODY)
    assert (whole == unrotated).all()


@pytest.mark.parametrize("cohort", [Cohort(0, 50), Cohort(10, 20), Cohort(25, 100), EVERYBODY])
def test_a_request_of_a_destroyed_key_is_refused_and_nobody_pays_not_even_newcomers(
    ledger: MemoryLedger, cohort: Cohort
) -> None:
    party(ledger, BEFORE).randomize(request(1), Cohort(0, 50))
    spent = ledger.spent()
    with pytest.raises(KeyRetired):
        party(ledger, DESTROYED).randomize(request(1), cohort)
    assert (ledger.spent() == spent).all()


def test_a_permanent_answer_of_a_destroyed_key_is_refused_until_the_next_epoch(
    ledger: MemoryLedger,
) -> None:
    asked = replace(
        request(1), query="region", randomizer=memoised_symmetric_unary(Epsilon.requested(2), ONE, 4)
    )
    party(ledger, BEFORE).randomize(asked, EVERYBODY)
    spent = ledger.spent()
    with pytest.raises(KeyRetired):
        party(ledger, DESTROYED).randomize(replace(asked, request_id=b"another one-----"), EVERYBODY)
    assert (ledger.spent() == spent).all()
    later = party(ledger, DESTROYED)
    later.enter(later.epoch.next(later.records))
    assert len(later.randomize(replace(asked, request_id=b"another one-----"), EVERYBODY)) == PEOPLE
    assert (ledger.spent() == 2 * spent).all()


def test_another_key_under_an_old_name_does_not_answer_old_requests(ledger: MemoryLedger) -> None:
    # A lost file of keys that was made anew also begins with key-1: its coins would be a second look for one charge.
    party(ledger, BEFORE).randomize(request(1), EVERYBODY)
    spent = ledger.spent()
    with pytest.raises(KeyRetired):
        party(ledger, Secrets("key-1", {"key-1": NEW}, PIN)).randomize(request(1), EVERYBODY)
    assert (ledger.spent() == spent).all()


def test_keys_are_not_shown() -> None:
    assert OLD.hex() not in repr(ROTATED) and "ooo" not in repr(ROTATED)
    assert OLD.hex() not in ROTATED.label and ROTATED.label.startswith("key-2")


@pytest.mark.parametrize(("current", "keys"), [("b", {"a": OLD}), ("a", {"a": b"short"}), ("a", {})])
def test_keys_that_are_no_keys_are_refused(current: str, keys: dict[str, bytes]) -> None:
    with pytest.raises(InvalidParameter):
        Secrets(current, keys, PIN)
