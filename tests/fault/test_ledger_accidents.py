"""Random schedules of what happens to a ledger's files: never more than the budget over all lives of an agent together.

The language is in `tests/fault/accidents.py`, the promise in `tests/fault/accident_world.py`.  Ledgers that are broken in
one way each are noticed.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.cohorts import Cohort
from parties.agent import backup, checkpoint, countersigning, ledger, lost
from parties.agent.chain import FIRST_LINK
from parties.agent.ledger import SqliteLedger
from parties.agent.mark import Mark, MarkFile
from parties.agent.same_file import OpenFiles
from tests.fault.accident_world import not_synced, run
from tests.fault.accidents import (
    PEOPLE,
    Accident,
    Ask,
    Backup,
    Copy,
    Delete,
    Kill,
    PutBack,
    Restart,
    Restore,
    schedule,
)

MANY, PARTS = 10_000, 10


@pytest.fixture
def in_memory() -> Iterator[Path]:
    """A directory whose files sync at once: the loss of power is played, and a disk would take an hour."""
    shared = Path("/dev/shm")  # noqa: S108
    with tempfile.TemporaryDirectory(dir=shared if shared.is_dir() else None) as name:
        yield Path(name)


def run_schedules(seeds: Sequence[int], directory: Path) -> dict[str, int]:
    """Many schedules, each on files of its own; returns how often what happened."""
    seen = dict.fromkeys(("answers", "refusals", "restores", "refused_starts"), 0)
    for seed in seeds:
        place = directory / str(seed)
        place.mkdir()
        world = run(schedule(seed), place, witnessed=seed % 2 == 0)
        for name in seen:
            seen[name] += getattr(world, name)
        shutil.rmtree(place)
    return seen


def test_no_schedule_of_accidents_spends_a_budget_twice(in_memory: Path) -> None:
    seen = run_schedules(range(200), in_memory)
    assert seen["answers"] > 400  # so that the promise is not kept by refusing everything
    assert seen["refusals"] > 400 and seen["restores"] > 100 and seen["refused_starts"] > 60


@pytest.mark.nightly
@pytest.mark.parametrize("part", range(PARTS))
def test_no_schedule_among_ten_thousand_spends_a_budget_twice(in_memory: Path, part: int) -> None:
    run_schedules(range(part, MANY, PARTS), in_memory)


def nothing(*arguments: Any) -> None:
    """Broken: does not do it."""


BROKEN: dict[str, list[tuple[Any, str, Any]]] = {
    "no mark": [
        (ledger, "require_mark", nothing),
        (MarkFile, "read", lambda mark: Mark(0, FIRST_LINK, 0)),
        (MarkFile, "advance", nothing),
    ],
    "a mark that is not synced": [(MarkFile, "_sync", not_synced)],
    "a file whose identity is not checked": [(OpenFiles, "require_same", nothing)],
    "a restore that forgets the loss": [(backup, "loss_of", lambda *arguments: Epsilon(0))],
    "sums that are believed without their digest": [(checkpoint, "is_named", lambda *arguments: True)],
    "a witness that is not asked": [(countersigning, "require_witnessed", nothing)],
    "answers before the mark": [(SqliteLedger, "_settle", nothing)],
}


@pytest.mark.parametrize("twin", BROKEN)
def test_the_schedules_notice_a_ledger_that_is_broken(
    in_memory: Path, monkeypatch: pytest.MonkeyPatch, twin: str
) -> None:
    for place, name, broken in BROKEN[twin]:
        monkeypatch.setattr(place, name, broken)
    with pytest.raises(AssertionError, match=r"not charged|than the budget|is gone"):
        run_schedules(range(200), in_memory)


EVERYBODY = Cohort(0, PEOPLE)
BRANCH = "a backup of a branch that was left, after a restore at a loss that is true"
KEPT: dict[str, list[Accident]] = {
    "the copy of keys and ledger that the documents once asked for": [
        Ask(1, EVERYBODY),
        Copy(0),
        Ask(2, EVERYBODY),
        PutBack(0, "ledger without its log"),
        Delete("mark"),
        Ask(3, EVERYBODY),
    ],
    "everything is an old copy, and the restore believes the old mark": [
        Copy(0),
        Ask(1, EVERYBODY),
        Ask(2, EVERYBODY),
        PutBack(0, "ledger and mark"),
        Ask(3, EVERYBODY),
    ],
    "mark and log are lost together, and the file has never been more than its log": [
        Ask(1, EVERYBODY),
        Delete("mark", "running"),
        Delete("log", "running"),
        Kill(),
    ],
    "a backup of an old copy of everything, under an agent that runs on the newest": [
        Copy(0),
        Ask(1, EVERYBODY),
        PutBack(0, "ledger and mark", "running"),
        Backup(1),
        Delete("ledger", "without power"),
    ],
    BRANCH: [
        *(Ask(number, Cohort(person, person + 1)) for person, number in enumerate((1, 4, 7))),
        Backup(1),
        Delete("mark", "running"),
        Restore(0),
        Ask(2, EVERYBODY),
        Ask(3, EVERYBODY),
        Restore(1),
    ],
    "a repetition of what was charged and not countersigned": [
        Ask(1, EVERYBODY, fault="the witness is away"),
        Ask(1, EVERYBODY),
        Restart(),
        Ask(1, EVERYBODY, ledger=1),
    ],
}


@pytest.mark.parametrize("witnessed", [False, True])
@pytest.mark.parametrize("story", KEPT)
def test_a_schedule_that_was_worth_keeping_keeps_the_promise(
    in_memory: Path, story: str, witnessed: bool
) -> None:
    run([Backup(0), *KEPT[story]], in_memory, witnessed)


def test_a_restore_that_compares_the_totals_of_branches_is_noticed(
    in_memory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lost, "is_comparable", lambda *arguments: True)
    monkeypatch.setattr(lost, "parting_of", lambda *arguments: None)
    with pytest.raises(AssertionError, match="not charged"):
        run([Backup(0), *KEPT[BRANCH]], in_memory, witnessed=False)


def test_an_old_copy_of_everything_is_refused_with_a_witness_and_is_the_one_hole_without(
    in_memory: Path,
) -> None:
    story: list[Accident] = [Backup(0), Copy(0), Ask(1, EVERYBODY), PutBack(0, "ledger and mark")]
    (in_memory / "seen").mkdir()
    assert run(story, in_memory / "seen", witnessed=True).refused_starts == 1
    (in_memory / "unseen").mkdir()
    unseen = run([*story, Ask(2, EVERYBODY)], in_memory / "unseen", witnessed=False)
    assert unseen.refused_starts == 0 and unseen.answers == 1  # the story ended at the copy
