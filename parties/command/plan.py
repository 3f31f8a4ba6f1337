"""`localdp plan`: how good a study's answers will be under every trust model, and what it takes to make them better.

The mathematics is `localdp/oracles/sample_size.py`.  Nobody is asked, nothing is launched, and no data are read.
Checked in tests/unit/parties/command/test_plan.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Annotated

import typer

from localdp.oracles.models import MODELS
from parties.command.arguments import JsonOption, PlanOption, ServersOption
from parties.command.declaring import command

if TYPE_CHECKING:
    from rich.table import Table

    from localdp.oracles.sample_size import Study

_SPARE = ("party charges", "± people", "epsilon needed")


@command
def plan(
    people: Annotated[str, typer.Option(help="How many people are asked; with --compare, in each group.")],
    epsilon: Annotated[
        str, typer.Option("--epsilon", "-e", help="Privacy loss of a person in the whole study, in nats.")
    ] = "1",
    models: Annotated[
        str, typer.Option(help="Trust models, separated by commas; all of them unless told.")
    ] = ",".join(MODELS),
    half_width: Annotated[
        float | None,
        typer.Option(help="The ± that is wanted, as a share of the people: what would it take?"),
    ] = None,
    share: Annotated[
        float | None,
        typer.Option(
            help="The share to expect, such as 0.2: intervals are then about the population that the people are "
            "drawn from, and not about these people alone."
        ),
    ] = None,
    compare: Annotated[
        str | None, typer.Option(help="The shares of two groups, such as 0.20,0.25: how often is it seen?")
    ] = None,
    power: Annotated[float, typer.Option(help="How often it should be, with --compare.")] = 0.8,
    questions: Annotated[int, typer.Option(min=1, help="How many questions are asked at once.")] = 1,
    level: Annotated[float, typer.Option(help="How sure the intervals are.")] = 0.95,
    servers: ServersOption = 2,
    noise_plan: PlanOption = "each-server",
    delta: Annotated[
        str, typer.Option(help="Of the shuffled model: the chance that epsilon does not bound.")
    ] = "1e-6",
    json: JsonOption = False,
) -> None:
    """Plan a study: half-widths, people or epsilon needed, and power, under every trust model. Nobody is asked."""
    from parties.command.output import print_ok, stdout_console
    from parties.report.fitting import print_fitting

    goals = _Goals(half_width, share, _two(compare), power, level)
    options = {"noise_plan": noise_plan, "delta": delta}
    studies = _studies(people, epsilon, models, questions, servers, options)
    rows = [_row(study, goals) for study in studies]
    if json:
        print_ok({"people": rows[0].people, "level": level, "models": [asdict(row) for row in rows]})
        return
    console = stdout_console()
    print_fitting(console, _table(rows, epsilon, goals, unicode=not console.options.ascii_only), _SPARE)


@dataclass(frozen=True, slots=True)
class _Goals:
    """What the study is to reach."""

    half_width: float | None
    share: float | None
    shares: tuple[float, float] | None
    power: float
    level: float


def _two(text: str | None) -> tuple[float, float] | None:
    """The shares of two groups."""
    if text is None:
        return None
    try:
        first, second = (float(part) for part in text.split(","))
    except ValueError as error:
        raise typer.BadParameter("two shares with a comma between them, such as 0.20,0.25") from error
    return first, second


def _studies(
    people: str, epsilon: str, models: str, questions: int, servers: int, options: dict[str, str]
) -> Iterator[Study]:
    """One for each trust model, with those of the options that it has."""
    from localdp.accounting.epsilon import Epsilon
    from localdp.oracles.models import model_named
    from localdp.oracles.sample_size import Study
    from parties.command.options import names, whole_number

    for name in names(models):
        row = model_named(name)
        own = {option: value for option, value in options.items() if option in row.options}
        yield Study(name, whole_number(people), Epsilon.requested(epsilon), questions, servers, own)


@dataclass(frozen=True, slots=True)
class _Row:
    """What the study yields under one model; None: it does not apply, or no number is enough."""

    model: str
    people: int
    epsilon: float | None
    charge: float | None  # what a party charges each person
    half_width: float  # of a share
    half_width_people: float
    people_needed: int | None = None
    epsilon_needed: float | None = None
    power: float | None = None
    people_per_group: int | None = None


def _row(study: Study, goals: _Goals) -> _Row:
    from localdp.oracles.models import model_named
    from localdp.oracles.sample_size import told_apart, within

    spends, half_width = model_named(study.model).spends, study.half_width(goals.share, goals.level)
    row = _Row(
        study.model,
        study.people,
        float(study.epsilon) if spends else None,
        float(study.charge) if spends else None,
        half_width,
        half_width * study.people,
    )
    if goals.half_width is not None:
        goal = within(goals.half_width, goals.share, goals.level)
        epsilon = study.epsilon_for(goal) if spends else None
        least = None if epsilon is None else float(epsilon)
        row = replace(row, people_needed=study.people_for(goal), epsilon_needed=least)
    if goals.shares is not None:
        groups = study.people_for(told_apart(*goals.shares, goals.power, goals.level))
        row = replace(row, power=study.power(*goals.shares, goals.level), people_per_group=groups)
    return row


def _table(rows: list[_Row], epsilon: str, goals: _Goals, *, unicode: bool) -> Table:
    """The rows for a person."""
    from rich import box
    from rich.table import Table

    about = "these people" if goals.share is None else "the population that they are drawn from"
    table = Table(
        title=f"{rows[0].people:,} people, epsilon {epsilon}; ± at {100 * goals.level:g} %, about {about}",
        caption=_caption(goals),
        box=box.SIMPLE_HEAD if unicode else box.ASCII2,
        padding=(0, 1),
        pad_edge=False,
        title_justify="left",
        caption_justify="left",
    )
    table.add_column("model", no_wrap=True)
    columns = _columns(goals)
    for heading in columns:
        table.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(row.model, *(_cell(getattr(row, key), form) for key, form in columns.values()))
    return table


def _columns(goals: _Goals) -> dict[str, tuple[str, str]]:
    """Headings, with the key of the number and how it is written."""
    columns = {"± share": ("half_width", "share"), "± people": ("half_width_people", "people")}
    if goals.half_width is not None:
        columns |= {
            "people needed": ("people_needed", "whole"),
            "epsilon needed": ("epsilon_needed", "plain"),
        }
    if goals.shares is not None:
        columns |= {"power": ("power", "power"), "people a group": ("people_per_group", "whole")}
    return columns | {"party charges": ("charge", "plain")}


def _cell(value: float | None, form: str) -> str:
    """A number as its column writes it."""
    if value is None:
        return "-"
    match form:
        case "share":
            return f"{100 * value:.3g} %"
        case "people":
            return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"
        case "power":
            return f"{100 * value:.0f} %"
        case "whole":
            return f"{value:,}"
    return f"{value:.3g}"


def _caption(goals: _Goals) -> str:
    """What the columns are about, in words."""
    said = []
    if goals.half_width is not None:
        said.append(f"needed: for ± {100 * goals.half_width:g} %")
    if goals.shares is not None:
        first, second = (f"{100 * one:g} %" for one in goals.shares)
        said.append(
            f"power: to tell {first} from {second}; a group: for a power of {100 * goals.power:g} %"
        )
    return "; ".join(said)
