"""An agent's state directory, made and opened: keys, ledger, the copy of the open epoch's records, and what was answered.

| file | what it is | if it is lost |
|---|---|---|
| secrets.json | the keys of coins, of the chain and of the register | requests of before are refused |
| ledger.sqlite, with its -wal and -shm | every use of epsilon | the agent does not start |
| mark | how far the ledger had come | the agent does not start |
| epoch-*.npz | the records of the open epoch | the agent does not start; publish again |
| answers.sqlite | what was sent, for repetitions | charged requests are drawn once more |

`localdp agent backup` copies the first three as they are at one moment; a copy of single files may be an old one.

Records are read from the owner's table when an epoch opens, and at no other time.  A running agent enters an epoch as soon
as the ledger says that it is open, whoever opened it.

Checked in tests/unit/parties/test_agent_run.py, tests/unit/parties/test_publishing.py and tests/fault/.
"""

from __future__ import annotations

import fcntl
import logging
import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import fields
from pathlib import Path

from localdp.accounting.ledger import Ledger
from localdp.domains import Ownership, Records
from localdp.errors import Busy, InvalidParameter, InvalidRecord, LocalDpError, StorageFailed
from localdp.oracles.epoch import Epoch
from localdp.oracles.party import Party
from localdp.randomness.keys import derive_key
from parties.agent.answers import KeptAnswers
from parties.agent.chain import OpenedEpoch
from parties.agent.config import AgentConfig
from parties.agent.data import Numbering, by_appearance, load_table
from parties.agent.epochs import drop_epochs, load_epoch, new_identifier, opened_epoch, save_epoch
from parties.agent.ledger import SqliteLedger
from parties.agent.opening import require_something
from parties.agent.people import Meaning, Numbers, complete_meaning, pinned_meaning, require_meaning
from parties.agent.same_file import LOCK_SUFFIX
from parties.agent.secret_file import FILE_NAME, SecretFile, load_secrets, make_secrets
from parties.agent.unfinished import is_unfinished, making, require_finished
from parties.agent.witnessing import witness_of
from parties.observability.logs import log
from parties.witness.heads import Witness

LEDGER_NAME = "ledger.sqlite"
ANSWERS_NAME = "answers.sqlite"
_PARTS = ("secrets.*", "ledger.*", "answers.*", "epoch-*")
_MINUTE = 60
_PATIENCE_SECONDS = 120


def init_storage(config: AgentConfig) -> Path:
    """Make an agent's keys and its empty ledger, and open the first epoch; what was cut off is completed."""
    if not is_unfinished(config.storage) and _holds_something(config.storage):
        raise InvalidParameter(f"{config.storage} holds an agent's state already; it is not overwritten")
    _table(config)  # bad data is refused before keys are made
    with making(config.storage):
        made = (config.storage / FILE_NAME).exists()
        secrets = load_secrets(config.storage) if made else make_secrets(config.storage)
        _publish(config, secrets, False)
    return config.storage


def publish(config: AgentConfig, *, at_full_minute: bool = False) -> OpenedEpoch:
    """Read the owner's table, and open an epoch in which it is answered from; every older request expires.

    How long reading takes depends on what is read: where nobody chose the moment by hand, the epoch opens at a full minute.
    """
    return _publish(config, _found(config), at_full_minute)


def publish_again(config: AgentConfig, *, at_full_minute: bool = False) -> OpenedEpoch:
    """Open an epoch on the records of the last one: what a calendar does where the table cannot be read."""
    secrets = _found(config)
    with publishing(config.storage):
        epoch = _present(config, secrets)
        return _opened(config, secrets, epoch.records, epoch.ownership, at_full_minute)


def publish_by_calendar(config: AgentConfig, *, at_full_minute: bool = True) -> OpenedEpoch:
    """Publish the table as it is now; or, if it cannot be, the records of before, and say so to the operator."""
    try:
        return publish(config, at_full_minute=at_full_minute)
    except Busy:
        raise
    except Exception as error:  # whatever a table has in it, callers are not to see a difference
        if opened_epoch(config.storage / LEDGER_NAME) is None:
            raise  # there are no records of before
        log(logging.ERROR, "publish_failed", {"name": config.name, "error": type(error).__name__})
        return publish_again(config, at_full_minute=at_full_minute)


def publish_if_overdue(config: AgentConfig) -> None:
    """Open an epoch if the calendar has passed, or if there is none; another process may be about to."""
    for _ in range(_PATIENCE_SECONDS):
        if not is_overdue(config, opened_epoch(config.storage / LEDGER_NAME)):
            return
        try:
            publish_by_calendar(config, at_full_minute=False)
        except Busy:
            time.sleep(1)


