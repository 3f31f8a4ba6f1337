"""The file in which `localdp parties up` says where its parties are."""

from __future__ import annotations

import contextlib
import json
import socket
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from localdp.cohorts import LARGEST_INDEX
from localdp.errors import InvalidParameter
from parties.coordinator import Peer
from parties.durable import Data

_SOON_SECONDS = 1.0
_LARGEST_FILE = 1 << 20  # characters; 2,000 parties take less


@dataclass(frozen=True, slots=True)
class State:
    """Addresses of running parties and share servers, and of the shuffler in front of the parties if there is one.

    What is said of `people` counts while a party is away that nobody has met: a party that answers says itself how many
    it has.  `events` is the journal in which coordinators note their rounds for whoever watches (`parties.view.journal`).
    """

    agents: tuple[Peer, ...]
    share_servers: tuple[Peer, ...]
    shuffler: Peer | None = None
    events: Path | None = None
    # Of agents: how many each has, where somebody says so.
    people: Mapping[str, int] = field(default_factory=dict)

    def to_data(self) -> Data:
        """Plain data."""
        return {
            "agents": [asdict(peer) | self._people(peer) for peer in self.agents],
            "share_servers": [asdict(peer) for peer in self.share_servers],
            **({} if self.shuffler is None else {"shuffler": asdict(self.shuffler)}),
            **({} if self.events is None else {"events": str(self.events)}),
        }

    def _people(self, peer: Peer) -> dict[str, int]:
        return {"people": self.people[peer.name]} if peer.name in self.people else {}


def write_state(state: State, path: Path) -> None:
    """Write the addresses."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(state.to_data(), indent=2) + "\n")


def read_state(path: Path) -> State:
    """Read them again; a file that is something else is refused."""
    try:
        with path.open() as file:
            data = json.loads(file.read(_LARGEST_FILE))
        shuffler = _peers([data["shuffler"]])[0] if "shuffler" in data else None
        events = Path(data["events"]) if "events" in data else None
        servers, people = _peers(data.get("share_servers", [])), _people(data["agents"])
        return State(_peers(data["agents"]), servers, shuffler, events, people)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InvalidParameter(
            f'{path} does not say where parties are; `localdp parties up` makes such a file, or write {{"agents": '
            '[{"name": "north", "address": "127.0.0.1:7301", "people": 1200}]}, and "share_servers" likewise'
        ) from error


def require_replaceable(path: Path) -> None:
    """Refuse to write over a file that is something else than the addresses of parties, or of parties that still run."""
    if not path.exists():
        return
    try:
        state = read_state(path)
    except (InvalidParameter, OSError) as error:
        raise InvalidParameter(
            f"{path} is something else than a file of addresses; give another --state"
        ) from error
    if state.agents and _answers(state.agents[0].address):
        raise InvalidParameter(
            f"the parties that {path} tells of still run; end them, or give another --state"
        )


def _answers(address: str) -> bool:
    """Whether somebody listens there."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host, int(port)), _SOON_SECONDS).close()
    except (OSError, ValueError, OverflowError):
        return False
    return True


def forget_state(state: State, path: Path) -> None:
    """Remove the file, unless it is not ours: later parties may have written theirs there."""
    with contextlib.suppress(InvalidParameter, OSError):
        if read_state(path) == state:
            path.unlink()


def _people(data: list[Data]) -> dict[str, int]:
    """How many people parties have, where the file says so."""
    said = {str(entry["name"]): entry["people"] for entry in data if "people" in entry}
    if any(type(count) is not int or not 1 <= count <= LARGEST_INDEX for count in said.values()):
        raise ValueError("a number of people is a whole number from 1 on")
    return said


def _peers(data: list[dict[str, str]]) -> tuple[Peer, ...]:
    return tuple(Peer(str(entry["name"]), str(entry["address"])) for entry in data)
