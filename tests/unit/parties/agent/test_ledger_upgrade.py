"""States that an older version wrote: every charge is kept, or they are refused with what to do; never begun anew."""

from __future__ import annotations

import json
import sqlite3
import zipfile
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from localdp.cohorts import Cohort
from localdp.errors import (
    BudgetExhausted,
    InvalidParameter,
    RequestExpired,
    RolledBack,
    StorageFailed,
)
from localdp.party.party import Party
from parties.agent.chain import VERSION, Chain
from parties.agent.config import load_config
from parties.agent.entries import Upgrade
from parties.agent.ledger import SqliteLedger
from parties.agent.mark import mark_path
from parties.agent.register import verify
from parties.agent.secret_file import load_secrets
from parties.agent.state import LEDGER_NAME
from parties.agent.upgrade import prepare
from tests.support.agents import close_party, party_of
from tests.support.ledgers import NAT, charge, charges_in, entries_in

STATES = Path(__file__).parents[3] / "vectors" / "first_layout"
HALF = 5 * 10**8
SPENT = [3 * HALF, 2 * HALF, 2 * HALF, HALF, 2 * HALF, 2 * HALF]
KINDS = {"plain": [*SPENT, *[0] * 6], "people": SPENT, "unfinished": [*SPENT, *[0] * 6]}


def unpacked(directory: Path, kind: str) -> Path:
    """The state as it was left; returns the ledger."""
    with zipfile.ZipFile(STATES / f"{kind}.zip") as archive:
        archive.extractall(directory)
    for path in (directory / "state").iterdir():
        path.chmod(0o600)
    return directory / "state" / LEDGER_NAME


def started(directory: Path) -> Party:
    return party_of(load_config(directory / "agent.toml"))


def close(party: Party) -> None:
    close_party(party)


@pytest.mark.parametrize("kind", KINDS)
def test_every_charge_of_an_older_state_is_kept(tmp_path: Path, kind: str) -> None:
    path = unpacked(tmp_path, kind)
    for _ in range(2):  # the second time it is of this version
        party = started(tmp_path)
        assert party.ledger.spent().tolist() == KINDS[kind]
        assert party.ledger.limit.nanonats == 8 * HALF
        close(party)
    charges = charges_in(path)
    assert [charge.caller for charge in charges] == ["analyst", "analyst", "auditor", ""]
    assert {charge.epoch for charge in charges} == {0}
    assert mark_path(path).exists()
    upgrade = entries_in(path)[4].content
    assert isinstance(upgrade, Upgrade) and upgrade.entries == 4


def test_the_old_head_is_in_the_new_chain(tmp_path: Path) -> None:
    path = unpacked(tmp_path, "plain")
    with closing(sqlite3.connect(path)) as file:
        (head,) = file.execute("SELECT chain FROM charges ORDER BY number DESC LIMIT 1").fetchone()
    close(started(tmp_path))
    upgrade = entries_in(path)[4].content
    assert isinstance(upgrade, Upgrade) and upgrade.head == head


def test_requests_of_an_older_state_have_expired(tmp_path: Path) -> None:
    path = unpacked(tmp_path, "plain")
    key = load_secrets(path.parent).chain_key
    with closing(SqliteLedger(path, 12, NAT * 4, chain_key=key)) as ledger:
        ledger.open_epoch(b"1" * 16, b"pin")
        for epoch in (0, 1):
            with pytest.raises(RequestExpired):
                ledger.charge(replace(charges_in(path)[0], epoch=epoch))
        with pytest.raises(BudgetExhausted):
            ledger.charge(charge(9, Cohort(0, 1), NAT * 3))
        assert ledger.charge(charge(9, Cohort(3, 4), NAT * 3))


def test_budgets_by_the_sum_over_rows_are_refused_until_each_row_has_its_share(tmp_path: Path) -> None:
    unpacked(tmp_path, "rows")
    with pytest.raises(InvalidParameter, match=r"data\.most_rows"):
        started(tmp_path)
    config = tmp_path / "agent.toml"
    text = config.read_text()
    config.write_text(text.replace("data.rows", "data.most_rows = 2\ndata.rows"))
    party = started(tmp_path)
    assert party.ledger.spent().tolist() == [*SPENT, *[0] * 6]
    assert party.ledger.limit.nanonats == 4 * HALF
    close(party)


