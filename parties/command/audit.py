"""`localdp audit`: whether randomizers keep the epsilon that they claim, in one report and over two epochs.

Exit code 0 if no claim was refuted, 1 if one was; the envelope of --json then has the error code "claim_violated", and
the findings under "data" all the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from parties.command.arguments import JsonOption, ReportEpsilonOption
from parties.command.declaring import command
from parties.command.output import ExitCode, envelope_ok, print_envelope, stderr_console, stdout_console

if TYPE_CHECKING:
    from localdp.auditing import Audit, HistoryAudit
    from localdp.randomizers.registry import Entry

_STYLES = {"holds": "green", "holds where tried": "green", "not refuted": "yellow", "violated": "bold red"}


@command
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
    """Audit what randomizers claim, coin by coin.

    Where there are too many coins, by a sample.  The exit code is 1 if a claim is violated.
    """
    from localdp.errors import InvalidParameter
    from localdp.randomizers.registry import ENTRIES, entry_of
    from parties.command.options import whole_number
    from parties.view.waiting import waiting

    if every == (name is not None):
        known = ", ".join(entry.name for entry in ENTRIES)
        raise InvalidParameter(f"name one randomizer, or say --all; there are {known}")
    entries = ENTRIES if name is None else [entry_of(name)]
    size = None if inputs is None else whole_number(inputs)
    findings = []
    with waiting(stderr_console()) as tell:
        for entry in entries:
            tell(f"auditing {entry.name}")
            findings.append(audited(entry, size, epsilon, whole_number(trials), confidence))
    if json:
        print_envelope(envelope_of(findings))
    elif every:
        print_table(entries, findings, stdout_console())
    else:
        print_finding(findings[0], stdout_console())
    if any(finding.violated for finding in findings):
        raise typer.Exit(int(ExitCode.FAILED))


def audited(entry: Entry, inputs: int | None, epsilon: str, trials: int, confidence: float) -> Audit:
    """The finding about one randomizer, at the size that was asked for or at its small one."""
    from localdp import auditing
    from localdp.accounting.epsilon import Epsilon
    from localdp.randomness.keystream import KeystreamSource

    size = entry.small if inputs is None else inputs
    randomizer = entry.made(Epsilon.requested(epsilon), size)
    tried, source = entry.tried(randomizer, size), KeystreamSource.from_system()
    finding = auditing.audit(randomizer, source, trials=trials, confidence=confidence, inputs=tried)
    return replace(finding, change=auditing.change_audit(randomizer, tried))


def envelope_of(findings: Sequence[Audit]) -> dict[str, object]:
    """An envelope with the findings, of a failure if a claim is violated."""
    envelope = envelope_ok([finding.to_data() for finding in findings])
    violated = [finding.subject for finding in findings if finding.violated]
    if violated:
        envelope |= {
            "status": "error",
            "exit_code": int(ExitCode.FAILED),
            "error_code": "claim_violated",
            "message": f"the claim of {', '.join(violated)} does not hold",
            "hint": "do not use it; the findings are under data",
        }
    return envelope


def print_table(entries: Sequence[Entry], findings: Sequence[Audit], console: Console) -> None:
    """One line for each randomizer; what is at fault, in words, below."""
    table = Table(
        title=f"Audit of {len(findings)} randomizers: the largest log ratio of any report, in nats",
        box=box.ASCII2 if console.options.ascii_only else box.SIMPLE_HEAD,
        padding=0,
        pad_edge=False,
        title_justify="left",
    )
    for heading in ("randomizer", "verdict"):
        table.add_column(heading, no_wrap=True)
    for heading in ("claimed", "measured", "lost", "booked"):
        table.add_column(heading, justify="right", no_wrap=True)
    for entry, finding in zip(entries, findings, strict=True):
        verdict = Text(finding.verdict, style=_STYLES[finding.verdict])
        one = f"{float(finding.claimed):.4f}", f"{finding.measured:.4f}"
        table.add_row(entry.name, verdict, *one, *_over_two_epochs(finding))
    console.print(table)
    for finding in findings:
        if finding.violated:
            print_finding(finding, console)
    console.print("claimed, measured: of one report", style="dim")
    console.print("lost, booked: over two epochs, whether or not a record changed", style="dim")


def _over_two_epochs(finding: Audit) -> tuple[str, str]:
    """What was lost, and what the ledger booked."""
    if finding.change is None:
        return "-", "-"
    return f"{finding.change.measured:.4f}", f"{float(finding.change.booked):.4f}"


def print_finding(finding: Audit, console: Console) -> None:
    """One audit in words."""
    console.print(Text(finding.subject, style="bold"), soft_wrap=True)
    style = _STYLES[finding.verdict]
    console.print(Text.assemble("  verdict    ", (finding.verdict, style), f" ({_method(finding)})"))
    console.print(f"  claimed    {finding.claimed}", highlight=False)
    least = "at least " if finding.method == "sampled" else ""
    told = f"inputs {finding.pair[0]} against {finding.pair[1]}"
    console.print(f"  measured   {least}{finding.measured:.9f}, {told}", highlight=False)
    console.print(f"  tightness  {finding.tightness:.6f}", highlight=False)
    console.print(f"  two epochs {_change(finding.change)}", highlight=False)
    for fault in finding.faults:
        console.print(Text(f"  fault      {fault}", style="red"))
    for note in finding.notes:
        console.print(Text(f"  note       {note}", style="dim"))


def _method(finding: Audit) -> str:
    if finding.method == "exact":
        return f"exact: {finding.effort:,} paths of coins followed"
    return f"sampled: {finding.effort:,} reports about each input, confidence {finding.confidence:g}"


def _change(found: HistoryAudit | None) -> str:
    """What was lost over two epochs, in words."""
    if found is None:
        return "too many coins to follow"
    often = "any number of requests" if found.any_number else f"{found.requests} requests"
    shared = "; epochs share coins" if found.epochs_share_coins else ""
    return f"{found.measured:.9f} lost over {often}, {found.booked} booked{shared}"
