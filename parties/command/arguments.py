"""Arguments and options that several commands have, and the words that some of them take.

Nothing heavy is imported here: `--help` has to be quick.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

from localdp.oracles.models import DEFAULT_MODEL, ModelName
from parties.executors.chosen import MOST_WORKERS, ExecutorName

_WHO = "Who is asked"
_SHARED = "Of the shared model"


JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON envelope on standard output.")]
EpsilonOption = Annotated[
    str, typer.Option("--epsilon", "-e", help="Privacy loss of each person, in nats.")
]
ReportEpsilonOption = Annotated[
    str, typer.Option("--epsilon", "-e", help="Privacy loss of one report, in nats.")
]
PlanOption = Annotated[
    str,
    typer.Option(
        "--noise-plan",
        help="each-server, divided, divided(t), joint or proved: see `localdp shared explain`.",
    ),
]
PeopleOption = Annotated[str, typer.Option(help="How many made-up people there are.")]
PartiesOption = Annotated[
    int, typer.Option("--parties", min=1, max=2000, help="How many agents hold the people.")
]
ServersOption = Annotated[
    int, typer.Option("--servers", min=2, max=16, help="How many share servers there are.")
]
SeedOption = Annotated[
    int | None,
    typer.Option(
        "--insecure-seed", min=0, help="Repeatable coins, hence NO privacy: for made-up people only."
    ),
]
ResumeOption = Annotated[
    bool, typer.Option("--resume", help="Go on with a run that was cut off; nothing is run twice.")
]
OutOption = Annotated[
    Path | None, typer.Option(help="Directory for the numbers (.json) and the plot (.svg).")
]
AnywayOption = Annotated[
    bool, typer.Option("--anyway", help="Ask also where noise would drown what is asked for.")
]
SettingsOption = Annotated[
    list[str] | None,
    typer.Option("--set", help="NAME=VALUE of a further parameter, such as depth=3; several are allowed."),
]
WorkersOption = Annotated[
    int | None,
    typer.Option(
        "--workers", "--jobs", min=1, max=MOST_WORKERS, help="How many workers; as many as processors."
    ),
]
ExecutorOption = Annotated[
    ExecutorName | None,
    typer.Option(help="Who works: this process, worker processes, or a Dask cluster (extra scale)."),
]
SchedulerOption = Annotated[
    str | None,
    typer.Option(
        help="Of a Dask cluster that runs, such as tls://10.0.0.7:8786; one of this machine otherwise."
    ),
]
QueryArgument = Annotated[str, typer.Argument(help="A statistical query, such as 'smoker and age >= 65'.")]
# Files are opened by the commands themselves, which say in one line what is wrong with them: not checked by the parser.
ConfigArgument = Annotated[Path, typer.Argument(readable=False, help="The agent's configuration (TOML).")]
IdentityOption = Annotated[
    Path | None,
    typer.Option(
        readable=False,
        rich_help_panel=_WHO,
        help="Who asks, where parties want TLS: a directory of `localdp keys`.",
    ),
]
TlsOption = Annotated[Path | None, typer.Option(help="Its identity (`localdp keys`); needed off loopback.")]
ListenOption = Annotated[str, typer.Option(help="Host and port.")]


@dataclass(frozen=True, slots=True)
class Asking:
    """The options of every question: under which trust model, at what price, and whom."""

    model: Annotated[ModelName, typer.Option(help="Which trust model answers.")] = DEFAULT_MODEL
    epsilon: EpsilonOption = "1"
    connect: Annotated[
        Path | None,
        typer.Option(
            readable=False,
            rich_help_panel=_WHO,
            help="Ask running parties: the file of `localdp parties up`. Made-up people are asked otherwise.",
        ),
    ] = None
    identity: IdentityOption = None
    relay: Annotated[
        str | None,
        typer.Option(rich_help_panel=_WHO, help="Listen at this host and port for agents that dial in."),
    ] = None
    expect: Annotated[
        str,
        typer.Option(
            rich_help_panel=_WHO,
            help="Which ones, separated by commas, each NAME or NAME=FINGERPRINT; all are waited for.",
        ),
    ] = ""
    people: Annotated[
        str, typer.Option(rich_help_panel=_WHO, help="How many made-up people, unless connected.")
    ] = "10000"
    parties: Annotated[
        int, typer.Option(min=1, max=2000, rich_help_panel=_WHO, help="How many agents hold them.")
    ] = 4
    servers: Annotated[
        int, typer.Option(min=2, max=16, rich_help_panel=_SHARED, help="How many share servers there are.")
    ] = 2
    noise_plan: Annotated[
        str,
        typer.Option(
            rich_help_panel=_SHARED,
            help="each-server, divided, divided(t), joint or proved: see `localdp shared explain`.",
        ),
    ] = "each-server"
    tier: Annotated[
        Literal["prio3", "additive"],
        typer.Option(
            rich_help_panel=_SHARED, help="Shares with proofs, or bare ones from parties that are trusted."
        ),
    ] = "prio3"
    minimum_batch: Annotated[
        int | None,
        typer.Option(
            min=1,
            rich_help_panel=_SHARED,
            help="Nothing is released from fewer reports than this; 2, unless told.",
        ),
    ] = None


@dataclass(frozen=True, slots=True)
class AskingMany(Asking):
    """The same, of more made-up people: frequencies of many values and models need them."""

    people: Annotated[
        str, typer.Option(rich_help_panel=_WHO, help="How many made-up people, unless connected.")
    ] = "100000"
