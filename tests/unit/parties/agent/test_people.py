"""A person keeps their budget, whatever happens to the table."""

import sqlite3
from contextlib import closing
from decimal import Decimal
from pathlib import Path

import pytest
from pyarrow import parquet

from localdp.cohorts import Cohort
from localdp.domains import BitDomain, Schema
from localdp.errors import InvalidParameter, InvalidRecord, StorageFailed
from localdp.party.party import Party, Request
from localdp.randomizers.one_bit import binary_randomized_response
from parties.agent.arrow_blocks import Blocks
from parties.agent.config import load_config
from parties.agent.data import Rows, load_table
from parties.agent.people import Meaning, Numbers
from parties.agent.state import init_storage, ledger_to_read, publish
from tests.support.agents import party_of

KEY = bytes(32)
PERSON = Meaning("north", "person", "patient")
CONFIG = """
name = "north"
data.path = "p.csv"
{data}
schema.ill = {{ kind = "bit" }}
budget.total = 10
"""
WITH_PERSON = 'data.person = "patient"\ndata.rows = "sample"'


def party(tmp_path: Path, rows: list[str], data: str = WITH_PERSON) -> Party:
    (tmp_path / "p.csv").write_text("patient,ill\n" + "".join(f"{row}\n" for row in rows))
    (tmp_path / "agent.toml").write_text(CONFIG.format(data=data))
    config = load_config(tmp_path / "agent.toml")
    if (tmp_path / "state").exists():
        publish(config)
    else:
        init_storage(config)
    return party_of(config)


def restarted(tmp_path: Path) -> Party:
    return party_of(load_config(tmp_path / "agent.toml"))


def charge(party: Party, start: int, stop: int, number: int) -> None:
    party.randomize(Request(b"%16d" % number, "ill", binary_randomized_response(1)), Cohort(start, stop))


def test_budgets_follow_people_through_sorting_and_newcomers(tmp_path: Path) -> None:
    before = party(tmp_path, ["c,1", "a,0", "b,1"])
    charge(before, 0, 1, 1)  # c, who stood first
    charge(before, 0, 2, 2)  # c and a
    after = party(tmp_path, ["new,0", "a,0", "b,1", "c,1"])
    assert after.ledger.spent().tolist() == [2 * 10**9, 10**9, 0, 0]
    assert after.records.column("ill").tolist() == [True, False, True, False]  # c, a, b, new


def test_several_rows_of_a_person_may_come_and_go(tmp_path: Path) -> None:
    before = party(tmp_path, ["a,0", "b,1"])
    charge(before, 0, 1, 1)
    after = party(tmp_path, ["b,1", "b,0", "a,0", "b,1"])
    assert after.people == 2
    assert after.ledger.spent().tolist() == [10**9, 0]


def test_a_table_in_which_somebody_is_missing_is_refused(tmp_path: Path) -> None:
    party(tmp_path, ["a,0", "b,1", "c,1"])
    with pytest.raises(InvalidRecord, match="1 people who were in the table"):
        party(tmp_path, ["a,0", "c,1"])
    assert party(tmp_path, ["c,1", "b,1", "a,0"]).people == 3


@pytest.mark.parametrize("data", ["", 'data.person = "patient"\ndata.rows = "each"\ndata.most_rows = 4'])
def test_where_places_are_all_there_is_a_table_is_not_read_again_whether_or_not_it_changed(
    tmp_path: Path, data: str
) -> None:
    rows = ["a,0", "a,1", "b,1"]
    before = party(tmp_path, rows, data)
    party(tmp_path, ["a,1", *rows[1:]], data)  # nobody has been asked yet: any table will do
    before = party(tmp_path, rows, data)
    charge(before, 0, 1, 1)
    for table in (["b,1", "a,0", "a,1", "a,1"], rows):
        with pytest.raises(InvalidRecord, match="place of a row"):
            party(tmp_path, table, data)
    assert restarted(tmp_path).ledger.spent().sum() == 10**9


def test_the_owner_can_vouch_for_the_places(tmp_path: Path) -> None:
    charge(party(tmp_path, ["a,0", "b,1"], ""), 0, 1, 1)
    vouched = party(tmp_path, ["a,1", "b,1"], "data.fixed_order = true")
    assert vouched.ledger.spent().tolist() == [10**9, 0]


def test_nobody_vouches_for_places_that_people_give_up(tmp_path: Path) -> None:
    data = 'data.person = "patient"\ndata.rows = "sample"\ndata.fixed_order = true'
    with pytest.raises(InvalidParameter, match=r"data\.fixed_order: goes without data\.person"):
        party(tmp_path, ["ann,0", "bob,1"], data)  # a second visit of ann's would take bob's place


EACH = 'data.person = "patient"\ndata.rows = "each"\ndata.most_rows = 2'