def test_whoever_only_looks_brings_nothing_over(tmp_path: Path) -> None:
    path = unpacked(tmp_path, "plain")
    before = path.read_bytes()
    assert len(charges_in(path)) == 4
    key = load_secrets(path.parent).chain_key
    with closing(SqliteLedger(path, 12, NAT * 4, chain_key=key, write=False)) as ledger:
        assert ledger.spent().tolist() == KINDS["plain"]
        with pytest.raises(StorageFailed, match="for reading"):
            ledger.charge(charge(1, Cohort(0, 1)))
    assert path.read_bytes() == before and not mark_path(path).exists()


DAMAGE = {
    "a changed row": "UPDATE charges SET cost_nanonats = 1 WHERE number = 2",
    "a row less": "DELETE FROM charges WHERE number = 2",
    "an end less": "DELETE FROM charges WHERE number = 4",
    "a beginning less": "DELETE FROM charges WHERE number = 1",
    "all less": "DELETE FROM charges",
    "half a split": "UPDATE charges SET part = NULL",
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_an_older_ledger_that_is_not_whole_is_refused_and_left_alone(tmp_path: Path, damage: str) -> None:
    path = unpacked(tmp_path, "plain")
    with closing(sqlite3.connect(path)) as file:
        file.executescript(DAMAGE[damage])
        file.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    for act in (lambda: started(tmp_path), lambda: charges_in(path)):
        with pytest.raises(StorageFailed):
            act()
    with closing(sqlite3.connect(path)) as file:
        assert file.execute("PRAGMA user_version").fetchone() == (0,)
        assert file.execute("SELECT count(*) FROM sqlite_master WHERE name = 'charges'").fetchone() == (1,)


def test_an_older_copy_over_a_ledger_of_this_version_is_refused(tmp_path: Path) -> None:
    path = unpacked(tmp_path, "plain")
    close(started(tmp_path))
    mark = mark_path(path).read_bytes()
    unpacked(tmp_path, "plain")
    assert mark_path(path).read_bytes() == mark
    for act in (lambda: started(tmp_path), lambda: charges_in(path)):
        with pytest.raises(RolledBack):
            act()


@pytest.mark.parametrize("step", ["CREATE", "INSERT", "DROP", "COMMIT"])
def test_a_crash_in_the_middle_leaves_the_older_ledger(tmp_path: Path, step: str) -> None:
    path = unpacked(tmp_path, "plain")
    chain = Chain(load_secrets(path.parent).chain_key)

    class Dying(sqlite3.Connection):
        def execute(self, statement: str, *parameters: object) -> sqlite3.Cursor:
            if statement.strip().startswith(step):
                raise sqlite3.OperationalError
            return super().execute(statement, *parameters)  # type: ignore[arg-type]

    with (
        closing(sqlite3.connect(path, factory=Dying, isolation_level=None)) as file,
        pytest.raises(sqlite3.OperationalError),
    ):
        prepare(file, chain)
    party = started(tmp_path)
    assert party.ledger.spent().tolist() == KINDS["plain"]
    close(party)


def test_a_newer_version_is_refused_with_what_to_do(tmp_path: Path) -> None:
    path = unpacked(tmp_path, "plain")
    close(started(tmp_path))
    with closing(sqlite3.connect(path)) as file:
        file.execute(f"PRAGMA user_version = {VERSION + 1}")
    for act in (lambda: started(tmp_path), lambda: charges_in(path)):
        with pytest.raises(StorageFailed, match="newer version of localdp"):
            act()


def test_a_register_of_the_first_version_is_still_verified(tmp_path: Path) -> None:
    unpacked(tmp_path, "plain")
    public = load_secrets(tmp_path / "state").signer().public_key().public_bytes_raw()
    document = json.loads((tmp_path / "register.json").read_text())
    assert verify(document, public) == 4
    for field in document["entries"][1]:
        forged = json.loads((tmp_path / "register.json").read_text())
        value = forged["entries"][1][field]
        forged["entries"][1][field] = value + 1 if isinstance(value, int) else f"{value}0"
        with pytest.raises(InvalidParameter):
            verify(forged, public)
