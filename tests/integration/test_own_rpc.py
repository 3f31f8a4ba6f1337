"""docs/howto-own-rpc.md, followed to the letter in a copy of the tree: no file is touched that it does not name."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.followed import followed, run, titled
from tests.support.processes import ROOT

PAGE = (ROOT / "docs/howto-own-rpc.md").read_text()
PROTO, CLAUSES = "protos/parties/wire/v1/oracle.proto", "parties/contract/epoch_clauses.py"
COORDINATOR, BROKEN = "parties/coordinator.py", "tests/support/broken_agents.py"
PLACES = {
    "localdp/party/party.py, before _billed": "    def _billed(",
    f"{PROTO}, at the end of the service": "}\n\n// Asks who the party is.",
    f"{PROTO}, at the end": "",
    "parties/codec.py, before _column": "def _column(",
    "parties/agent/service.py, before _made": "    async def _made(",
    f"{COORDINATOR}, in RemoteParty": "    def quote(self, call",
    f"{COORDINATOR}, in RemoteParties": "    def sealed(\n",
    f"{CLAUSES}, before CLAUSES": "CLAUSES = (",
    f"{CLAUSES}, among CLAUSES": '    Clause("C31"',
    f"{CLAUSES}, among the imports": "\nEXPIRED =",
    "docs/contract.md, at the end of the clauses": "\nWhat cannot be seen from outside",
    "tests/support/broken_epochs.py, at the end": "",
    f"{BROKEN}, among the imports": "from tests.support.broken_holders import",
    f"{BROKEN}, among BROKEN_AGENTS": '    _party("C36", TellsTheLimit)',
    "tests/fault/neighbours.py, at the end of Width": "]\n_OFTEN",
}


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the tree with the call of the page in it."""
    return followed(PAGE, PLACES, tmp_path_factory.mktemp("tree"))


def test_the_page_has_all_the_parts() -> None:
    assert set(titled(PAGE)) == {"ask.py", *PLACES}


def test_an_agent_answers_it_over_grpc(tree: Path) -> None:
    assert run(tree, "ask.py") == "[1]\n"


@pytest.mark.nightly
def test_its_clause_stands_on_the_page_and_notices_the_agent_that_breaks_it(tree: Path) -> None:
    suites = re.findall(r"tests/\S+\.py", re.findall(r"^pytest (.*)$", PAGE, re.MULTILINE)[0])
    assert len(suites) == 3
    chosen = "C37 or every_clause or every_call or to_every_caller"
    shown = run(
        tree, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not nightly", "-k", chosen, *suites
    )
    assert re.search(r"\d\d passed", shown)
