"""`localdp round`: one question to everybody who is enrolled, with a deadline, a quorum and a journal.

A question whose round was cut off, or missed its quorum, is gone on with: whoever answered is not asked again, and whoever
was charged replays the same report at no charge.
"""

from __future__ import annotations

import re
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from localdp.errors import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Mapping

    from localdp.oracles.definition import Answer
    from parties.rounds.partial import RoundResult
    from parties.rounds.plan import Headcount
    from parties.rounds.round import Rounds

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_DURATION = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)(ms|s|m|h)")


@dataclass(frozen=True, slots=True)
class RoundOptions:
    """The command's options, as typed."""

    query: str
    connect: Path
    epsilon: str
    deadline: str
    quorum: str
    quorum_of: str
    journal: Path
    identity: Path | None
    json: bool


def round_command(
    query: Annotated[str, typer.Argument(help="A statistical query, such as 'smoker and age >= 65'.")],
    connect: Annotated[Path, typer.Option(help="The parties to enrol: the file of `localdp parties up`.")],
    journal: Annotated[Path, typer.Option(help="Where roster and rounds are kept; made if it is missing.")],
    epsilon: Annotated[
        str, typer.Option("--epsilon", "-e", help="Privacy loss per person, in nats.")
    ] = "1",
    deadline: Annotated[str, typer.Option(help="For the whole round: 10s, 500ms, 2m.")] = "10s",
    quorum: Annotated[str, typer.Option(help="The least fraction that must have answered.")] = "0.7",
    quorum_of: Annotated[str, typer.Option(help="A fraction of the people or of the parties.")] = "people",
    identity: Annotated[
        Path | None, typer.Option(help="This analyst's certificate, off loopback: see `localdp keys`.")
    ] = None,
    json: Annotated[
        bool, typer.Option("--json", help="Print one JSON envelope on standard output.")
    ] = False,
) -> None:
    """Ask all enrolled parties at once; at the deadline, answer from those who answered, and say how many are missing."""
    from parties.command.output import reporting

    with reporting(json):
        run_round(
            RoundOptions(query, connect, epsilon, deadline, quorum, quorum_of, journal, identity, json)
        )


def seconds_of(text: str) -> float:
    """10s, 500ms, 2m or 1h, in seconds."""
    matched = _DURATION.fullmatch(text.strip())
    if matched is None:
        raise InvalidParameter(f"{text!s:.40} is not a duration; write 10s, 500ms or 2m")
    return float(matched[1]) * _UNITS[matched[2]]


def run_round(options: RoundOptions) -> None:
    """Enrol, ask or go on asking, and print the answer."""
    from parties.command.output import print_ok, stderr_console
    from parties.command.state import read_state
    from parties.identity import load_identity
    from parties.rounds.liveness import enrol_peers
    from parties.rounds.round import Rounds

    identity = load_identity(options.identity) if options.identity else None
    state = read_state(options.connect)
    with closing(Rounds(options.journal, identity)) as rounds:
        enrolled = {(party.name, party.address) for party in rounds.roster.enrolled()}
        new = [peer for peer in state.agents if (peer.name, peer.address) not in enrolled]
        refused = enrol_peers(rounds.roster, new, identity)
        if refused:
            stderr_console().print(f"not enrolled: {_listed(refused)}")
        result = _asked(rounds, options)
    if options.json:
        print_ok({**result_data(result), "not_enrolled": {why: n.parties for why, n in refused.items()}})
    else:
        _print(result)


def _asked(rounds: Rounds, options: RoundOptions) -> RoundResult:
    from localdp.accounting.epsilon import Epsilon
    from parties.command.output import stderr_console
    from parties.rounds.plan import Quorum
    from parties.rounds.round import one_bit_for

    seconds, quorum = seconds_of(options.deadline), Quorum.of_text(options.quorum, options.quorum_of)
    randomizer = one_bit_for(options.query, Epsilon.requested(options.epsilon), rounds.roster.schema)
    begun = rounds.unfinished(options.query, randomizer)
    if begun is None:
        return rounds.ask(options.query, randomizer, deadline_seconds=seconds, quorum=quorum)
    stderr_console().print(f"going on with round {begun.round_id}, which was not finished")
    return rounds.resume(begun.round_id, deadline_seconds=seconds, quorum=quorum)


def result_data(result: RoundResult) -> dict[str, Any]:
    """A round's result for a machine."""
    from parties.rounds.partial import ASSUMPTION

    return {
        "round": result.round_id,
        **_with_error(result.answer),
        "of_answered": _with_error(result.answer_of_answered),
        "asked": asdict(result.asked),
        "answered": asdict(result.answered),
        "missing": {why: asdict(count) for why, count in result.missing.items()},
        "epsilon_per_person": float(result.tally.randomizer.epsilon),
        "assumption": None if result.complete else ASSUMPTION,
    }


def _with_error(answer: Answer) -> dict[str, Any]:
    return {
        **asdict(answer),
        "standard_error": answer.standard_error,
        "count": answer.count,
        "count_error": answer.count_error,
    }


def _listed(missing: Mapping[str, Headcount]) -> str:
    return ", ".join(f"{count.parties} {reason}" for reason, count in missing.items())


def _print(result: RoundResult) -> None:
    from rich.table import Table

    from parties.command.output import stdout_console
    from parties.rounds.partial import ASSUMPTION

    answer, some = result.answer, result.answer_of_answered
    table = Table(title=answer.query, show_header=False, title_justify="left")
    table.add_row("share of all people", f"{answer.value:.6g} ± {answer.standard_error:.2g}")
    table.add_row(
        "number of people", f"{answer.count:,.1f} ± {answer.count_error:,.1f} of {answer.people:,}"
    )
    table.add_row(
        "of those who answered", f"{some.value:.6g} ± {some.standard_error:.2g} of {some.people:,}"
    )
    table.add_row("parties", f"{result.answered.parties:,} of {result.asked.parties:,} answered")
    table.add_row("missing", _listed(result.missing) or "nobody")
    table.add_row("epsilon per person", str(result.tally.randomizer.epsilon))
    console = stdout_console()
    console.print(table)
    if not result.complete:
        console.print(f"The answer about all people assumes that {ASSUMPTION}.")
