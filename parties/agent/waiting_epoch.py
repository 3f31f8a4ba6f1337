"""An epoch that was prepared and waits for its owner to open it: `prepared.json` in the state directory, beside its copy.

It follows one epoch, the one that was open when its table was read.  Whatever else opens meanwhile, by hand or by the
calendar, it is not opened any more: people could have got numbers in between, and records would go back to older ones.
What stands in the file is pinned by the party's key.  A crash leaves it waiting, or leaves a copy too many, which goes.

Checked in tests/unit/parties/agent/test_waiting_epoch.py.
"""

from __future__ import annotations

import json
from pathlib import Path

from localdp.errors import InvalidParameter
from localdp.randomness.keys import derive_key
from parties.agent.epochs import Prepared
from parties.agent.people import Numbers
from parties.durable import write_atomically

FILE_NAME = "prepared.json"
_NONE = "no epoch waits to be opened, or another one was opened since; prepare one with `localdp agent publish --prepare`"


def keep_waiting(storage: Path, key: bytes, prepared: Prepared, after: bytes) -> None:
    """Write down what was prepared; its copy is on the disk already."""
    body = json.dumps(
        {
            "identifier": prepared.identifier.hex(),
            "after": after.hex(),
            "pin": prepared.pin.hex(),
            "people": prepared.people,
            "numbers": None if prepared.numbers is None else prepared.numbers.noted(),
        }
    )
    pinned = derive_key(key, b"prepared epoch", body.encode()).hex()
    write_atomically(
        storage / FILE_NAME, json.dumps({"body": body, "pinned": pinned}), confidential=True, synced=True
    )


def waiting(storage: Path, key: bytes, after: bytes, numbers: Numbers) -> Prepared:
    """What waits for this epoch to end; `numbers` are those of the party's people, to be filled."""
    try:
        told = json.loads((storage / FILE_NAME).read_text())
        body = json.loads(told["body"])
        pinned = derive_key(key, b"prepared epoch", told["body"].encode()).hex()
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise InvalidParameter(_NONE) from None
    if pinned != told["pinned"] or body["after"] != after.hex():
        raise InvalidParameter(_NONE)
    identifier, pin = bytes.fromhex(body["identifier"]), bytes.fromhex(body["pin"])
    if body["numbers"] is None:
        return Prepared(identifier, pin, body["people"], None)
    if not numbers.note(body["numbers"]):
        raise InvalidParameter(
            "name, data.person or data.rows changed since the epoch was prepared; prepare it again"
        )
    return Prepared(identifier, pin, body["people"], numbers)


def still_waiting(storage: Path, opened: bytes) -> tuple[bytes, ...]:
    """The identifier of what waits for the open epoch to end; what waited for another one is forgotten."""
    path = storage / FILE_NAME
    try:
        body = json.loads(json.loads(path.read_text())["body"])
        if body["after"] == opened.hex():
            return (bytes.fromhex(body["identifier"]),)
    except FileNotFoundError:
        return ()
    except (OSError, ValueError, KeyError, TypeError):
        pass
    path.unlink(missing_ok=True)
    return ()
