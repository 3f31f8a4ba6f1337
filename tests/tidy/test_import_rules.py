"""The rules of imports catch what they are there for: an import that breaks one is added, and a rule breaks."""

from __future__ import annotations

import copy
import functools
import re
import tomllib
from pathlib import Path

import grimp
import pytest
from importlinter import Contract
from importlinter.application.use_cases import read_user_options
from importlinter.configuration import configure
from importlinter.contracts.acyclic_siblings import AcyclicSiblingsContract
from importlinter.contracts.forbidden import ForbiddenContract
from importlinter.contracts.layers import LayersContract
from importlinter.contracts.protected import ProtectedContract

from tests.tidy.allowed_imports import AllowedImports

ROOT = Path(__file__).resolve().parents[2]
CONFIG = ROOT / "pyproject.toml"
ARCHITECTURE = (ROOT / "ARCHITECTURE.md").read_text()
ROOM = "localdp.passage"
KINDS: dict[str, type[Contract]] = {
    "acyclic_siblings": AcyclicSiblingsContract,
    "allowed": AllowedImports,
    "forbidden": ForbiddenContract,
    "layers": LayersContract,
    "protected": ProtectedContract,
}


@functools.cache
def rules() -> list[Contract]:
    configure()
    told = read_user_options(config_filename=str(CONFIG))
    return [KINDS[one["type"]](one["name"], told.session_options, one) for one in told.contracts_options]


@functools.cache
def project() -> grimp.ImportGraph:
    return grimp.build_graph("localdp", "parties", include_external_packages=True)


def broken_by(*imports: tuple[str, str]) -> list[str]:
    """The rules that the project breaks with these imports."""
    graph = copy.deepcopy(project())
    for importer, imported in imports:
        if imported not in graph.modules:
            graph.add_module(imported, is_squashed=imported != ROOM)
        graph.add_import(importer=importer, imported=imported)
    return [rule.name for rule in rules() if not rule.check(copy.deepcopy(graph), verbose=False).kept]


def test_the_project_keeps_every_rule() -> None:
    assert broken_by() == []


MUTANTS = {
    "randomizers ask": [("localdp.randomizers.one_bit", "localdp.oracles.local")],
    "randomness runs experiments through a new room": [
        ("localdp.randomness.source", ROOM),
        (ROOM, "localdp.experiments.datasets"),
    ],
    "algorithms enter the danger room": [("localdp.algorithms.definition", "localdp.randomness.hazmat")],
    "mechanisms enter the danger room": [("localdp.mechanisms.marginals", "localdp.randomness.hazmat")],
    "an agent needs the command line": [("parties.agent.run", "parties.command.main")],
    "views know generated types": [("parties.view.words", "parties.wire.v1.oracle_pb2")],
    "the federation knows generated types": [("parties.federation", "parties.wire.v1.oracle_pb2")],
    "mathematics starts processes": [("localdp.cohorts", "multiprocessing")],
    "mathematics talks": [("localdp.cohorts", "http")],
    "mathematics writes files": [("localdp.cohorts", "tempfile")],
    "two modules need each other": [("localdp.domains.schema", "localdp.domains.records")],
}


@pytest.mark.parametrize("imports", MUTANTS.values(), ids=MUTANTS.keys())
def test_an_import_that_breaks_a_rule_is_caught(imports: list[tuple[str, str]]) -> None:
    assert broken_by(*imports)


ROOMS = {
    "inside parties: from the command line down to the wire": "parties",
    "inside localdp: from experiments down to errors": "localdp",
}


@pytest.mark.parametrize("rule", ROOMS)
def test_the_picture_of_the_layers_is_the_rule(rule: str) -> None:
    told = next(
        one
        for one in tomllib.loads(CONFIG.read_text())["tool"]["importlinter"]["contracts"]
        if one["name"] == rule
    )
    (drawn,) = re.findall(rf"^ {ROOMS[rule]} .*?(?=^ -----|^```)", ARCHITECTURE, re.MULTILINE | re.DOTALL)
    rows = [set(re.findall(r"\w+", line)) for line in drawn.splitlines()]
    place = 0
    for layer in told["layers"]:
        places = []
        for room in layer.split(" | "):
            below = (number for number, row in enumerate(rows) if number >= place and room in row)
            places.append(next(below, -1))
            assert places[-1] >= 0, f"{room} is not in the picture, or too high in it"
        place = max(places)
