"""Whether a record changed or not, a caller sees the same: two neighbouring histories of one agent, compared byte by byte.

Exact, with the same coins in both: what differs is found in one history in which it shows, without any statistics.  What
it misses is time, which tests/fault/test_time_on_the_wire.py measures, and what no history of these operations shows.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from localdp.cohorts import Cohort
from localdp.errors import InvalidRecord, LocalDpError
from localdp.queries.estimators import Blocking
from localdp.randomness.source import Floats
from parties.agent.config import AgentConfig
from parties.agent.ledger import SqliteLedger
from parties.agent.service import SERVICE_NAME
from parties.agent.state import AgentState
from parties.status import reason
from parties.wire.v1 import oracle_pb2 as pb
from tests.fault.neighbour_agents import SHAPES, Chance, Shape, template_of
from tests.fault.neighbour_views import Difference, Seen, first_difference
from tests.fault.neighbours import Ask, Change, ChangeBoth, Happening, Operation, Wait, history
from tests.fault.refusal_table import (
    MADE_ELSEWHERE,
    OWNER,
    PUBLIC,
    REFUSALS,
    ROOT,
    errors_made_by,
    errors_of_the_library,
)
from tests.support.telling_agents import (
    TWINS,
    BudgetByOwner,
    CohortOfOwners,
    ContentOfRecords,
    CountsChanges,
    MemoOfRecords,
    OpensOnChange,
    ReadsTheTable,
    RecordsChanged,
)

SMALL, LARGE = 10, 1112  # histories of each shape: 90, and 10,000
MEMORY = Path("/dev/shm")  # noqa: S108 - syncing to a disk is not what is tested here
NAMED = {shape.name: shape for shape in SHAPES}


@pytest.fixture
def directory() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as made:
        yield Path(made)


@pytest.fixture
def chance(monkeypatch: pytest.MonkeyPatch) -> Chance:
    made = Chance()
    made.install(monkeypatch)
    return made


def difference(
    directory: Path,
    chance: Chance,
    shape: Shape,
    histories: Iterable[list[Operation]],
    kind: type[AgentState] = AgentState,
    seen: Seen | None = None,
) -> tuple[list[Operation], Difference] | None:
    """The first history, and the operation of it, that tells two agents of this shape apart."""
    template = template_of(shape, directory / "template")
    pair = first_difference(template, directory / "pair", chance, kind, histories, seen or Seen())
    return asyncio.run(pair)


def random_histories(shape: Shape, first: int, count: int) -> Iterable[list[Operation]]:
    """So many, different for each shape."""
    begin = 100_000 * SHAPES.index(shape) + first
    return (history(seed, shape.ways) for seed in range(begin, begin + count))


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_two_neighbouring_histories_look_the_same_to_every_caller(
    directory: Path, chance: Chance, shape: Shape
) -> None:
    assert difference(directory, chance, shape, random_histories(shape, 0, SMALL)) is None


@pytest.mark.nightly
@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_ten_thousand_neighbouring_histories_look_the_same(
    directory: Path, chance: Chance, shape: Shape
) -> None:
    seen = Seen()
    assert difference(directory, chance, shape, random_histories(shape, SMALL, LARGE), seen=seen) is None
    methods = {
        method.name for method in pb.DESCRIPTOR.services_by_name[SERVICE_NAME.rpartition(".")[2]].methods
    }
    assert {told.partition(" ")[0] for told in seen.methods} == methods
    kinds = {f"Quote of {kind}" for kind in ("Randomize", "Contribute", "ContributeSealed")}
    assert kinds <= seen.methods.keys()
    answered = {reason(refusal.error) for refusal in REFUSALS if not refusal.checked}
    assert seen.reasons.keys() - {""} <= answered
    assert answered - seen.reasons.keys() <= ({"BUDGET_EXHAUSTED"} if shape.name == "strict" else set())
    assert len(seen.own_reports) > 2  # the person reports something, and not always the same


ASKED = Ask("Randomize")
SEALED = Ask("ContributeSealed", 1)
PUBLISHED = Happening("publish")
OWNED: list[Operation] = [Change("owner", 1), PUBLISHED]
QUARTERS = [Ask("Randomize", question, cohort=Cohort(2, 3)) for question in (1, 3, 5, 7)]
TELLING: dict[type[AgentState], list[Operation]] = {  # the shortest history in which it shows
    RecordsChanged: [SEALED, Change("value", 2), PUBLISHED, SEALED],
    CountsChanges: [SEALED, Change("value", 2), PUBLISHED, replace(SEALED, quote=True)],
    ContentOfRecords: [ASKED, Change("value", 2), PUBLISHED, ASKED],
    MemoOfRecords: [Ask("Randomize", 8), Change("value", 2), PUBLISHED, Ask("Randomize", 8)],
    OpensOnChange: [Change("row more", 2), Ask("Describe")],
    ReadsTheTable: [Change("value", 2), *QUARTERS],
    BudgetByOwner: [*OWNED, ASKED, replace(ASKED, number=1, quote=True)],
    CohortOfOwners: [*OWNED, Ask("Randomize", 1, cohort=Cohort(3, 6), quote=True)],
}


@pytest.mark.parametrize("twin", TWINS, ids=lambda twin: twin.__name__)
def test_an_agent_that_tells_is_caught(directory: Path, chance: Chance, twin: type[AgentState]) -> None:
    def is_caught(number: int) -> bool:
        place = directory / str(number)
        place.mkdir()
        return difference(place, chance, NAMED[TWINS[twin]], [TELLING[twin]], twin) is not None

    assert any(is_caught(number) for number in range(6))  # under one key two inputs may draw one report


@pytest.mark.nightly
@pytest.mark.parametrize("twin", TWINS, ids=lambda twin: twin.__name__)
def test_an_agent_that_tells_is_caught_in_random_histories(
    directory: Path, chance: Chance, twin: type[AgentState]
) -> None:
    shape = NAMED[TWINS[twin]]
    assert difference(directory, chance, shape, random_histories(shape, 0, LARGE), twin) is not None


@pytest.mark.parametrize("twin", TWINS, ids=lambda twin: twin.__name__)
def test_the_same_history_of_a_sound_agent_tells_nothing(
    directory: Path, chance: Chance, twin: type[AgentState]
) -> None:
    assert difference(directory, chance, NAMED[TWINS[twin]], [TELLING[twin]]) is None


FOUND: dict[str, list[Operation]] = {
    # An agent whose calendar had passed did not start, if rows have no owners and the table had changed.
    "by place, not vouched for": [
        ASKED,
        Change("value", 2),
        Wait(25),
        Happening("restart"),
        Ask("Describe"),
    ],
    # A table without owners was published anew if it had not changed, and refused if it had.
    "each row": [ASKED, Change("value", 0), Happening("publish"), Ask("Describe")],
}


@pytest.mark.parametrize("shape", FOUND)
def test_what_once_told(directory: Path, chance: Chance, shape: str) -> None:
    assert difference(directory, chance, NAMED[shape], [FOUND[shape]]) is None


def refused_if_changed(config: AgentConfig, pin: bytes, ledger: SqliteLedger) -> None:
    """`require_places`, as it was."""
    if ledger.last_state() not in (None, pin):
        raise InvalidRecord("the table changed since it was last asked about")


def test_a_publication_that_is_refused_where_the_table_changed_is_caught(
    directory: Path, chance: Chance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("parties.agent.state.require_places", refused_if_changed)
    assert difference(directory, chance, NAMED["each row"], [FOUND["each row"]]) is not None


NOBODY_SMOKES: list[Operation] = [ChangeBoth(0), ChangeBoth(2), ChangeBoth(4)]
BLOCKED: list[Operation] = [*NOBODY_SMOKES, Change("value", 1), PUBLISHED, Ask("Contribute", 9)]


def singular_at_times(matrices: Floats, right: Floats, blocking: Blocking) -> Floats:
    """A regression of blocks as it was: all are refused where somebody's record makes one of them hard."""
    ridge = 1e-9 * blocking.sizes[:, None, None] * np.eye(len(matrices))
    solved = np.linalg.solve(np.moveaxis(matrices, 2, 0) + ridge, right.T[:, :, None])
    return np.asarray(solved[:, :, 0].T, np.float64)


