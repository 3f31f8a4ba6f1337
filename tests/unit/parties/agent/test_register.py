"""The signed register: whoever has the party's public key notices a change, an omission and another's signature."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from localdp.cohorts import Cohort
from localdp.errors import InvalidParameter, StorageFailed
from parties.agent.register import FORMAT, export, verify
from tests.support.ledgers import NAT, Clock, a_ledger_of_four_charges, charge, entries_in, sqlite_ledger

SIGNER, OTHER = (Ed25519PrivateKey.from_private_bytes(bytes([byte]) * 32) for byte in (1, 2))
PUBLIC = SIGNER.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
Register = dict[str, Any]


@pytest.fixture
def register(tmp_path: Path) -> Register:
    a_ledger_of_four_charges(tmp_path / "ledger")
    made: Register = json.loads(json.dumps(export("clinic", entries_in(tmp_path / "ledger"), SIGNER)))
    return made


def refused(register: Register, key: bytes = PUBLIC) -> None:
    with pytest.raises(InvalidParameter):
        verify(register, key)


def test_a_register_that_was_left_alone_is_whole(register: Register) -> None:
    assert verify(register, PUBLIC) == 4


def test_an_empty_register_is_whole() -> None:
    assert verify(export("clinic", [], SIGNER), PUBLIC) == 0


def test_a_register_says_what_was_asked_by_whom_and_when(register: Register) -> None:
    assert [entry["caller"] for entry in register["entries"]] == ["", "analyst", "auditor", "analyst"]
    assert [entry["epsilon_nanonats"] for entry in register["entries"]] == [
        10**9,
        10**9,
        2 * 10**9,
        2 * 10**9,
    ]
    assert register["entries"][0]["time"] == "2024-10-04T06:00:00+00:00"
    assert register["entries"][1]["split"] == {"seed": b"s".hex() * 16, "parts": 2, "part": 1}


def test_a_register_has_the_whole_of_a_long_question(tmp_path: Path) -> None:
    """As long as a canonical text may be; the end is where somebody would hide what is asked."""
    purpose = f"one-bit of {'age >= 0 and ' * 5000} smoker"
    with closing(sqlite_ledger(tmp_path / "ledger", 8, NAT)) as ledger:
        ledger.charge(replace(charge(1, Cohort(0, 8)), purpose=purpose))
    made = json.loads(json.dumps(export("clinic", entries_in(tmp_path / "ledger"), SIGNER)))
    assert [entry["purpose"] for entry in made["entries"] if "purpose" in entry] == [purpose]
    assert verify(made, PUBLIC) == len(made["entries"])


def changed(value: Any) -> Any:
    """Something else of the same kind."""
    match value:
        case int():
            return value + 1
        case str():
            return ("0" if not value.startswith("0") else "1") + value[1:]
        case dict():
            return {**value, "part": 0}
    raise AssertionError(value)


@pytest.mark.parametrize("number", [0, 1, 3])
def test_any_changed_field_of_any_entry_is_noticed(register: Register, number: int) -> None:
    for field in register["entries"][number]:
        forged = copy.deepcopy(register)
        forged["entries"][number][field] = changed(forged["entries"][number][field])
        refused(forged)


@pytest.mark.parametrize("number", [0, 1, 3])
def test_an_entry_that_is_dropped_repeated_or_has_more_to_say_is_noticed(
    register: Register, number: int
) -> None:
    edits: list[Callable[[list[Any]], object]] = [
        lambda entries: entries.pop(number),
        lambda entries: entries.insert(number, entries[number]),
        lambda entries: entries[number].update(note="paid back"),
        lambda entries: entries[number].pop("time"),
        lambda entries: entries.reverse(),
        lambda entries: entries.clear(),
    ]
    for edit in edits:
        forged = copy.deepcopy(register)
        edit(forged["entries"])
        refused(forged)


@pytest.mark.parametrize("field", ["format", "party", "public_key", "signature", "head", "entries"])
def test_a_changed_or_missing_part_of_the_document_is_noticed(register: Register, field: str) -> None:
    refused({name: value for name, value in register.items() if name != field})
    if field != "entries":
        refused({**register, field: changed(register[field])})


def test_another_party_cannot_sign_for_this_one(register: Register, tmp_path: Path) -> None:
    others = export("clinic", entries_in(tmp_path / "ledger"), OTHER)
    refused(others)
    refused({**others, "public_key": register["public_key"]})
    refused(register, bytes.fromhex(others["public_key"]))


NONSENSE: list[Callable[[Register], Any]] = [
    lambda register: [],
    lambda register: None,
    lambda register: "register",
    lambda register: {**register, "entries": 7},
    lambda register: {**register, "entries": [7]},
    lambda register: {**register, "entries": [{}]},
    lambda register: {**register, "signature": "zz"},
    lambda register: {**register, "signature": 5},
    lambda register: {**register, "party": None},
    lambda register: {**register, "entries": [{**register["entries"][0], "written_at": 10**30}]},
    lambda register: {**register, "entries": [{**register["entries"][0], "split": [1]}]},
    lambda register: {"format": FORMAT},
]


@pytest.mark.parametrize("nonsense", NONSENSE)
def test_what_is_no_register_is_refused_by_name(
    register: Register, nonsense: Callable[[Register], Any]
) -> None:
    refused(nonsense(register))


@pytest.mark.parametrize("key", [b"", b"short", bytes(33)])
def test_what_is_no_key_is_refused(register: Register, key: bytes) -> None:
    refused({**register, "public_key": key.hex()}, key)


def test_a_register_of_a_ledger_that_is_not_there_is_refused_and_none_is_made(tmp_path: Path) -> None:
    with pytest.raises(StorageFailed):
        entries_in(tmp_path / "ledger")
    assert not (tmp_path / "ledger").exists()


def test_a_register_shows_all_kinds_of_entries_and_notices_a_change_of_any(tmp_path: Path) -> None:
    path = tmp_path / "other"
    with closing(sqlite_ledger(path, 4, NAT * 9, clock=Clock())) as ledger:
        ledger.note_settings("budget 9")
        ledger.open_epoch(b"i" * 16, b"pin")
        ledger.charge(charge(1, Cohort(0, 4)))
        ledger.charge_everybody(NAT, "a lost disk")
        ledger._append(ledger._checkpoint)
        ledger.end_epoch()
        head = ledger.head[1]
    whole = export("clinic", entries_in(path), SIGNER)
    assert whole["head"] == head.hex()
    kinds = [entry["kind"] for entry in whole["entries"]]
    assert kinds == ["settings", "epoch", "charge", "loss", "checkpoint", "end"]
    assert verify(whole, PUBLIC) == 6
    for number, entry in enumerate(whole["entries"]):
        for field in entry:
            forged = copy.deepcopy(whole)
            forged["entries"][number][field] = changed(entry[field])
            refused(forged)


def test_the_chain_of_a_register_is_its_own_and_needs_no_key(tmp_path: Path) -> None:
    a_ledger_of_four_charges(tmp_path / "ledger")
    entries = entries_in(tmp_path / "ledger")
    listed = export("clinic", entries, SIGNER)["entries"]
    assert not {entry.link.hex() for entry in entries} & {entry["chain"] for entry in listed}
