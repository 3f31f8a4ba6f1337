"""How every command is declared: as a function, whose options are written once and whose failures are told in one way.

    @command
    def mean(column: ColumnArgument, asking: Asking, json: JsonOption = False) -> None: ...

An argument that is a dataclass stands for its fields, each an option: so options that several commands have are written
down once, and arrive as one object.

Checked in tests/unit/parties/command/test_declaring.py.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from dataclasses import is_dataclass

from parties.command.output import reporting


def command(function: Callable[..., None]) -> Callable[..., None]:
    """The function as the parser calls it, with every option by name."""
    declared = inspect.signature(function, eval_str=True).parameters
    kinds = {name: one.annotation for name, one in declared.items() if isinstance(one.annotation, type)}
    grouped = {name: kind for name, kind in kinds.items() if is_dataclass(kind)}

    @functools.wraps(function)
    def called(**typed: object) -> None:
        with reporting(json=bool(typed.get("json"))):
            for name, kind in grouped.items():
                own = typed.keys() & _parameters(kind).keys()
                typed[name] = kind(**{option: typed.pop(option) for option in own})
            function(**typed)

    options: list[inspect.Parameter] = []
    for name, one in declared.items():
        options += _parameters(grouped[name]).values() if name in grouped else [one]
    vars(called).update(__signature__=inspect.Signature(_required_first(options)))
    called.__annotations__ = {one.name: one.annotation for one in options}
    return called


def _parameters(kind: Callable[..., object]) -> dict[str, inspect.Parameter]:
    return dict(inspect.signature(kind, eval_str=True).parameters)


def _required_first(options: Iterable[inspect.Parameter]) -> list[inspect.Parameter]:
    return sorted(options, key=lambda one: one.default is not inspect.Parameter.empty)
