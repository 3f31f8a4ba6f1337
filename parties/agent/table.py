"""The owner's table, as a configuration says that it is read: when an epoch opens, and at no other time.

What its rows are kept by in the ledger, and whether it may be read again, is said here, too.

Checked in tests/unit/parties/agent/test_people.py, and test_whose_budgets.py and test_publishing.py there.
"""

from __future__ import annotations

from localdp.domains import Ownership, Records
from localdp.errors import InvalidRecord, LocalDpError
from parties.agent.config import AgentConfig
from parties.agent.data import Numbering, by_appearance, load_table
from parties.agent.ledger import SqliteLedger
from parties.agent.people import Meaning


def table_of(config: AgentConfig, numbering: Numbering = by_appearance) -> tuple[Records, Ownership | None]:
    """The records that stand in the table, and whose they are; what it raises quotes none of them."""
    try:
        records, ownership = load_table(config.data, config.declared, config.person, config.rows, numbering)
    except LocalDpError:
        raise
    except (OSError, ValueError) as error:  # of a reader of files; its text may quote a record
        if isinstance(error, OSError) and error.errno:
            raise  # the system's words about the file
        raise InvalidRecord(f"{config.data}: the table cannot be read ({type(error).__name__})") from None
    if ownership is not None and config.rows == "each":
        most = int(ownership.counts.max())
        if most > config.policy.most_rows:
            raise InvalidRecord(
                f"{config.data}: somebody has more than data.most_rows = {config.policy.most_rows} rows"
            )
    return records, ownership


def meaning_of(config: AgentConfig) -> Meaning:
    """What the ledger keeps budgets by."""
    if config.person is None:
        return Meaning(config.name, "row")
    return Meaning(config.name, "row of a person" if config.rows == "each" else "person", config.person)


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
