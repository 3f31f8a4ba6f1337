"""The `localdp` command: which commands there are, in the order of its help.  Each is declared in a file of its own.

Heavy libraries are imported by the commands that use them, so that --help is quick.
Checked in tests/unit/parties/command/test_help.py.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from io import TextIOWrapper
from typing import Annotated

import typer
from typer.core import TyperGroup
from typer.main import get_command

from parties.command.agent import agent_app
from parties.command.ask import ask
from parties.command.attack import attack
from parties.command.audit import audit
from parties.command.budget import budget_app
from parties.command.choose import choose
from parties.command.compare import compare
from parties.command.contract import contract
from parties.command.data import data_app
from parties.command.doctor import doctor
from parties.command.fit import fit
from parties.command.histogram import histogram
from parties.command.keys import keys_app
from parties.command.mean import mean
from parties.command.output import usage_error
from parties.command.owner import owner_app
from parties.command.pan_private import pan_private_app
from parties.command.parties import parties_app
from parties.command.plan import plan
from parties.command.play import play
from parties.command.quantile import quantile
from parties.command.release import release
from parties.command.report import report
from parties.command.reports import aggregate, reports_app
from parties.command.round import round_command
from parties.command.run import run
from parties.command.separate import separate
from parties.command.share_server import share_server_app
from parties.command.shared import shared_app
from parties.command.shuffler import shuffler_app
from parties.command.simulate import simulate
from parties.command.site import site_app
from parties.command.stream import stream_app
from parties.command.witness import witness_app

PANELS: Mapping[str, Mapping[str, Callable[..., None] | typer.Typer]] = {
    "Ask": {
        "ask": ask,
        "mean": mean,
        "quantile": quantile,
        "histogram": histogram,
        "fit": fit,
        "release": release,
        "stream": stream_app,
        "pan-private": pan_private_app,
        "round": round_command,
        "reports": reports_app,
        "aggregate": aggregate,
        "plan": plan,
    },
    "Run a party": {
        "data": data_app,
        "agent": agent_app,
        "parties": parties_app,
        "share-server": share_server_app,
        "shuffler": shuffler_app,
        "witness": witness_app,
    },
    "Keys and budgets": {"keys": keys_app, "budget": budget_app, "owner": owner_app, "site": site_app},
    "Experiments and science": {
        "simulate": simulate,
        "compare": compare,
        "run": run,
        "report": report,
        "choose": choose,
        "audit": audit,
        "shared": shared_app,
        "separate": separate,
        "attack": attack,
        "play": play,
        "contract": contract,
        "doctor": doctor,
    },
}


class _InOrder(TyperGroup):
    """Commands as the panels have them; typer would put groups of commands last."""

    def list_commands(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]
        return [name for commands in PANELS.values() for name in commands]


app = typer.Typer(
    name="localdp",
    cls=_InOrder,
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for _panel, _commands in PANELS.items():
    for _name, _declared in _commands.items():
        if isinstance(_declared, typer.Typer):
            app.add_typer(_declared, name=_name, rich_help_panel=_panel)
        else:
            app.command(_name, rich_help_panel=_panel)(_declared)


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


def main() -> None:
    """Run the command; usage errors, too, are told as an envelope when --json was asked for."""
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # what fails is told in our own words, and once
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a ± that a terminal cannot show must not cost an answer
    arguments = sys.argv[1:]
    with usage_error(json="--json" in arguments):
        sys.exit(get_command(app).main(arguments, prog_name="localdp", standalone_mode=False) or 0)
