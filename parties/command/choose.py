"""`localdp choose`: which frequency oracle has the least error for a domain, an epsilon and so many people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from parties.command.arguments import JsonOption, ReportEpsilonOption
from parties.command.declaring import command

if TYPE_CHECKING:
    from localdp.selection import Candidate, Choice

_SPARE = ("decode", "/ best", "with", "bits", "n var")
_UNITS = ((86400.0, "d"), (3600.0, "h"), (60.0, "min"), (1.0, "s"), (1e-3, "ms"), (1e-6, "us"))


@command
def choose(
    domain: Annotated[str, typer.Option(help="Size of the domain, or of the list of candidates.")],
    epsilon: ReportEpsilonOption = "1",
    people: Annotated[str, typer.Option(help="How many people report.")] = "1e6",
    bits: Annotated[
        int | None, typer.Option(min=1, help="At most so many private bits a report; public ones are free.")
    ] = None,
    additive: Annotated[
        bool, typer.Option("--additive", help="Reports must add up before they are decoded.")
    ] = False,
    open_domain: Annotated[
        bool, typer.Option("--open-domain", help="The items are not known beforehand.")
    ] = False,
    linear: Annotated[
        bool, typer.Option("--linear", help="Sums are read off a Walsh spectrum, without decoding items.")
    ] = False,
    decode_seconds: Annotated[
        float | None, typer.Option(help="The most that decoding may take, by estimate.")
    ] = None,
    target: Annotated[
        Literal["distribution", "heavy"],
        typer.Option(help="The error on uniform data, or of an item that nobody has."),
    ] = "distribution",
    json: JsonOption = False,
) -> None:
    """Choose the frequency oracle of least error, and say why."""
    from localdp import selection
    from localdp.accounting.epsilon import Epsilon
    from parties.command.options import whole_number
    from parties.command.output import print_ok, stdout_console

    choice = selection.choose(
        whole_number(domain),
        Epsilon.requested(epsilon),
        whole_number(people),
        bits=bits,
        additive=additive,
        open_domain=open_domain,
        linear_post=linear,
        decode_seconds=decode_seconds,
        target=target,
    )
    if json:
        print_ok(choice.to_data())
    else:
        print_choice(choice, stdout_console())


def print_choice(choice: Choice, console: Console) -> None:
    """The choice in words, the table, and why the others are not eligible."""
    from parties.report.fitting import print_fitting

    console.print(Text(choice.reason, style="bold"))
    print_fitting(console, choice_table(choice, unicode=not console.options.ascii_only), _SPARE)
    for candidate in choice.candidates:
        if candidate.excluded:
            console.print(Text(f"not {candidate.family}: {candidate.excluded}", style="dim"))
    console.print(Text(f"Use: {choice.randomizer.canonical}"), soft_wrap=True)


def choice_table(choice: Choice, *, unicode: bool = True) -> Table:
    """One line for each family, the eligible ones first, by error."""
    wishes = choice.wishes
    where = "on uniform data" if wishes.target == "distribution" else "of an item that nobody has"
    table = Table(
        title=f"Error of a frequency {where}: {wishes.inputs:,} inputs, epsilon = {wishes.epsilon}",
        caption="bits: private + public; / best: over 4 e / (e - 1)^2, the optimum for large domains",
        box=box.SIMPLE_HEAD if unicode else box.ASCII2,
        padding=0,
        pad_edge=False,
        title_justify="left",
        caption_justify="left",
    )
    for heading in ("oracle", "with"):
        table.add_column(heading, no_wrap=True)
    for heading in ("n var", "std err", "/ best", "bits", "decode"):
        table.add_column(heading, justify="right", no_wrap=True)
    for candidate in sorted(choice.candidates, key=lambda one: (bool(one.excluded), one.variance)):
        table.add_row(*_cells(choice, candidate), style=_style(choice, candidate))
    return table


def _style(choice: Choice, candidate: Candidate) -> str:
    if candidate is choice.chosen:
        return "bold green"
    return "dim" if candidate.excluded else ""


def _cells(choice: Choice, candidate: Candidate) -> list[str]:
    from parties.report.wording import MISSING, number

    mark = "*" if candidate is choice.chosen else " "
    head = [f"{mark}{candidate.family}", candidate.parameters]
    if candidate.randomizer is None:
        return head + [MISSING] * 5
    public = f"+{candidate.public_bits}" if candidate.public_bits else ""
    return [
        *head,
        number(candidate.variance),
        f"{choice.standard_error(candidate):.2g}",
        _ratio(candidate.variance / choice.optimum),
        f"{candidate.private_bits}{public}",
        _duration(candidate.decode_seconds),
    ]


def _duration(seconds: float) -> str:
    """Two digits and a unit."""
    size, unit = next((pair for pair in _UNITS if seconds >= pair[0]), _UNITS[-1])
    scaled = seconds / size
    return f"{scaled:.0f} {unit}" if 100 <= scaled < 1000 else f"{scaled:.2g} {unit}"


def _ratio(value: float) -> str:
    return f"{value:.3f}" if value < 1000 else f"{value:.1e}"
