"""An agent's configuration: what it may say, one clear line for each mistake, and the page that shows every key."""

import re
import tomllib
from pathlib import Path

import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.quotas import Quotas
from localdp.errors import InvalidParameter
from parties.agent import config as module
from parties.agent.answers import Keeping
from parties.agent.approval import ApprovalRules
from parties.agent.calendar import Calendar
from parties.agent.config import Dial, WitnessConfig, load_config
from parties.agent.sections import Sections
from parties.agent.settings import settings_of
from parties.toml_file import TomlFile

ROOT = Path(__file__).resolve().parents[4]
PAGE = ROOT / "docs/agent-configuration.md"

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
[epochs]
open = "weekly monday 03:00"
keep_hours = 1.5
keep_megabytes = 2
[policy]
largest_epsilon = 1
smallest_epsilon = 0.01
shuffler = "mixer"
largest_epsilon_shuffled = 8
minimum_cohort = 100
minimum_batch = 50
columns = ["smoker", "age"]
aggregators = ["analyst"]
describe = "aggregators"
most_requests = 1000
[work]
quantum_milliseconds = 5
request_seconds = 10
[witness]
address = "witness.example:7300"
name = "auditor"
public_key = "0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f"
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
revoked = "revoked.pem"
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
    policy = config.policy
    assert policy.columns == frozenset({"smoker", "age"})
    assert policy.aggregators == frozenset({"analyst"}) and policy.private_description
    assert (policy.shuffler, policy.largest_epsilon_shuffled) == ("mixer", Epsilon.requested(8))
    assert (policy.smallest_epsilon, config.most_requests) == (Epsilon.requested("0.01"), 1000)
    assert (config.calendar, config.keeping) == (Calendar(3, 0, 0), Keeping(5400, 2 << 20))
    assert (config.work.quantum_seconds, config.work.request_seconds) == (0.005, 10)
    assert config.witness == WitnessConfig(Dial("witness.example:7300", "auditor"), b"\x0f" * 32)
    assert config.revoked == tmp_path / "revoked.pem"
    assert config.share_servers == {"server-0": "127.0.0.1:7001"}
    assert (config.address, config.dial) == ("127.0.0.1:7000", Dial("relay.example:7000", "analyst"))
    assert (policy.minimum_cohort, policy.minimum_batch) == (100, 50)


