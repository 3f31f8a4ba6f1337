"""`localdp data`: a first look at a table, and everything that does not fit, before there is an agent.

Checked in tests/integration/test_data_command.py.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from localdp.errors import InvalidParameter
from parties.command.arguments import ConfigArgument, JsonOption
from parties.command.declaring import command
from parties.command.output import print_ok, print_whole, stderr_console, stdout_console

data_app = typer.Typer(
    help="The owner's table: a first draft of a schema, and what does not fit.", no_args_is_help=True
)


@data_app.command("sketch")
@command
def data_sketch(
    table: Annotated[
        str, typer.Argument(help="The table: a file, or a database such as postgresql://reader@db/clinic.")
    ],
    relation: Annotated[str | None, typer.Option("--table", help="Of a database: the table.")] = None,
    query: Annotated[str | None, typer.Option(help="Of a database: a query in place of a table.")] = None,
    password_file: Annotated[
        Path | None, typer.Option(help="Of a database: the file that has the password, of mode 600.")
    ] = None,
    person: Annotated[str | None, typer.Option(help="The column that says whose row it is.")] = None,
    separator: Annotated[str | None, typer.Option(help="What stands between cells of a text file.")] = None,
    encoding: Annotated[str, typer.Option(help="How a text file is written.")] = "utf-8",
    header: Annotated[int, typer.Option(min=1, help="The line in which the names of columns stand.")] = 1,
    sheet: Annotated[str | None, typer.Option(help="The sheet of a spreadsheet.")] = None,
    name: Annotated[str, typer.Option(help="What the agent is to be called.")] = "my-agent",
    out: Annotated[
        Path | None, typer.Option(help="The configuration to write; else it is printed.")
    ] = None,
    into: Annotated[
        Path | None, typer.Option(help="The beginning of a configuration that the draft is added to.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Draft a configuration for a table: names, kinds, what says nothing. Bounds and labels are yours to declare."""
    from parties.agent.completing import completed
    from parties.agent.database_source import DatabaseSource, address_of, is_database
    from parties.agent.sketch import as_toml, sketched
    from parties.agent.sources import Source, TableSource
    from parties.agent.table import quoting_nothing
    from parties.durable import write_atomically
    from parties.view.waiting import waiting

    source: TableSource
    if is_database(table):
        if (relation is None) is (query is None):
            raise InvalidParameter("say which table of the database: --table, or --query")
        address_of(table)
        source = DatabaseSource(table, relation, query, password_file)
    else:
        source = Source(Path(table), separator, encoding=encoding, sheet=sheet, header=header)
    if out is not None and into is not None:
        raise InvalidParameter("say --out for a new file, or --into for one that is there")
    beside = (out or into or Path("x")).parent
    with waiting(stderr_console(), "reading the table"), quoting_nothing(source):
        draft = as_toml(sketched(source, person), name, beside)
    if into is not None:
        if not into.is_file():
            raise InvalidParameter(f"there is no {into}")
        draft = completed(into.read_text(), draft, str(into))
        write_atomically(into, draft.encode())
    if out is not None:
        if out.exists():
            raise InvalidParameter(f"{out} is there already; it is not overwritten")
        write_atomically(out, draft.encode())
    out = out or into
    if json:
        print_ok({"draft": draft, "out": None if out is None else str(out)})
    elif out is None:
        typer.echo(draft, nl=False)
    else:
        print_whole(stdout_console(), f"A draft stands in {out}; complete the lines that begin with #!")


@data_app.command("check")
@command
def data_check(config: ConfigArgument, json: JsonOption = False) -> None:
    """Read the table as declared: everything that does not fit, or what was decided, by column and count."""
    from parties.agent.config import load_config
    from parties.agent.table import loaded_table
    from parties.view.waiting import waiting

    settings = load_config(config)
    with waiting(stderr_console(), "reading the table"):
        loaded = loaded_table(settings)
    decisions = [
        {"column": one.column, "cells": one.count, "decided": one.words} for one in loaded.decisions
    ]
    people, rows = loaded.people, loaded.rows
    if json:
        print_ok({"people": people, "rows": rows, "decisions": decisions})
        return
    console = stdout_console()
    print_whole(console, f"The table fits: {people:,} people, {rows:,} rows")
    for decision in loaded.decisions:
        print_whole(console, f"  {decision}")
