"""A witness: it hears of every head before an answer leaves, and a ledger below what it heard is not opened."""

from __future__ import annotations

import shutil
from contextlib import ExitStack, closing, suppress
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from localdp.cohorts import Cohort
from localdp.errors import BudgetExhausted, InvalidParameter, RolledBack, Unreachable
from parties.agent import countersigning
from parties.agent import ledger as module
from parties.agent.entries import Witnessed
from parties.agent.ledger import SqliteLedger
from parties.witness import record as record_module
from parties.witness.heads import Head, Witness, sign_step
from parties.witness.record import WitnessRecord
from tests.support.ledgers import NAT, FaithfulWitness, charge, entries_in, sqlite_ledger

PEOPLE = 4
EVERYBODY = Cohort(0, PEOPLE)
SIGNER = Ed25519PrivateKey.from_private_bytes(b"n" * 32)


def opened(path: Path, witness: Witness | None) -> closing[SqliteLedger]:
    return closing(sqlite_ledger(path, PEOPLE, NAT * 9, party="clinic", witness=witness))


def test_every_entry_is_countersigned_before_it_is_answered(tmp_path: Path) -> None:
    witness = FaithfulWitness()
    with opened(tmp_path / "ledger", witness) as ledger:
        ledger.note_settings("budget 9")
        ledger.charge(charge(1, EVERYBODY))
        assert witness.latest() == Head("clinic", *ledger.head)
        before = witness.calls
        ledger.charge(charge(1, EVERYBODY))  # a repetition: nothing new to sign
        assert witness.calls == before


def test_what_was_not_countersigned_is_charged_and_not_answered_also_when_it_is_repeated(
    tmp_path: Path,
) -> None:
    witness = FaithfulWitness()
    with opened(tmp_path / "ledger", witness) as ledger:
        witness.away = True
        for _ in range(2):
            with pytest.raises(Unreachable):
                ledger.charge(charge(1, EVERYBODY))
        assert ledger.spent().tolist() == [NAT.nanonats] * PEOPLE
        witness.away = False
        assert not ledger.charge(charge(1, EVERYBODY))
        assert witness.latest() == Head("clinic", *ledger.head)


def test_while_a_charge_waits_for_the_witness_nobody_else_is_charged_or_told_that_they_would_be(
    tmp_path: Path,
) -> None:
    witness = FaithfulWitness()
    with opened(tmp_path / "ledger", witness) as ledger:
        witness.away = True
        for number in range(10):
            with pytest.raises(Unreachable):
                ledger.charge(charge(number, EVERYBODY))
            with pytest.raises(Unreachable):
                ledger.require(charge(10 + number, EVERYBODY))
        assert ledger.spent().tolist() == [NAT.nanonats] * PEOPLE  # by the first alone
        witness.away = False
        ledger.require(charge(1, EVERYBODY))
        assert ledger.charge(charge(1, EVERYBODY))
        assert not ledger.charge(charge(0, EVERYBODY))


def test_a_witness_that_is_away_at_the_end_does_not_keep_a_ledger_from_closing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_WORTH_A_CHECKPOINT", 0)
    witness = FaithfulWitness()
    with opened(tmp_path / "ledger", witness) as ledger:
        ledger.charge(charge(1, EVERYBODY))
        witness.away = True
    witness.away = False
    with opened(tmp_path / "ledger", witness) as ledger:
        assert ledger.head[0] == 2  # with its checkpoint
        assert witness.latest() == Head("clinic", *ledger.head)


def test_without_its_witness_an_agent_does_not_start(tmp_path: Path) -> None:
    witness = FaithfulWitness()
    witness.away = True
    with pytest.raises(Unreachable):
        opened(tmp_path / "ledger", witness)


