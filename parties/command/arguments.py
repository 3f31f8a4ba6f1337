"""Options that several commands have, and the words that some of them take.

Nothing heavy is imported here: `--help` has to be quick.
"""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from localdp.oracles.models import ModelName


class Transport(str, Enum):
    """Where the parties live."""

    process = "process"
    grpc = "grpc"


class Tier(str, Enum):
    """Whether parties prove that their shares are well formed."""

    prio3 = "prio3"
    additive = "additive"


class Target(str, Enum):
    """Which error counts."""

    distribution = "distribution"
    heavy = "heavy"


ModelOption = Annotated[ModelName, typer.Option(help="Which trust model answers.")]
EpsilonOption = Annotated[
    str, typer.Option("--epsilon", "-e", help="Privacy loss per person and count, in nats.")
]
ReportEpsilonOption = Annotated[
    str, typer.Option("--epsilon", "-e", help="Privacy loss of one report, in nats.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON envelope on standard output.")]
PlanOption = Annotated[
    str,
    typer.Option("--noise-plan", help="each-server, divided or divided(t): see `localdp shared explain`."),
]
# Files are opened by the commands themselves, which say in one line what is wrong with them: not checked by the parser.
IdentityOption = Annotated[
    Path | None,
    typer.Option(readable=False, help="Who asks, where parties want TLS: a directory of `localdp keys`."),
]
RelayOption = Annotated[
    str | None, typer.Option(help="Listen at this host and port for agents that dial in.")
]
ExpectOption = Annotated[
    str, typer.Option(help="Which ones, separated by commas; all of them are waited for.")
]
ConnectOption = Annotated[
    Path | None,
    typer.Option(readable=False, help="Ask running parties: the file of `localdp parties up`."),
]
PartiesOption = Annotated[
    int, typer.Option("--parties", min=1, max=2000, help="How many agents hold the people.")
]
ServersOption = Annotated[
    int, typer.Option("--servers", min=2, max=16, help="How many share servers there are.")
]
SeedOption = Annotated[
    int | None,
    typer.Option("--insecure-seed", help="Repeatable coins, hence NO privacy: for made-up people only."),
]
