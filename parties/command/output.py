"""What every command prints, and the code it exits with.

The result goes to stdout, progress and errors to stderr.  With --json stdout holds one envelope alone:

    {"schema_version": 1, "status": "ok", "exit_code": 0, "data": ...}
    {"schema_version": 1, "status": "error", "exit_code": 5, "error_code": ..., "message": ..., "hint": ...}

What came from elsewhere, a register, a label or a column's name, is text and nothing else: no markup of rich, and no
control character, in whatever it is shown.

Words for people are broken between words on a terminal, and are one line elsewhere; what is to be copied is whole.
The hint of some errors is generic, and their message says more: it is in the envelope, and not in the line for people.

The messages of the library's own errors hold no private value (localdp/errors.py) and are shown.  Those of
any other exception might, so only its type is; LOCALDP_DEBUG=1 shows the traceback, on stderr.  Of an
OSError about a file the path is shown.
Checked in tests/unit/parties/command/test_output.py and test_narrow_terminals.py.
"""

from __future__ import annotations

import json as json_text
import os
import sys
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from enum import IntEnum
from pathlib import Path
from typing import Any, NamedTuple

import typer
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from localdp import errors
from parties.command.misread import misread, printable
from parties.command.signals import insistent_interruptions
from parties.durable import Data

SCHEMA_VERSION = 1
DEBUG_VARIABLE = "LOCALDP_DEBUG"

# typer exports the children of its usage error, not the error itself.
_UsageError: Any = typer.BadParameter.__base__


class ExitCode(IntEnum):
    """Below 126, where shells keep their own; an interruption has the one that shells have for it."""

    OK = 0
    FAILED = 1
    USAGE = 2
    UNREACHABLE = 3
    NOT_IN_TIME = 4  # a timeout, or a quorum that was not met
    BUDGET = 5
    BUG = 70
    INTERRUPTED = 130


class Outcome(NamedTuple):
    """How one class of errors is told to a script and to a person."""

    error_code: str
    exit_code: ExitCode
    hint: str
    shown: bool = True  # to a person; not where the message itself says what to do


OUTCOMES: dict[type[errors.LocalDpError], Outcome] = {
    errors.LocalDpError: Outcome("failed", ExitCode.FAILED, "the message says what was refused", False),
    errors.InvalidParameter: Outcome(
        "invalid_parameter", ExitCode.USAGE, "correct the parameter; --help lists what is accepted", False
    ),
    errors.QueryRefused: Outcome(
        "query_refused", ExitCode.USAGE, "correct the query; check the names and types of its columns"
    ),
    errors.InvalidRecord: Outcome(
        "invalid_record",
        ExitCode.FAILED,
        "docs/howto-own-data.md has the keys that say how a table is read",
    ),
    errors.UnknownIndex: Outcome(
        "unknown_index", ExitCode.FAILED, "ask the party which people it holds, and ask for those"
    ),
    errors.BudgetExhausted: Outcome(
        "budget_exhausted", ExitCode.BUDGET, "ask with a smaller epsilon, or ask people with budget left"
    ),
    errors.RequestExpired: Outcome(
        "request_expired",
        ExitCode.FAILED,
        "send a new request: it is charged again, on the records of the epoch that is open now",
    ),
    errors.KeyRetired: Outcome(
        "key_retired",
        ExitCode.FAILED,
        "send a new request: it is charged again, and drawn with the new key",
    ),
    errors.PolicyRefused: Outcome(
        "policy_refused", ExitCode.FAILED, "stay within the party's policy, or ask its operator"
    ),
    errors.ApprovalNeeded: Outcome(
        "approval_needed", ExitCode.FAILED, "ask again when the party's owner has approved it"
    ),
    errors.WorkRefused: Outcome(
        "work_refused", ExitCode.FAILED, "ask about fewer people at once, ask less of each, or wait an hour"
    ),
    errors.Busy: Outcome("busy", ExitCode.UNREACHABLE, "ask again in a moment; nothing was charged"),
    errors.CertificateRevoked: Outcome(
        "certificate_revoked",
        ExitCode.FAILED,
        "ask the authority for another certificate, in a new directory",
    ),
    errors.TooFewReports: Outcome(
        "too_few_reports",
        ExitCode.FAILED,
        "nothing was released; ask more people, or for a smaller minimum batch",
        False,
    ),
    errors.CollectionClosed: Outcome(
        "collection_closed", ExitCode.FAILED, "open a new collection; each one is released once"
    ),
    errors.UnknownCollection: Outcome(
        "unknown_collection", ExitCode.FAILED, "check the collection's identifier and the server's address"
    ),
    errors.ShareMismatch: Outcome(
        "share_mismatch", ExitCode.FAILED, "nothing was released; collect the reports again"
    ),
    errors.ComputationAborted: Outcome(
        "computation_aborted",
        ExitCode.FAILED,
        "nothing was released; look at the logs of the servers that it names",
    ),
    errors.MalformedReport: Outcome(
        "malformed_report", ExitCode.FAILED, "check that sender and receiver run the same version"
    ),
    errors.Unreachable: Outcome(
        "unreachable", ExitCode.UNREACHABLE, "check that it runs, its address and its certificates"
    ),
    errors.CannotListen: Outcome(
        "cannot_listen",
        ExitCode.UNREACHABLE,
        "choose another port, or 0 for any that is free; `ss -ltnp` lists who listens where",
    ),
    errors.DeadlineMissed: Outcome(
        "deadline_missed", ExitCode.NOT_IN_TIME, "allow more time, or ask fewer people at once"
    ),
    errors.QuorumMissed: Outcome(
        "quorum_missed",
        ExitCode.NOT_IN_TIME,
        "ask again with the same journal: whoever answered is not asked twice",
    ),
    errors.SignalTooWeak: Outcome(
        "signal_too_weak",
        ExitCode.FAILED,
        "more people, a larger epsilon, fewer rounds, or another trust model",
    ),
    errors.StorageFailed: Outcome(
        "storage_failed",
        ExitCode.FAILED,
        "check the disk and the permissions of the file; nothing was answered",
    ),
    errors.RolledBack: Outcome(
        "rolled_back",
        ExitCode.FAILED,
        "put the newest copy of the agent's state in place; docs/keys.md says what to do if it is lost",
    ),
    errors.CoinsExhausted: Outcome(
        "coins_exhausted", ExitCode.FAILED, "use a source of randomness without a bound"
    ),
}
_INTERRUPTED = Outcome("interrupted", ExitCode.INTERRUPTED, "run the command again")
_FILES = Outcome("file_error", ExitCode.FAILED, "check the path and its permissions")
_BUG = Outcome("bug", ExitCode.BUG, f"a bug in localdp: run again with {DEBUG_VARIABLE}=1 for a traceback")


