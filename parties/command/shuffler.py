"""`localdp shuffler`: who mixes the reports of agents, as a process of its own.

Its secret comes from the operating system and lives as long as the process: after a restart the same request is drawn, and
charged, anew.  What it has promised about each person so far outlives it, in --ledger.

Agents must answer it, and should answer nobody else (`aggregators` of their policy); whoever asks it needs a file like
that of `localdp parties up`, with its name and address.

Checked in tests/integration/test_shuffler.py.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from parties.command.arguments import JsonOption, ListenOption, TlsOption
from parties.command.declaring import command
from parties.command.options import named_address, probability
from parties.command.output import print_ok, print_whole, stderr_console

_AggregatorOption = Annotated[
    list[str] | None, typer.Option(help="Who may ask, by the name in the certificate; several are allowed.")
]
shuffler_app = typer.Typer(help="A shuffler: it mixes the reports of agents.", no_args_is_help=True)


@shuffler_app.command("run")
@command
def shuffler_run(
    agent: Annotated[
        list[str],
        typer.Option(help="NAME=HOST:PORT of an agent whose reports it mixes; give each of them."),
    ],
    name: Annotated[str, typer.Option(help="What analysts call it.")] = "shuffler",
    listen: ListenOption = "127.0.0.1:0",
    epsilon: Annotated[
        str, typer.Option("--epsilon", "-e", help="The largest epsilon of what it has mixed, in nats.")
    ] = "1",
    delta: Annotated[str, typer.Option(help="The largest delta that goes with it.")] = "1e-6",
    requests: Annotated[
        int,
        typer.Option(
            help="What all requests may cost a person together, in multiples of epsilon and delta."
        ),
    ] = 10,
    minimum_cohort: Annotated[
        int, typer.Option(help="The fewest people of a request, not counting those of --colluding parties.")
    ] = 100,
    colluding: Annotated[
        int,
        typer.Option(
            help="Parties that may tell the analyst what they sent; the largest are not counted on."
        ),
    ] = 0,
    ledger: Annotated[
        str,
        typer.Option(
            help="What it has promised about people: a file, or the address of a PostgreSQL database."
        ),
    ] = "shuffler.ledger",
    new: Annotated[
        bool, typer.Option("--new", help="Make that ledger: this shuffler has promised nothing yet.")
    ] = False,
    aggregator: _AggregatorOption = None,
    tls: TlsOption = None,
    json: JsonOption = False,
) -> None:
    """Serve until Ctrl-C.  It refuses to mix so few or so revealing reports that epsilon and delta would not hold.

    Unless you say --colluding they hold only while no other party tells the analyst what it sent.
    """
    import asyncio

    from localdp.accounting.epsilon import Epsilon
    from localdp.oracles.shuffler import Promise
    from parties.coordinator import Peer
    from parties.identity import load_identity
    from parties.observability.logs import configure_logs
    from parties.shuffler.run import serve_shuffler

    def started(address: str) -> None:
        if json:
            print_ok({"name": name, "address": address})
        else:
            print_whole(stderr_console(), f"{name} serves at {address}; Ctrl-C ends it")

    configure_logs("warning")
    asyncio.run(
        serve_shuffler(
            name,
            listen,
            [Peer(*named_address(one, "an agent")) for one in agent],
            Promise(Epsilon.requested(epsilon), probability(delta), colluding, requests, minimum_cohort),
            started,
            ledger=ledger,
            new=new,
            identity=None if tls is None else load_identity(tls),
            aggregators=None if not aggregator else frozenset(aggregator),
        )
    )


@shuffler_app.command("second")
@command
def shuffler_second(
    first: Annotated[
        str, typer.Option(help="NAME=HOST:PORT of the first shuffler, which asks the agents.")
    ],
    key: Annotated[Path, typer.Option(readable=False, help="File of its secret key.")] = Path("second.key"),
    new: Annotated[
        bool, typer.Option("--new", help="Make that file: owners do not know this shuffler yet.")
    ] = False,
    name: Annotated[str, typer.Option(help="What analysts call it.")] = "second",
    listen: ListenOption = "127.0.0.1:0",
    aggregator: _AggregatorOption = None,
    tls: TlsOption = None,
    json: JsonOption = False,
) -> None:
    """Serve behind a first shuffler until Ctrl-C, so that no single one knows who sent what in flooded rounds.

    Analysts ask this one, and agents' owners write its public key, which is shown, into policy.second_shuffler.
    """
    import asyncio

    from localdp.sharing.hpke import public_of
    from parties.coordinator import Peer
    from parties.identity import load_identity
    from parties.observability.logs import configure_logs
    from parties.shuffler.run import second_secret, serve_second_shuffler

    secret = second_secret(key, new=new)

    def started(address: str) -> None:
        public = public_of(secret).hex()
        if json:
            print_ok({"name": name, "address": address, "public_key": public})
        else:
            told = f'{name} serves at {address}; agents have second_shuffler = "{public}"; Ctrl-C ends it'
            print_whole(stderr_console(), told)

    configure_logs("warning")
    asyncio.run(
        serve_second_shuffler(
            name,
            listen,
            Peer(*named_address(first, "the first shuffler")),
            secret,
            started,
            identity=None if tls is None else load_identity(tls),
            aggregators=None if not aggregator else frozenset(aggregator),
        )
    )
