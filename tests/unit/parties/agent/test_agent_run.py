"""An agent from its configuration: its state is made once, never in passing, and never replaced by an empty one."""

from __future__ import annotations

import json
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

from localdp.accounting.ledger import Charge
from localdp.cohorts import Cohort
from localdp.errors import InvalidParameter, InvalidRecord, StorageFailed
from localdp.party.policy import Policy
from parties.agent.config import AgentConfig, load_config
from parties.agent.register import entries_of, export
from parties.agent.run import identity_of
from parties.agent.secret_file import FILE_NAME, load_secrets, rotate_secrets
from parties.agent.state import ANSWERS_NAME, LEDGER_NAME, init_storage
from tests.support.agents import close_party as close
from tests.support.agents import party_of, write_agent
from tests.support.federations import request
from tests.support.processes import somebody_without_rights

EVERYBODY = Cohort(0, 40)


@pytest.fixture
def config(tmp_path: Path) -> AgentConfig:
    return load_config(write_agent(tmp_path, budget="per_day = 3", policy="minimum_cohort = 10"))


def test_a_new_agent_has_keys_an_empty_ledger_and_its_owners_rules(config: AgentConfig) -> None:
    init_storage(config)
    party = party_of(config)
    assert (party.name, party.people) == ("clinic", 40)
    assert party.policy == config.policy and party.policy.minimum_cohort == 10
    assert not party.ledger.spent().any()
    close(party)


def test_its_state_is_for_its_owner_alone(config: AgentConfig) -> None:
    init_storage(config)
    close(party_of(config))
    names = {path.name for path in config.storage.iterdir()}
    assert {LEDGER_NAME, FILE_NAME, ANSWERS_NAME} < names
    assert any(name.startswith("epoch-") for name in names)
    for name in ("", *names):
        assert (config.storage / name).stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("survivor", [LEDGER_NAME, FILE_NAME])
def test_a_second_init_touches_nothing_even_if_half_is_missing(config: AgentConfig, survivor: str) -> None:
    init_storage(config)
    kept = (config.storage / survivor).read_bytes()
    for path in config.storage.iterdir():
        if path.name != survivor:
            path.unlink()
    with pytest.raises(InvalidParameter, match="not overwritten"):
        init_storage(config)
    assert [path.name for path in config.storage.iterdir()] == [survivor]
    assert (config.storage / survivor).read_bytes() == kept


def test_a_missing_ledger_is_not_replaced(config: AgentConfig) -> None:
    init_storage(config)
    (config.storage / LEDGER_NAME).unlink()
    with pytest.raises(InvalidParameter, match="would forget what was spent"):
        party_of(config)
    assert not (config.storage / LEDGER_NAME).exists()


def test_an_emptied_ledger_is_not_taken_for_a_new_one(config: AgentConfig) -> None:
    init_storage(config)
    party = party_of(config)
    party.randomize(request(1), EVERYBODY)
    close(party)
    (config.storage / LEDGER_NAME).write_bytes(b"")
    with pytest.raises(StorageFailed):
        party_of(config)
    assert (config.storage / LEDGER_NAME).read_bytes() == b""


def test_missing_keys_are_not_replaced(config: AgentConfig) -> None:
    init_storage(config)
    (config.storage / FILE_NAME).unlink()
    with pytest.raises(InvalidParameter, match="does not exist"):
        party_of(config)
    assert not (config.storage / FILE_NAME).exists()


def test_nothing_is_made_when_the_table_is_wrong(config: AgentConfig) -> None:
    config.data.write_text("patient,smoker\np1,true\n")
    with pytest.raises(InvalidRecord, match="'age'"):
        init_storage(config)
    assert not config.storage.exists()


def test_state_that_may_not_be_made_is_not_made() -> None:
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        directory.chmod(0o755)
        config = load_config(write_agent(directory))
        directory.chmod(0o555)
        with somebody_without_rights(), pytest.raises(PermissionError):
            init_storage(config)
        directory.chmod(0o755)
        assert not config.storage.exists()


def test_an_agent_that_was_restarted_and_rotated_gives_the_same_report_at_no_charge(
    config: AgentConfig,
) -> None:
    init_storage(config)
    party = party_of(config)
    before = party.randomize(request(1), EVERYBODY)
    spent = party.ledger.spent()
    close(party)
    rotate_secrets(config.storage)
    party = party_of(config)
    assert (party.randomize(request(1), EVERYBODY) == before).all()
    assert (party.ledger.spent() == spent).all()
    close(party)


@pytest.mark.parametrize("policy", ["", "by_content = true"])
def test_what_an_owner_shows_of_the_ledger_does_not_pin_the_records_for_anybody_else(
    tmp_path: Path, policy: str
) -> None:
    """Whoever knows all records but one could try values for it, if a digest of the records had no key."""
    shown = []
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        config = load_config(write_agent(tmp_path / name, policy=policy))
        init_storage(config)
        party = party_of(config)
        party.randomize(request(1), EVERYBODY)
        close(party)
        signer = load_secrets(config.storage).signer()
        kept = entries_of(config.storage / LEDGER_NAME, load_secrets(config.storage).chain_key)
        (charged,) = [entry for entry in kept if isinstance(entry.content, Charge)]
        entries = export("clinic", [charged], signer)["entries"]
        shown.append({key: entries[0][key] for key in ("records", "chain", "request")})
        assert party.records.fingerprint().hex() not in json.dumps(entries)
    public = (
        {"request"} if not policy else set[str]()
    )  # the aggregator chose it; by content it depends on the records
    assert {key for key in shown[0] if shown[0][key] == shown[1][key]} == public


def test_off_loopback_and_for_named_aggregators_there_must_be_certificates(config: AgentConfig) -> None:
    assert identity_of(config) is None
    for wrong in ({"address": "0.0.0.0:0"}, {"policy": Policy(aggregators=frozenset({"analyst"}))}):
        with pytest.raises(InvalidParameter, match=r"\[tls\]"):
            identity_of(replace(config, **wrong))
