"""`localdp ask`: one query, one trust model, one answer with its error bar and its price.

Checked in tests/unit/parties/command/test_ask_options.py and tests/integration/test_command_line.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from parties.command.arguments import Asking, JsonOption, QueryArgument
from parties.command.declaring import command
from parties.durable import Data

if TYPE_CHECKING:
    from localdp.oracles.definition import Answer, StatisticalQueryOracle


@command
def ask(query: QueryArgument, asking: Asking, json: JsonOption = False) -> None:
    """Ask one query: how many people meet a condition, or a mean.

    The answer comes with an error bar, its price and what is promised, under any trust model.
    """
    from rich.table import Table

    from localdp.queries.asked import checked_round
    from parties.command.answers import answer_rows, epsilon_rows
    from parties.command.asking import asked, options_of
    from parties.command.output import print_ok, stdout_console

    with asked(asking, lambda schema: checked_round([query], schema)) as federation:
        oracle = federation.oracle(asking.model, asking.epsilon, **options_of(asking))
        answer, schema = oracle.answer([query])[0], oracle.schema
        data = answer_data(answer, oracle)
    if json:
        print_ok(data)
        return
    table = Table(title=answer.query, show_header=False, title_justify="left")
    for row in answer_rows(answer, schema):
        table.add_row(*row)
    table.add_row("trust model", oracle.claim.model)
    for row in epsilon_rows(oracle.cost.epsilon_promised, oracle.cost.epsilon_charged):
        table.add_row(*row)
    console = stdout_console()
    console.print(table)
    console.print(oracle.claim.statement())


def answer_data(answer: Answer, oracle: StatisticalQueryOracle) -> Data:
    """The answer for a machine."""
    from parties.command.answers import epsilon_data

    return {
        **answer.to_data(),
        "model": oracle.claim.model,
        **epsilon_data(oracle.cost.epsilon_promised, oracle.cost.epsilon_charged),
        "rounds": oracle.cost.rounds,
        "bytes_moved": oracle.cost.bytes_moved,
        "server_rounds": oracle.cost.server_rounds,
        "server_bytes": oracle.cost.server_bytes,
        "privacy": oracle.claim.statement(),
    }
