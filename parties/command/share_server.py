"""`localdp share-server`: one of the servers that together simulate the curator, as a process of its own.

With --state its state and its key are in a file, and after a crash or a restart it goes on where it stopped.  Without it
they are in memory: a server that was restarted has forgotten which collections it released, parties would upload to them
again under their old charge, and a second release would be a second look.  So give such a server another name then: the
agents' configurations list the names that they upload to.

Checked in tests/integration/test_tls.py and tests/integration/test_share_servers.py.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from parties.command.arguments import JsonOption

share_server_app = typer.Typer(help="A share server: one part of the shared curator.", no_args_is_help=True)


@share_server_app.command("run")
def share_server_run(
    name: Annotated[str, typer.Option(help="What agents and collections call it.")],
    listen: Annotated[str, typer.Option(help="Host and port.")] = "127.0.0.1:0",
    tls: Annotated[
        Path | None, typer.Option(help="Its identity (`localdp keys`); needed off loopback.")
    ] = None,
    state: Annotated[
        Path | None, typer.Option(help="File for its state and key; made if it does not exist.")
    ] = None,
    peer: Annotated[
        list[str] | None,
        typer.Option(help="NAME=HOST:PORT of another share server that it may lead; several are allowed."),
    ] = None,
    collector: Annotated[
        list[str] | None,
        typer.Option(
            help="Whose certificate may open collections here, by name; several are allowed. Default: anybody's."
        ),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Serve until Ctrl-C.  Without --state everything is in memory: after a restart, give it another name."""
    from parties.command.output import print_ok, print_whole, reporting, stderr_console

    with reporting(json):
        import asyncio

        from localdp.errors import InvalidParameter
        from parties.identity import load_identity
        from parties.observability.logs import configure_logs
        from parties.shares.run import serve_share_server

        def started(address: str, key: str) -> None:
            if json:
                print_ok({"name": name, "address": address, "key": key})
            else:
                print_whole(stderr_console(), f"{name} serves at {address}#{key}; Ctrl-C ends it")

        identity = None if tls is None else load_identity(tls)
        peers = None if not peer else dict(_named_address(one) for one in peer)
        if collector and identity is None:
            raise InvalidParameter("without --tls nobody shows a certificate: --collector goes with it")
        configure_logs("warning")
        asyncio.run(
            serve_share_server(
                name,
                listen,
                identity,
                started,
                state=state,
                peers=peers,
                collectors=frozenset(collector) if collector else None,
                told=lambda text: print_whole(stderr_console(), text),
            )
        )


def _named_address(text: str) -> tuple[str, str]:
    """NAME=HOST:PORT."""
    from localdp.errors import InvalidParameter

    name, _, address = text.partition("=")
    if not name or not address.rpartition(":")[2].isdecimal():
        raise InvalidParameter("another share server is given as NAME=HOST:PORT")
    return name, address