def test_blocks_that_are_refused_where_a_record_makes_them_hard_are_caught(
    directory: Path, chance: Chance, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place in ("sound", "twin"):
        (directory / place).mkdir()
    seen = Seen()
    assert difference(directory / "sound", chance, NAMED["by place"], [BLOCKED], seen=seen) is None
    assert set(seen.reasons) == {""}  # both agents answer
    monkeypatch.setattr("localdp.queries.estimators._solved", singular_at_times)
    assert difference(directory / "twin", chance, NAMED["by place"], [BLOCKED]) is not None


def test_every_refusal_says_what_it_depends_on() -> None:
    told = [refusal.error for refusal in REFUSALS]
    assert len(told) == len(set(told)) and not set(told) & MADE_ELSEWHERE.keys()
    assert set(told) | MADE_ELSEWHERE.keys() == errors_of_the_library()
    assert errors_made_by("parties.agent.run") == {error.__name__ for error in told}
    for refusal in REFUSALS:
        assert refusal.depends_on and set(refusal.depends_on) <= PUBLIC
        assert not refusal.checked or (ROOT / refusal.checked).is_file()


class Unheard(LocalDpError):
    """An error that no table knows."""


def test_an_error_that_is_new_to_an_agent_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("localdp.errors.Unheard", Unheard, raising=False)
    assert Unheard in errors_of_the_library() - {refusal.error for refusal in REFUSALS}
    assert "TooFewReports" in errors_made_by("parties.shares.service")  # the search finds what is there


def test_what_only_owners_see_is_no_answer_to_a_call() -> None:
    owners = {refusal.error.__name__ for refusal in REFUSALS if OWNER in refusal.depends_on}
    assert owners == {"InvalidRecord", "RolledBack", "CannotListen"}
