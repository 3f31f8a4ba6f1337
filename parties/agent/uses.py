"""The registry of uses of epsilon, across parties (section 13.1): what was asked of how many parties, and at which price.

A party's owner hands out the signed register of its ledger (`register.py`), or its *uses*: what each charge was for and
what it cost, with the chain of all entries and a signature over both, and nobody's place in the table.  Whoever collects
them checks each against the party's key, and against the one that it collected before: the older chain, and the older
uses, must be the beginning of the newer ones.  A register that was forged, cut off, rewritten or put back is named, with
its party, and does not count.

In a register each link of the chain follows from its entry; *uses* have the links alone, so that what a party says of a
use for the first time rests on its word.  It is signed, and from then on the party cannot take it back.

What is told of all of them is by purpose: how many parties, how many uses, the epsilon of one use and of all of them for
whoever was asked each time.  Nothing is told by person, or by record.
Checked in tests/unit/parties/agent/test_uses.py and tests/integration/test_collect_command.py.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter
from localdp.framing import digest
from parties.agent.entries import CHARGE, LedgerEntry, Loss
from parties.agent.purposes import question_of
from parties.agent.register import export, verify
from parties.durable import Data

FORMAT = "localdp uses v1"
_COSTS = (CHARGE, Loss.kind)


def uses_of(party: str, entries: Iterable[LedgerEntry], signer: Ed25519PrivateKey) -> Data:
    """The signed uses of a ledger, without people."""
    whole = export(party, entries, signer)
    chain = [entry["chain"] for entry in whole["entries"]]
    said = {"party": party, "uses": _uses(whole["entries"]), "chain": chain, "head": whole["head"]}
    return {
        "format": FORMAT,
        **said,
        "public_key": whole["public_key"],
        "signature": signer.sign(_signed(said)).hex(),
    }


def _uses(entries: Sequence[Data]) -> list[Data]:
    return [
        {
            "number": entry["number"],
            "purpose": entry["purpose"],
            "epsilon_nanonats": entry["epsilon_nanonats"],
        }
        for entry in entries
        if entry.get("kind", CHARGE) in _COSTS  # the first version of registers had charges alone
    ]


def _signed(said: Data) -> bytes:
    plain = json.dumps([said["party"], said["uses"], said["chain"], said["head"]], separators=(",", ":"))
    return digest(FORMAT.encode(), plain.encode())


@dataclass(frozen=True, slots=True)
class CheckedUses:
    """What a party was charged for, and the chain of its entries: signed by it."""

    party: str
    uses: tuple[tuple[str, Epsilon], ...]  # purpose and price of each
    chain: tuple[str, ...]
    numbers: tuple[int, ...]  # of the entries of its uses

    def require_after(self, earlier: CheckedUses) -> None:
        """Refuse what is not a continuation of an earlier one, by its entries or by what it says that they cost."""
        if self.chain[: len(earlier.chain)] == earlier.chain:
            of_then = slice(len(earlier.uses))
            if (self.uses[of_then], self.numbers[of_then]) != (earlier.uses, earlier.numbers):
                raise InvalidParameter(
                    "it was rewritten: its uses are not those that it had, or cost something else"
                )
            return
        if earlier.chain[: len(self.chain)] == self.chain:
            lost = len(earlier.chain) - len(self.chain)
            raise InvalidParameter(f"it was put back: {lost} entries that it had are gone")
        raise InvalidParameter("it was rewritten: its entries are not those that it had")


def checked(document: Data, public_key: bytes) -> CheckedUses:
    """A register or uses, checked against the party's key, which is known from elsewhere."""
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        verify(document, public_key)
        entries = document["entries"]
        return _checked(document["party"], _uses(entries), [entry["chain"] for entry in entries])
    try:
        if document["public_key"] != public_key.hex():
            raise InvalidSignature
        signature = bytes.fromhex(document["signature"])
        Ed25519PublicKey.from_public_bytes(public_key).verify(signature, _signed(document))
        return _checked(document["party"], document["uses"], document["chain"])
    except InvalidSignature:
        raise InvalidParameter("the signature of the register is not of this key") from None
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InvalidParameter(f"this is not a register ({type(error).__name__})") from None


def _checked(party: str, uses: Sequence[Data], chain: Sequence[str]) -> CheckedUses:
    prices = tuple((str(one["purpose"]), Epsilon(one["epsilon_nanonats"])) for one in uses)
    return CheckedUses(party, prices, tuple(chain), tuple(one["number"] for one in uses))


@dataclass(frozen=True, slots=True)
class Purpose:
    """What one question cost, over all parties that were asked it."""

    question: str
    parties: int
    uses: int
    largest: Epsilon  # of one use
    most: Epsilon  # of all uses by one party, for whoever was asked each time

    def to_data(self) -> Data:
        """As plain data, for JSON."""
        return {
            "question": self.question,
            "parties": self.parties,
            "uses": self.uses,
            "largest_epsilon": float(self.largest),
            "most_epsilon": float(self.most),
        }


@dataclass(frozen=True, slots=True)
class UsesOfAll:
    """The registry: purposes, dearest first; and whose registers do not count, with why."""

    parties: tuple[str, ...]  # whose registers count
    purposes: tuple[Purpose, ...]
    faults: Mapping[str, str] = field(default_factory=dict)


def collected(
    documents: Sequence[Data], keys: Mapping[str, bytes], earlier: Sequence[Data] = ()
) -> UsesOfAll:
    """What the registers of all parties with a key say together; `earlier` are those that were collected before."""
    sound: dict[str, CheckedUses] = {}
    faults = dict.fromkeys(keys, "there is no register of it")
    told: set[str] = set()
    for document in documents:
        name = str(document.get("party")) if isinstance(document, dict) else "?"
        try:
            if name in told:
                raise InvalidParameter("there are two registers of it")
            sound[name] = _sound(name, document, keys, earlier)
            faults.pop(name, None)
        except InvalidParameter as error:
            faults[name] = str(error)
            sound.pop(name, None)
        told.add(name)
    return UsesOfAll(tuple(sorted(sound)), _by_purpose(list(sound.values())), faults)


def _sound(name: str, document: Data, keys: Mapping[str, bytes], earlier: Sequence[Data]) -> CheckedUses:
    if name not in keys:
        raise InvalidParameter("nobody named a key for it")
    found = checked(document, keys[name])
    for before in earlier:
        if not isinstance(before, dict):
            raise InvalidParameter("what was collected before is not a register")
        if before.get("party") == name:
            found.require_after(checked(before, keys[name]))
    return found


def _by_purpose(parties: Sequence[CheckedUses]) -> tuple[Purpose, ...]:
    questions = {question_of(text)[0] for one in parties for text, _ in one.uses}
    made = [_purpose(question, parties) for question in questions]
    return tuple(sorted(made, key=lambda one: (-one.most.nanonats, one.question)))


def _purpose(question: str, parties: Sequence[CheckedUses]) -> Purpose:
    of_each = [[cost for text, cost in one.uses if question_of(text)[0] == question] for one in parties]
    asked = [costs for costs in of_each if costs]
    totals = [reduce(Epsilon.__add__, costs) for costs in asked]
    largest = max(cost for costs in asked for cost in costs)
    return Purpose(question, len(asked), sum(map(len, asked)), largest, max(totals))
