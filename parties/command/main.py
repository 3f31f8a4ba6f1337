"""The `localdp` command.  Heavy libraries are imported by the commands that use them, so that --help is quick."""

from __future__ import annotations

import os
import sys
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated

import typer

from localdp.oracles.models import DEFAULT_MODEL
from parties.command.arguments import (
    ConnectOption,
    EpsilonOption,
    ExpectOption,
    IdentityOption,
    JsonOption,
    ModelOption,
    PartiesOption,
    PlanOption,
    RelayOption,
    ReportEpsilonOption,
    ServersOption,
    Target,
    Tier,
)
from parties.command.attack import attack
from parties.command.compare import compare
from parties.command.contract import contract
from parties.command.doctor import doctor
from parties.command.owner import agent_app, budget_app, keys_app
from parties.command.plan import plan
from parties.command.report import report_command
from parties.command.round import round_command
from parties.command.run import run_command
from parties.command.separate import separate
from parties.command.share_server import share_server_app
from parties.command.shared import shared_app
from parties.command.shuffler import shuffler_app
from parties.command.witness import witness_app

app = typer.Typer(
    name="localdp",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
parties_app = typer.Typer(
    help="Simulated parties: agents and share servers on this machine.", no_args_is_help=True
)
app.add_typer(parties_app, name="parties")
app.add_typer(agent_app, name="agent")
app.add_typer(keys_app, name="keys")
app.add_typer(budget_app, name="budget")
app.add_typer(share_server_app, name="share-server")
app.add_typer(shared_app, name="shared")
app.add_typer(shuffler_app, name="shuffler")
app.add_typer(witness_app, name="witness")
app.command()(attack)
app.command()(contract)
app.command()(doctor)
app.command()(plan)
app.command("report")(report_command)
app.command("round")(round_command)
app.command("run")(run_command)
app.command()(separate)
app.command()(compare)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"localdp {version('localdp')}")
        raise typer.Exit


