"""An agent's state directory, made and opened: keys, ledger, the copy of the open epoch's records, and what was answered.

| file | what it is | if it is lost |
|---|---|---|
| secrets.json | the keys of coins, of the chain and of the register | requests of before are refused |
| ledger.sqlite, with its -wal and -shm | every use of epsilon | the agent does not start |
| mark | how far the ledger had come | the agent does not start |
| epoch-*.npz | the records of the open epoch | the agent does not start; publish again |
| answers.sqlite | what was sent, for repetitions | charged requests are drawn once more |

`localdp agent backup` copies the first three as they are at one moment; a copy of single files may be an old one.

Records are read from the owner's table when an epoch opens, and at no other time.  An epoch is prepared, which takes a time
that depends on the records, and then opened, which does not.  A running agent enters it as soon as the ledger says that it
is open, whoever opened it.

Checked in tests/unit/parties/agent/test_agent_run.py, tests/unit/parties/agent/test_publishing.py and tests/fault/.
"""

from __future__ import annotations

import logging
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from localdp.accounting.ledger import Ledger
from localdp.errors import Busy, InvalidParameter, InvalidRecord, LocalDpError, StorageFailed
from localdp.party.epoch import Epoch
from localdp.party.party import Party
from parties.agent.answers import KeptAnswers
from parties.agent.approval import Approvals
from parties.agent.chain import OpenedEpoch
from parties.agent.changes import changes_since, write_changes
from parties.agent.config import AgentConfig
from parties.agent.epochs import (
    Prepared,
    copied,
    drop_epochs,
    identifier_of,
    load_epoch,
    opened_epoch,
    publishing,
)
from parties.agent.ledger import SqliteLedger
from parties.agent.opening import require_something
from parties.agent.people import complete_meaning, pinned_meaning, require_meaning
from parties.agent.same_file import LOCK_SUFFIX
from parties.agent.secret_file import FILE_NAME, SecretFile, load_secrets, make_secrets
from parties.agent.settings import settings_of
from parties.agent.table import loaded_table, meaning_of, numbers_of, require_places, table_of
from parties.agent.unfinished import is_unfinished, making, require_finished
from parties.agent.waiting_epoch import still_waiting
from parties.agent.witnessing import witness_of, witnessed
from parties.observability.logs import log
from parties.witness.heads import Witness

LEDGER_NAME = "ledger.sqlite"
ANSWERS_NAME = "answers.sqlite"
_PARTS = ("secrets.*", "ledger.*", "answers.*", "epoch-*", "changes.json", "prepared.json")
_PATIENCE_SECONDS = 120


def init_storage(config: AgentConfig) -> Path:
    """Make an agent's keys and its empty ledger, and open the first epoch; what was cut off is completed."""
    if not is_unfinished(config.storage) and _holds_something(config.storage):
        raise InvalidParameter(f"{config.storage} holds an agent's state already; it is not overwritten")
    table_of(config)  # bad data is refused before keys are made
    with making(config.storage):
        if not (config.storage / FILE_NAME).exists():
            make_secrets(config.storage)
        with publishing(config.storage):
            open_prepared(config, [prepare(config)])
    return config.storage


def publish(config: AgentConfig) -> OpenedEpoch:
    """Read the owner's table, and open an epoch in which it is answered from; every older request expires."""
    _found(config)
    with publishing(config.storage):
        return open_prepared(config, [prepare(config)])


def publish_by_calendar(config: AgentConfig) -> OpenedEpoch:
    """Publish the table as it is now; or, if it cannot be, the records of before, and say so to the operator."""
    with publishing(config.storage):
        return open_prepared(config, prepare_both(config))


def publish_if_overdue(config: AgentConfig) -> None:
    """Open an epoch if the calendar has passed, or if there is none; another process may be about to."""
    for _ in range(_PATIENCE_SECONDS):
        if not is_overdue(config, opened_epoch(config.storage / LEDGER_NAME)):
            return
        try:
            publish_by_calendar(config)
        except Busy:
            time.sleep(1)


