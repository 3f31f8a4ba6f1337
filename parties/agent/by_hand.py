"""An epoch that its owner prepares now and opens later: reading takes its time, and opening takes none.

Both steps are those of every publication (`parties.agent.state`); the command has the table read by a process of the lowest
priority, as the calendar has (`parties.agent.apart`).

Checked in tests/unit/parties/agent/test_waiting_epoch.py.
"""

from __future__ import annotations

from parties.agent.chain import OpenedEpoch
from parties.agent.config import AgentConfig
from parties.agent.epochs import identifier_of, opened_epoch, publishing
from parties.agent.secret_file import load_secrets
from parties.agent.state import LEDGER_NAME, drop_others, open_prepared, prepare_allowed
from parties.agent.table import numbers_of
from parties.agent.unfinished import require_finished
from parties.agent.waiting_epoch import keep_waiting, waiting


def prepare_to_wait(config: AgentConfig) -> None:
    """Read the owner's table for an epoch that is opened later; what waited before is forgotten."""
    require_finished(config.storage)
    key = load_secrets(config.storage).secrets.pin
    with publishing(config.storage):
        after = identifier_of(opened_epoch(config.storage / LEDGER_NAME))
        try:
            keep_waiting(config.storage, key, prepare_allowed(config), after)
        finally:
            drop_others(config)


def open_waiting(config: AgentConfig) -> OpenedEpoch:
    """Open what was prepared, if no other epoch was opened since."""
    require_finished(config.storage)
    secrets, ledger = load_secrets(config.storage), config.storage / LEDGER_NAME
    with publishing(config.storage):
        numbers = numbers_of(config, ledger, secrets.signing)
        after = identifier_of(opened_epoch(ledger))
        way = waiting(config.storage, secrets.secrets.pin, after, numbers)
        return open_prepared(config, [way])
