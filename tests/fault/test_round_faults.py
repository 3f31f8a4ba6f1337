"""kill -9 of the coordinator at every step of a round: nobody is charged twice, and the answer is that of a whole round."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from localdp.cohorts import Cohort
from localdp.errors import StorageFailed
from localdp.oracles.lr import InProcessLROracle, tally_of
from localdp.party.party import Party
from parties.agent.service import AgentService
from parties.rounds.partial import RoundResult
from parties.rounds.round import Rounds
from tests.fault.round_process import QUERY, RANDOMIZER, SECONDS
from tests.support.federations import parties_of, people, request
from tests.support.postgres import new_database
from tests.support.processes import stage
from tests.support.rounds import Served, enrol_peers, enrolled

PEOPLE, PARTIES = 60, 3
COST = RANDOMIZER.epsilon.nanonats
MOST_STEPS = 2 + 3 * PARTIES  # planned, ended, and for each party: asking, received, recorded

Resume = Callable[[Rounds, str], RoundResult]


class CountingAgent(AgentService):
    """Counts how often it was asked for reports."""

    def __init__(self, party: Party) -> None:
        super().__init__(party, {})
        self.asked = 0

    async def Randomize(self, request: Any, context: Any) -> AsyncIterator[Any]:  # noqa: N802
        self.asked += 1
        async for part in super().Randomize(request, context):
            yield part


def resumed(rounds: Rounds, round_id: str) -> RoundResult:
    """What a coordinator does after a crash."""
    return rounds.resume(round_id, deadline_seconds=SECONDS)


def asked_anew(rounds: Rounds, round_id: str) -> RoundResult:
    """Broken: the round is begun again, under a new identifier."""
    return rounds.ask(QUERY, RANDOMIZER, deadline_seconds=SECONDS)


def killed_at(step: int, journal: str | Path, directory: Path, served: Served) -> str | None:
    """Run a round that dies at a step, on a journal of its own; its steps if there are not that many."""
    directory.mkdir()
    with closing(Rounds(journal)) as rounds:
        assert enrol_peers(rounds.roster, served.peers) == {}
    arguments = [str(journal), request(step).request_id.hex(), str(step)]
    with stage(directory) as made:
        done = subprocess.run(
            [sys.executable, "-m", "tests.fault.round_process", *arguments],
            env=made.environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    assert done.returncode in (0, -9), done.stderr
    return done.stdout if done.returncode == 0 else None


def check_resume(step: int, journal: str | Path, served: Served, resume: Resume) -> None:
    """After a kill at that step: the whole answer, everybody charged once, and nobody asked whose tally was kept."""
    with closing(Rounds(journal)) as rounds:
        (plan,) = rounds.journal.unfinished() or [rounds.journal.plan(planned_id(journal))]
        kept = set(rounds.journal.tallies(plan))
        before = [agent.asked for agent in served.agents if isinstance(agent, CountingAgent)]
        result = resume(rounds, plan.round_id)
    assert [served.spent(number) for number in range(PARTIES)] == [{step * COST}] * PARTIES, "charged twice"
    twin = InProcessLROracle(parties_of(people(PEOPLE), PARTIES))
    assert result.complete
    assert result.tally.sums.tolist() == tally_of(twin, request(step), Cohort(0, PEOPLE)).sums.tolist()
    for number, agent in enumerate(served.agents):
        assert isinstance(agent, CountingAgent)
        assert agent.asked - before[number] == (served.parties[number].name not in kept)


def planned_id(journal: str | Path) -> str:
    """The one round of a journal, ended or not."""
    with closing(Rounds(journal)) as rounds:
        (row,) = rounds._storage.file.execute("SELECT round_id FROM rounds").fetchall()
        return str(row[0])


@pytest.mark.parametrize("kind", ["file", pytest.param("database", marks=pytest.mark.nightly)])
def test_wherever_the_coordinator_is_killed_the_round_goes_on_and_nobody_pays_twice(
    kind: str, tmp_path: Path
) -> None:
    with enrolled(
        tmp_path / "own", parties_of(people(PEOPLE), PARTIES), [CountingAgent] * PARTIES
    ) as served:
        lived: str | None = None
        for step in range(1, MOST_STEPS + 2):
            directory = tmp_path / f"at-{step}"
            journal = new_database() if kind == "database" else directory / "journal"
            lived = killed_at(step, journal, directory, served)
            check_resume(step, journal, served, resumed)
            if lived is not None:
                break
    assert lived is not None
    steps = lived.split()
    assert (steps[0], steps[-1]) == ("planned", "ended")
    assert (steps.count("asking"), steps.count("received")) == (PARTIES, PARTIES)


def test_a_coordinator_that_is_killed_half_way_goes_on_in_its_database(tmp_path: Path) -> None:
    with enrolled(
        tmp_path / "own", parties_of(people(PEOPLE), PARTIES), [CountingAgent] * PARTIES
    ) as served:
        journal = new_database()
        assert killed_at(1, journal, tmp_path / "at-1", served) is None
        check_resume(1, journal, served, resumed)


def test_the_check_notices_a_coordinator_that_asks_anew(tmp_path: Path) -> None:
    with enrolled(
        tmp_path / "own", parties_of(people(PEOPLE), PARTIES), [CountingAgent] * PARTIES
    ) as served:
        served.rounds._identifiers = lambda: request(1).request_id
        served.rounds._step = _failing_at("received")
        with pytest.raises(_Crashed):
            asked_anew(served.rounds, "")
        with pytest.raises(AssertionError, match="charged twice"):
            check_resume(1, tmp_path / "own", served, asked_anew)


class _Crashed(Exception):
    """The coordinator of this process came to its end."""


def _failing_at(last: str) -> Callable[[str], None]:
    def step(name: str) -> None:
        if name == last:
            raise _Crashed

    return step


def test_two_coordinators_on_one_journal_end_a_round_once_and_charge_once(tmp_path: Path) -> None:
    with enrolled(
        tmp_path / "own", parties_of(people(PEOPLE), PARTIES), [CountingAgent] * PARTIES
    ) as served:
        served.rounds._step = _failing_at("planned")
        with pytest.raises(_Crashed):
            served.rounds.ask(QUERY, RANDOMIZER, deadline_seconds=SECONDS)
        (plan,) = served.rounds.journal.unfinished()

        def one(number: int) -> RoundResult:
            with closing(Rounds(tmp_path / "own")) as rounds:
                return resumed(rounds, plan.round_id)

        with ThreadPoolExecutor(2) as threads:
            first, second = threads.map(one, range(2))
        assert first.answer == second.answer
        assert [served.spent(number) for number in range(PARTIES)] == [{COST}] * PARTIES


def test_if_the_plan_cannot_be_written_nobody_is_asked(tmp_path: Path) -> None:
    with enrolled(tmp_path / "own", parties_of(people(PEOPLE), PARTIES)) as served:
        served.rounds._storage.file.execute("PRAGMA query_only = ON")
        with pytest.raises(StorageFailed):
            served.rounds.ask(QUERY, RANDOMIZER, deadline_seconds=SECONDS)
        assert [served.spent(number) for number in range(PARTIES)] == [{0}] * PARTIES


def test_if_a_tally_cannot_be_written_there_is_no_answer_until_it_is(tmp_path: Path) -> None:
    with enrolled(tmp_path / "own", parties_of(people(PEOPLE), PARTIES)) as served:
        database = served.rounds._storage.file

        def step(name: str) -> None:
            if name == "planned":
                database.execute("PRAGMA query_only = ON")

        served.rounds._step = step
        with pytest.raises(StorageFailed):
            served.rounds.ask(QUERY, RANDOMIZER, deadline_seconds=SECONDS)
        database.execute("PRAGMA query_only = OFF")
        (plan,) = served.rounds.journal.unfinished()
        assert resumed(served.rounds, plan.round_id).complete
        assert [served.spent(number) for number in range(PARTIES)] == [{COST}] * PARTIES
