"""Running parties, as a command is told of them: in a file of addresses, behind a relay that they dial, with an identity.

Checked through the commands that ask, in tests/integration/test_tls.py and tests/integration/test_command_line.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Protocol

from localdp.errors import InvalidParameter
from parties.addresses import State, read_state
from parties.command.options import names
from parties.coordinator import RemoteParties
from parties.identity import Identity, load_identity
from parties.relay.server import AttachedPeer, RelayServer

ATTACH_SECONDS = 60.0


class Where(Protocol):
    """The options that say where running parties are, and who asks them."""

    @property
    def connect(self) -> Path | None:
        """The file of addresses."""
        ...

    @property
    def identity(self) -> Path | None:
        """The directory of whoever asks."""
        ...

    @property
    def relay(self) -> str | None:
        """Where agents dial in."""
        ...

    @property
    def expect(self) -> str:
        """Which ones, separated by commas."""
        ...


def told_of(where: Where) -> tuple[State, Identity | None]:
    """The addresses in the file, if there is one, and who asks."""
    state = State((), ()) if where.connect is None else read_state(where.connect)
    return state, None if where.identity is None else load_identity(where.identity)


@contextmanager
def running_parties(where: Where, state: State, identity: Identity | None) -> Iterator[RemoteParties]:
    """All parties: those that are dialled, and those that dial."""
    with ExitStack() as stack:
        attached = [] if where.relay is None else _attached(where.relay, where.expect, identity, stack)
        yield stack.enter_context(closing(RemoteParties([*state.agents, *attached], identity=identity)))


def _attached(relay: str, expect: str, identity: Identity | None, stack: ExitStack) -> list[AttachedPeer]:
    """The agents that dial in, once all of them have."""
    host, _, port = relay.rpartition(":")
    expected = [name for name in names(expect) if name]
    if not host or not port.isdecimal() or not expected:
        raise InvalidParameter(
            "--relay is an address such as 127.0.0.1:7000; --expect names those who dial it"
        )
    server = stack.enter_context(RelayServer(host, int(port), identity))
    server.wait_for(expected, ATTACH_SECONDS)
    return server.peers(expected)
