"""The documents against the project: links, files, commands, exit codes and variables; and the API, whole."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from parties.command.main import app
from parties.command.output import ExitCode
from tests.tidy.documented import Tree
from tests.tidy.figures import trees

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = [*sorted(ROOT.glob("*.md")), *sorted(DOCS.glob("*.md"))]
VERBS = (
    "count",
    "share",
    "mean",
    "sum",
    "quantile",
    "median",
    "histogram",
    "crosstab",
    "top",
    "fit",
    "release",
)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#{1,6} (.*)$", re.MULTILINE)
_FILE = re.compile(r"`((?:localdp|parties|tests|examples|protos|docs|notebooks)/[\w./-]*\w(?:\.\w+|/))`")


def page_id(path: Path) -> str:
    return str(path.relative_to(ROOT))


def without_code(text: str) -> str:
    return re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)


def anchors(page: Path) -> set[str]:
    """The headings of a page, as links name them."""
    headings = _HEADING.findall(without_code(page.read_text()))
    plain = [re.sub(r"[^\w\s-]", "", heading.lower()).strip() for heading in headings]
    return {re.sub(r"[\s]+", "-", heading) for heading in plain}


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_links_lead_somewhere(page: Path) -> None:
    for link in _LINK.findall(without_code(page.read_text())):
        name, _, anchor = link.partition("#")
        if re.match(r"[a-z]+://", link):
            continue
        target = (page.parent / name).resolve() if name else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_files_that_a_page_names_exist(page: Path) -> None:
    named = _FILE.findall(without_code(page.read_text()))
    assert not [name for name in named if not (ROOT / name).exists()]


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_a_page_has_one_title_and_no_place_of_its_makers(page: Path) -> None:
    text = without_code(page.read_text())
    assert len(re.findall(r"^# ", text, re.MULTILINE)) == 1
    assert not re.search(r"/home/|/root/|/work/|TODO|FIXME", page.read_text())


def menu() -> list[str]:
    """The pages that mkdocs.yml names."""
    return re.findall(r"^\s+- .*: (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)


def test_the_menu_names_pages_that_exist_and_each_once() -> None:
    hooks = (DOCS / "hooks.py").read_text()
    assert len(menu()) == len(set(menu())) > 20
    assert not [name for name in menu() if not (DOCS / name).exists() and f'"{name}"' not in hooks]


# Commands.


def commands(command: Any, path: tuple[str, ...] = ("localdp",)) -> Iterator[str]:
    """Every command that is registered, as it is typed."""
    inner = getattr(command, "commands", None)
    if inner is None:
        yield " ".join(path)
        return
    for name, one in inner.items():
        yield from commands(one, (*path, name))


def test_every_command_is_on_the_page_with_an_example() -> None:
    from typer.main import get_command

    page = (DOCS / "command-line.md").read_text()
    listed = re.findall(r"^\| `(localdp [\w -]+)` \| .+ \| `(localdp .+)` \|$", page, re.MULTILINE)
    told, registered = {command for command, _ in listed}, set(commands(get_command(app)))
    assert not registered - told, "these are not on the page"
    assert not told - registered, "these are no commands"
    assert len(listed) == len(told)
    assert all(example.startswith(command) for command, example in listed)


def test_every_exit_code_is_on_the_page() -> None:
    table = (DOCS / "command-line.md").read_text().partition("## Exit codes")[2].partition("\n## ")[0]
    listed = [int(code) for code in re.findall(r"^\| (\d+) \|", table, re.MULTILINE)]
    assert listed == sorted(int(code) for code in ExitCode)


def test_every_variable_of_the_environment_is_on_the_page() -> None:
    sources = [path.read_text() for room in ("localdp", "parties") for path in (ROOT / room).rglob("*.py")]
    known = {name for text in sources for name in re.findall(r'"(LOCALDP_[A-Z_]+)"', text)}
    page = (DOCS / "command-line.md").read_text()
    assert known
    assert not [name for name in known if name not in page]


# The API.


def test_the_names_of_the_api_page_can_be_imported() -> None:
    named = re.findall(r"`((?:localdp|parties)\.[\w.]+\.\w+)`", (DOCS / "api.md").read_text())
    dotted = [name for name in named if not name.endswith(".v1")]
    assert len(dotted) > 25
    for name in dotted:
        module, _, attribute = name.rpartition(".")
        assert hasattr(importlib.import_module(module), attribute), name


def test_every_name_of_the_front_door_is_on_the_page_with_an_example() -> None:
    import localdp

    page = (DOCS / "api.md").read_text()
    examples = "".join(re.findall(r"```python\n(.*?)```", page, re.DOTALL))
    for name in localdp.__all__:
        assert f"`{name}`" in page, name
        assert re.search(rf"\bldp\.{name}\b", examples) or name == "Federation", name


@pytest.mark.parametrize("verb", ["launch", "connect", "simulate", *VERBS])
def test_every_parameter_of_a_verb_is_on_the_page(verb: str) -> None:
    from parties.federated.verbs import ModelOptions
    from parties.federation import Federation

    page = without_code((DOCS / "api.md").read_text())
    assert re.search(rf"`(?:ldp\.)?{verb}\(", page) or verb in ("fit", "release")
    own = [name for name in inspect.signature(getattr(Federation, verb)).parameters if name != "self"]
    named = re.findall(r"[\w.]+", " ".join(re.findall(r"`([^`]+)`", page)))
    assert not [name for name in (*own, *ModelOptions.__annotations__) if name not in (*named, "options")]


@pytest.fixture(scope="module")
def reference() -> ModuleType:
    spec = importlib.util.spec_from_file_location("reference", DOCS / "reference.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["reference"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def test_every_public_name_is_in_the_reference(reference: ModuleType) -> None:
    pages = reference.pages()
    everything = "\n".join(pages.values())
    assert {"localdp.oracles", "parties.agent", "parties"} <= set(pages)
    for path in sorted((ROOT / "localdp").rglob("*.py")):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef | ast.FunctionDef) and not node.name.startswith("_"):
                assert f"### `{node.name}`" in everything, node.name


def test_the_reference_shows_signatures_fields_and_docstrings(reference: ModuleType) -> None:
    page = reference.pages()["localdp.accounting"]
    assert "### `Epsilon`" in page
    assert "nanonats: int" in page
    assert re.search(r"^total_epsilon\($", page, re.MULTILINE) or "total_epsilon(" in page
    assert "_rounded" not in re.findall(r"^### `(.*)`", page, re.MULTILINE)


def test_sections_of_a_docstring_become_a_list_and_code(reference: ModuleType) -> None:
    page = reference.pages()["parties.federated"]
    assert "- `query`: a condition on the columns" in page
    assert "```pycon\n>>> import localdp as ldp" in page
    assert "----------" not in page


def test_every_public_method_says_what_it_does_or_implements_what_does() -> None:
    assert list(Tree(trees("localdp", "parties").values()).undocumented()) == []


def test_a_method_of_no_protocol_has_to_say_what_it_does_itself() -> None:
    source = '''
class Spoken(Protocol):
    people: int
    def said(self):
        """What it says."""
class Whole:
    def __init__(self): self.people = 1
    def said(self): ...
class Inherits(Whole):
    def said(self): ...
class Part:
    def said(self): ...
class Silent(Whole):
    def more(self): ...
'''
    tree = Tree([ast.parse(source)])
    assert list(tree.undocumented()) == [("Part", "said"), ("Silent", "more")]


def test_arguments_are_split_between_and_not_within_them(reference: ModuleType) -> None:
    parts = reference._split("self, a: tuple[int, str], *, b: dict[str, list[int]]={1: 2, 3: 4}")
    assert parts == ["self", "a: tuple[int, str]", "*", "b: dict[str, list[int]]={1: 2, 3: 4}"]
