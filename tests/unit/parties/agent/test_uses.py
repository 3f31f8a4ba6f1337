"""The registry of uses across parties: by purpose, without people; what is forged, put back or rewritten is named."""

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

from localdp.accounting.epsilon import Epsilon
from localdp.cohorts import Cohort
from localdp.errors import InvalidParameter
from parties.agent.register import export
from parties.agent.uses import _signed, checked, collected, uses_of
from tests.support.ledgers import NAT, charge, entries_in, sqlite_ledger

SIGNERS = {
    name: Ed25519PrivateKey.from_private_bytes(bytes([byte]) * 32)
    for byte, name in enumerate(("north", "south"), 1)
}
KEYS = {
    name: one.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw) for name, one in SIGNERS.items()
}
Register = dict[str, Any]
Write = Callable[..., Register]


def ledger_of(directory: Path, name: str, *purposes: str) -> Path:
    """A ledger that was charged one nat for each of these, one after the other."""
    with closing(sqlite_ledger(directory / name, 8, NAT * 20)) as ledger:
        for number, purpose in enumerate(purposes, ledger.head[0]):
            ledger.charge(replace(charge(number + 1, Cohort(2, 7)), purpose=purpose, cost=NAT))
    return directory / name


def written(directory: Path, name: str, *purposes: str, write: Write = uses_of) -> Register:
    document = write(name, entries_in(ledger_of(directory, name, *purposes)), SIGNERS[name])
    made: Register = json.loads(json.dumps(document))
    return made


SMOKERS = "one-bit(epsilon=1) of smoker"
OLD = "divided collection of age >= 65, servers' keys 18d91118"
OLD_AGAIN = "divided collection of age >= 65, servers' keys c1427fee"


@pytest.mark.parametrize("write", [uses_of, export])
def test_uses_are_told_by_purpose_and_not_by_person(tmp_path: Path, write: Write) -> None:
    documents = [
        written(tmp_path, "north", SMOKERS, SMOKERS, OLD, SMOKERS, OLD_AGAIN, write=write),
        written(tmp_path, "south", "k-ary of smoker", write=write),
    ]
    found = collected(documents, KEYS)
    assert (found.parties, found.faults) == (("north", "south"), {})
    assert [one.to_data() for one in found.purposes] == [
        {"question": "smoker", "parties": 2, "uses": 4, "largest_epsilon": 1.0, "most_epsilon": 3.0},
        {"question": "age >= 65", "parties": 1, "uses": 2, "largest_epsilon": 1.0, "most_epsilon": 2.0},
    ]


def test_uses_have_nobodys_place(tmp_path: Path) -> None:
    document = written(tmp_path, "north", SMOKERS)
    assert set(document["uses"][0]) == {"number", "purpose", "epsilon_nanonats"}
    assert not {"start", "stop", "split", "records", "caller", "request"} & set(
        json.dumps(document).split('"')
    )
    one = checked(document, KEYS["north"])
    assert one.uses == ((SMOKERS, Epsilon(NAT.nanonats)),)


def altered(document: Register) -> list[Register]:
    """Every way of saying something else under the same signature."""
    found = [{name: value for name, value in document.items() if name != field} for field in document]
    for number in range(len(document["uses"])):
        for field, value in document["uses"][number].items():
            forged = copy.deepcopy(document)
            forged["uses"][number][field] = value + 1 if isinstance(value, int) else value + "x"
            found.append(forged)
        forged = copy.deepcopy(document)
        forged["uses"].pop(number)
        found.append(forged)
    found += [{**document, name: document[name][:-1]} for name in ("chain", "uses")]
    return [*found, {**document, "party": "south"}, {**document, "head": "00" * 32}]


