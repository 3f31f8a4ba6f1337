"""`localdp contract`: whether a live agent keeps the contract, clause by clause.

Exit code 0 if every clause holds, 1 if one does not or could not be checked; the envelope of --json then has the error code
"contract_broken", and the findings under "data" all the same.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from parties.command.arguments import JsonOption
from parties.command.declaring import command
from parties.command.output import ExitCode, envelope_ok, print_envelope, stderr_console, stdout_console
from parties.durable import Data

if TYPE_CHECKING:
    from parties.contract.run import ContractOutcome

_STYLES = {"holds": "green", "broken": "bold red", "not checked": "yellow"}


@command
def contract(
    target: Annotated[str, typer.Option(help="Where the agent listens: host:port.")],
    identity: Annotated[
        Path | None, typer.Option(help="The directory of the caller's certificate, off loopback.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Check a live agent against the contract.  SPENDS BUDGETS.

    For a fresh agent with made-up people only.
    """
    from parties.contract.run import check_contract
    from parties.identity import load_identity
    from parties.view.waiting import waiting

    console = stderr_console()
    with waiting(console, "checking clause after clause"):
        outcome = check_contract(
            target,
            None if identity is None else load_identity(identity),
            announce=lambda text: console.print(f"This check spends {text}", soft_wrap=True),
        )
    if json:
        print_envelope(envelope_of(outcome))
    else:
        print_table(outcome)
    if not outcome.holds:
        raise typer.Exit(int(ExitCode.FAILED))


def envelope_of(outcome: ContractOutcome) -> Data:
    """An envelope with the findings, of a failure if a clause does not hold."""
    envelope = envelope_ok(outcome.to_data())
    if not outcome.holds:
        names = [finding.clause for finding in outcome.findings if finding.verdict != "holds"]
        envelope |= {
            "status": "error",
            "exit_code": int(ExitCode.FAILED),
            "error_code": "contract_broken",
            "message": f"{', '.join(names)}: the agent does not keep the contract, or it could not be checked",
            "hint": "the reasons are under data; docs/contract.md has the clauses",
        }
    return envelope


def print_table(outcome: ContractOutcome) -> None:
    """One line for each clause; below it, what is wrong."""
    from rich import box
    from rich.table import Column, Table
    from rich.text import Text

    console = stdout_console()
    table = Table(
        Column("clause", no_wrap=True),
        Column("verdict", no_wrap=True),
        Column("what is promised", overflow="fold"),
        Column("what was seen", overflow="fold"),
        title=f"The contract at {outcome.target}",
        title_justify="left",
        box=box.ASCII2 if console.options.ascii_only else box.SIMPLE_HEAD,
    )
    for finding in outcome.findings:
        verdict = Text(finding.verdict, style=_STYLES[finding.verdict])
        table.add_row(finding.clause, verdict, finding.sentence, Text(finding.reason))
    console.print(table)
    kept = sum(finding.verdict == "holds" for finding in outcome.findings)
    console.print(f"{kept} of {len(outcome.findings)} clauses hold", highlight=False)
