"""What the entries of a ledger say: charges, and whatever else bears on what a person may still be asked.

An entry is written as one line of canonical JSON: sorted keys, no spaces, ASCII.  So its owner can read it with any tool,
its bytes are a function of what it says, and the register that is signed (`parties.agent.register`) says the same.

Checked in tests/unit/parties/agent/test_ledger_entries.py.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import ClassVar

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.ledger import Charge
from localdp.cohorts import Cohort, Split
from localdp.errors import InvalidParameter, StorageFailed
from parties.durable import Data


@dataclass(frozen=True, slots=True)
class EpochOpened:
    """The owner opened an epoch: from here on, charges are of it."""

    kind: ClassVar[str] = "epoch"
    number: int
    identifier: bytes = field(repr=False)
    records: bytes  # keyed pin of the records, for their owner
    clock: int | None = None  # what the clock said, where an earlier stamp was ahead of it


@dataclass(frozen=True, slots=True)
class EpochEnded:
    """No epoch is open from here on, until the next one is opened."""

    kind: ClassVar[str] = "end"
    number: int  # of the epoch that ended


@dataclass(frozen=True, slots=True)
class SettingsStated:
    """Budgets and policy in words, from here on."""

    kind: ClassVar[str] = "settings"
    text: str


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The sums up to here, by their digest; and what else a start need not add up again."""

    kind: ClassVar[str] = "checkpoint"
    digest: bytes
    total: int  # nanonats of all charges and losses
    requests: int  # charged for the first time in the epoch that is open


@dataclass(frozen=True, slots=True)
class Lineage:
    """Which totals of one agent's ledgers can be compared: those of one lineage (`parties.agent.lost`)."""

    identifier: bytes = bytes(16)  # at random, but for the first
    entries: int = 0  # how far the mark of the backup had come that it began from,
    link: bytes = bytes(32)  # the link there,
    total: int = 0  # and the nanonats of all charges and losses there


@dataclass(frozen=True, slots=True)
class Loss:
    """Charges were lost, of at most so much for anybody: everybody has paid it."""

    kind: ClassVar[str] = "loss"
    cost: Epsilon
    purpose: str
    lineage: Lineage | None = None  # that begins here, if one does


@dataclass(frozen=True, slots=True)
class Upgrade:
    """All entries before were written by an older version, and chained by it up to this head."""

    kind: ClassVar[str] = "upgrade"
    version: int  # of the older layout
    entries: int
    head: bytes


@dataclass(frozen=True, slots=True)
class Witnessed:
    """From here on the ledger's witness is whoever signs with this key."""

    kind: ClassVar[str] = "witness"
    key: bytes


@dataclass(frozen=True, slots=True)
class Decided:
    """The owner allows or refuses an analyst's question: at this price or less, or at this price or more."""

    kind: ClassVar[str] = "decision"
    caller: str
    question: str
    price: Epsilon
    allowed: bool


Content = (
    Charge | EpochOpened | EpochEnded | SettingsStated | Checkpoint | Loss | Upgrade | Witnessed | Decided
)
CHARGE = "charge"


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """One entry of the chain."""

    number: int  # from 1 on, without gaps
    stamp: int  # seconds since 1970; never less than in the entry before
    content: Content
    link: bytes  # ties it to all entries before it

    @property
    def kind(self) -> str:
        """What sort of entry it is."""
        return kind_of(self.content)


def kind_of(content: Content) -> str:
    """What sort of entry it is."""
    return CHARGE if isinstance(content, Charge) else content.kind


def cost_of(content: Content) -> int:
    """Nanonats that an entry may have cost a person."""
    return content.cost.nanonats if isinstance(content, Charge | Loss) else 0


def to_data(content: Content) -> Data:
    """What it says, as plain data."""
    match content:
        case Charge():
            return _charge_data(content)
        case EpochOpened():
            return {
                "epoch": content.number,
                "identifier": content.identifier.hex(),
                "records": content.records.hex(),
                **({} if content.clock is None else {"clock": content.clock}),
            }
        case EpochEnded():
            return {"epoch": content.number}
        case SettingsStated():
            return {"settings": content.text}
        case Checkpoint():
            return {
                "digest": content.digest.hex(),
                "total_nanonats": content.total,
                "requests": content.requests,
            }
        case Loss():
            begins = {} if content.lineage is None else {"lineage": _lineage_data(content.lineage)}
            return {"epsilon_nanonats": content.cost.nanonats, "purpose": content.purpose, **begins}
        case Upgrade():
            return {"version": content.version, "entries": content.entries, "head": content.head.hex()}
        case Witnessed():
            return {"public_key": content.key.hex()}
        case Decided():
            return {
                "caller": content.caller,
                "question": content.question,
                "epsilon_nanonats": content.price.nanonats,
                "allowed": content.allowed,
            }