class Interrupted(KeyboardInterrupt):
    """An interruption of a command that goes on in another way than by running it again: its text is the hint."""


@contextmanager
def going_on() -> Iterator[None]:
    """An interruption in here is told with how to go on: the same command alone would be refused."""
    try:
        yield
    except KeyboardInterrupt as error:
        raise Interrupted("go on with the same command and --resume: what is finished is kept") from error


def outcome_of(error: BaseException) -> Outcome:
    """The outcome of the nearest known class above the error's own; anything unknown is a bug."""
    if isinstance(error, Interrupted):
        return _INTERRUPTED._replace(hint=str(error))
    if isinstance(error, KeyboardInterrupt | typer.Abort):
        return _INTERRUPTED
    for kind in type(error).__mro__:
        if kind in OUTCOMES:
            return OUTCOMES[kind]
    return _FILES if _is_about_a_file(error) else _BUG


def message_of(error: BaseException) -> str:
    """One line that is safe to show: printable, and without the text of an unknown exception."""
    outcome = outcome_of(error)
    if outcome.error_code == _INTERRUPTED.error_code:
        return "interrupted"
    if outcome is _BUG:
        return f"unexpected {type(error).__name__}"
    if outcome is _FILES and isinstance(error, OSError):
        return _one_line(f"{os.strerror(error.errno or 0)}: {error.filename}")
    place = misread(error)
    return _one_line(str(error) if place is None else place.said) or type(error).__name__


def envelope_ok(data: object) -> Data:
    """The envelope of a result."""
    return {"schema_version": SCHEMA_VERSION, "status": "ok", "exit_code": int(ExitCode.OK), "data": data}


def envelope_error(error: BaseException) -> Data:
    """The envelope of a failure."""
    outcome = outcome_of(error)
    return {
        "schema_version": SCHEMA_VERSION,
        "status": "error",
        "exit_code": int(outcome.exit_code),
        "error_code": outcome.error_code,
        "message": message_of(error),
        "hint": outcome.hint,
        **({} if (place := misread(error)) is None else {"character": place.character}),
    }


def print_envelope(envelope: Data) -> None:
    """One JSON document on stdout, in ASCII so that no terminal's encoding can break it."""
    sys.stdout.write(json_text.dumps(envelope, allow_nan=False) + "\n")
    sys.stdout.flush()


def print_ok(data: object) -> None:
    """The result of a command that was asked for --json."""
    print_envelope(envelope_ok(data))


