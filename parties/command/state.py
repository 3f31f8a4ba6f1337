"""The file in which `localdp parties up` says where its parties are."""

from __future__ import annotations

import contextlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from localdp.errors import InvalidParameter
from parties.coordinator import Peer


@dataclass(frozen=True, slots=True)
class State:
    """Addresses of running parties and share servers, and of the shuffler in front of the parties if there is one."""

    agents: tuple[Peer, ...]
    share_servers: tuple[Peer, ...]
    shuffler: Peer | None = None

    def to_data(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "agents": [asdict(peer) for peer in self.agents],
            "share_servers": [asdict(peer) for peer in self.share_servers],
            **({} if self.shuffler is None else {"shuffler": asdict(self.shuffler)}),
        }


def write_state(state: State, path: Path) -> None:
    """Write the addresses."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(state.to_data(), indent=2) + "\n")


def read_state(path: Path) -> State:
    """Read them again; a file that is something else is refused."""
    try:
        data = json.loads(path.read_text())
        shuffler = _peers([data["shuffler"]])[0] if "shuffler" in data else None
        return State(_peers(data["agents"]), _peers(data["share_servers"]), shuffler)
    except (ValueError, KeyError, TypeError) as error:
        raise InvalidParameter(
            f"{path} does not say where parties are; make it with `localdp parties up`"
        ) from error


def require_replaceable(path: Path) -> None:
    """Refuse to write over a file that is something else than the addresses of parties."""
    if path.exists():
        try:
            read_state(path)
        except (InvalidParameter, OSError) as error:
            raise InvalidParameter(
                f"{path} is something else than a file of addresses; give another --state"
            ) from error


def forget_state(state: State, path: Path) -> None:
    """Remove the file, unless it is not ours: later parties may have written theirs there."""
    with contextlib.suppress(InvalidParameter, OSError):
        if read_state(path) == state:
            path.unlink()


def _peers(data: list[dict[str, str]]) -> tuple[Peer, ...]:
    return tuple(Peer(str(entry["name"]), str(entry["address"])) for entry in data)
