"""A second row: with `rows = "sample"` an agent does the same work, at the same price, whoever has one row or two.

Exact: not times are compared but what takes them.  All calls that an answer makes, of Python and of numpy, and the shapes
and types of the arrays in them, are written down for two tables that differ in one person's second row.  What it misses is
what a processor does differently with other values of the same shapes (`tests/unit/support/test_leaks.py`).
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar, cast

import numpy as np
import pytest
from numpy.typing import NDArray

from localdp.cohorts import Asked, Cohort, Split
from localdp.domains import Records
from localdp.party.cost import sampling_work
from localdp.party.epoch import Epoch
from localdp.party.party import Party
from localdp.queries.asked import query_of
from localdp.queries.statistical import StatisticalQuery
from parties import codec
from parties.agent.config import load_config
from parties.agent.plan import randomize_plan, share_plan
from parties.agent.service import AgentService
from parties.agent.state import AgentState, init_storage
from parties.agent.work import WorkLimits
from parties.wire.v1 import oracle_pb2 as pb
from tests.support.agents import write_agent
from tests.support.callers import Context
from tests.support.federations import collection_of, request

PEOPLE = 40
COHORTS = [Cohort(0, PEOPLE), Cohort(0, PEOPLE, Split(bytes(16), 2, 1)), Cohort(3, 4)]
QUERY = "smoker and age >= 30"
LIMITS = WorkLimits(quantum_seconds=0.0)
_Told = TypeVar("_Told")


class SamplesIfNeeded(Epoch):
    """Broken, as agents were: where nobody has a second row, rows are looked at as they stand."""

    @property
    def samples(self) -> bool:
        """By the records, and not by the owner's word."""
        return self.ownership is not None and int(self.ownership.counts.max()) > 1


class ChoosesForSome(Epoch):
    """Broken: a row is chosen for those alone who have several."""

    def rows_of(self, people: Asked, name: bytes, secret: bytes, columns: frozenset[str]) -> Records:
        ownership = self.ownership
        assert ownership is not None
        rows = ownership.starts[people.selection()]
        several = np.flatnonzero(ownership.counts[people.selection()] > 1)
        words = np.frombuffer(self.key(secret, b"rows", name)[:8] * len(several), np.uint64)
        rows[several] = ownership.sampled(people.indices()[several], words)
        return self.records.take(rows, columns)


@contextmanager
def holder(
    directory: Path, second: bool, kind: type[Epoch] = Epoch, rows: str = "sample"
) -> Iterator[Party]:
    """The party of an agent in whose table somebody has a second row, or nobody has."""
    directory.mkdir()
    config = load_config(write_agent(directory, people=PEOPLE, data=f'person = "patient"\nrows = "{rows}"'))
    if second:
        with config.data.open("a") as table:
            table.write("p3,True,50\r\n")
    init_storage(config)
    state = AgentState(config)
    epoch = state.party.epoch
    state.party.enter(kind(epoch.number, epoch.identifier, epoch.records, epoch.ownership))
    yield state.party
    state.close()


def operations(table: Records, job: Callable[[], object]) -> list[str]:
    """Every call that a job makes, with the shapes and types of the arrays that its variables hold when it returns."""
    told: list[str] = []
    columns = [table.column(name) for name in table.schema.names]

    def shape(array: NDArray[Any]) -> str:
        """A whole column is what it is: longer, where there is a second row."""
        whole = any(np.shares_memory(array, column) for column in columns) and len(array) == table.people
        return f"{'column' if whole else array.shape} {array.dtype}"

    def watch(frame: FrameType, event: str, called: Any) -> None:
        if event == "c_call":
            told.append(called.__qualname__)
        elif event in ("call", "return"):
            arrays = {
                name: value for name, value in frame.f_locals.items() if isinstance(value, np.ndarray)
            }
            shapes = sorted(f"{name} {shape(value)}" for name, value in arrays.items())
            told.append(f"{event} {frame.f_code.co_qualname} {shapes}")

    sys.setprofile(watch)
    try:
        job()
    finally:
        sys.setprofile(None)
    return told


def work(party: Party, cohort: Cohort) -> list[str]:
    """What is done for reports of a cohort, and for its shares."""
    for cached in (StatisticalQuery.parse, query_of):
        cached.cache_clear()  # each agent is the first of its process
    draw = party.charged(request(1, QUERY), cohort)
    share = party.shared(collection_of([party], query=QUERY), cohort)
    jobs: list[Callable[[], object]] = [lambda: draw(cohort), lambda: share.inputs(cohort)]
    for job in jobs:
        job()  # the first time, something may be made once for all
    return [line for job in jobs for line in operations(party.records, job)]


def quoted(party: Party, cohort: Cohort) -> bytes:
    """The quote of an agent for this party, as it is sent."""
    agent, context = AgentService(party, {}, limits=LIMITS), cast("Any", Context(""))
    message = pb.QuoteRequest(randomize=codec.request_to_wire(request(7, QUERY), cohort))

    async def told() -> bytes:
        answer = await agent.Quote(message, context)
        await agent.close()
        return bytes(answer.SerializeToString())

    return asyncio.run(told())


def looks(directory: Path, kind: type[Epoch], look: Callable[[Party, Cohort], _Told]) -> list[list[_Told]]:
    """What is told of every cohort, where nobody has a second row and where somebody has."""
    made = []
    for second in (False, True):
        with holder(directory / f"second row {second}", second, kind) as party:
            assert party.people == PEOPLE and party.records.people == PEOPLE + second
            made.append([look(party, cohort) for cohort in COHORTS])
    return made


def test_the_same_is_done_for_a_person_with_one_row_as_with_two(tmp_path: Path) -> None:
    one, two = looks(tmp_path, Epoch, work)
    assert one == two
    assert all(any("Ownership.sampled" in line for line in told) for told in one)


@pytest.mark.parametrize("kind", [SamplesIfNeeded, ChoosesForSome])
def test_work_that_depends_on_who_has_a_second_row_is_noticed(tmp_path: Path, kind: type[Epoch]) -> None:
    one, two = looks(tmp_path, kind, work)
    assert one != two


def test_a_quote_is_the_same_whoever_has_a_second_row(tmp_path: Path) -> None:
    one, two = looks(tmp_path, Epoch, quoted)
    assert one == two


def test_a_quote_that_depends_on_who_has_a_second_row_is_noticed(tmp_path: Path) -> None:
    one, two = looks(tmp_path, SamplesIfNeeded, quoted)
    assert one != two


def test_choosing_a_row_is_in_the_price_of_reports_and_of_shares(tmp_path: Path) -> None:
    with holder(tmp_path / "a", False, rows="one") as plain, holder(tmp_path / "b", False) as sampled:
        prices = [pb.QuoteResponse.FromString(quoted(party, COHORTS[0])) for party in (plain, sampled)]
        schema, collection = plain.records.schema, collection_of([plain], query=QUERY)
    choosing = sampling_work(2)  # of two columns
    assert choosing.fixed > 0 and choosing.person > sampling_work(1).person > 0
    plans = [
        [
            randomize_plan(request(1, QUERY), COHORTS[0], schema, LIMITS, sampled=one)
            for one in (False, True)
        ],
        [share_plan(collection, COHORTS[0], PEOPLE, schema, LIMITS, sampled=one) for one in (False, True)],
    ]
    for without, chosen in plans:
        assert chosen.work == without.work + choosing
    more = prices[1].work_nanoseconds - prices[0].work_nanoseconds
    assert more == pytest.approx(1e9 * choosing.of(COHORTS[0]), abs=2)
    assert prices[1].answer_nanoseconds > prices[0].answer_nanoseconds
