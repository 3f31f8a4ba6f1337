"""The ledger for its owner: what was asked, by whom, when, at which epsilon, what remains; and a signed export of it.

An export is a JSON document: one entry for each use of epsilon, in order, each with the digest that chains it to the
entry before, and an Ed25519 signature over the party's name, the number of entries and the last digest.  Whoever holds the
party's public key can check that nothing was left out, changed or added (the epsilon registry of section 13.1).

Checked in tests/unit/parties/test_register.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.ledger import Charge
from localdp.cohorts import Cohort, Split
from localdp.errors import InvalidParameter, StorageFailed
from localdp.framing import digest
from parties.agent.ledger import (
    FIRST_LINK,
    Entry,
    link_after,
    open_for_reading,
    read_entries,
    require_whole,
)

FORMAT = "localdp register v1"


def entries_of(path: Path) -> list[Entry]:
    """All rows of a ledger, each checked against the one before."""
    if not path.is_file():
        raise StorageFailed(f"there is no ledger at {path}; a new agent gets one by `localdp agent init`")
    file = open_for_reading(path)
    try:
        require_whole(file)
        return list(read_entries(file))
    finally:
        file.close()


def entry_data(entry: Entry) -> dict[str, Any]:
    """One use of epsilon, as plain data."""
    cohort, split = entry.charge.cohort, entry.charge.cohort.split
    data: dict[str, Any] = {
        "number": entry.number,
        "charged_at": entry.charged_at,
        "time": datetime.fromtimestamp(entry.charged_at, UTC).isoformat(),
        "caller": entry.charge.caller,
        "purpose": entry.charge.purpose,
        "epsilon_nanonats": entry.charge.cost.nanonats,
        "start": cohort.start,
        "stop": cohort.stop,
        "request": entry.charge.request.hex(),
        "records": entry.charge.records.hex(),
        "key": entry.charge.key,
        "chain": entry.chain.hex(),
    }
    if split is not None:
        data["split"] = {"seed": split.seed.hex(), "parts": split.parts, "part": split.part}
    return data


def export(party: str, entries: Iterable[Entry], signer: Ed25519PrivateKey) -> dict[str, Any]:
    """The signed register."""
    listed = [entry_data(entry) for entry in entries]
    last = listed[-1]["chain"] if listed else ""
    public = signer.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
    return {
        "format": FORMAT,
        "party": party,
        "entries": listed,
        "public_key": public.hex(),
        "signature": signer.sign(_signed(party, len(listed), last)).hex(),
    }


def verify(document: dict[str, Any], public_key: bytes) -> int:
    """Check a register against a public key known from elsewhere; returns how many entries it has."""
    try:
        return _verified(document, public_key)
    except InvalidSignature:
        raise InvalidParameter("the signature of the register is not of this key") from None
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        if isinstance(error, InvalidParameter):
            raise
        raise InvalidParameter(f"this is not a register ({type(error).__name__})") from None


def _verified(document: dict[str, Any], public_key: bytes) -> int:
    entries, link = document["entries"], FIRST_LINK
    if document["format"] != FORMAT or document["public_key"] != public_key.hex():
        raise InvalidParameter("this is not a register of this version and of this key")
    for number, data in enumerate(entries, 1):
        entry = _entry_of(data, number, link)
        if entry_data(entry) != data:  # each of its fields, for a reader believes them all
            raise InvalidParameter(f"entry {number} of the register does not follow from the one before it")
        link = entry.chain
    signed = _signed(document["party"], len(entries), link.hex() if entries else "")
    Ed25519PublicKey.from_public_bytes(public_key).verify(bytes.fromhex(document["signature"]), signed)
    return len(entries)


def _entry_of(data: Mapping[str, Any], number: int, before: bytes) -> Entry:
    """The entry that follows, if the data say the truth."""
    part = data.get("split")
    split = Split(bytes.fromhex(part["seed"]), part["parts"], part["part"]) if part else None
    charge = Charge(
        bytes.fromhex(data["request"]),
        bytes.fromhex(data["records"]),
        Cohort(data["start"], data["stop"], split),
        Epsilon(data["epsilon_nanonats"]),
        data["purpose"],
        data["caller"],
        data["key"],
    )
    return Entry(number, charge, data["charged_at"], link_after(before, charge, data["charged_at"]))


def _signed(party: str, entries: int, last: str) -> bytes:
    return digest(FORMAT.encode(), party.encode(), b"%d" % entries, last.encode())
