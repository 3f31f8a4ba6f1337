"""`localdp round`: one question to everybody who is enrolled, with a deadline, a quorum and a journal.

A question whose round was cut off, or missed its quorum, is gone on with: whoever answered is not asked again, and whoever
was charged replays the same report at no charge.
"""

from __future__ import annotations

import re
from collections import Counter
from contextlib import closing, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from localdp.errors import InvalidParameter
from parties.command.arguments import EpsilonOption, JsonOption, QueryArgument
from parties.command.declaring import command
from parties.command.output import message_of, print_ok, print_prose, stderr_console, stdout_console
from parties.durable import Data

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from localdp.accounting.epsilon import Epsilon
    from localdp.domains import Schema
    from localdp.errors import LocalDpError
    from parties.addresses import State
    from parties.federated.quorum import WatchedQuorum
    from parties.rounds.partial import RoundResult
    from parties.rounds.plan import Quorum
    from parties.rounds.round import Rounds

_MOST_TOLD = 5  # parties, one line each
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_DURATION = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)(ms|s|m|h)")


@command
def round_command(
    query: QueryArgument,
    # Files are opened by the command itself, which says in one line what is wrong with them: not checked by the parser.
    connect: Annotated[
        Path, typer.Option(readable=False, help="The parties to enrol: the file of `localdp parties up`.")
    ],
    journal: Annotated[
        str,
        typer.Option(
            help="Where roster and rounds are kept, made if missing: a file, or the address of a PostgreSQL database."
        ),
    ],
    epsilon: EpsilonOption = "1",
    deadline: Annotated[str, typer.Option(help="For the whole round: 10s, 500ms, 2m.")] = "10s",
    quorum: Annotated[str, typer.Option(help="The least fraction that must have answered.")] = "0.7",
    quorum_of: Annotated[str, typer.Option(help="A fraction of the people or of the parties.")] = "people",
    identity: Annotated[
        Path | None,
        typer.Option(readable=False, help="This analyst's certificate, off loopback: see `localdp keys`."),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Ask whoever is there, with a deadline, a quorum and a journal.

    All enrolled parties are asked at once; the answer is from those who answered, and says how many are missing.
    """
    from localdp.accounting.epsilon import Epsilon
    from parties.addresses import read_state
    from parties.identity import load_identity
    from parties.rounds.plan import Quorum
    from parties.rounds.round import Rounds
    from parties.view.waiting import waiting

    wanted, spent, seconds = (
        Quorum.of_text(quorum, quorum_of),
        Epsilon.requested(epsilon),
        seconds_of(deadline),
    )
    state = read_state(connect)
    with closing(Rounds(journal, load_identity(identity) if identity else None)) as rounds:
        refused, schema = _enrolled(rounds, state), rounds.roster.schema
        oracle = _oracle(rounds, state, spent, wanted, seconds)
        with _missing_told(rounds), waiting(stderr_console(), "waiting for the parties to answer"):
            oracle.answer([query])
        result = oracle.results[-1]
    if json:
        print_ok({**result_data(result), **_by_party(refused, rounds.refusals)})
    else:
        _print(result, schema)


def seconds_of(text: str) -> float:
    """10s, 500ms, 2m or 1h, in seconds."""
    matched = _DURATION.fullmatch(text.strip())
    if matched is None:
        raise InvalidParameter(f"{text!s:.40} is not a duration; write 10s, 500ms or 2m")
    return float(matched[1]) * _UNITS[matched[2]]


def _enrolled(rounds: Rounds, state: State) -> dict[str, LocalDpError]:
    """Enrol whoever is not; says who could not be enrolled, and why."""
    rounds.only(peer.name for peer in state.agents)
    refused = rounds.enrol(state.agents, state.people)
    if refused and not rounds.parties:
        first, error = next(iter(refused.items()))
        others = f" (and {len(refused) - 1} more parties)" if len(refused) > 1 else ""
        raise type(error)(f"nobody can be enrolled: {_sentence(first, error)}{others}")
    _tell("not enrolled", refused)
    return refused


@contextmanager
def _missing_told(rounds: Rounds) -> Iterator[None]:
    """Says who did not answer, and why, whether the others are enough or not."""
    try:
        yield
    finally:
        late = {name: error for name, error in rounds.refusals.items() if name not in rounds.away}
        _tell("no answer", late)


def _tell(what: str, errors: Mapping[str, LocalDpError]) -> None:
    for name, error in list(errors.items())[:_MOST_TOLD]:
        print_prose(stderr_console(), f"{what}: {_sentence(name, error)}")
    if len(errors) > _MOST_TOLD:
        print_prose(stderr_console(), f"{what}: {len(errors) - _MOST_TOLD} more")


def _sentence(name: str, error: LocalDpError) -> str:
    """What is wrong with a party, with its name once."""
    message = message_of(error)
    return message if message.startswith(f"party {name}") else f"party {name}: {message}"


def _by_party(refused: Mapping[str, LocalDpError], missing: Mapping[str, LocalDpError]) -> Data:
    """Who was not enrolled and who did not answer, for a machine."""
    from parties.rounds.asking import reason_of

    reasons = Counter(reason_of(error) for error in refused.values())
    return {
        "not_enrolled": dict(reasons),
        "parties_not_enrolled": {name: _sentence(name, error) for name, error in refused.items()},
        "parties_missing": {name: _sentence(name, error) for name, error in missing.items()},
    }


def _oracle(
    rounds: Rounds, state: State, epsilon: Epsilon, quorum: Quorum, seconds: float
) -> WatchedQuorum:
    """The parties of the journal as one oracle, whose rounds are told to whoever watches the parties."""
    from localdp.randomness.keystream import KeystreamSource
    from parties.federated.events import Events
    from parties.federated.quorum import WatchedQuorum
    from parties.rounds.oracle import QuorumReports
    from parties.view.journal import journal_rounds

    def resuming(round_id: str) -> None:
        stderr_console().print(f"going on with round {round_id}, which was not finished")

    events = Events()
    journal_rounds(events, state.events, len(rounds.roster.enrolled()))
    reports = QuorumReports(rounds, quorum, seconds, resuming=resuming)
    return WatchedQuorum(reports, epsilon, KeystreamSource.from_system(), events)


def result_data(result: RoundResult) -> Data:
    """A round's result for a machine."""
    from parties.command.answers import epsilon_data
    from parties.rounds.partial import ASSUMPTION

    spent = result.tally.randomizer.epsilon  # nobody mixes: what is promised is what is charged
    return {
        "round": result.round_id,
        **result.answer.to_data(),
        "of_answered": result.answer_of_answered.to_data(),
        "asked": asdict(result.asked),
        "answered": asdict(result.answered),
        "missing": {why: asdict(count) for why, count in result.missing.items()},
        **epsilon_data(spent, spent),
        "assumption": None if result.complete else ASSUMPTION,
    }


def _print(result: RoundResult, schema: Schema) -> None:
    from rich.table import Table

    from parties.command.answers import answer_rows, epsilon_rows, surely
    from parties.rounds.partial import ASSUMPTION
    from parties.rounds.plan import in_words

    answer, some = result.answer, result.answer_of_answered
    table = Table(title=answer.query, show_header=False, title_justify="left")
    for row in answer_rows(answer, schema, "all people"):
        table.add_row(*row)
    told = surely(some.value, some.half_width())
    table.add_row("of those who answered", f"{told} of {some.people:,}")
    table.add_row("parties", f"{result.answered.parties:,} of {result.asked.parties:,} answered")
    table.add_row("missing", in_words(result.missing) or "nobody")
    for row in epsilon_rows(result.tally.randomizer.epsilon, result.tally.randomizer.epsilon):
        table.add_row(*row)
    console = stdout_console()
    console.print(table)
    if not result.complete:
        console.print(f"The answer about all people assumes that {ASSUMPTION}.")
    if result.asked.unknown:
        console.print(
            f"It is about {result.people:,} people: of {result.asked.unknown} parties nobody knows how many."
        )