def test_an_old_copy_of_everything_is_refused_with_a_witness_and_not_known_without(tmp_path: Path) -> None:
    witness, state = FaithfulWitness(), tmp_path / "state"
    state.mkdir()
    with opened(state / "ledger", witness) as ledger:
        ledger.charge(charge(1, EVERYBODY))
    shutil.copytree(state, tmp_path / "old")
    with opened(state / "ledger", witness) as ledger:
        ledger.charge(charge(2, EVERYBODY))
    with pytest.raises(RolledBack, match="witness"):
        opened(tmp_path / "old" / "ledger", witness)
    with opened(tmp_path / "old" / "ledger", None) as ledger:
        ledger.charge(charge(3, EVERYBODY))  # the one hole: it cannot be known
        ledger.charge(charge(4, EVERYBODY))
    with pytest.raises(RolledBack, match="witness"):  # as long, and another history
        opened(tmp_path / "old" / "ledger", witness)


def test_a_ledger_above_its_witness_is_one_that_crashed(tmp_path: Path) -> None:
    witness = FaithfulWitness()
    with opened(tmp_path / "ledger", None) as ledger:
        ledger.charge(charge(1, EVERYBODY))
    with opened(tmp_path / "ledger", witness) as ledger:
        assert witness.latest() == Head("clinic", *ledger.head)


# Its key: that of the first one, unless the owner names another.

KEY, OTHER = b"k" * 32, b"o" * 32


def test_a_witness_with_another_key_than_the_first_is_refused_until_the_owner_names_it(
    tmp_path: Path,
) -> None:
    path = tmp_path / "ledger"
    with opened(path, FaithfulWitness(KEY)) as ledger:
        ledger.charge(charge(1, EVERYBODY))
    with pytest.raises(InvalidParameter, match=r"another key.*witness\.public_key"):
        opened(path, FaithfulWitness(OTHER))
    with opened(path, FaithfulWitness(KEY)), opened(path, FaithfulWitness(OTHER, named=True)):
        pass
    with pytest.raises(InvalidParameter, match="another key"):
        opened(path, FaithfulWitness(KEY))
    with opened(path, FaithfulWitness(OTHER)):
        pass
    keys = [entry.content.key for entry in entries_in(path) if isinstance(entry.content, Witnessed)]
    assert keys == [KEY, OTHER]


def test_an_old_copy_does_not_start_with_a_new_witness_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "state").mkdir()
    with opened(tmp_path / "state" / "ledger", FaithfulWitness(KEY)):
        shutil.copytree(tmp_path / "state", tmp_path / "old")
    with pytest.raises(InvalidParameter, match="another key"):
        opened(tmp_path / "old" / "ledger", FaithfulWitness(OTHER))
    monkeypatch.setattr(countersigning, "require_pinned", lambda *arguments: None)
    with opened(tmp_path / "old" / "ledger", FaithfulWitness(OTHER)):
        pass  # what the test would miss without the key


def test_a_checkpoint_does_not_lose_the_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_WORTH_A_CHECKPOINT", 0)
    with opened(tmp_path / "ledger", FaithfulWitness(KEY)) as ledger:
        ledger.charge(charge(1, EVERYBODY))
    with pytest.raises(InvalidParameter, match="another key"):
        opened(tmp_path / "ledger", FaithfulWitness(OTHER))


# Copies of one agent.


class RecordedWitness:
    """A real witness's record in this process, by the rule that is given."""

    key, named = None, False

    def __init__(self, record: WitnessRecord) -> None:
        self._record = record

    def latest(self) -> Head | None:
        known = self._record.latest("clinic")
        return None if known is None else known.signed.head

    def countersign(self, head: Head, after: Head | None) -> None:
        self._record.countersign(sign_step(head, after, SIGNER))


def by_number(newest: Head | None, head: Head, after: Head | None) -> None:
    """Broken: the rule that once was, which counts entries and does not ask after what they come."""
    if newest is not None and head != newest and head.entries <= newest.entries:
        raise RolledBack


