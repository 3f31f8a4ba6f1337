"""The durable ledger: one chain of entries in SQLite, written and synced before a report is drawn.

One entry a charge, however many people it is for: a cohort is a few numbers.  An entry of epsilon 0 says that reports
which were paid for before went to one more caller.  Beside charges the chain has whatever bears on them
(`parties.agent.entries`): epochs, settings, losses.  Every charge runs in an IMMEDIATE transaction that first reads the
entries that another process may have added, so two agents on one file cannot both spend the last of a budget.  If an
entry cannot be written and synced, the charge fails and nothing is answered.

A ledger is not rolled back by accident.  The chain is keyed (`parties.agent.chain`); after each commit the mark beside
the keys is raised (`parties.agent.mark`), and a witness countersigns the head where one is named
(`parties.witness`), before the charge returns; until then the next one is not taken.  A ledger below its mark or below its
witness is not opened.  A ledger whose file is no longer the file at its path charges nothing (`parties.agent.same_file`),
and neither does one whose witness has countersigned another copy (`parties.agent.countersigning`).  What this cannot see
without a witness is an old copy, or a second one, of everything, mark and keys included.

The sums of people are restored from the last checkpoint (`parties.agent.checkpoint`); what is known of a request is read
when it is asked for (`parties.agent.remembered`).  So memory and the time of a start do not grow with the number of
requests, but for the check of the chain.

Time only serves the day's budget and the owner's reading.  It never runs backwards here: an entry is stamped with the
clock or with the last stamp, whichever is later, so turning the clock back does not bring a day's budget back.  Turning
it forward begins the next day early, once: from then on that day lasts until the clock has come to its end.  An epoch says
beside its stamp what the clock said, if that was less: a calendar goes by it.

Checked by tests/contract/test_ledger.py, tests/unit/parties/agent/test_sqlite_ledger.py,
tests/unit/parties/agent/test_day_budget.py, tests/unit/parties/agent/test_ledger_epochs.py and
tests/fault/test_ledger_accidents.py.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.ledger import Accounts, Charge, Debtors, Receipt, as_noted, is_nobody
from localdp.accounting.quotas import Quotas
from localdp.errors import LocalDpError, PolicyRefused, RequestExpired, StorageFailed
from parties.agent.chain import Chain, OpenedEpoch, Standing, ledger_errors
from parties.agent.checkpoint import MOST_STEPS, digest_of, last_checkpoint, steps_of, store
from parties.agent.countersigning import Countersigning
from parties.agent.entries import (
    Checkpoint,
    Content,
    Decided,
    EpochEnded,
    EpochOpened,
    LedgerEntry,
    Loss,
    SettingsStated,
    Witnessed,
)
from parties.agent.mark import Mark, MarkFile, mark_path
from parties.agent.opening import open_to_read, open_to_write, require_mark
from parties.agent.remembered import Remembered
from parties.agent.request_counts import count_request, requests_of
from parties.agent.same_file import Lock, OpenFiles, identity_of
from parties.durable import transaction
from parties.witness.heads import Witness

SECONDS_PER_DAY = 86_400
MOST_REQUESTS = 100_000  # request identifiers in one epoch
REMEMBERED_BYTES = 32 << 20
_WORTH_A_CHECKPOINT = MOST_STEPS // 16  # at close


class SqliteLedger:
    """A ledger in a file.  One object belongs to one thread; several processes may share the file."""

    def __init__(
        self,
        path: Path,
        people: int,
        limit: Epsilon,
        *,
        chain_key: bytes,
        limit_per_day: Epsilon | None = None,
        quotas: Quotas | None = None,
        index: str | None = None,
        most_requests: int = MOST_REQUESTS,
        most_requests_of_caller: int = MOST_REQUESTS,
        remembered_bytes: int = REMEMBERED_BYTES,
        party: str = "",
        witness: Witness | None = None,
        write: bool = True,
        synced: bool = True,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`index` is what its numbers stand for, as `parties.agent.people` has written down in the file.

        Without `write` the file is only read: it is neither made, brought to this version, nor charged.  What is not
        `synced` outlives the process and not the machine: for simulations.
        """
        self._index, self._clock, self._most_requests = index, clock, most_requests
        self._most_requests_of_caller = most_requests_of_caller
        self._write = write
        self._witness = None if witness is None else Countersigning(witness, party)
        self._chain, self._mark = Chain(chain_key), MarkFile(mark_path(path), chain_key, synced=synced)
        requests = Remembered(self._charges_of, remembered_bytes)
        self._accounts = Accounts(people, limit, limit_per_day, requests, quotas)
        self._by_day, self._quotas = limit_per_day is not None, quotas
        self._standing = Standing()
        self._steps = 0  # of work to book again what came after the last checkpoint
        self._settled = -1  # so many entries are known to the mark and to the witness
        with ledger_errors(path), ExitStack() as undo:
            self._open(path, undo)
            self._closing = undo.pop_all()

    def _open(self, path: Path, undo: ExitStack) -> None:
        self._files: OpenFiles | None = None
        if not self._write:
            self._file = undo.enter_context(open_to_read(path, self._chain, self._mark))
            self._resume()
            return
        undo.callback(Lock(path).release)
        before = identity_of(path)
        self._file = undo.enter_context(open_to_write(path, self._chain, self._mark))
        if not self._mark.synced:
            self._file.execute("PRAGMA synchronous = OFF")
        self._resume()
        require_mark(self._file, self._mark)
        self._files = OpenFiles(path, before)
        if self._witness is not None:
            self._witness.begin(self._file, self._standing.witness)
        self._settle()
        if self._witness is not None and self._witness.key is not None:
            self._note_witness(self._witness.key)

    def _resume(self) -> None:
        """Begin from the last checkpoint, where its sums are good for this ledger, and book what came after it."""
        found = last_checkpoint(self._file)
        accounts = () if self._quotas is None else self._quotas.accounts
        if found is not None and found.sums.serve(by_day=self._by_day, accounts=accounts):
            self._standing = found.standing(self._file, self._chain)
            self._accounts.restore(found.sums)
        self._catch_up()
        self._accounts.speak_for(self._accounts.people)

    @property
    def limit(self) -> Epsilon:
        return self._accounts.limit

    @property
    def losses(self) -> Epsilon:
        """What everybody was charged for charges that were lost; a part of what each has spent."""
        self._caught_up()
        return Epsilon(self._accounts.sums().losses)

    @property
    def head(self) -> tuple[int, bytes]:
        """How many entries there are, and the link of the last."""
        return self._caught_up().entries, self._standing.link

    @property
    def epoch(self) -> OpenedEpoch | None:
        """The epoch that is open, whoever opened it; None if there is none."""
        return self._caught_up().epoch

    def charge(self, charge: Charge) -> Receipt:
        """Take the charge, whole or not at all; when this returns, it is on disk, marked and countersigned."""
        entry: LedgerEntry | None = None
        self._settle()  # or everybody would pay, while the witness is away, and nobody be answered
        self._require_writable()
        with ledger_errors(), transaction(self._file):
            charge, stamp, debtors = self._examined(charge)
            if debtors is not None:
                entry = self._written(as_noted(charge, debtors), stamp)
                if not self._accounts.knows(charge.request):
                    count_request(self._file, charge.caller, charge.epoch)
        if entry is not None:
            self._book(entry, debtors)
        self._settle()  # also for a repetition: whoever charged it first may have failed here
        self._save_sums(MOST_STEPS)
        return Receipt(debtors is not None and not is_nobody(debtors), charge.key)

    def require(self, charge: Charge) -> None:
        """Refuse what `charge` would refuse now, under the same lock; nothing is charged."""
        self._settle()
        self._require_writable()
        with ledger_errors(), transaction(self._file):
            self._examined(charge)

    def open_epoch(
        self,
        identifier: bytes,
        records: bytes,
        also: Callable[[sqlite3.Connection], None] = lambda file: None,
    ) -> OpenedEpoch:
        """The next epoch: every request of an earlier one has expired from now on.

        `also` writes down what goes with it, in the same transaction.
        """

        def opened() -> EpochOpened:
            self._accounts.speak_for(self._accounts.people)  # another process may have charged more of them
            also(self._file)
            now = int(self._clock())
            clock = now if now < self._standing.stamp else None
            return EpochOpened(self._standing.epochs + 1, identifier, records, clock)

        self._append(opened)
        assert self._standing.epoch is not None
        return self._standing.epoch

    def speak_for(self, people: int) -> None:
        """There are so many people in the epoch that is open, newcomers at the end."""
        self._accounts.speak_for(people)

    def end_epoch(self) -> None:
        """No epoch is open, if one was: nothing is charged until the next one is opened."""
        self._append(lambda: EpochEnded(self._standing.epochs) if self._standing.epoch else None)

    def note_settings(self, text: str) -> None:
        """Write down budgets and policy in words, if they are not those of before."""
        self._append(lambda: SettingsStated(text) if text != self._standing.settings else None)

    def _note_witness(self, key: bytes) -> None:
        """Write down who the witness is, if it is not the one of before."""
        self._append(lambda: Witnessed(key) if key != self._standing.witness else None)

    def decide(self, decided: Decided) -> None:
        """Write down what the owner decides about a question."""
        self._append(lambda: decided)

    @property
    def decisions(self) -> tuple[Decided, ...]:
        """All that the owner has decided, whoever wrote it down."""
        return self._caught_up().decisions

    def charge_everybody(self, cost: Epsilon, purpose: str) -> None:
        """Charge a loss to everybody, beyond any limit."""
        self._append(lambda: Loss(cost, purpose))

    def was_heard(self, charge: Charge) -> bool:
        self._caught_up()
        return self._accounts.was_heard(charge)

    def recall(self, request: bytes) -> None:
        """Have in memory what was charged under a request's name: reading it takes longer the more often it was charged."""
        self._caught_up()
        self._accounts.knows(request)

    @property
    def settings(self) -> str | None:
        """Budgets and policy in words, as they were noted last."""
        return self._caught_up().settings

    def last_state(self) -> bytes | None:
        """The state of the records at the last charge; None if there was none."""
        with ledger_errors():
            found = self._file.execute(
                "SELECT request, number FROM entries WHERE kind = 'charge' ORDER BY number DESC LIMIT 1"
            ).fetchone()
            charges = [] if found is None else list(self._chain.of_request(self._file, *found))
        return charges[-1].content.records if charges else None  # type: ignore[union-attr]

    def spent(self) -> NDArray[np.int64]:
        self._caught_up()
        return self._accounts.spent()

    def close(self) -> None:
        """Save the sums, if a start would miss them, and let go of the file."""
        if self._files is not None:
            self._save_sums(_WORTH_A_CHECKPOINT)
            self._files = None
        self._closing.close()

    def _examined(self, charge: Charge) -> tuple[Charge, int, Debtors | None]:
        """The charge under its request's own key, its stamp, and who would have to pay; raises where it is refused."""
        self._catch_up()
        self._require_index()
        self._require_open(charge.epoch)
        charge = replace(charge, key=self._accounts.key_of(charge))
        stamp = self._stamp()
        debtors = self._accounts.debtors(charge, stamp // SECONDS_PER_DAY)
        if debtors is not None and not self._accounts.knows(charge.request):
            self._require_room(charge)
        return charge, stamp, debtors

    def _require_room(self, charge: Charge) -> None:
        """Refuse a new request beyond those that an epoch has, in all and of one caller."""
        if self._standing.requests >= self._most_requests:
            raise PolicyRefused(
                f"the party takes at most {self._most_requests} requests in an epoch (policy.most_requests)"
            )
        if requests_of(self._file, charge.caller, charge.epoch) >= self._most_requests_of_caller:
            raise PolicyRefused(
                f"the party takes at most {self._most_requests_of_caller} requests of one caller "
                "in an epoch (policy.most_requests_of_caller)"
            )

    def _require_open(self, epoch: int) -> None:
        """Where there are epochs, a charge is of the one that is open."""
        now = self._standing.epoch
        if self._standing.epochs and (now is None or now.number != epoch):
            told = "no epoch is open" if now is None else f"epoch {now.number} is open now"
            raise RequestExpired(f"{told}; make a new request")

    def _require_index(self) -> None:
        """Somebody may have opened the file meanwhile under another configuration."""
        if self._index is None:
            return
        meaning = self._file.execute("SELECT meaning FROM indices").fetchone()
        if meaning is None or meaning[0] != self._index:
            raise StorageFailed(
                "the numbers in the ledger were given another meaning since this agent was started; start it again"
            )

    def _require_writable(self) -> None:
        if self._files is None:
            raise StorageFailed("the ledger was opened for reading, or was closed")
        self._files.require_same()
        if self._witness is not None:
            self._witness.require_one_copy()

    def _stamp(self) -> int:
        return max(int(self._clock()), self._standing.stamp)

    def _written(self, content: Content, stamp: int) -> LedgerEntry:
        return self._chain.write(self._file, self._standing, content, stamp)

    def _append(self, make: Callable[[], Content | None]) -> None:
        """Write what is made of the standing of now, if anything; when this returns, it is on disk and marked."""
        entry: LedgerEntry | None = None
        self._require_writable()
        with ledger_errors(), transaction(self._file):
            self._catch_up()
            content = make()
            if content is not None:
                entry = self._written(content, self._stamp())
                if isinstance(content, Checkpoint):
                    store(self._file, entry.number, self._accounts.sums())
        if entry is not None:
            self._book(entry)
        self._settle()

    def _settle(self) -> None:
        """Tell the mark, and then the witness, how far the chain has come; until both know, nothing is answered."""
        if self._settled >= self._standing.entries:
            return
        self._require_writable()
        entries, link = self._standing.entries, self._standing.link
        self._mark.advance(
            Mark(entries, link, self._standing.total, self._standing.lineage), max(self._settled, 0)
        )
        if self._witness is not None:
            self._witness.settle(self._file, entries, link)
        self._settled = entries

    def _save_sums(self, worth: int) -> None:
        """Write a checkpoint, if it saves that much work; without one, a start takes longer and nothing else."""
        if self._steps >= worth:
            self._steps = 0
            with suppress(
                LocalDpError
            ):  # a full disk, or a witness that is away: what was charged is settled already
                self._append(self._checkpoint)

    def _checkpoint(self) -> Checkpoint:
        return Checkpoint(digest_of(self._accounts.sums()), self._standing.total, self._standing.requests)

    def _caught_up(self) -> Standing:
        with ledger_errors():
            self._catch_up()
        return self._standing

    def _catch_up(self) -> None:
        """Book what stands in the file and was not booked here yet: another process wrote it, or an earlier run."""
        for entry in self._chain.read(self._file, self._standing.entries, self._standing.link):
            self._book(entry)

    def _book(self, entry: LedgerEntry, debtors: Debtors | None = None) -> None:
        content, day, new = entry.content, entry.stamp // SECONDS_PER_DAY, False
        match content:
            case Charge():
                new = not self._accounts.knows(content.request)
                if debtors is None:
                    self._accounts.rebook(content, day)
                else:
                    self._accounts.take(content, debtors, day)
                self._steps += steps_of(content.cohort)
            case Loss():
                self._accounts.charge_everybody(content.cost, day)
            case Checkpoint():
                self._steps = 0
        self._standing = self._standing.after(entry, new)

    def _charges_of(self, request: bytes) -> Iterator[Charge]:
        """The charges of a request that are booked."""
        for entry in self._chain.of_request(self._file, request, self._standing.entries):
            assert isinstance(entry.content, Charge)
            yield entry.content