@pytest.mark.parametrize(
    ("before", "after"), [("", WITH_PERSON), (EACH, WITH_PERSON), (WITH_PERSON, EACH), (WITH_PERSON, "")]
)
def test_charges_of_rows_are_never_read_as_those_of_people_nor_the_other_way_round(
    tmp_path: Path, before: str, after: str
) -> None:
    rows = ["ann,0", "bob,1", "ann,1"]
    party(tmp_path, rows, after)
    asked = party(tmp_path, rows, before)  # nobody was charged yet: the owner may still choose
    charge(asked, 0, 1, 1)
    for table in (rows, ["bob,1", "ann,1", "ann,0"]):
        with pytest.raises(InvalidRecord, match="keeps budgets by"):
            party(tmp_path, table, after)
    (tmp_path / "agent.toml").write_text(CONFIG.format(data=before))
    assert restarted(tmp_path).ledger.spent().sum() == 10**9


def test_an_agent_notices_that_its_numbers_were_given_another_meaning(tmp_path: Path) -> None:
    rows = ["ann,0", "bob,1", "ann,1"]
    running = party(tmp_path, rows, "")
    party(tmp_path, rows, WITH_PERSON)  # nobody was charged yet, so this is allowed
    with pytest.raises(StorageFailed, match="another meaning"):
        charge(running, 0, 1, 1)
    assert not party(tmp_path, rows, WITH_PERSON).ledger.spent().any()


def test_a_changed_meaning_is_told_before_anybody_is_charged(tmp_path: Path) -> None:
    running = party(tmp_path, ["ann,0", "bob,1"], "")
    (tmp_path / "agent.toml").write_text(CONFIG.format(data=WITH_PERSON))
    for opened in (party_of, ledger_to_read):
        with pytest.raises(InvalidParameter, match="localdp agent publish"):
            opened(load_config(tmp_path / "agent.toml"))
    charge(running, 0, 1, 1)
    assert running.ledger.spent().tolist() == [10**9, 0]


def numbered(ledger: Path, key: bytes, identifiers: list[str]) -> list[int]:
    """The numbers of these people, written down."""
    numbers = Numbers(ledger, key, PERSON)
    found = numbers(identifiers).tolist()
    with closing(sqlite3.connect(ledger)) as file, file:
        numbers.write(file)
    return [int(number) for number in found]


def test_numbers_are_kept_and_identifiers_are_not(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger"
    assert numbered(ledger, KEY, ["x", "y"]) == [0, 1]
    assert numbered(ledger, KEY, ["secret-name", "y", "x"]) == [2, 1, 0]
    content = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"secret-name" not in content


def test_another_key_knows_nobody(tmp_path: Path) -> None:
    numbered(tmp_path / "ledger", KEY, ["x"])
    with pytest.raises(InvalidRecord):
        numbered(tmp_path / "ledger", bytes(31) + b"1", ["x"])


def test_who_has_published_meanwhile_is_noticed(tmp_path: Path) -> None:
    late = Numbers(tmp_path / "ledger", KEY, PERSON)
    late(["x"])
    numbered(tmp_path / "ledger", KEY, ["y"])
    with (
        closing(sqlite3.connect(tmp_path / "ledger")) as file,
        pytest.raises(InvalidRecord, match="publish again"),
    ):
        late.write(file)


def test_a_table_that_is_refused_leaves_nobody_behind(tmp_path: Path) -> None:
    rows = ["ann,0", "bob,1"]
    party(tmp_path, rows)
    for wrong in ([*rows, "anm,7"], [*rows, "anm,0", "cid,x"]):
        with pytest.raises(InvalidRecord, match="neither true nor false"):
            party(tmp_path, wrong)
    assert party(tmp_path, rows).people == 2
    assert party(tmp_path, [*rows, "cid,0"]).people == 3


@pytest.mark.parametrize("rows", ["one", "each"])
def test_identifiers_that_were_rounded_until_two_people_are_one_are_refused(
    rows: Rows, tmp_path: Path
) -> None:
    """A database has numbers of twenty digits as decimals, which are read as the floats next to them."""
    blocks = Blocks(["patient", "bit"])
    blocks.add([(Decimal("12345678901234567890"), True), (Decimal("12345678901234567891"), False)])
    parquet.write_table(blocks.table(), tmp_path / "t.parquet")
    with pytest.raises(InvalidRecord, match="two people may be one number"):
        load_table(tmp_path / "t.parquet", Schema({"bit": BitDomain()}), "patient", rows)
    few = Blocks(["patient", "bit"])
    few.add([(Decimal((1 << 53) - 1), True), (Decimal((1 << 53) - 2), False)])
    parquet.write_table(few.table(), tmp_path / "t.parquet")
    assert load_table(tmp_path / "t.parquet", Schema({"bit": BitDomain()}), "patient", rows)[0].people == 2