def answered_by_two_copies(directory: Path) -> int:
    """Both of two copies are charged in turn, at the same time: how many nats were answered."""
    (directory / "one").mkdir()
    with opened(directory / "one" / "ledger", None) as ledger:
        ledger.note_settings("budget 9")
    shutil.copytree(directory / "one", directory / "two")
    with closing(WitnessRecord(directory / "witness", new=True)) as record, ExitStack() as stack:
        witness, answered = RecordedWitness(record), 0
        copies = [
            stack.enter_context(opened(directory / name / "ledger", witness)) for name in ("one", "two")
        ]
        for number in range(30):
            with suppress(RolledBack, BudgetExhausted):
                answered += copies[number % 2].charge(charge(number, EVERYBODY)).new
    return answered


def test_two_copies_of_one_agent_together_spend_one_budget(tmp_path: Path) -> None:
    assert answered_by_two_copies(tmp_path) == 9


def test_a_witness_that_only_counts_lets_two_copies_spend_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record_module, "require_follows", by_number)
    monkeypatch.setattr(countersigning, "require_witnessed", lambda *arguments: None)
    assert answered_by_two_copies(tmp_path) > 9


def test_a_copy_that_was_overtaken_refuses_everything_for_good(tmp_path: Path) -> None:
    witness = FaithfulWitness()
    (tmp_path / "one").mkdir()
    opened(tmp_path / "one" / "ledger", witness).__exit__(None, None, None)
    shutil.copytree(tmp_path / "one", tmp_path / "two")
    with (
        opened(tmp_path / "one" / "ledger", witness) as one,
        opened(tmp_path / "two" / "ledger", witness) as two,
    ):
        one.charge(charge(1, EVERYBODY))
        with pytest.raises(RolledBack, match="another copy of this agent"):
            two.charge(charge(2, EVERYBODY))
        asked = witness.calls
        for act in (two.charge, two.require):
            with pytest.raises(RolledBack, match="localdp witness forget --state DIR clinic"):
                act(charge(3, EVERYBODY))
        with pytest.raises(RolledBack):
            two.open_epoch(b"1" * 16, b"pin")
        assert witness.calls == asked and len(entries_in(tmp_path / "two" / "ledger")) == 1
        assert one.charge(charge(2, EVERYBODY))  # the other one goes on


def test_two_processes_on_one_file_share_a_witness(tmp_path: Path) -> None:
    with (
        closing(WitnessRecord(tmp_path / "witness", new=True)) as record,
        opened(tmp_path / "ledger", RecordedWitness(record)) as one,
        opened(tmp_path / "ledger", RecordedWitness(record)) as other,
    ):
        for number, ledger in enumerate((one, other, other, one, one, other)):
            assert ledger.charge(charge(number, EVERYBODY))
        known = record.latest("clinic")
        assert known is not None and known.signed.head == Head("clinic", *one.head)


def test_what_another_process_has_had_countersigned_with_its_own_is_countersigned(tmp_path: Path) -> None:
    """The slower of two processes comes to the witness after the faster one, whose head has both entries."""
    witness = FaithfulWitness()
    with opened(tmp_path / "ledger", witness) as slow, opened(tmp_path / "ledger", witness) as fast:
        witness.away = True
        with pytest.raises(Unreachable):
            slow.charge(charge(1, EVERYBODY))
        witness.away = False
        fast.charge(charge(2, EVERYBODY))
        slow._settle()
        assert witness.latest() == Head("clinic", *fast.head) and slow._settled == 1


def test_an_answer_of_the_witness_that_was_lost_does_not_stop_the_ledger(tmp_path: Path) -> None:
    witness = FaithfulWitness()
    with opened(tmp_path / "ledger", witness) as ledger:
        assert ledger._witness is not None
        ledger.charge(charge(1, EVERYBODY))
        ledger._witness._last = None  # as if it had never heard of it
        assert ledger.charge(charge(2, EVERYBODY))


def test_after_the_witness_was_told_to_forget_the_ledger_goes_on(tmp_path: Path) -> None:
    with (
        closing(WitnessRecord(tmp_path / "witness", new=True)) as record,
        opened(tmp_path / "ledger", RecordedWitness(record)) as ledger,
    ):
        ledger.charge(charge(1, EVERYBODY))
        record.forget("clinic")
        assert ledger.charge(charge(2, EVERYBODY))
