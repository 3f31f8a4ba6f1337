"""`localdp share-server`: one of the servers that together simulate the curator, as a process of its own.

Its state is in memory, and its key is made at every start.  A server that was restarted has forgotten which collections
it released; parties would upload to them again under their old charge, and a second release would be a second look.  So
after a restart give it another name: the agents' configurations list the names that they upload to.

Checked in tests/integration/test_tls.py.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

share_server_app = typer.Typer(help="A share server: one part of the shared curator.", no_args_is_help=True)


@share_server_app.command("run")
def share_server_run(
    name: Annotated[str, typer.Option(help="What agents and collections call it.")],
    listen: Annotated[str, typer.Option(help="Host and port.")] = "127.0.0.1:0",
    tls: Annotated[
        Path | None, typer.Option(help="Its identity (`localdp keys`); needed off loopback.")
    ] = None,
    json: Annotated[
        bool, typer.Option("--json", help="Print one JSON envelope on standard output.")
    ] = False,
) -> None:
    """Serve until Ctrl-C.  Its state is in memory: after a restart, give it another name."""
    from parties.command.output import print_ok, reporting, stderr_console

    with reporting(json):
        import asyncio

        from parties.identity import load_identity
        from parties.shares.run import serve_share_server

        def started(address: str) -> None:
            if json:
                print_ok({"name": name, "address": address})
            else:
                stderr_console().print(f"{name} serves at {address}; Ctrl-C ends it")

        identity = None if tls is None else load_identity(tls)
        asyncio.run(serve_share_server(name, listen, identity, started))