def test_little_has_to_be_said(tmp_path: Path) -> None:
    config = load_config(written(tmp_path, LEAST))
    assert config.budget == Epsilon.requested("0.1")
    assert config.budget_per_day is None and config.policy.columns is None and config.tls is None
    assert config.policy.largest_epsilon == Epsilon.requested(1) and config.policy.shuffler is None
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
        (LEAST.replace("data.path", "data.paht"), "data.paht: unknown; did you mean 'path'"),
        (LEAST.replace('data.path = "patients.csv"', ""), "data.path: missing; write path = "),
        (LEAST + "[polcy]\nlargest_epsilon = 1", "polcy: unknown; did you mean 'policy'"),
        (
            LEAST + "[policy]\nminimum_cohrt = 1",
            "policy.minimum_cohrt: unknown; did you mean 'minimum_cohort'",
        ),
        (LEAST + "schema.ward = { kind = 'label' }", "schema.ward: must have a kind among"),
        (LEAST.replace('"0.1"', "0"), "budget.total: epsilon must be"),
        (LEAST.replace('"0.1"', '"much"'), "budget.total: epsilon must be a number"),
        (LEAST.replace('{ kind = "bit" }', '{ kind = "bits" }'), "schema.smoker: must have a kind"),
        (LEAST.replace('{ kind = "bit" }', '"bit"'), "schema.smoker: a table"),
        (LEAST + '[policy]\ncolumns = ["smokr"]', "'smokr' is not a column"),
        (LEAST + "[policy]\nminimum_cohort = 0", "policy.minimum_cohort: a whole number"),
        (LEAST + "[policy]\nminimum_cohort = true", "policy.minimum_cohort: expected int"),
        (LEAST + "data.rows = 'each'", "data.most_rows: needed"),
        (LEAST + "data.rows = 'each'\ndata.most_rows = 2", "data.person: needed"),
        (LEAST + "data.rows = 'sample'", "data.person: needed"),
        (LEAST + "epochs.open = 'hourly'", 'epochs.open: "by hand"'),
        (LEAST + "epochs.keep_hours = -1", "epochs.keep_hours: a number from 0"),
        (LEAST + "work.quantum_milliseconds = 'much'", "work.quantum_milliseconds: a number from 0"),
        (LEAST + "policy.shuffler = 'mixer'", "policy.shuffler: goes with"),
        (LEAST + "policy.largest_epsilon_shuffled = 8", "policy.shuffler: goes with"),
        (LEAST + "policy.smallest_epsilon = 2", "policy.smallest_epsilon: is more than"),
        (LEAST + "policy.describe = 'nobody'", 'policy.describe: "anybody" or'),
        (LEAST + "witness.name = 'auditor'", "witness.address: missing"),
        (LEAST + "witness = { address = 'x:1', public_key = 'zz' }", "witness.public_key: 32 bytes"),
        (LEAST + "witness = { address = 'x:1', name = 'auditor' }", "witness.name: goes with [tls]"),
        (LEAST + "data.rows = 'every'", "data.rows: one of one, sample, each"),
        (LEAST + "quotas.others = 0.2", "quotas: all together are more than budget.total = 0.1"),
        (LEAST + "quotas.ada = 0.05", "quotas.ada: names an analyst by its certificate: it needs [tls]"),
        (LEAST + "quotas.others = 'much'", "quotas.others"),
        (WHOLE + "[quotas]\neve = 1", "quotas.eve: is not one of policy.aggregators"),
        (LEAST + "approval.columns = ['age']", "approval.columns: 'age' is not a column of the schema"),
        (LEAST + "approval.analysts = ['ada']", "approval.analysts: names analysts by their certificates"),
        (LEAST + "approval.questions = 1", "approval.questions: true or false"),
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
        (LEAST + "name", "not TOML"),
    ],
)
def test_a_mistake_is_told_in_one_line_that_names_the_key(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(InvalidParameter) as refusal:
        load_config(written(tmp_path, text))
    assert said in str(refusal.value)
    assert "agent.toml" in str(refusal.value)


def shown(text: str) -> str:
    """The one configuration that a text shows."""
    (block,) = re.findall(r"^```toml[^\n]*\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    return str(block)


def test_the_page_shows_the_configuration_of_the_docstring() -> None:
    assert module.__doc__ is not None
    assert shown(PAGE.read_text()) == shown(module.__doc__)


def test_every_key_that_is_read_is_shown(tmp_path: Path) -> None:
    file = TomlFile(written(tmp_path, WHOLE))
    file.table["data"] |= {"rows": "each", "most_rows": 2}
    sections = Sections(file)
    module._Reader(sections).config()
    listed = tomllib.loads(shown(PAGE.read_text()))
    assert set(listed) == set(module._SECTIONS)
    for section, keys in sections._known.items():
        assert set(listed[section]) == set(keys), section


def test_saying_what_holds_anyway_changes_nothing(tmp_path: Path) -> None:
    told = re.findall(r"^\| `(\w+\.\w+)` \| `(.+)` \|$", PAGE.read_text(), re.MULTILINE)
    assert len(told) == 23
    least = load_config(written(tmp_path, LEAST))
    assert (
        load_config(written(tmp_path, LEAST + "\n".join(f"{key} = {value}" for key, value in told)))
        == least
    )
    for key, value in told:
        other = str(float(value) / 2) if value.replace(".", "").isdigit() else '"debug"'
        other = {"false": "true", "1": "5", "2": "3", "100000": "7", "25000": "7"}.get(value, other)
        other = {"data.rows": '"sample"', "listen.address": '"127.0.0.1:1"'}.get(key, other)
        other = {"epochs.open": '"daily 03:00"', "policy.describe": '"aggregators"'}.get(key, other)
        other = {"data.encoding": '"latin-1"'}.get(key, other)
        person = 'data.person = "patient"\n' if key == "data.rows" else ""
        path = written(tmp_path, f"{LEAST}{person}{key} = {other}\n")
        assert load_config(path) != least, key


def test_quotas_and_approval_are_read(tmp_path: Path) -> None:
    more = "[quotas]\nanalyst = 6\nothers = 1.5\n[approval]\ncolumns = ['ward']\nquestions = true\n"
    config = load_config(written(tmp_path, WHOLE + more))
    assert config.quotas == Quotas({"analyst": Epsilon.requested(6)}, Epsilon.requested("1.5"))
    assert config.approval == ApprovalRules(frozenset({"ward"}), frozenset(), True)
    told = settings_of(config)
    assert "quotas = analyst 6, others 1.5" in told and "approval.columns = ward" in told
    assert "quotas" not in settings_of(load_config(written(tmp_path, WHOLE)))