class AgentState:
    """The party of an agent, and what it keeps on disk.  Its objects belong to one thread at a time."""

    def __init__(
        self, config: AgentConfig, watched: Callable[[Ledger], Ledger] = lambda ledger: ledger
    ) -> None:
        """`watched` puts something around the ledger, to count its charges."""
        self._config = config
        self._secrets = _found(config)
        self._witness = witness_of(config, self._secrets)
        publish_if_overdue(config)
        epoch = _present(config, self._secrets)
        complete_meaning(config.storage / LEDGER_NAME, _meaning(config))
        self._ledger = open_ledger(config, self._secrets, epoch.people, self._witness)
        self._settings = settings_of(config)
        self._ledger.note_settings(self._settings)
        self.party = Party(
            config.name,
            epoch.records,
            self._secrets.secrets,
            watched(self._ledger),
            config.policy,
            epoch.ownership,
        )
        self.answers = KeptAnswers(config.storage / ANSWERS_NAME, config.keeping)
        self.party.require_kept = self.answers.require_there
        self._enter(epoch)

    def refresh(self) -> None:
        """Enter the epoch that is open by now, whoever opened it; called before every request."""
        opened = self._ledger.epoch
        if self._ledger.settings != self._settings:
            raise StorageFailed(
                "the owner's rules were changed by another agent on this ledger; start this one again"
            )
        if opened is None or opened.number == self.party.epoch.number:
            return
        epoch = load_epoch(self._config.storage, opened, self._secrets.secrets.pin)
        self._ledger.speak_for(epoch.people)
        self._enter(epoch)

    def recall(self, request: bytes) -> None:
        """Have at hand what was charged under the name of a request."""
        self._ledger.recall(request)

    def _enter(self, epoch: Epoch) -> None:
        self.party.enter(epoch)
        self.answers.enter(epoch)
        with (
            suppress(Busy),
            publishing(self._config.storage),
        ):  # else a copy may be of the epoch that is about to open
            drop_epochs(self._config.storage, epoch.identifier)

    def close(self) -> None:
        """Let go of the files."""
        self.answers.close()
        self._ledger.close()
        if self._witness is not None:
            self._witness.close()


def is_overdue(config: AgentConfig, opened: OpenedEpoch | None, now: float | None = None) -> bool:
    """Whether an epoch has to be opened: there is none, or the calendar has passed since the last one.

    One that was opened beyond the calendar's next opening was opened by a clock that was ahead: it would stop the calendar.
    """
    if opened is None:
        return True
    at = time.time() if now is None else now
    calendar = config.calendar
    return calendar is not None and not calendar.last(at) <= opened.opened_at < calendar.next(at)


def settings_of(config: AgentConfig) -> str:
    """Budgets and policy in words, for the ledger and its register."""
    rules = {field.name: getattr(config.policy, field.name) for field in fields(config.policy)}
    told = {"budget": config.budget, "budget_per_day": config.budget_per_day, **rules}
    return "; ".join(f"{key} = {_in_words(value)}" for key, value in told.items())


def _in_words(value: object) -> str:
    if isinstance(value, frozenset):
        return ", ".join(sorted(map(str, value))) or "nothing"
    return "not given" if value is None else str(value)


def open_ledger(
    config: AgentConfig,
    secrets: SecretFile,
    people: int,
    witness: Witness | None = None,
    *,
    write: bool = True,
) -> SqliteLedger:
    """The ledger of so many people, or of rows where each has its share of its owner's budget (Definition 12.3)."""
    most, per_day = config.policy.most_rows, config.budget_per_day
    ledger = SqliteLedger(
        config.storage / LEDGER_NAME,
        people,
        config.budget.divided_by(most),
        chain_key=secrets.chain_key,
        limit_per_day=None if per_day is None else per_day.divided_by(most),
        index=str(_meaning(config)),
        most_requests=config.most_requests,
        most_requests_of_caller=config.most_requests_of_caller,
        party=config.name,
        witness=witness,
        write=write,
    )
    if most > 1 and int(ledger.spent().max()) - ledger.losses.nanonats > ledger.limit.nanonats:
        ledger.close()
        raise InvalidParameter(
            "rows have spent more than their share: was data.most_rows or the budget changed?"
        )
    return ledger


def ledger_to_read(config: AgentConfig) -> SqliteLedger:
    """The ledger beside an agent that may be running, for its owner's eyes."""
    secrets = _found(config)
    return open_ledger(config, secrets, _people(config, secrets), write=False)


def _people(config: AgentConfig, secrets: SecretFile) -> int:
    """How many people there are: in the epoch that is open, or else in the table, as after a restore."""
    if opened_epoch(config.storage / LEDGER_NAME) is not None:
        return _present(config, secrets).people
    numbers = Numbers(
        config.storage / LEDGER_NAME, derive_key(secrets.signing, b"people"), _meaning(config)
    )
    return Epoch.first(*_table(config, numbers)).people