class AgentState:
    """The party of an agent, and what it keeps on disk.  Its objects belong to one thread at a time."""

    def __init__(
        self, config: AgentConfig, watched: Callable[[Ledger], Ledger] = lambda ledger: ledger
    ) -> None:
        """`watched` puts something around the ledger, to count its charges."""
        self.config = config
        self._coming: Epoch | None = None
        self._secrets = _found(config)
        self._witness = witness_of(config, self._secrets)
        publish_if_overdue(config)
        epoch = _present(config, self._secrets)
        complete_meaning(config.storage / LEDGER_NAME, meaning_of(config))
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
        approvals = Approvals(config.approval, lambda: self._ledger.decisions, config.storage)
        self.party.require_approved = approvals.require
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
        epoch = self._loaded(opened)
        self._ledger.speak_for(epoch.people)
        self._enter(epoch)

    def recall(self, request: bytes) -> None:
        """Have at hand what was charged under the name of a request."""
        self._ledger.recall(request)

    def foresee(self, prepared: Prepared) -> None:
        """Load what is about to be opened, on another thread than the one that answers.

        At worst, if that one enters an epoch of before just now, this is lost: then whoever asks first has it loaded.
        """
        self._coming = None  # one that was not opened after all is not kept beside it
        coming = OpenedEpoch(1, prepared.identifier, prepared.pin, 0, 0)
        self._coming = load_epoch(self.config.storage, coming, self._secrets.secrets.pin)

    def _loaded(self, opened: OpenedEpoch) -> Epoch:
        coming, self._coming = self._coming, None
        if coming is not None and coming.identifier == opened.identifier:
            return replace(coming, number=opened.number)
        return load_epoch(self.config.storage, opened, self._secrets.secrets.pin)

    def _enter(self, epoch: Epoch) -> None:
        self.party.enter(epoch)
        self.answers.enter(epoch)
        with (
            suppress(Busy),
            publishing(self.config.storage),
        ):  # else a copy may be of the epoch that is about to open
            drop_others(self.config)  # by now another one may be open than this

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
        quotas=None if config.quotas is None else config.quotas.divided_by(most),
        index=str(meaning_of(config)),
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


@contextmanager
def ledger_to_write(config: AgentConfig) -> Iterator[SqliteLedger]:
    """The same, for what its owner writes down."""
    secrets = _found(config)
    with witnessed(config) as witness:
        ledger = open_ledger(config, secrets, _people(config, secrets), witness)
        try:
            yield ledger
        finally:
            ledger.close()


def ledger_to_read(config: AgentConfig) -> SqliteLedger:
    """The ledger beside an agent that may be running, for its owner's eyes."""
    secrets = _found(config)
    return open_ledger(config, secrets, _people(config, secrets), write=False)


def _people(config: AgentConfig, secrets: SecretFile) -> int:
    """How many people there are: in the epoch that is open, or else in the table, as after a restore."""
    if opened_epoch(config.storage / LEDGER_NAME) is not None:
        return _present(config, secrets).people
    return Epoch.first(
        *table_of(config, numbers_of(config, config.storage / LEDGER_NAME, secrets.signing))
    ).people


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
    if not meaning_of(config).agrees(pinned_meaning(config.storage / LEDGER_NAME)):
        raise InvalidParameter(
            "name, data.person or data.rows changed since the epoch was opened: put them back, or open a new epoch with "
            "`localdp agent publish`"
        )
    return load_epoch(config.storage, opened, secrets.secrets.pin)


def prepare(config: AgentConfig) -> Prepared:
    """Read the table for an epoch; whoever calls this is the only one who publishes."""
    secrets = load_secrets(config.storage)
    require_meaning(config.storage / LEDGER_NAME, meaning_of(config))
    numbers = numbers_of(config, config.storage / LEDGER_NAME, secrets.signing)
    before = None
    with suppress(
        LocalDpError
    ):  # there is none, or it is gone; it is looked for whatever the table has in it
        before = _present(config, secrets)
    loaded = loaded_table(config, numbers)
    write_changes(config.storage, changes_since(before, loaded))
    return copied(config.storage, secrets.secrets.pin, loaded.records, loaded.ownership, numbers)


