"""The file in which `localdp parties up` says where its parties are."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from localdp.errors import InvalidParameter
from parties.coordinator import Peer


@dataclass(frozen=True, slots=True)
class State:
    """Addresses of running parties and share servers."""

    agents: tuple[Peer, ...]
    share_servers: tuple[Peer, ...]

    def to_data(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "agents": [asdict(peer) for peer in self.agents],
            "share_servers": [asdict(peer) for peer in self.share_servers],
        }


def write_state(state: State, path: Path) -> None:
    """Write the addresses."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(state.to_data(), indent=2) + "\n")


def read_state(path: Path) -> State:
    """Read them again; a file that is something else is refused."""
    try:
        data = json.loads(path.read_text())
        return State(_peers(data["agents"]), _peers(data["share_servers"]))
    except (ValueError, KeyError, TypeError) as error:
        raise InvalidParameter(f"{path} does not say where parties are; make it with `localdp parties up`") from error


def _peers(data: list[dict[str, str]]) -> tuple[Peer, ...]:
    return tuple(Peer(str(entry["name"]), str(entry["address"])) for entry in data)
