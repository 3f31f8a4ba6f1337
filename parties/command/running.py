"""Running parties, as a command is told of them: in a file of addresses, behind a relay that they dial, with an identity.

Checked through the commands that ask, in tests/integration/test_tls.py and tests/integration/test_command_line.py.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from localdp.errors import InvalidParameter
from parties.addresses import read_state
from parties.command.options import names
from parties.command.output import print_whole, stderr_console

if TYPE_CHECKING:
    from parties.federation import Federation


class Where(Protocol):
    """The options of a command that say who is asked."""

    @property
    def connect(self) -> Path | None:
        """The file of addresses."""
        ...

    @property
    def identity(self) -> Path | None:
        """The directory of one's own certificate."""
        ...

    @property
    def relay(self) -> str | None:
        """Where agents dial in."""
        ...

    @property
    def expect(self) -> str:
        """Who is to dial in."""
        ...


def are_running(where: Where) -> bool:
    """Whether the command is about running parties, and not about some of its own."""
    running = where.connect is not None or where.relay is not None
    if where.identity is not None and not running:
        raise InvalidParameter("--identity is shown to running parties: it goes with --connect or --relay")
    return running


def connected(where: Where, *, only_shuffler: bool = False) -> Federation:
    """All parties, those that are dialled and those that dial, or the shuffler in front of them."""
    from parties.federation import Federation

    if where.connect is not None:
        read_state(where.connect)  # a file that cannot be read is told as any other file
    return Federation.connect(
        where.connect,
        where.identity,
        relay=where.relay,
        expect=[name for name in names(where.expect) if name],
        may_miss=False,
        only_shuffler=only_shuffler,
        told=told,
    )


def told(text: str) -> None:
    """What is waited for, where it takes long."""
    print_whole(stderr_console(), text)
