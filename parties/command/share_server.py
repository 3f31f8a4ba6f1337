"""`localdp share-server`: one of the servers that together simulate the curator, as a process of its own.

With --state its state is in a file, and its secrets in another one beside it; after a crash or a restart it goes on where
it stopped.  Without it everything is in memory, for a try on this machine: the server's name gets a random number, so that
nobody takes the next one for it.

Checked in tests/integration/test_tls.py and tests/integration/test_share_servers.py.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from parties.command.arguments import JsonOption, ListenOption, TlsOption
from parties.command.declaring import command
from parties.command.options import named_address
from parties.command.output import print_ok, print_whole, stderr_console

SecretsOption = Annotated[
    Path | None,
    typer.Option(
        help="File for its secrets. Default: beside the state, in FILE.secrets. Needed where the state is in a database."
    ),
]
CoresOption = Annotated[
    int, typer.Option(help="Cores that check reports; for histograms and longer reports.", min=1, max=64)
]
RelayedOption = Annotated[
    bool,
    typer.Option(
        "--relayed",
        help="Also collections whose shares somebody carries for the parties. Whoever does can fill any batch.",
    ),
]
share_server_app = typer.Typer(help="A share server: one part of the shared curator.", no_args_is_help=True)


@share_server_app.command("run")
@command
def share_server_run(
    name: Annotated[str, typer.Option(help="What agents and collections call it.")],
    listen: ListenOption = "127.0.0.1:0",
    tls: TlsOption = None,
    state: Annotated[
        str | None,
        typer.Option(
            help="File for its state, or postgresql://USER@HOST/DATABASE. What is not there is made. No password in it:"
            " that is for ~/.pgpass."
        ),
    ] = None,
    secrets: SecretsOption = None,
    peer: Annotated[
        list[str] | None,
        typer.Option(help="NAME=HOST:PORT of another share server; several are allowed."),
    ] = None,
    collector: Annotated[
        list[str] | None,
        typer.Option(
            help="Whose certificate may open collections here, by name; several are allowed. Default: anybody's."
        ),
    ] = None,
    minimum_batch: Annotated[
        int, typer.Option(help="Reports: nothing is released below, whatever a collection says.", min=1)
    ] = 2,
    kind: Annotated[
        list[str] | None,
        typer.Option(help="What may be collected: count, sum, histogram, multihot, vector. Default: all."),
    ] = None,
    most_open: Annotated[
        int, typer.Option(help="Collections in progress at a time; a round has one for each query.", min=1)
    ] = 10_000,
    most_megabytes: Annotated[
        int,
        typer.Option(
            help="Of reports that are not yet decided, and of what describes collections in progress.",
            min=1,
        ),
    ] = 10_000,
    longest_hours: Annotated[
        float, typer.Option(help="From the opening of a collection to its end.", min=0.01)
    ] = 24.0,
    relayed: RelayedOption = False,
    workers: CoresOption = 1,
    json: JsonOption = False,
) -> None:
    """Serve until Ctrl-C.  Without --state everything is in memory, and the name gets a random number."""
    import asyncio

    from localdp.errors import InvalidParameter
    from localdp.sharing.server_policy import ServerPolicy, kinds_of
    from parties.identity import load_identity
    from parties.observability.logs import configure_logs
    from parties.shares.run import serve_share_server

    def started(name: str, address: str, key: str) -> None:
        if json:
            print_ok({"name": name, "address": address, "key": key})
        else:
            print_whole(stderr_console(), f"{name} serves at {address}#{key}; Ctrl-C ends it")

    identity = None if tls is None else load_identity(tls)
    peers = None if not peer else dict(named_address(one, "another share server") for one in peer)
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
            secrets=secrets,
            peers=peers,
            collectors=frozenset(collector) if collector else None,
            policy=ServerPolicy(
                minimum_batch=minimum_batch,
                kinds=kinds_of(kind) if kind else None,
                most_open=most_open,
                most_bytes=most_megabytes * 10**6,
                longest_seconds=longest_hours * 3600,
                relayed=relayed,
            ),
            told=lambda text: print_whole(stderr_console(), text),
            workers=workers,
        )
    )


@share_server_app.command("rotate")
@command
def share_server_rotate(
    name: Annotated[str, typer.Option(help="What agents and collections call it.")],
    state: Annotated[
        str, typer.Option(help="Where its state is: the file, or the address of the database.")
    ],
    secrets: SecretsOption = None,
    json: JsonOption = False,
) -> None:
    """Give a server that is stopped a new key.  The old one stays while a collection is open under it."""
    from localdp.errors import InvalidParameter
    from parties.database import is_address
    from parties.shares.run import rotated

    if not is_address(state) and not Path(state).exists():
        raise InvalidParameter(f"there is no state at {state}")
    key = rotated(name, state, lambda text: print_whole(stderr_console(), text), secrets=secrets)
    if json:
        print_ok({"name": name, "key": key})
    else:
        print_whole(
            stderr_console(), f"the key of {name} is {key} from now on: tell the agents that name it"
        )
