"""The owner's table, as a configuration says that it is read: when an epoch opens, and at no other time.

What its rows are kept by in the ledger, and whether it may be read again, is said here, too.

Checked in tests/unit/parties/agent/test_people.py, and test_whose_budgets.py and test_publishing.py there.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from localdp.domains import Ownership, Records
from localdp.errors import InvalidRecord, LocalDpError
from localdp.randomness.keys import derive_key
from parties.agent.config import AgentConfig
from parties.agent.data import Loaded, Numbering, by_appearance, load
from parties.agent.ledger import SqliteLedger
from parties.agent.people import Meaning, Numbers
from parties.agent.sources import TableSource


def table_of(config: AgentConfig, numbering: Numbering = by_appearance) -> tuple[Records, Ownership | None]:
    """The records that stand in the table, and whose they are; what it raises quotes none of them."""
    loaded = loaded_table(config, numbering)
    return loaded.records, loaded.ownership


def loaded_table(config: AgentConfig, numbering: Numbering = by_appearance) -> Loaded:
    """The same, with what was decided about the cells."""
    with quoting_nothing(config.source):
        loaded = load(config.source, config.declared, config.person, config.rows, numbering)
    if loaded.ownership is not None and config.rows == "each":
        most = int(loaded.ownership.counts.max())
        if most > config.policy.most_rows:
            raise InvalidRecord(
                f"{config.source.name}: somebody has more than data.most_rows = {config.policy.most_rows} rows"
            )
    return loaded


@contextmanager
def quoting_nothing(source: TableSource) -> Iterator[None]:
    """Tell what a reader raises without its text, which may quote a record."""
    try:
        yield
    except LocalDpError:
        raise
    except Exception as error:
        if isinstance(error, OSError) and error.errno:
            raise  # the system's words about the file
        kind = type(error).__name__
        raise InvalidRecord(f"{source.name}: the table cannot be read ({kind})") from None


def meaning_of(config: AgentConfig) -> Meaning:
    """What the ledger keeps budgets by."""
    if config.person is None:
        return Meaning(config.name, "row")
    return Meaning(config.name, "row of a person" if config.rows == "each" else "person", config.person)


def numbers_of(config: AgentConfig, ledger: Path, signing: bytes) -> Numbers:
    """The numbers of its people, whose digests are under a key of the party's."""
    return Numbers(ledger, derive_key(signing, b"people"), meaning_of(config))


def require_places(config: AgentConfig, pin: bytes, ledger: SqliteLedger) -> None:
    """Refuse to read a table again in which a budget could pass from one person to another.

    It is refused whether or not the table changed: or whoever sees an epoch open would see that nothing changed.  Only a
    ledger that has had no epoch yet is asked for the table that it was charged for.
    """
    charged = ledger.last_state()
    if charged is None or config.fixed_order or meaning_of(config).index == "person":
        return
    if ledger.epoch is None and charged == pin:
        return
    told = "people were asked about this table, and budgets are kept by the place of a row: it is not read again. "
    if config.person is None:
        raise InvalidRecord(
            told + "Say data.fixed_order = true if every row is, and will be, the same person's. "
            "An agent that knows people by a column (data.person) has to be told so before it is first asked"
        )
    raise InvalidRecord(told + 'Where tables change, use rows = "sample", from the first question on')
