"""What a restore of a backup has lost, and everybody is charged for.

A restore goes back in time, and budgets must not.  Everybody is charged an upper bound D of what anybody was charged
and the backup does not know of.  The mark that is still there knows the total T of all charges and losses, and which head
it was at.  In this order:

- the backup has that head: nothing was lost, D = 0.
- the backup's own mark, with total B, is of the same lineage.  Where the ledger is still there, up to its mark,
  D = T - C: C is the total at the last entry that it and the backup have in common, B if it goes on from the backup.
  Without the ledger, D = T - B.
- the backup has the head, with total S, at which the mark's lineage began: D = T - S.
- neither, or the mark is lost: nobody can know, and the owner must declare D.

A *lineage* begins with every restore whose D was not found by the first two rules: by one, everybody pays a single D for
what may have been charged in parts to different people, so totals before and after cannot be compared.  Claim: if each D
that an owner declares is true, no restore gives anybody budget back.  Within a lineage totals never fall, for T - B or more
is charged for going back to B; so T - B bounds the sum of all that was answered after the backup was made, and whatever was
answered before is in it, or is paid by a loss in it.  And after a lineage began from a backup with total S, all that was
answered since that backup was made is paid by the first loss of the lineage or is in its charges: by T - S.  Entries of the
backup above its own mark count as not known, for they may never have been answered.

The claim takes the mark for the newest.  One of an old copy of the whole state, which was put back, is not: what was
charged after the copy was made is in no total.  Such a mark shows itself: it is below the backup's own, or its total is,
or its ledger parts from the backup without a restore.  Then the owner must declare D, and at least what the old copy has
charged since they parted, or all that it ever did if its ledger is gone.  An old copy that went on from what the backup
has, or whose ledger is gone and whose total is above the backup's, looks like the newest: only a witness can tell.

Checked in tests/unit/parties/agent/test_backup.py and tests/fault/test_ledger_accidents.py.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter, LocalDpError, RolledBack
from parties.agent.chain import Chain, Standing, link_at, open_read_only
from parties.agent.entries import EpochEnded, Loss
from parties.agent.mark import Mark

_OLD_COPY = "an old copy of this agent's state was put in place of a newer one"


@dataclass(frozen=True, slots=True)
class Lost:
    """What anybody may have been charged that a backup does not know of."""

    least: Epsilon
    unknown: str = ""  # why it may be more, so that the owner has to declare it
    goes_on: bool = False  # the backup's lineage: totals can still be compared


def lost_charges(
    ledger: Path, chain: Chain, file: sqlite3.Connection, marked: Mark, known: Mark | None
) -> Lost:
    """By the rules above; `file` is the backup's ledger, and `ledger` the one that is still there, if it is."""
    if known is None:
        return Lost(Epsilon(0), "the mark is lost")
    if link_at(file, known.entries) == known.link:
        if known.entries < marked.entries:
            return Lost(Epsilon(0), _OLD_COPY)
        return Lost(Epsilon(0), goes_on=True)
    if is_comparable(marked, known):
        return _since(parting_of(ledger, chain, file, marked, known), marked, known)
    begun = known.lineage
    if begun.entries <= marked.entries and link_at(file, begun.entries) == begun.link:
        return Lost(Epsilon(known.total - begun.total))
    return Lost(Epsilon(0), "the state was restored from another backup since")


def is_comparable(marked: Mark, known: Mark) -> bool:
    """Whether the totals of a backup and of the mark that is still there are sums of the same charges."""
    return known.lineage.identifier == marked.lineage.identifier


def _since(parting: Parting | None, marked: Mark, known: Mark) -> Lost:
    """What was charged within one lineage since the ledger that was there and the backup parted."""
    if parting is not None:
        is_old = known.total < marked.total or not parting.by_restore
        return Lost(Epsilon(known.total - parting.total), _OLD_COPY * is_old, goes_on=not is_old)
    if known.total < marked.total:
        return Lost(Epsilon(known.total), _OLD_COPY)
    if known.total == marked.total and known.entries <= marked.entries:
        return Lost(
            Epsilon(0), "the ledger is lost, and its mark may be of an old copy of this agent's state"
        )
    return Lost(Epsilon(known.total - marked.total), goes_on=True)


@dataclass(frozen=True, slots=True)
class Parting:
    """Where the ledger that is still there parts from a backup."""

    total: int  # nanonats of all charges and losses at the last entry that they have in common
    by_restore: bool  # a restore leads away from there, or it simply goes on


def parting_of(
    ledger: Path, chain: Chain, file: sqlite3.Connection, marked: Mark, known: Mark
) -> Parting | None:
    """None if the ledger that is there is not the mark's, or cannot be read."""
    with suppress(LocalDpError, sqlite3.Error), closing(open_read_only(ledger)) as present:
        if link_at(present, known.entries) != known.link:
            return None
        common = Standing()
        for entry in chain.read(file):
            if entry.number > marked.entries or link_at(present, entry.number) != entry.link:
                break
            common = common.after(entry)
        after = next(chain.read(present, common.entries, common.link)).content
        by_restore = common.entries == marked.entries or isinstance(after, EpochEnded | Loss)
        return Parting(common.total, by_restore)
    return None


def loss_of(lost: Lost, charge_loss: bool, declared: Epsilon | None) -> Epsilon:
    """What everybody is charged; or a refusal that says what the owner can do."""
    if lost.unknown:
        if declared is None or declared < lost.least:
            raise InvalidParameter(
                f"{lost.unknown}, so nobody can tell what was charged that this backup does not know of. Say with --loss "
                "EPSILON how much anybody can have been charged since it was made, in all states of this agent together; "
                f"everybody is charged that ({_least_told(lost.least)})"
            )
        return declared
    given = max(lost.least if charge_loss else Epsilon(0), declared or Epsilon(0))
    if given < lost.least:
        raise RolledBack(
            f"the backup is older than the mark: since then people were charged up to epsilon {lost.least}, which the "
            "backup does not know of. With --charge-loss everybody is charged that; or restore a newer backup"
        )
    return given


def _least_told(least: Epsilon) -> str:
    if least.nanonats:
        return f"at least {least}, which the old copy has charged, and beside it what was charged before it was put back"
    return "0 if nothing was asked since"
