"""The ledger for its owner: what was asked, by whom, when, at which epsilon, what remains; and a signed export of it.

An export is a JSON document: every entry of the ledger, in order, each with the digest that chains it to the entry
before, and an Ed25519 signature over the party's name, the number of entries, the last digest and the head of the
ledger's own chain.  That chain is keyed; the one of the export is not, so that whoever holds the party's public key can
check that nothing was left out, changed or added (the epsilon registry of section 13.1).  Two exports of one ledger can
be compared by it, and an auditor who kept the older one sees that the newer goes on from there.

Exports of the first version, which had charges alone, are still verified.

Checked in tests/unit/parties/agent/test_register.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from localdp.errors import InvalidParameter
from localdp.framing import digest
from parties.agent.chain import FIRST_LINK, Chain, ledger_errors
from parties.agent.entries import CHARGE, LedgerEntry, from_data, to_bytes, to_data
from parties.agent.mark import MarkFile, mark_path
from parties.agent.opening import no_ledger, open_to_read
from parties.agent.upgrade import old_link
from parties.durable import Data

FORMAT = "localdp register v2"
FIRST_FORMAT = "localdp register v1"
_CHAIN = "chain"


def entries_of(path: Path, chain_key: bytes) -> list[LedgerEntry]:
    """All entries of a ledger, each checked against the one before, and the last against the mark."""
    if not path.is_file():
        raise no_ledger(path)
    chain, mark = Chain(chain_key), MarkFile(mark_path(path), chain_key)
    with ledger_errors(path), open_to_read(path, chain, mark) as file:
        return list(chain.read(file))


def entry_data(entry: LedgerEntry) -> Data:
    """One entry, as plain data."""
    when = datetime.fromtimestamp(entry.stamp, UTC).isoformat()
    return {
        "number": entry.number,
        "kind": entry.kind,
        "written_at": entry.stamp,
        "time": when,
        **to_data(entry.content),
    }


def export(party: str, entries: Iterable[LedgerEntry], signer: Ed25519PrivateKey) -> Data:
    """The signed register."""
    listed: list[Data] = []
    link = head = FIRST_LINK
    for entry in entries:
        link, head = _link(link, entry), entry.link
        listed.append({**entry_data(entry), _CHAIN: link.hex()})
    public = signer.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
    signed = _signed(party, len(listed), link, head)
    return {
        "format": FORMAT,
        "party": party,
        "entries": listed,
        "head": head.hex(),
        "public_key": public.hex(),
        "signature": signer.sign(signed).hex(),
    }


def verify(document: Data, public_key: bytes) -> int:
    """Check a register against a public key known from elsewhere; returns how many entries it has."""
    try:
        return _verified(document, public_key)
    except InvalidSignature:
        raise InvalidParameter("the signature of the register is not of this key") from None
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        if isinstance(error, InvalidParameter):
            raise
        raise InvalidParameter(f"this is not a register ({type(error).__name__})") from None


def _verified(document: Data, public_key: bytes) -> int:
    version, entries = document["format"], document["entries"]
    if version not in (FORMAT, FIRST_FORMAT) or document["public_key"] != public_key.hex():
        raise InvalidParameter("this is not a register of this version and of this key")
    if version == FORMAT:
        link = _last(entries, _stated)
        signed = _signed(document["party"], len(entries), link, bytes.fromhex(document["head"]))
    else:
        link = _last(entries, _stated_first)
        signed = _signed_first(document["party"], len(entries), link.hex() if entries else "")
    Ed25519PublicKey.from_public_bytes(public_key).verify(bytes.fromhex(document["signature"]), signed)
    return len(entries)


def _last(entries: list[Data], stated: Callable[[Data, int, bytes], Data]) -> bytes:
    """The last digest, if every entry is what follows from its own words and from the one before."""
    link = FIRST_LINK
    for number, data in enumerate(entries, 1):
        if stated(data, number, link) != data:  # each of its fields, for a reader believes them all
            raise InvalidParameter(f"entry {number} of the register does not follow from the one before it")
        link = bytes.fromhex(data[_CHAIN])
    return link


def _stated(data: Data, number: int, before: bytes) -> Data:
    """The entry that follows, if the data say the truth."""
    entry = LedgerEntry(number, data["written_at"], from_data(data["kind"], data), b"")
    return {**entry_data(entry), _CHAIN: _link(before, entry).hex()}


def _link(before: bytes, entry: LedgerEntry) -> bytes:
    numbers = b"%d %d" % (entry.number, entry.stamp)
    return digest(FORMAT.encode(), before, numbers, entry.kind.encode(), to_bytes(entry.content))


def _signed(party: str, entries: int, last: bytes, head: bytes) -> bytes:
    return digest(FORMAT.encode(), party.encode(), b"%d" % entries, last, head)


def _stated_first(data: Data, number: int, before: bytes) -> Data:
    """The same in the first version, which had charges alone, before there were epochs."""
    charge, stamp = from_data(CHARGE, {**data, "epoch": 0}), data["charged_at"]
    shown = entry_data(LedgerEntry(number, stamp, charge, b""))
    shown["charged_at"] = shown.pop("written_at")
    del shown["kind"], shown["epoch"]
    return {**shown, _CHAIN: old_link(before, charge, stamp).hex()}  # type: ignore[arg-type]


def _signed_first(party: str, entries: int, last: str) -> bytes:
    return digest(FIRST_FORMAT.encode(), party.encode(), b"%d" % entries, last.encode())