def test_what_was_forged_is_named_and_does_not_count(tmp_path: Path) -> None:
    sound = written(tmp_path, "north", SMOKERS, OLD)
    for forged in altered(sound):
        found = collected([forged], KEYS)
        assert (found.parties, found.purposes) == ((), ())
        assert set(found.faults) >= {"north"}
    by_another = {
        **uses_of("north", entries_in(tmp_path / "north"), SIGNERS["south"]),
        "public_key": KEYS["north"].hex(),
    }
    assert "signature" in collected([by_another], KEYS).faults["north"]


def test_a_register_that_was_put_back_or_rewritten_is_named(tmp_path: Path) -> None:
    first = written(tmp_path, "north", SMOKERS)
    second = written(tmp_path, "north", SMOKERS, OLD)  # the ledger goes on: one and three entries
    (tmp_path / "again").mkdir()
    rewritten = written(tmp_path / "again", "north", OLD, OLD, OLD, OLD)
    assert collected([second], KEYS, [first]).parties == ("north",)
    assert collected(
        [second], KEYS, [export("north", entries_in(tmp_path / "north"), SIGNERS["north"])]
    ).parties == ("north",)
    assert "it was put back: 2 entries" in collected([first], KEYS, [second]).faults["north"]
    assert "rewritten" in collected([rewritten], KEYS, [first]).faults["north"]
    assert collected([rewritten], KEYS).parties == (
        "north",
    )  # the broken twin: who kept nothing notices nothing


def signed_again(document: Register, uses: list[Register]) -> Register:
    """The same chain with other uses, by a party that has its key: what only who kept an earlier one can notice."""
    said = {**document, "uses": uses}
    return {**said, "signature": SIGNERS[document["party"]].sign(_signed(said)).hex()}


def rewritten_uses(uses: list[Register]) -> list[list[Register]]:
    """Cheaper, for another purpose, fewer, none, in another order."""
    return [
        [{**one, "epsilon_nanonats": 1} for one in uses],
        [{**one, "purpose": "one-bit of nothing"} for one in uses],
        uses[1:],
        uses[:-1],
        [],
        uses[::-1],
    ]


@pytest.mark.parametrize("write", [uses_of, export])
def test_uses_that_were_rewritten_beside_the_same_chain_are_named(tmp_path: Path, write: Write) -> None:
    kept = json.loads(json.dumps(written(tmp_path, "north", SMOKERS, OLD, write=write)))
    same = written(tmp_path, "north")
    longer = written(tmp_path, "north", OLD)
    for now in (same, longer):
        assert collected([now], KEYS, [kept]).parties == ("north",)
        beginning, later = now["uses"][:2], now["uses"][2:]
        for uses in rewritten_uses(beginning):
            forged = signed_again(now, uses + later)
            found = collected([forged], KEYS, [kept])
            assert (found.parties, found.purposes) == ((), ())
            assert "rewritten" in found.faults["north"]
            # Whoever kept nothing has the party's word alone.
            assert collected([forged], KEYS).parties == ("north",)


@pytest.mark.parametrize("earlier", [[1], "north", 5, None])
def test_what_was_kept_and_is_no_register_is_refused(tmp_path: Path, earlier: Any) -> None:
    found = collected([written(tmp_path, "north", SMOKERS)], KEYS, [earlier])
    assert "collected before is not a register" in found.faults["north"]


def test_a_party_that_says_nothing_or_speaks_twice_or_is_unknown_is_named(tmp_path: Path) -> None:
    north = written(tmp_path, "north", SMOKERS)
    found = collected([north, north, {**north, "party": "west"}, "no register"], KEYS)  # type: ignore[list-item]
    assert found.faults["south"] == "there is no register of it"
    assert "two registers" in found.faults["north"]
    assert "nobody named a key" in found.faults["west"]
    assert "nobody named a key" in found.faults["?"]
    assert found.purposes == ()


@pytest.mark.parametrize(
    "nonsense", [{}, {"format": "localdp uses v1"}, {"format": "localdp uses v1", "public_key": 5}]
)
def test_what_is_no_register_is_refused(nonsense: Register) -> None:
    with pytest.raises(InvalidParameter):
        checked(nonsense, KEYS["north"])