def _charge_data(charge: Charge) -> Data:
    cohort, split = charge.cohort, charge.cohort.split
    data: Data = {
        "caller": charge.caller,
        "purpose": charge.purpose,
        "epsilon_nanonats": charge.cost.nanonats,
        "start": cohort.start,
        "stop": cohort.stop,
        "request": charge.request.hex(),
        "records": charge.records.hex(),
        "key": charge.key,
        "epoch": charge.epoch,
    }
    if split is not None:
        data["split"] = {"seed": split.seed.hex(), "parts": split.parts, "part": split.part}
    return data


def from_data(kind: str, data: Data) -> Content:
    """What the data say; raises ValueError, KeyError or TypeError where they say nothing of the kind."""
    match kind:
        case "charge":
            return _charge_of(data)
        case "epoch":
            number, made = data["epoch"], bytes.fromhex(data["identifier"])
            clock = _whole(data["clock"]) if "clock" in data else None
            return EpochOpened(_whole(number), made, bytes.fromhex(data["records"]), clock)
        case "end":
            return EpochEnded(_whole(data["epoch"]))
        case "settings":
            return SettingsStated(_text(data["settings"]))
        case "checkpoint":
            total, requests = _whole(data["total_nanonats"]), _whole(data["requests"])
            return Checkpoint(bytes.fromhex(data["digest"]), total, requests)
        case "loss":
            begins = _lineage_of(data["lineage"]) if "lineage" in data else None
            return Loss(Epsilon(data["epsilon_nanonats"]), _text(data["purpose"]), begins)
        case "upgrade":
            version, entries = _whole(data["version"]), _whole(data["entries"])
            return Upgrade(version, entries, bytes.fromhex(data["head"]))
        case "witness":
            return Witnessed(bytes.fromhex(data["public_key"]))
        case "decision":
            price, allowed = Epsilon(_whole(data["epsilon_nanonats"])), data["allowed"]
            if not isinstance(allowed, bool):
                raise TypeError("true or false")
            return Decided(_text(data["caller"]), _text(data["question"]), price, allowed)
    raise ValueError("no kind of entry")


def _lineage_data(lineage: Lineage) -> Data:
    return {
        "identifier": lineage.identifier.hex(),
        "entries": lineage.entries,
        "link": lineage.link.hex(),
        "total_nanonats": lineage.total,
    }


def _lineage_of(data: Data) -> Lineage:
    entries, total = _whole(data["entries"]), _whole(data["total_nanonats"])
    return Lineage(bytes.fromhex(data["identifier"]), entries, bytes.fromhex(data["link"]), total)


def _charge_of(data: Data) -> Charge:
    part = data.get("split")
    split = (
        Split(bytes.fromhex(part["seed"]), _whole(part["parts"]), _whole(part["part"])) if part else None
    )
    return Charge(
        bytes.fromhex(data["request"]),
        bytes.fromhex(data["records"]),
        Cohort(_whole(data["start"]), _whole(data["stop"]), split),
        Epsilon(data["epsilon_nanonats"]),
        _text(data["purpose"]),
        _text(data["caller"]),
        _text(data["key"]),
        epoch=_whole(data["epoch"]),
    )


def _whole(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise TypeError("a number from 0 on")
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("a text")
    return value


def to_bytes(content: Content) -> bytes:
    """The canonical bytes of what it says."""
    return json.dumps(to_data(content), sort_keys=True, separators=(",", ":")).encode()


def from_bytes(number: int, kind: str, body: bytes) -> Content:
    """What the bytes of an entry say."""
    try:
        content = from_data(kind, json.loads(body))
    except (InvalidParameter, ValueError, KeyError, TypeError, AttributeError) as error:
        raise StorageFailed(f"entry {number} of the ledger is not one of this version") from error
    if to_bytes(content) != body:
        raise StorageFailed(f"entry {number} of the ledger is not written as this version writes")
    return content
