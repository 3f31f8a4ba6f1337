"""Random sequences of what coordinators, networks, disks, clocks and owners of data may do to a party.

The promise (`tests/fault/world.py`) holds after every operation (`tests/fault/operations.py`), and parties that are broken
in one way each are noticed.  Sequences that found a bug are kept, written out.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from localdp.cohorts import Cohort
from tests.fault.operations import (
    FAULTS,
    QUESTIONS,
    Ask,
    ChangeRecords,
    Jump,
    Operation,
    PowerLoss,
    Restart,
    Rotate,
    operations,
)
from tests.fault.world import Direct, MakeParty, Transport, run, sound
from tests.support.broken_parties import (
    charges_after_reply,
    charges_one,
    cheap_memory,
    day_by_wall_clock,
    does_not_sync,
    forgets,
    fresh_coins,
    ignores_epochs,
)

SOME, MANY, PARTS = 150, 10_000, 10  # sequences by day; at night, in so many parts
HALF_A_NAT = [
    number for number, question in enumerate(QUESTIONS) if question.randomizer.epsilon.nanonats <= 5 * 10**8
]
ONE_NAT = 1
MEMORY = len(QUESTIONS) - 1


@pytest.fixture
def in_memory() -> Iterator[Path]:
    """A directory whose files sync at once: the loss of power is played, and a disk would take a minute."""
    shared = Path("/dev/shm")  # noqa: S108
    with tempfile.TemporaryDirectory(dir=shared if shared.is_dir() else None) as name:
        yield Path(name)


def run_sequences(
    seeds: Sequence[int], directory: Path, make: MakeParty = sound, transport: Transport | None = None
) -> tuple[int, int]:
    """Many sequences, each on a file of its own; returns how many requests were answered and refused."""
    answers = refusals = 0
    for seed in seeds:
        path = directory / f"{seed}.ledger"
        done = run(operations(seed), path, make, transport or Direct(), by_content=seed % 4 == 0)
        answers, refusals = answers + done[0], refusals + done[1]
        path.unlink()
    return answers, refusals


def test_no_sequence_of_operations_breaks_the_promise(in_memory: Path) -> None:
    answers, refusals = run_sequences(range(SOME), in_memory)
    assert answers > 4 * SOME  # so that the promise is not kept by refusing everything
    assert refusals > SOME


@pytest.mark.nightly
@pytest.mark.parametrize("part", range(PARTS))
def test_no_sequence_among_ten_thousand_breaks_the_promise(in_memory: Path, part: int) -> None:
    run_sequences(range(part, MANY, PARTS), in_memory)


@pytest.mark.parametrize(
    ("twin", "complaint"),
    [
        (forgets, "not charged"),
        (charges_one, "not charged"),
        (charges_after_reply, "not charged"),
        (does_not_sync, "not charged"),
        (cheap_memory, "not charged"),
        (fresh_coins, "two different reports"),
        (ignores_epochs, "two different reports"),
        (day_by_wall_clock, "than a day's budget"),
    ],
)
def test_the_sequences_notice_a_party_that_is_broken(
    in_memory: Path, twin: MakeParty, complaint: str
) -> None:
    with pytest.raises(AssertionError, match=complaint):
        run_sequences(range(SOME), in_memory, twin)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_request_that_fails_at_any_step_is_answered_on_retry_and_charged_once(
    in_memory: Path, fault: str
) -> None:
    for question in (ONE_NAT, MEMORY):
        failing, retry = Ask(question, fault=fault), Ask(question, agent=1)
        answers, _ = run([failing, retry, failing, retry, Restart(), retry], in_memory / f"{question}")
        assert answers >= 3


EVERYBODY, FEW = Cohort(0, 6), Cohort(0, 3)
KEPT: dict[str, list[Operation]] = {
    "a replay while the clock was ahead emptied the day's book": [
        Ask(ONE_NAT),
        Ask(HALF_A_NAT[0]),
        Jump(1),
        Ask(ONE_NAT),
        Jump(-1),
        Ask(HALF_A_NAT[1]),
    ],
    "newcomers of a request whose key was destroyed paid for nothing": [
        Ask(ONE_NAT, FEW),
        Rotate(destroy=True),
        Ask(ONE_NAT, EVERYBODY),
        Jump(1),
        Ask(HALF_A_NAT[0], EVERYBODY),
    ],
    "a commit that was reported as failed and had succeeded": [
        Ask(ONE_NAT, fault="an error after the commit"),
        Ask(ONE_NAT),
        Ask(HALF_A_NAT[0], agent=1),
        Ask(HALF_A_NAT[1], agent=0),
        PowerLoss(),
        Ask(ONE_NAT),
    ],
    "records that change and change back": [
        Ask(ONE_NAT, FEW),
        ChangeRecords(1),
        Ask(ONE_NAT, EVERYBODY),
        Ask(MEMORY, FEW),
        ChangeRecords(0),
        Jump(1),
        Ask(ONE_NAT, EVERYBODY),
        Ask(MEMORY, FEW),
    ],
}


@pytest.mark.parametrize("by_content", [False, True])
@pytest.mark.parametrize("story", KEPT)
def test_a_sequence_that_was_worth_keeping_keeps_the_promise(
    in_memory: Path, story: str, by_content: bool
) -> None:
    run(KEPT[story], in_memory / "ledger", by_content=by_content)
