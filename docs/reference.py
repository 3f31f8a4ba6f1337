"""The API reference: every public class and function of the source, with its signature and its docstring, in Markdown.

Read from the syntax tree alone: nothing is imported, so the pages can be made where none of the dependencies are installed.
Public is what has no underscore at the beginning of its name, in a module that has none either.  A class shows its public
methods and properties that say something; generated code is left out.

Checked in tests/tidy/test_documentation.py.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("localdp", "parties")
GENERATED = "wire"
Function = ast.FunctionDef | ast.AsyncFunctionDef
_SECTION = re.compile(r"^(Parameters|Examples?|Returns|Raises|Attributes)\n-+\n", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Module:
    """One source file."""

    path: Path

    @property
    def name(self) -> str:
        """As it is imported."""
        parts = self.path.relative_to(ROOT).with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    @property
    def page(self) -> str:
        """The page that it is on: one for each package below the two roots, one for the loose files of each root."""
        parts = self.path.relative_to(ROOT).parts
        return ".".join(parts[:2]) if len(parts) > 2 else parts[0]

    def tree(self) -> ast.Module:
        """Its syntax."""
        return ast.parse(self.path.read_text())


def modules() -> list[Module]:
    """Every module of both packages that is public and not generated."""
    files = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]
    return [Module(path) for path in files if GENERATED not in path.parts and not _is_private(path.stem)]


def pages() -> dict[str, str]:
    """The reference, a page for each room, by name."""
    made: dict[str, list[str]] = {}
    for module in modules():
        made.setdefault(module.page, [f"# {module.page}\n"]).extend(_module(module))
    return {name: "\n".join(lines) + "\n" for name, lines in sorted(made.items())}


def public(body: list[ast.stmt]) -> list[ast.ClassDef | Function]:
    """The public classes and functions among statements."""
    kinds = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    return [node for node in body if isinstance(node, kinds) and not _is_private(node.name)]


def _is_private(name: str) -> bool:
    return name.startswith("_") and name not in ("__init__", "__main__")


def _module(module: Module) -> Iterator[str]:
    tree = module.tree()
    if not tree.body:
        return
    yield f"\n## `{module.name}`\n"
    yield _quoted(ast.get_docstring(tree))
    for node in public(tree.body):
        if node.name != "__init__":
            yield from _class(node) if isinstance(node, ast.ClassDef) else _function(node, "###")


def _class(node: ast.ClassDef) -> Iterator[str]:
    bases = ", ".join(ast.unparse(base) for base in node.bases)
    shown = [f"class {node.name}({bases})" if bases else f"class {node.name}", *_fields(node)]
    yield f"### `{node.name}`\n"
    yield _code("\n".join(shown))
    yield _quoted(ast.get_docstring(node))
    for inner in public(node.body):
        if not isinstance(inner, ast.ClassDef):
            yield from _function(inner, "####", node.name)


def _fields(node: ast.ClassDef) -> Iterator[str]:
    """Annotated attributes, as a dataclass declares them."""
    for statement in node.body:
        if isinstance(statement, ast.AnnAssign) and not _is_private(ast.unparse(statement.target)):
            yield f"    {ast.unparse(statement)}"


def _function(node: Function, heading: str, owner: str = "") -> Iterator[str]:
    is_property = any(ast.unparse(one) == "property" for one in node.decorator_list)
    name = f"{owner}.{node.name}" if owner else node.name
    yield f"{heading} `{name}`\n"
    yield _code(f"{name}{_result(node)}" if is_property else f"{name}({_arguments(node)}){_result(node)}")
    yield _quoted(ast.get_docstring(node))


def _arguments(node: Function) -> str:
    shown = ast.unparse(node.args).removeprefix("self").removeprefix("cls").removeprefix(", ")
    return shown if len(shown) <= 60 else "\n    " + ",\n    ".join(_split(shown)) + ",\n"


def _split(arguments: str) -> list[str]:
    """At the commas that stand between arguments, not within one."""
    parts, depth, start = [], 0, 0
    for place, character in enumerate(arguments):
        depth += (character in "([{") - (character in ")]}")
        if character == "," and not depth:
            parts.append(arguments[start:place].strip())
            start = place + 1
    return [*parts, arguments[start:].strip()]


def _result(node: Function) -> str:
    return "" if node.returns is None else f" -> {ast.unparse(node.returns)}"


def _code(text: str) -> str:
    return f"```python\n{text}\n```\n"


def _quoted(docstring: str | None) -> str:
    """What a docstring says, then its sections: parameters as a list, examples as code."""
    said, *sections = _SECTION.split(docstring or "")
    parts = [_text(said.strip())]
    for title, content in zip(sections[::2], sections[1::2], strict=True):
        parts.append(f"**{title}**\n")
        parts.append(_examples(content) if title.startswith("Example") else _listed(content))
    return "\n".join(parts)


def _text(said: str) -> str:
    """A sentence as text; anything longer as it was written, so that formulas and tables keep their shape."""
    return f"~~~~text\n{said}\n~~~~\n" if "\n" in said else f"{_escaped(said)}\n"


def _examples(content: str) -> str:
    return f"```pycon\n{content.strip()}\n```\n"


def _listed(content: str) -> str:
    """`name: meaning`, perhaps over several lines, as a list."""
    items = re.sub(r"\n\s+", " ", content.strip()).splitlines()
    pairs = [item.partition(":") for item in items if item.strip()]
    return "".join(
        f"- `{name.strip()}`: {_escaped(meaning.strip())}\n" if colon else f"- {_escaped(name)}\n"
        for name, colon, meaning in pairs
    )


def _escaped(text: str) -> str:
    """Markdown would take these for its own."""
    return "".join(f"\\{one}" if one in "*_<[|#" else one for one in text)