class PlainConsole(Console):
    """A console to which every text is what it says: `[red]` is five characters, and no escape gets through."""

    def __init__(self, *, stderr: bool = False) -> None:
        super().__init__(stderr=stderr, markup=False, emoji=False)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """The pieces of lines, without control characters but those of rich itself."""
        for piece in super().render(renderable, options):
            yield piece if piece.control else Segment(_without_controls(piece.text), piece.style)


def _without_controls(text: str) -> str:
    """As wide as rich thinks that it is, so that nothing is cut: control characters have no width to it."""
    if text.isprintable():
        return text
    kept = (one if one.isprintable() or one == "\n" else " " * cell_len(one) for one in text)
    return "".join(kept)


def stdout_console() -> Console:
    """For results.  rich leaves out colour where stdout is no terminal, and heeds NO_COLOR."""
    return PlainConsole()


def stderr_console() -> Console:
    """For progress and errors."""
    return PlainConsole(stderr=True)


def print_whole(console: Console, text: str) -> None:
    """A line with something to copy, an address, a key, a path or a command: never wrapped, and as it stands."""
    console.print(Text(text), soft_wrap=True)


def print_prose(console: Console, text: str | Text, indent: int = 0) -> None:
    """Words: broken between words on a terminal, where a longer word such as a path stays whole; one line elsewhere.

    All lines but the first are indented, by less where the terminal is too narrow for it.
    """
    told = Text(text) if isinstance(text, str) else text
    if console.file.isatty():
        told = _broken(told, console.width, min(indent, console.width // 2))
    console.print(told, soft_wrap=True)


def _broken(text: Text, width: int, indent: int) -> Text:
    """In lines of at most so many cells, if no word is longer; rich by itself would break such words or cut them."""
    broken, used = text.plain.split(" ")[:1], cell_len(text.plain.split(" ")[0])
    for word in text.plain.split(" ")[1:]:
        fits = used <= indent or used + 1 + cell_len(word) <= width
        broken += [" " if fits else "\n", word]
        used = (used + 1 if fits else indent) + cell_len(word)
    lines = text.copy()
    lines.plain = "".join(broken)  # as long as before, so that styles stay where they are
    return Text("\n" + " " * indent).join(lines.split("\n"))


def plain_path(path: Path) -> str:
    """A path to show: without detours by "..", from the working directory where it lies below it."""
    if ".." not in path.parts:
        return str(path)
    whole, here = path.resolve(), Path.cwd()
    return str(whole.relative_to(here) if whole.is_relative_to(here) else whole)


@contextmanager
def reporting(json: bool) -> Iterator[None]:
    """Wraps a command's body (`with reporting(json): ...`): tells a failure, and exits with its code."""
    try:
        with insistent_interruptions():
            yield
    except (typer.Exit, BrokenPipeError):
        raise  # already told; and a closed pipe has nobody left to tell
    except typer.BadParameter as error:
        if not json:
            raise  # typer shows its own usage line, and exits with 2
        _tell(errors.InvalidParameter(error.format_message()), json)
        raise typer.Exit(ExitCode.USAGE) from None
    except (Exception, KeyboardInterrupt) as error:
        _tell(error, json)
        raise typer.Exit(int(outcome_of(error).exit_code)) from error


@contextmanager
def usage_error(json: bool) -> Iterator[None]:
    """Wraps the whole program: what the parser of the command line finds wrong is told like every other error."""
    try:
        yield
    except _UsageError as error:
        if json:
            _tell(errors.InvalidParameter(error.format_message()), json)
        else:
            error.show()
        sys.exit(int(ExitCode.USAGE))
    except (typer.Abort, KeyboardInterrupt):
        sys.exit(int(ExitCode.INTERRUPTED))


def _tell(error: BaseException, json: bool) -> None:
    if os.environ.get(DEBUG_VARIABLE, "0") not in ("", "0"):
        traceback.print_exception(error, file=sys.stderr)
    if json:
        print_envelope(envelope_error(error))
        return
    outcome, console, place = outcome_of(error), stderr_console(), misread(error)
    line = Text.assemble(("error", "bold red"), f" {outcome.error_code}: {message_of(error)}")
    if outcome.exit_code is ExitCode.INTERRUPTED:
        line = Text("interrupted")
    if place is not None:
        print_prose(console, line)
        for below in place.lines(console.width if console.file.isatty() else None):
            print_whole(console, below)
        line = Text()
    if outcome.shown:
        line.append(f"{' ' if line else ''}(hint: {outcome.hint})", style="dim")
    print_prose(console, line)


def _is_about_a_file(error: BaseException) -> bool:
    return isinstance(error, OSError) and error.errno is not None and isinstance(error.filename, str)


def _one_line(text: str) -> str:
    return " ".join(printable(text).split())
