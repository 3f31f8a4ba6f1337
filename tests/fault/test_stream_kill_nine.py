"""kill -9 of whoever counts a stream, at every step of the work: what was told stays, and nobody is asked twice."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest

import localdp as ldp
from localdp.accounting.epsilon import Epsilon
from localdp.oracles.models import ModelName
from parties.federation import Federation
from parties.streams.journal import StreamJournal, journal_there
from parties.streams.stream import released
from tests.support.federations import people
from tests.support.processes import Stage, stage

PEOPLE, STEPS, BUDGET = 48, 4, Epsilon.requested(20)
EACH = Epsilon.requested(1).divided_by(3)
# In how many intervals of a tree of four steps the people of each step are.
ASKED = {3: 12, 2: 24, 1: 12}
_MOST = 40  # kills


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Federation]:
    """Real agents and share servers, in processes of their own, who live through it all."""
    with ldp.launch(people(PEOPLE), parties=2, budget=20, processes=1) as federation:
        federation.write_addresses(tmp_path / "parties.json")
        yield federation


def counted(directory: Stage, journal: Path, last: int) -> list[str]:
    """What a process says that dies at that step of its work."""
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "tests.fault.stream_process",
            str(journal.with_name("parties.json")),
            str(journal),
            str(last),
        ],
        env=directory.environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode in (0, -9), done.stderr
    return done.stdout.splitlines()


def told(journal: Path) -> list[str]:
    """What the journal tells again."""
    opened = journal_there(journal)
    try:
        return [f"{one.step} {float(one.values[0]).hex()}" for one in released(opened)]
    finally:
        opened.close()


def killed_again_and_again(journal: Path) -> tuple[list[str], int]:
    """Let one process after the other die a step of the work later than the one before, until one lives."""
    with stage(journal.parent) as made:
        heard: list[str] = []
        for kills in range(_MOST):
            said = counted(made, journal, kills + 1)
            heard += [line for line in said if not line.startswith("lived")]
            assert set(heard) <= set(told(journal)), "what was told has changed"
            if said and said[-1].startswith("lived"):
                return heard, kills
    raise AssertionError("it never lived")


def begun(directory: Path, model: ModelName) -> Path:
    """A stream that somebody began, in another process than those that go on with it."""
    with Federation.connect(directory / "parties.json") as connected:
        connected.stream(directory / "weeks", "smoker", steps=STEPS, layout="tree", epsilon=1, model=model)
    return directory / "weeks"


@pytest.mark.parametrize("model", ["shared", "local"])
def test_wherever_the_process_is_killed_what_was_told_stays_and_nobody_pays_twice(
    running: Federation, tmp_path: Path, model: ModelName
) -> None:
    journal = begun(tmp_path, model)
    heard, kills = killed_again_and_again(journal)
    steps = [str(step) for step in range(1, STEPS + 1)]
    assert [line.split()[0] for line in told(journal)] == steps
    assert len(heard) < STEPS < kills  # somebody died between the journal and the telling
    paid = {Epsilon(BUDGET.nanonats - EACH.nanonats * times): count for times, count in ASKED.items()}
    assert dict(running.budgets().remaining) == paid
    assert journal.stat().st_mode & 0o077 == 0


def test_the_check_notices_a_journal_that_forgets_its_identifiers(
    running: Federation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The broken twin: a step that broke off is asked anew, and those who came in it pay twice."""
    journal = begun(tmp_path, "local")
    monkeypatch.setattr(StreamJournal, "identifiers", lambda self, step, attempt, people: os.urandom(32))
    for dies in (True, False):
        with Federation.connect(tmp_path / "parties.json") as connected:
            stream = connected.stream(journal)
            stream.noted = _dying if dies else stream.noted
            with pytest.raises(_Died) if dies else nullcontext():
                stream.next()
    assert min(running.budgets().remaining) == Epsilon(BUDGET.nanonats - 2 * EACH.nanonats)


class _Died(Exception):
    """The process came to its end."""


def _dying(step: str) -> None:
    if step == "asked":
        raise _Died