@app.callback()
def localdp(
    show_version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Local differential privacy and a secret-shared curator, end to end, over gRPC."""


@app.command()
def ask(
    query: Annotated[str, typer.Argument(help="A statistical query, such as 'smoker and age >= 65'.")],
    model: ModelOption = DEFAULT_MODEL,
    epsilon: EpsilonOption = "1",
    connect: ConnectOption = None,
    identity: IdentityOption = None,
    relay: RelayOption = None,
    expect: ExpectOption = "",
    people: Annotated[str, typer.Option(help="How many made-up people, unless connected.")] = "10000",
    parties: PartiesOption = 4,
    servers: ServersOption = 2,
    noise_plan: PlanOption = "each-server",
    tier: Annotated[
        Tier,
        typer.Option(
            help="Of the shared model: shares with proofs, or bare ones from parties that are trusted."
        ),
    ] = Tier.prio3,
    minimum_batch: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Of the shared model: nothing is released from fewer reports than this; 2, unless told.",
        ),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Ask one statistical query under one trust model: the share of people of whom it holds, with an error bar."""
    from parties.command.output import reporting

    with reporting(json):
        from parties.command.ask import AskOptions, run_ask

        run_ask(
            AskOptions(
                query=query,
                model=model,
                epsilon=epsilon,
                connect=connect,
                identity=identity,
                relay=relay,
                expect=expect,
                people=people,
                parties=parties,
                servers=servers,
                noise_plan=noise_plan,
                tier=tier.value,
                minimum_batch=minimum_batch,
                json=json,
            )
        )


@app.command()
def choose(
    domain: Annotated[str, typer.Option(help="Size of the domain, or of the list of candidates.")],
    epsilon: ReportEpsilonOption = "1",
    people: Annotated[str, typer.Option(help="How many people report.")] = "1e6",
    bits: Annotated[
        int | None, typer.Option(min=1, help="At most so many private bits a report; public ones are free.")
    ] = None,
    additive: Annotated[
        bool, typer.Option("--additive", help="Reports must add up before they are decoded.")
    ] = False,
    open_domain: Annotated[
        bool, typer.Option("--open-domain", help="The items are not known beforehand.")
    ] = False,
    linear: Annotated[
        bool, typer.Option("--linear", help="Sums are read off a Walsh spectrum, without decoding items.")
    ] = False,
    decode_seconds: Annotated[
        float | None, typer.Option(help="The most that decoding may take, by estimate.")
    ] = None,
    target: Annotated[
        Target, typer.Option(help="The error on uniform data, or of an item that nobody has.")
    ] = Target.distribution,
    json: JsonOption = False,
) -> None:
    """Choose the frequency oracle of least error, by exact formulas, and say why."""
    from parties.command.output import reporting

    with reporting(json):
        from parties.command.choose import ChooseOptions, run_choose

        run_choose(
            ChooseOptions(
                domain=domain,
                epsilon=epsilon,
                people=people,
                bits=bits,
                additive=additive,
                open_domain=open_domain,
                linear=linear,
                decode_seconds=decode_seconds,
                target=target.value,
                json=json,
            )
        )


@app.command()
def audit(
    name: Annotated[str | None, typer.Argument(help="A randomizer, such as k-ary; see --all.")] = None,
    inputs: Annotated[
        str | None, typer.Option(help="How many inputs; small enough to follow every coin, unless told.")
    ] = None,
    epsilon: ReportEpsilonOption = "1",
    trials: Annotated[
        str, typer.Option(help="Reports about each input, where coins are too many.")
    ] = "1e5",
    confidence: Annotated[float, typer.Option(help="Of the bound from such a sample.")] = 0.9999,
    every: Annotated[bool, typer.Option("--all", help="Audit every randomizer of the library.")] = False,
    json: JsonOption = False,
) -> None:
    """Audit what randomizers claim: exactly, over every coin, or by a sample; exit code 1 if a claim is violated."""
    from parties.command.output import reporting

    with reporting(json):
        from parties.command.audit import AuditOptions, run_audit

        run_audit(
            AuditOptions(
                name=name,
                every=every,
                inputs=inputs,
                epsilon=epsilon,
                trials=trials,
                confidence=confidence,
                json=json,
            )
        )


@app.command()
def histogram(
    query: Annotated[
        str,
        typer.Argument(
            help="A column with a list of values, or a query that has one, such as 'which(age < 20, age < 40)'."
        ),
    ],
    epsilon: ReportEpsilonOption = "1",
    connect: ConnectOption = None,
    identity: IdentityOption = None,
    relay: RelayOption = None,
    expect: ExpectOption = "",
    people: Annotated[str, typer.Option(help="How many made-up people, unless connected.")] = "100000",
    parties: PartiesOption = 4,
    anyway: Annotated[
        bool, typer.Option("--anyway", help="Ask also where the noise drowns the frequencies.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Estimate the frequencies of all values of a column or query, in the local model, with the best randomizer for it."""
    from parties.command.output import reporting

    with reporting(json):
        from parties.command.histogram import HistogramOptions, run_histogram

        run_histogram(
            HistogramOptions(
                query=query,
                epsilon=epsilon,
                connect=connect,
                identity=identity,
                relay=relay,
                expect=expect,
                people=people,
                parties=parties,
                anyway=anyway,
                json=json,
            )
        )


@parties_app.command("up")
def parties_up(
    people: Annotated[str, typer.Option(help="How many made-up people there are.")] = "50000",
    parties: PartiesOption = 20,
    servers: ServersOption = 2,
    budget: Annotated[str, typer.Option(help="What each person may spend in total, in nats.")] = "10",
    state: Annotated[
        Path, typer.Option(help="Where to write the addresses, for `localdp ask --connect`.")
    ] = Path("out/parties.json"),
    shuffler: Annotated[
        bool, typer.Option("--shuffler", help="With a shuffler in front of the agents.")
    ] = False,
    promise: Annotated[
        str, typer.Option(help="The largest epsilon of what the shuffler has mixed, in nats.")
    ] = "1",
    json: JsonOption = False,
) -> None:
    """Launch simulated parties and keep them until Ctrl-C; nothing is left behind."""
    from parties.command.output import reporting

    with reporting(json):
        from parties.command.up import UpOptions, run_up

        run_up(
            UpOptions(
                people=people,
                parties=parties,
                servers=servers,
                budget=budget,
                state=state,
                json=json,
                shuffler=shuffler,
                promise=promise,
            )
        )


def main() -> None:
    """Run the command; usage errors, too, are told as an envelope when --json was asked for."""
    from typer.main import get_command

    from parties.command.output import usage_error

    os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # what fails is told in our own words, and once
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a ± that a terminal cannot show must not cost an answer
    arguments = sys.argv[1:]
    with usage_error(json="--json" in arguments):
        sys.exit(get_command(app).main(arguments, prog_name="localdp", standalone_mode=False) or 0)
