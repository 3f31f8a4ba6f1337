"""What is counted of the source, for the ratchets of `ratchets.toml`."""

from __future__ import annotations

import ast
import functools
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from localdp.oracles.models import MODELS

ROOT = Path(__file__).resolve().parents[2]
RUN = 10  # lines that stand twice

Function = ast.FunctionDef | ast.AsyncFunctionDef


def sources(*rooms: str) -> list[Path]:
    """Python files that people wrote."""
    files = [path for room in rooms for path in (ROOT / room).rglob("*.py")]
    return sorted(path for path in files if "wire" not in path.relative_to(ROOT).parts)


@functools.cache
def trees(*rooms: str) -> dict[Path, ast.Module]:
    """The syntax trees of the source."""
    return {path: ast.parse(path.read_text()) for path in sources(*rooms)}


def nodes(*rooms: str) -> Iterator[ast.AST]:
    """Every node of every tree."""
    for tree in trees(*rooms).values():
        yield from ast.walk(tree)


def longest_file() -> int:
    """Lines of the longest file."""
    return max(len(path.read_text().splitlines()) for path in sources("localdp", "parties"))


def _is_docstring(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def length(function: Function) -> int:
    """Lines of a function without its docstring."""
    first = function.body[0]
    told = (first.end_lineno or 0) - first.lineno + 1 if _is_docstring(first) else 0
    return (function.end_lineno or 0) - function.lineno + 1 - told


def longest_function(room: str) -> int:
    """Lines of the longest function of a package."""
    return max(length(node) for node in nodes(room) if isinstance(node, Function))


def times_any() -> int:
    """How often a type is left open."""
    return sum(isinstance(node, ast.Name) and node.id == "Any" for node in nodes("localdp", "parties"))


def double_class_names() -> int:
    """Class names that stand for two things; those that begin with an underscore are a file's own affair."""
    names = Counter(
        node.name
        for tree in trees("localdp", "parties").values()
        for node in tree.body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    return sum(count > 1 for count in names.values())


def _lines(path: Path) -> list[str]:
    """What a file does, without imports, blank lines and comments."""
    lines = [line.strip() for line in path.read_text().splitlines()]
    tree = trees("localdp", "parties")[path]
    dropped = {
        number
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        or (isinstance(node, ast.stmt) and _is_docstring(node))
        for number in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    kept = (line for number, line in enumerate(lines, 1) if number not in dropped)
    return [line for line in kept if line and not line.startswith("#")]


def repeated_runs() -> int:
    """Runs of `RUN` lines that stand somewhere else, too."""
    runs = Counter[tuple[str, ...]]()
    for path in sources("localdp", "parties"):
        lines = _lines(path)
        runs.update(tuple(lines[place : place + RUN]) for place in range(len(lines) - RUN + 1))
    return sum(count > 1 for count in runs.values())


def files_naming_a_model() -> int:
    """In how many files the name of a trust model stands, of the one that stands in most: models are rows of data."""
    named = Counter[str]()
    for tree in trees("localdp", "parties").values():
        constants = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
        named.update(model for model in MODELS if model in constants)
    return max(named.values())
