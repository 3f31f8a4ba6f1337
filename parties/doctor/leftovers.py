"""Simulated parties that outlived their launcher, and what they left on disk.

A nursery ends its parties and removes their directory when its launcher is gone, and a party ends when its nursery is
(`parties.simulation.nursery`).  So there is something to find only if one of them was stopped, or killed by kill -9.
Nothing is ended or removed here.

Checked in tests/unit/parties/doctor/test_leftovers.py and tests/integration/test_doctor.py.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from parties.doctor.finding import Finding, note, ok

NURSERY = "parties.simulation.nursery"
PREFIX = "localdp-"


@dataclass(frozen=True, slots=True)
class Process:
    """What the system tells about a process of ours or of its parent's."""

    parent: int
    command: tuple[str, ...]

    @property
    def simulated(self) -> bool:
        """A nursery, or a party that it forked: both have the same command line."""
        return NURSERY in self.command

    @property
    def launches(self) -> bool:
        """A launcher is a Python program, whatever it is called."""
        return any("python" in os.path.basename(word) for word in self.command[:1])


def orphans(processes: Mapping[int, Process]) -> list[int]:
    """Simulated processes whose parent is neither a nursery nor anything that could have launched one."""
    return sorted(
        pid
        for pid, process in processes.items()
        if process.simulated and not _has_a_launcher(processes.get(process.parent))
    )


def _has_a_launcher(parent: Process | None) -> bool:
    return parent is not None and (parent.simulated or parent.launches)


def processes(table: Mapping[int, Process] | None = None) -> Finding:
    """Whether simulated parties run, and whether anybody still looks after them."""
    seen = running() if table is None else table
    if seen is None:
        return ok("processes", "this system does not list them")
    left = orphans(seen)
    if left:
        told = f"{len(left)} simulated parties outlived their launcher"
        return note("processes", told, f"kill {' '.join(str(pid) for pid in left[:20])}")
    simulated = sum(process.simulated for process in seen.values())
    return ok("processes", f"{simulated} simulated parties run" if simulated else "nothing is left over")


def running(place: Path = Path("/proc")) -> dict[int, Process] | None:
    """The processes that this user may see, by number; None where the system has no such list."""
    if not (place / "self").exists():
        return None
    found = {}
    for entry in place.iterdir():
        if entry.name.isdigit() and (process := _process(entry)) is not None:
            found[int(entry.name)] = process
    return found


def _process(entry: Path) -> Process | None:
    try:
        words = (entry / "cmdline").read_bytes().split(b"\0")[:8]
        status = (entry / "stat").read_text()
    except (OSError, UnicodeDecodeError):  # it ended in between, or belongs to somebody else
        return None
    # "pid (name) state parent ...", where the name may hold anything, brackets too
    parent = int(status.rpartition(")")[2].split()[1])
    return Process(parent, tuple(os.fsdecode(word) for word in words if word))


def directories(place: Path | None = None, table: Mapping[int, Process] | None = None) -> Finding:
    """Directories of simulations that nobody runs any more."""
    place = Path(tempfile.gettempdir()) if place is None else place
    seen = (running() if table is None else table) or {}
    if any(process.simulated for process in seen.values()):
        return ok("directories", "not looked for while simulated parties run")
    left = [path for path in sorted(place.glob(f"{PREFIX}*")) if _is_a_simulation(path)]
    if left:
        told = f"{len(left)} directories of simulations that were killed, with made-up records"
        return note("directories", told, f"rm -r {' '.join(str(path) for path in left[:5])}")
    return ok("directories", "nothing is left over")


def _is_a_simulation(path: Path) -> bool:
    try:
        return path.is_dir() and any(child.suffix in (".npz", ".ledger") for child in path.iterdir())
    except OSError:
        return False
