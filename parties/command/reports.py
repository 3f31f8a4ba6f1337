"""`localdp reports` and `localdp aggregate`: rounds by file, for parties that are not asked over a network.

Checked in tests/integration/test_aggregate.py.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from localdp.errors import InvalidParameter
from parties.command.arguments import (
    ConfigArgument,
    ExecutorOption,
    IdentityOption,
    JsonOption,
    ReportEpsilonOption,
    SchedulerOption,
    WorkersOption,
)
from parties.command.declaring import command
from parties.command.misread import printable
from parties.command.options import named_address, whole_number
from parties.command.output import (
    plain_path,
    print_ok,
    print_prose,
    print_whole,
    stderr_console,
    stdout_console,
)

if TYPE_CHECKING:
    from localdp.experiments.crowd_answers import CrowdAnswer
    from parties.at_rest.aggregating import Aggregated

reports_app = typer.Typer(help="Rounds by file: ask, answer, add up.", no_args_is_help=True)
RoundArgument = Annotated[Path, typer.Argument(readable=False, help="A round of `localdp reports ask`.")]
ToOption = Annotated[
    str,
    typer.Option(help="Directory for the file, or an address such as s3://bucket/reports (extra scale)."),
]
_SHOWN = 10


@reports_app.command("ask")
@command
def reports_ask(
    query: Annotated[str, typer.Argument(help="What people are asked, such as 'age >= 65' or 'region'.")],
    out: Annotated[Path, typer.Option(help="The file to write; parties and the analyst get copies of it.")],
    randomizer: Annotated[
        str, typer.Option(help="What makes reports, such as k-ary or projective-geometry.")
    ] = "one-bit",
    inputs: Annotated[str, typer.Option(help="How many values the query has.")] = "2",
    epsilon: ReportEpsilonOption = "1",
    json: JsonOption = False,
) -> None:
    """Write a round into a file.  Everybody is charged once for it (permanent answers: once an epoch), however often it is
    handed round."""
    from localdp.accounting.epsilon import Epsilon
    from localdp.randomizers.registry import entry_of
    from localdp.randomness.keystream import KeystreamSource
    from parties.at_rest.round_file import RoundFile

    if out.exists():
        raise InvalidParameter(
            f"{out} is there already: a round is written once, or people might pay twice"
        )
    made = entry_of(randomizer).made(Epsilon.requested(epsilon), whole_number(inputs))
    asked = RoundFile.fresh(query, made, KeystreamSource.from_system())
    asked.write(out)
    if json:
        told = {"out": str(out), "randomizer": made.canonical, "epsilon_charged": float(asked.charged)}
        print_ok(told)
    else:
        line = f"{plain_path(out)}: {made.canonical} of {query}; everybody pays {float(asked.charged):.10g}"
        print_whole(stdout_console(), printable(line))


@reports_app.command("write")
@command
def reports_write(
    round_file: RoundArgument,
    config: ConfigArgument,
    to: ToOption = "reports",
    caller: Annotated[
        str, typer.Option("--for", help="Who asks, where policy, quotas or approval go by names.")
    ] = "",
    json: JsonOption = False,
) -> None:
    """Answer a round with a file: charge everybody, and write their reports.  The agent may be running."""
    from contextlib import closing

    from parties.agent.config import load_config
    from parties.agent.report_files import write_answer
    from parties.agent.state import AgentState
    from parties.at_rest.round_file import RoundFile
    from parties.view.waiting import waiting

    asked = RoundFile.read(round_file)
    with waiting(stderr_console(), "writing reports"), closing(AgentState(load_config(config))) as state:
        place, reports = write_answer(state, asked, to, caller)
    _tell_written(place, reports, json)


@reports_app.command("mix")
@command
def reports_mix(
    round_file: RoundArgument,
    shuffler: Annotated[str, typer.Option(help="NAME=HOST:PORT of a shuffler that runs.")],
    to: ToOption = "reports",
    identity: IdentityOption = None,
    json: JsonOption = False,
) -> None:
    """Have a shuffler answer a round, and write the mixed reports: no order and no party is in the file."""
    from contextlib import closing

    from parties.at_rest.mixed import write_mixed
    from parties.at_rest.round_file import RoundFile
    from parties.coordinator import Peer
    from parties.identity import load_identity
    from parties.shuffler.client import RemoteShuffler
    from parties.view.waiting import waiting

    asked, peer = RoundFile.read(round_file), Peer(*named_address(shuffler, "a shuffler"))
    shown = None if identity is None else load_identity(identity)
    with (
        waiting(stderr_console(), "waiting for the shuffler"),
        closing(RemoteShuffler(peer, identity=shown)) as mixer,
    ):
        place, reports = write_mixed(mixer, peer.name, asked, to)
    _tell_written(place, reports, json)


def _tell_written(place: str, reports: int, json: bool) -> None:
    if json:
        print_ok({"out": place, "reports": reports})
    else:
        print_whole(stdout_console(), f"{reports:,} reports in {place}")


@command
def aggregate(
    files: Annotated[
        list[str], typer.Argument(help="Files of reports: 'reports/*.parquet', or addresses.")
    ],
    round_file: Annotated[
        Path | None,
        typer.Option(
            "--round", readable=False, help="The round that they must answer; the first file's otherwise."
        ),
    ] = None,
    disjoint: Annotated[
        bool,
        typer.Option("--disjoint", help="Nobody is in two of the files, also where one is a shuffler's."),
    ] = False,
    executor: ExecutorOption = None,
    workers: WorkersOption = 1,
    scheduler: SchedulerOption = None,
    json: JsonOption = False,
) -> None:
    """Estimate from files of reports.  They must be of one round; a file that is there twice counts once."""
    from localdp.experiments.crowd_answers import CrowdAnswer
    from parties.at_rest.aggregating import aggregate as added_up
    from parties.at_rest.round_file import RoundFile
    from parties.executors.chosen import ChosenExecutor
    from parties.view.waiting import waiting

    with waiting(stderr_console(), "adding up") as tell:
        done = added_up(
            files,
            asked=None if round_file is None else RoundFile.read(round_file),
            disjoint=disjoint,
            chosen=ChosenExecutor.named(executor, workers, scheduler),
            done=lambda tally: tell(f"{tally.reports:,} reports"),
        )
    answer = CrowdAnswer.of_tally(done.tally)
    if json:
        print_ok(_data(done, answer))
    else:
        _tell(done, answer)


def _data(done: Aggregated, answer: CrowdAnswer) -> dict[str, object]:
    from localdp.experiments.crowd_reports import sums_digest

    return {
        "query": done.query,
        "randomizer": done.tally.randomizer.canonical,
        "epsilon_of_a_report": float(done.tally.randomizer.epsilon),
        "reports": done.tally.reports,
        "parties": list(done.parties),
        "files": done.files,
        "files_repeated": done.repeated,
        "estimates": answer.values.tolist(),
        "standard_errors": answer.standard_errors.tolist(),
        "digest": sums_digest(done.tally),
    }


def _tell(done: Aggregated, answer: CrowdAnswer) -> None:
    from localdp.experiments.crowd_answers import HALF_OF_95
    from parties.report.wording import with_error_bar

    console = stdout_console()
    again = f" ({done.repeated} more were there twice)" if done.repeated else ""
    print_prose(
        console,
        f"{done.tally.reports:,} reports of {len(done.parties)} parties in {done.files} files{again}: "
        f"{printable(done.query)}, {done.tally.randomizer.canonical}",
    )
    for place in (-answer.values).argsort(kind="stable")[:_SHOWN].tolist():
        named = "mean" if len(answer.values) == 1 else f"value {place}"
        half = HALF_OF_95 * float(answer.standard_errors[place])
        print_whole(console, f"{named}: {with_error_bar(float(answer.values[place]), half)}")