def prepare_again(config: AgentConfig) -> Prepared:
    """Take the records of the epoch that is open for the next one."""
    secrets = load_secrets(config.storage)
    epoch = _present(config, secrets)
    return copied(config.storage, secrets.secrets.pin, epoch.records, epoch.ownership)


def prepare_both(config: AgentConfig) -> list[Prepared]:
    """The table, and the records of before, whatever the table has in it: callers are not to see a difference.

    What comes first is to be opened.  A table that the ledger will not take is refused here already.
    """
    _found(config)
    made, failed = list[Prepared](), list[Exception]()
    for way in (prepare_allowed, prepare_again):
        try:
            made.append(way(config))
        except Exception as error:
            failed.append(error)
            if way is prepare_allowed:
                log_failure(config, error)
    if not made:
        raise failed[0]
    return made


def prepare_allowed(config: AgentConfig) -> Prepared:
    """The same of a table that the ledger will take."""
    prepared = prepare(config)
    _ledger_for(config, load_secrets(config.storage), prepared, write=False).close()
    return prepared


def log_failure(config: AgentConfig, error: Exception) -> None:
    """Tell the operator that the table, or any epoch, could not be published."""
    log(logging.ERROR, "publish_failed", {"name": config.name, "error": type(error).__name__})


def open_prepared(config: AgentConfig, ways: Sequence[Prepared]) -> OpenedEpoch:
    """Open the first of these that the ledger allows; from here on it is open.  Copies of other epochs go."""
    secrets = load_secrets(config.storage)
    with ExitStack() as undo:
        undo.callback(drop_others, config)
        witness = witness_of(config, secrets)
        if witness is not None:
            undo.callback(witness.close)
        chosen, ledger = _allowed(config, secrets, ways, witness)
        undo.callback(ledger.close)
        if ledger.settings is None:
            ledger.note_settings(settings_of(config))  # later, whoever serves notes its own
        also = _nothing if chosen.numbers is None else chosen.numbers.write
        opened = ledger.open_epoch(chosen.identifier, chosen.pin, also)
    if opened.opened_at < opened.stamp:  # a day's budget begins anew when the clock has come there
        seconds = opened.stamp - opened.opened_at
        log(logging.WARNING, "clock_was_ahead", {"name": config.name, "seconds": seconds})
    return opened


def drop_others(config: AgentConfig) -> None:
    """Keep the copy of the epoch that the ledger says is open: it may be, although something failed after that."""
    with suppress(LocalDpError):
        open_now = identifier_of(opened_epoch(config.storage / LEDGER_NAME))
        drop_epochs(config.storage, open_now, *still_waiting(config.storage, open_now))


def _allowed(
    config: AgentConfig, secrets: SecretFile, ways: Sequence[Prepared], witness: Witness | None
) -> tuple[Prepared, SqliteLedger]:
    """The first way that the ledger takes, and the ledger: somebody may have been charged since they were prepared."""
    *others, last = ways
    for way in others:
        try:
            return way, _ledger_for(config, secrets, way, witness)
        except (InvalidRecord, StorageFailed) as error:
            log_failure(config, error)
    return last, _ledger_for(config, secrets, last, witness)


def _ledger_for(
    config: AgentConfig,
    secrets: SecretFile,
    way: Prepared,
    witness: Witness | None = None,
    *,
    write: bool = True,
) -> SqliteLedger:
    """The ledger of an epoch's people, if nobody's budget passes to somebody else in it."""
    with ExitStack() as undo:
        ledger = open_ledger(config, secrets, way.people, witness, write=write)
        undo.callback(ledger.close)
        if way.numbers is not None:
            require_places(config, way.pin, ledger)
        undo.pop_all()
    return ledger


def _nothing(file: sqlite3.Connection) -> None:
    """Nothing goes with an epoch on the records of before."""
