"""Which public methods say what they do: by themselves, or through the protocol that their class implements.

A method that does what a documented protocol says needs no copy of its words.  A class implements a protocol if it has, or
inherits, everything public that the protocol names.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

Function = ast.FunctionDef | ast.AsyncFunctionDef


class Tree:
    """The classes of the source, by name; of a name that stands twice, both."""

    def __init__(self, modules: Iterable[ast.Module]) -> None:
        self.classes = [
            node for tree in modules for node in ast.walk(tree) if isinstance(node, ast.ClassDef)
        ]
        self.by_name: dict[str, list[ast.ClassDef]] = {}
        for node in self.classes:
            self.by_name.setdefault(node.name, []).append(node)
        self.protocols = [node for node in self.classes if "Protocol" in _bases(node)]

    def undocumented(self) -> Iterator[tuple[str, str]]:
        """Class and method, of every public method whose meaning stands nowhere."""
        for node in self.classes:
            for method in _methods(node):
                said = ast.get_docstring(method) or self.inherited(node, method.name)
                if not node.name.startswith("_") and said is None:
                    yield node.name, method.name

    def inherited(self, node: ast.ClassDef, method: str) -> str | None:
        """What a base class says of a method, or a protocol that the class implements; None if nobody does."""
        members = self._members(node)
        implemented = [one for one in self.protocols if self._members(one) <= members]
        for one in (*self._ancestors(node), *implemented):
            for same in _methods(one):
                if same.name == method and ast.get_docstring(same):
                    return ast.get_docstring(same)
        return None

    def _ancestors(self, node: ast.ClassDef) -> list[ast.ClassDef]:
        above = [one for name in _bases(node) for one in self.by_name.get(name, []) if one is not node]
        return above + [two for one in above for two in self._ancestors(one)]

    def _members(self, node: ast.ClassDef) -> set[str]:
        """Public names that its objects have."""
        return {name for one in (node, *self._ancestors(node)) for name in _own(one) if name[0] != "_"}


def _bases(node: ast.ClassDef) -> list[str]:
    """The names of its bases, without packages and parameters."""
    plain = [base.value if isinstance(base, ast.Subscript) else base for base in node.bases]
    return [ast.unparse(base).rpartition(".")[2] for base in plain]


def _methods(node: ast.ClassDef) -> list[Function]:
    return [one for one in node.body if isinstance(one, Function) and not one.name.startswith("_")]


def _own(node: ast.ClassDef) -> Iterator[str]:
    """Methods, fields, and what methods assign to their object."""
    for one in ast.walk(node):
        if isinstance(one, Function):
            yield one.name
        elif isinstance(one, ast.AnnAssign | ast.Assign):
            targets = [one.target] if isinstance(one, ast.AnnAssign) else one.targets
            for target in (inner for outer in targets for inner in ast.walk(outer)):
                if isinstance(target, ast.Name):
                    yield target.id
                elif isinstance(target, ast.Attribute) and ast.unparse(target.value) == "self":
                    yield target.attr
