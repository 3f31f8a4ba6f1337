"""`localdp shared explain`: what each noise plan costs, and what it promises against every coalition of share servers.

Nothing is asked of anybody: the table is computed from the plans alone (`localdp/sharing/coalitions.py`).
Checked in tests/unit/parties/command/test_shared.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from parties.command.arguments import JsonOption, ServersOption
from parties.command.declaring import command
from parties.command.options import whole_number
from parties.command.output import print_ok, stdout_console
from parties.durable import Data

if TYPE_CHECKING:
    from rich.table import Table

    from localdp.accounting.epsilon import Epsilon
    from localdp.sharing.coalitions import Coalition
    from localdp.sharing.noise_plans import NoisePlan, ServerNoise

shared_app = typer.Typer(help="The shared curator: what its noise promises.", no_args_is_help=True)


@shared_app.command("explain")
@command
def shared_explain(
    epsilon: Annotated[
        str, typer.Option("--epsilon", "-e", help="Privacy loss of one release, per person, in nats.")
    ] = "1",
    servers: ServersOption = 3,
    plan: Annotated[
        str | None,
        typer.Option(help="each-server, divided, divided(t), joint or proved; all of them if not given."),
    ] = None,
    sensitivity: Annotated[
        str, typer.Option(help="How far one person moves the sums: 1 for a count, 2 for a histogram.")
    ] = "1",
    length: Annotated[str, typer.Option(help="How many sums are released together.")] = "1",
    json: JsonOption = False,
) -> None:
    """Show the error of each noise plan, and its exact epsilon against every coalition of share servers."""
    question = _Question(epsilon, servers, plan, whole_number(sensitivity), whole_number(length))
    rows = question.explained()
    if json:
        print_ok({**question.data(), "plans": [row.data() for row in rows]})
    else:
        console = stdout_console()
        console.print(question.table(rows, unicode=not console.options.ascii_only))


@dataclass(frozen=True, slots=True)
class _Explained:
    """One plan: its noise, and what every coalition can learn."""

    noise: ServerNoise
    length: int
    coalitions: list[Coalition]

    def data(self) -> Data:
        total = self.noise.total
        return {
            "plan": self.noise.plan.value,
            "variance_factor": float(total.shape),
            "mean_absolute_error": total.mean_absolute(),
            "standard_error": total.variance() ** 0.5,
            "delta": float(self.noise.delta(self.length)),
            "strength": "computational",
            "withstands": self.noise.plan.withstands(self.noise.servers),
            "coalitions": [
                {
                    "colluding": one.colluding,
                    "epsilon": None if one.epsilon is None else float(one.epsilon),
                    "honest_shape": float(one.honest_shape),
                    "honest": one.honest,
                }
                for one in self.coalitions
            ],
        }


@dataclass(frozen=True, slots=True)
class _Question:
    """The command's options."""

    epsilon: str
    servers: int
    plan: str | None
    sensitivity: int
    length: int

    def data(self) -> Data:
        return {
            "epsilon": float(self.epsilon),
            "servers": self.servers,
            "sensitivity": self.sensitivity,
            "length": self.length,
        }

    def explained(self) -> list[_Explained]:
        from localdp.accounting.epsilon import Epsilon
        from localdp.sharing.coalitions import coalition
        from localdp.sharing.noise_plans import ServerNoise

        epsilon = Epsilon.requested(self.epsilon)
        noises = [ServerNoise(plan, epsilon, self.sensitivity, self.servers) for plan in self._plans()]
        sizes = range(self.servers + 1)
        return [
            _Explained(noise, self.length, [coalition(noise, self.length, size) for size in sizes])
            for noise in noises
        ]

    def _plans(self) -> list[NoisePlan]:
        from localdp.sharing.noise_plans import JOINT_SERVERS, NoisePlan

        if self.plan is not None:
            return [NoisePlan.parse(self.plan)]
        # divided(m - 1) is each-server by another name.
        divided = [NoisePlan.divided(t) for t in range(self.servers - 1)]
        joint = [NoisePlan.JOINT] * (self.servers == JOINT_SERVERS)
        return [NoisePlan.EACH_SERVER, *divided, *joint, *[NoisePlan.PROVED] * (self.servers > 1)]

    def _deltas(self, explained: list[_Explained]) -> str:
        """What stands beside epsilon."""
        largest = max(float(one.noise.delta(self.length)) for one in explained)
        return f"delta of joint and proved noise {largest:.2g}, else 0" if largest else "delta = 0"

    def table(self, explained: list[_Explained], *, unicode: bool = True) -> Table:
        from rich import box
        from rich.table import Table

        table = Table(
            title=f"Noise of {self.servers} share servers, epsilon = {self.epsilon}, sensitivity {self.sensitivity:,}",
            caption="variance: times a trusted curator's; computational (Definition 9.4)\n"
            f"epsilon: against the analyst together with so many of the servers; {self._deltas(explained)}",
            box=box.SIMPLE_HEAD if unicode else box.ASCII2,
            padding=0,
            pad_edge=False,
            title_justify="left",
            caption_justify="left",
        )
        table.add_column("plan", no_wrap=True)
        for heading in ("variance", "E|error|", "colluding", "epsilon"):
            table.add_column(heading, justify="right", no_wrap=True)
        table.add_column("must be honest", no_wrap=True)
        for one in explained:
            for row in one.coalitions:
                table.add_row(
                    *_cells(one, row), style=_style(one, row), end_section=row is one.coalitions[-1]
                )
        return table


def _cells(explained: _Explained, row: Coalition) -> list[str]:
    from parties.report.wording import number

    total, first = explained.noise.total, row.colluding == 0
    return [
        explained.noise.plan.value if first else "",
        f"{float(total.shape):.3f}" if first else "",
        number(total.mean_absolute()) if first else "",
        str(row.colluding),
        "no privacy" if row.epsilon is None else _rounded_up(row.epsilon),
        row.honest,
    ]


def _rounded_up(epsilon: Epsilon) -> str:
    """Six digits, never less than the epsilon."""
    from decimal import ROUND_CEILING, Context

    return f"{Context(prec=6, rounding=ROUND_CEILING).create_decimal(str(epsilon)).normalize():f}"


def _style(explained: _Explained, row: Coalition) -> str:
    if row.epsilon is None:
        return "red"
    return "" if row.epsilon <= explained.noise.epsilon else "yellow"
