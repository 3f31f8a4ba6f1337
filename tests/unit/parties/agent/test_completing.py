"""A draft is added to the beginning of a configuration, which keeps what it has."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from localdp.errors import InvalidParameter
from parties.agent.completing import completed
from parties.agent.config import load_config
from parties.agent.sketch import as_toml, sketched
from parties.agent.sources import Source
from parties.agent.table import loaded_table
from parties.site import Site
from tests.support.messy_tables import EDITS, edited, written

BEGINNING = Site("north", "127.0.0.1:7201", None, "analyst", {"server-0": "127.0.0.1:7211"}).configuration()


def test_a_sites_beginning_and_a_draft_are_an_agents_configuration(tmp_path: Path) -> None:
    draft = as_toml(sketched(Source(written(tmp_path, "north"))), "my-agent", tmp_path)
    both = completed(BEGINNING, draft, "agent.toml")
    assert "Bounds and labels come from what a column means" in both
    (tmp_path / "agent.toml").write_text(edited(both, EDITS["north"]))
    config = load_config(tmp_path / "agent.toml")
    assert config.name == "north" and config.policy.aggregators == frozenset({"analyst"})
    assert config.policy.minimum_cohort == 100 and config.share_servers == {"server-0": "127.0.0.1:7211"}
    assert loaded_table(config).rows == 30_000


def test_a_configuration_that_has_a_table_is_left_alone() -> None:
    draft = 'name = "x"\n\n[data]\npath = "t.csv"\n\n[budget]\ntotal = 4\n\n[schema.a]\nkind = "bit"\n'
    for there in ('[data]\npath = "u.csv"\n', "[budget]\ntotal = 1\n", '[schema]\nb = { kind = "bit" }\n'):
        with pytest.raises(InvalidParameter, match="already; nothing was added"):
            completed(f'name = "north"\n{there}', draft, "agent.toml")
    with pytest.raises(InvalidParameter, match="is no TOML"):
        completed("name = ", draft, "agent.toml")
    with pytest.raises(InvalidParameter, match="has no name"):
        completed("", draft, "agent.toml")
    assert tomllib.loads(completed('name = "north"\n', draft, "agent.toml"))["name"] == "north"
