"""Whether this machine is ready: what `localdp doctor` looks at.

| file | what it looks at |
|---|---|
| `finding.py` | what a check finds, and how grave it is |
| `packages.py` | Python, the packages that localdp needs, and those that it can use |
| `machine.py` | disk, SQLite, the clock, open files |
| `network.py` | a server on loopback, asked over gRPC |
| `leftovers.py` | simulated parties that outlived their launcher |
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from parties.doctor.finding import Finding


def examine(directory: Path) -> Iterator[Finding]:
    """Every check, one after the other; `directory` is where agents would keep their state."""
    from parties.doctor import leftovers, machine, network, packages

    yield packages.python()
    yield packages.core()
    yield packages.constraints()
    yield from packages.extras()
    yield packages.compiled_code()
    yield network.loopback()
    yield machine.state_directory(directory)
    yield machine.temporary_directory()
    yield machine.sqlite(directory)
    yield machine.clock()
    yield machine.open_files()
    yield leftovers.processes()
    yield leftovers.directories()