def _found(config: AgentConfig) -> SecretFile:
    """The keys of a state that is whole.  A ledger that is missing is never replaced by an empty one."""
    ledger_path = config.storage / LEDGER_NAME
    require_finished(config.storage)
    if not ledger_path.is_file():
        raise InvalidParameter(
            f"there is no ledger at {ledger_path}; an empty one would forget what was spent. "
            "If this agent is new, run `localdp agent init`; if it had one, `localdp agent restore`"
        )
    require_something(ledger_path)  # an emptied file, too, would forget
    return load_secrets(config.storage)


def _holds_something(storage: Path) -> bool:
    """Whether any part of a state is left, be it the log of a ledger that is gone."""
    left = (path for pattern in _PARTS for path in storage.glob(pattern))
    return any(path.suffix != LOCK_SUFFIX for path in left)


def _present(config: AgentConfig, secrets: SecretFile) -> Epoch:
    """The epoch that is open."""
    opened = opened_epoch(config.storage / LEDGER_NAME)
    if opened is None:
        raise InvalidParameter("no epoch is open; open one with `localdp agent publish`")
    if not _meaning(config).agrees(pinned_meaning(config.storage / LEDGER_NAME)):
        raise InvalidParameter(
            "name, data.person or data.rows changed since the epoch was opened: put them back, or open a new epoch with "
            "`localdp agent publish`"
        )
    return load_epoch(config.storage, opened, secrets.secrets.pin)


def _publish(config: AgentConfig, secrets: SecretFile, at_full_minute: bool) -> OpenedEpoch:
    ledger_path = config.storage / LEDGER_NAME
    with publishing(config.storage):
        require_meaning(ledger_path, _meaning(config))
        numbers = Numbers(ledger_path, derive_key(secrets.signing, b"people"), _meaning(config))
        records, ownership = _table(config, numbers)
        return _opened(config, secrets, records, ownership, at_full_minute, numbers)


def _opened(
    config: AgentConfig,
    secrets: SecretFile,
    records: Records,
    ownership: Ownership | None,
    at_full_minute: bool,
    numbers: Numbers | None = None,
) -> OpenedEpoch:
    """Copy the records, then open the epoch, with the `numbers` of people if a table was read; from here on it is open."""
    if at_full_minute:
        time.sleep(-time.time() % _MINUTE)
    identifier = new_identifier()
    epoch = Epoch(1, identifier, records, ownership)
    pin = epoch.pinned(secrets.secrets.pin)
    with ExitStack() as undo:
        witness = witness_of(config, secrets)
        if witness is not None:
            undo.callback(witness.close)
        ledger = undo.enter_context(closing(open_ledger(config, secrets, epoch.people, witness)))
        if numbers is not None:
            _require_places(config, pin, ledger)
        save_epoch(config.storage, identifier, records, ownership)
        if ledger.settings is None:
            ledger.note_settings(settings_of(config))  # later, whoever serves notes its own
        opened = ledger.open_epoch(identifier, pin, numbers.write if numbers is not None else _nothing)
    if opened.opened_at < opened.stamp:  # a day's budget begins anew when the clock has come there
        seconds = opened.stamp - opened.opened_at
        log(logging.WARNING, "clock_was_ahead", {"name": config.name, "seconds": seconds})
    return opened


def _nothing(file: sqlite3.Connection) -> None:
    """Nothing goes with an epoch on the records of before."""


@contextmanager
def publishing(storage: Path) -> Iterator[None]:
    """One publication at a time, whoever begins it."""
    handle = os.open(storage / "publish.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        raise Busy("another publication of this agent is under way; wait a minute") from None
    try:
        yield
    finally:
        os.close(handle)


def _table(config: AgentConfig, numbering: Numbering = by_appearance) -> tuple[Records, Ownership | None]:
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


def _meaning(config: AgentConfig) -> Meaning:
    """What the ledger keeps budgets by."""
    if config.person is None:
        return Meaning(config.name, "row")
    return Meaning(config.name, "row of a person" if config.rows == "each" else "person", config.person)


def _require_places(config: AgentConfig, pin: bytes, ledger: SqliteLedger) -> None:
    """Refuse to read a table again in which a budget could pass from one person to another.

    It is refused whether or not the table changed: or whoever sees an epoch open would see that nothing changed.  Only a
    ledger that has had no epoch yet is asked for the table that it was charged for.
    """
    charged = ledger.last_state()
    if charged is None or config.fixed_order or _meaning(config).index == "person":
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
