"""`localdp doctor`: whether this machine is ready, and what to do where it is not, a line for each check.

Exit code 0 if nothing fails, 1 if something does; the envelope of --json then has the error code "not_ready", and the
findings under "data" all the same.  A note is about something that can be had, and is no failure.
Checked in tests/integration/test_doctor.py and tests/unit/parties/command/test_narrow_terminals.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from parties.command.arguments import JsonOption
from parties.command.declaring import command
from parties.command.output import (
    ExitCode,
    envelope_ok,
    print_envelope,
    print_prose,
    stderr_console,
    stdout_console,
)
from parties.durable import Data

if TYPE_CHECKING:
    from rich.console import Console

    from parties.doctor.finding import Finding

_STYLES = {"ok": "green", "note": "yellow", "fails": "bold red"}


@command
def doctor(
    state: Annotated[Path, typer.Option(help="Where an agent would keep its state.")] = Path(),
    json: JsonOption = False,
) -> None:
    """Check this machine, and say what to do.

    Packages, extras, loopback, disk, SQLite, clock, limits and leftovers.
    """
    from parties.doctor import examine
    from parties.view.waiting import waiting

    with waiting(stderr_console(), "examining this machine"):
        findings = list(examine(state.absolute()))
    if json:
        print_envelope(envelope_of(findings))
    else:
        print_findings(findings, stdout_console())
    if failing(findings):
        raise typer.Exit(int(ExitCode.FAILED))


def failing(findings: Sequence[Finding]) -> list[str]:
    """The checks that failed."""
    return [finding.check for finding in findings if finding.verdict == "fails"]


def envelope_of(findings: Sequence[Finding]) -> Data:
    """An envelope with the findings, of a failure if something keeps localdp from working."""
    envelope = envelope_ok({"checks": [finding.to_data() for finding in findings]})
    if failed := failing(findings):
        envelope |= {
            "status": "error",
            "exit_code": int(ExitCode.FAILED),
            "error_code": "not_ready",
            "message": f"this machine is not ready: {', '.join(failed)}",
            "hint": "what to do about each check is under data",
        }
    return envelope


def print_findings(findings: Sequence[Finding], console: Console) -> None:
    """A line for each check; on a terminal what to do is on a line of its own, to be copied from there."""
    from rich.text import Text

    width, terminal = max(len(finding.check) for finding in findings), console.file.isatty()
    for finding in findings:
        head = f" {finding.check:{width}}  "
        line = Text.assemble((f"{finding.verdict:5}", _STYLES[finding.verdict]), head, finding.told)
        if finding.fix and not terminal:
            line.append(f"; to do: {finding.fix}")
        print_prose(console, line, indent=5 + len(head))
        if finding.fix and terminal:
            print_prose(console, Text(f"      to do: {finding.fix}", style="dim"), indent=6)
