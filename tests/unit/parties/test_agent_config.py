"""An agent's configuration: what it may say, and one clear line for each mistake."""

from pathlib import Path

import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter
from parties.agent.config import Dial, load_config

WHOLE = """
name = "north"
[data]
path = "patients.csv"
person = "patient"
rows = "sample"
[schema]
smoker = { kind = "bit" }
age = { kind = "integer", low = 0, high = 120 }
ward = { kind = "category", labels = ["A", "B"] }
[budget]
total = 10
per_day = 0.5
[policy]
largest_epsilon = 1
minimum_cohort = 100
minimum_batch = 50
columns = ["smoker", "age"]
aggregators = ["analyst"]
[storage]
directory = "state"
[listen]
address = "127.0.0.1:7000"
[dial]
coordinator = "relay.example:7000"
name = "analyst"
[share_servers]
server-0 = "127.0.0.1:7001"
[tls]
directory = "certificates"
"""
LEAST = """
name = "north"
data.path = "patients.csv"
schema.smoker = { kind = "bit" }
budget.total = "0.1"
"""


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "agent.toml"
    path.write_text(text)
    return path


def test_everything_that_can_be_said_is_understood(tmp_path: Path) -> None:
    config = load_config(written(tmp_path, WHOLE))
    assert (config.name, config.person, config.rows) == ("north", "patient", "sample")
    assert config.data == tmp_path / "patients.csv"
    assert config.schema.names == ("smoker", "age", "ward")
    assert (config.budget, config.budget_per_day) == (Epsilon.requested(10), Epsilon.requested("0.5"))
    assert config.columns == frozenset({"smoker", "age"})
    assert config.aggregators == frozenset({"analyst"})
    assert config.share_servers == {"server-0": "127.0.0.1:7001"}
    assert (config.address, config.dial) == ("127.0.0.1:7000", Dial("relay.example:7000", "analyst"))
    assert (config.minimum_cohort, config.minimum_batch) == (100, 50)


def test_little_has_to_be_said(tmp_path: Path) -> None:
    config = load_config(written(tmp_path, LEAST))
    assert config.budget == Epsilon.requested("0.1")
    assert config.budget_per_day is None and config.columns is None and config.tls is None
    assert (config.address, config.dial) == ("127.0.0.1:0", None)


def test_an_agent_that_dials_listens_only_if_it_is_told_to(tmp_path: Path) -> None:
    dials = LEAST + '[dial]\ncoordinator = "127.0.0.1:7000"\n'
    assert load_config(written(tmp_path, dials)).address is None
    both = dials + '[listen]\naddress = "127.0.0.1:7001"\n'
    assert load_config(written(tmp_path, both)).address == "127.0.0.1:7001"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "name"),
        (LEAST + "[budgets]\ntotal = 1", "budgets: unknown"),
        (LEAST + "[policy]\nlargest = 1", "policy.largest: unknown"),
        (LEAST.replace("data.path", "data.paht"), "data.path: missing"),
        (LEAST.replace('"0.1"', "0"), "budget.total: epsilon must be"),
        (LEAST.replace('"0.1"', '"much"'), "budget.total: epsilon must be a number"),
        (LEAST.replace('{ kind = "bit" }', '{ kind = "bits" }'), "schema: column 0"),
        (LEAST.replace('{ kind = "bit" }', '"bit"'), "schema.smoker: a table"),
        (LEAST + '[policy]\ncolumns = ["smokr"]', "'smokr' is not a column"),
        (LEAST + "[policy]\nminimum_cohort = 0", "policy.minimum_cohort: a whole number"),
        (LEAST + "[policy]\nminimum_cohort = true", "policy.minimum_cohort: expected int"),
        (LEAST + "data.rows = 'each'", "data.person: needed"),
        (LEAST + "data.rows = 'every'", "data.rows: one of one, sample, each"),
        (LEAST + "listen = 5", "listen: a section"),
        (LEAST + "listen.address = '7000'", "listen.address: a host and a port"),
        (LEAST + "dial.name = 'analyst'", "dial.coordinator: missing"),
        (LEAST + "dial.coordinator = 'http://x:1/'", "dial.coordinator: a host and a port"),
        (LEAST + "dial = { coordinator = 'x:1', name = 'analyst' }", "dial.name: goes with [tls]"),
        (LEAST + "tls.directory = 'x'\ndial.coordinator = 'x:1'", "dial.name: goes with [tls]"),
        (
            WHOLE.replace('name = "analyst"', 'name = "mallory"'),
            "dial.name: is not one of policy.aggregators",
        ),
        (WHOLE.replace("analyst", "An Analyst"), "dial.name: a role that is asked for by name"),
        (LEAST + "name", "not a TOML file"),
    ],
)
def test_a_mistake_is_told_in_one_line_that_names_the_key(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(InvalidParameter) as refusal:
        load_config(written(tmp_path, text))
    assert said in str(refusal.value)
    assert "agent.toml" in str(refusal.value)
