"""docs/howto-own-randomizer.md, followed to the letter in a copy of the tree: no file is touched that it does not name."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.followed import followed, run, titled
from tests.support.processes import ROOT

PAGE = (ROOT / "docs/howto-own-randomizer.md").read_text()
ONES = "grid or every_module or every_row or every_field"  # what says something of this one
REGISTRY, PROTO = "localdp/randomizers/registry.py", "protos/parties/wire/v1/randomizer.proto"
PLACES = {
    f"{PROTO}, at the end of the oneof": "  }\n}\n",
    f"{PROTO}, at the end": "",
    f"{REGISTRY}, among the imports": "from localdp.randomizers.haar import",
    f"{REGISTRY}, at the end of ENTRIES": ")\nREGISTRY =",
}


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the tree with the randomizer of the page in it."""
    return followed(PAGE, PLACES, tmp_path_factory.mktemp("tree"))


def test_the_page_has_all_the_parts() -> None:
    files = {"localdp/randomizers/grid_response.py", "ask.py"}
    assert set(titled(PAGE)) == files | set(PLACES)


def test_the_contract_suite_runs_on_it(tree: Path) -> None:
    suites = re.findall(r"tests/\S+\.py", re.findall(r"^pytest (.*)$", PAGE, re.MULTILINE)[0])
    assert len(suites) == 3
    shown = run(tree, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", ONES, *suites)
    passed = re.search(r"(\d+) passed", shown)
    assert passed and int(passed[1]) > 20


def test_it_is_audited_by_name(tree: Path) -> None:
    shown = run(tree, "-m", "localdp", "audit", "grid-response")
    assert "holds (exact" in shown and "tightness  1.000000" in shown


def test_an_agent_is_asked_with_it_over_grpc(tree: Path) -> None:
    assert float(run(tree, "ask.py").split()[0]) == pytest.approx(0.5, abs=0.1)
