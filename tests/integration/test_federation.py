"""A federation of processes: the answers of this process, also when connected to; rounds with a quorum; cleanup."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.domains.dealing import dealt
from localdp.errors import InvalidParameter, PolicyRefused, QuorumMissed, TooFewReports, Unreachable
from localdp.experiments.population import made_up_people
from localdp.oracles.models import MODELS
from localdp.oracles.shuffler import Promise
from localdp.randomness.hazmat import SeededSource
from parties.addresses import State, write_state
from parties.federated.budgets import Budgets
from parties.federated.events import Event
from parties.federation import Federation
from parties.simulation.launcher import Simulation
from tests.support.processes import Stage, stage, wait_until

PEOPLE = made_up_people(200, SeededSource(1))
QUERIES = ["smoker", "age >= 65"]


REPEATABLE = tuple(
    name for name, row in MODELS.items() if not row.sealed
)  # a key is fresh whatever the seed is


def asked(federation: Federation, models: tuple[str, ...] = REPEATABLE) -> list[float]:
    values = []
    for model in models:
        oracle = federation.oracle(model, None if model == "exact" else 1)
        values += [answer.value for answer in oracle.answer(QUERIES)]
        values += oracle.answer_vectors(["cells(region)"])[0].values.tolist()
    return values


def test_processes_answer_bit_for_bit_like_this_process() -> None:
    answers = []
    for processes in (False, True):
        with Federation.launch(
            PEOPLE, parties=[50, 150], budget=30, processes=processes, insecure_seed=7
        ) as federation:
            answers.append(asked(federation))
            if processes:
                with pytest.raises(InvalidParameter, match="start one"):
                    federation.oracle("flooded", 1)
            left = federation.budgets()
            assert left.exact
            answers[-1] += [float(amount) for amount in left.remaining]
    assert answers[0] == answers[1]


def test_budgets_of_launched_parties_are_what_their_ledgers_say_whoever_asked(tmp_path: Path) -> None:
    path = tmp_path / "parties.json"
    with Federation.launch(PEOPLE, parties=[50, 150], budget=3, insecure_seed=7) as launched:
        assert launched.budgets().remaining == {Epsilon.requested(3): 200}
        launched.write_addresses(path)
        with Federation.connect(path, insecure_seed=8) as connected:
            connected.oracle("shared", 1).answer(["smoker"])
            assert connected.budgets() == Budgets({Epsilon.requested(1): 200}, exact=False)
        assert launched.budgets().remaining == {Epsilon.requested(2): 200}
        # A request that fails half way costs those who answered, and nobody else.
        os.kill(launched.process_ids["party-0"], signal.SIGKILL)
        result = launched.round("smoker", 1, quorum=0.7, deadline_seconds=3)
        assert result.answered.people == 150
        told = launched.budgets()
        assert told.exact
        assert sorted(told.remaining.values()) == [50, 150]
        assert told.remaining[Epsilon.requested(2)] == 50
    with pytest.raises(InvalidParameter, match="closed"):
        launched.budgets()


def test_some_of_the_parties_answer_alike_wherever_they_are(tmp_path: Path) -> None:
    answers, left = [], []
    path = tmp_path / "parties.json"
    for processes in (False, True):
        with Federation.launch(
            PEOPLE, parties=[50, 90, 60], budget=30, processes=processes, insecure_seed=7
        ) as federation:
            some = federation.of(["party-2", "party-0"])
            answers.append(asked(some))
            left.append((some.budgets(), federation.budgets()))
            if processes:
                assert list(some.process_ids) == ["server-0", "server-1", "party-0", "party-2"]
                assert some.round("smoker", 1, deadline_seconds=20).asked.people == 110
                some.write_addresses(path)
                with Federation.connect(path) as connected:
                    assert connected.parties == {"party-0": 50, "party-2": 60}
                some.close()
                assert federation.oracle("local", 1).answer(["smoker"])[0].reports == 200
    assert answers[0] == answers[1]
    assert left[0] == left[1]


def test_some_of_running_parties_are_charged_alone_and_have_no_part_of_a_shuffler(tmp_path: Path) -> None:
    path = tmp_path / "parties.json"
    promise = Promise(Epsilon.requested(2))
    with Simulation(dealt(PEOPLE, 4), budget=Epsilon.requested(3), shuffler=promise) as simulation:
        write_state(
            State(tuple(simulation.agents), tuple(simulation.share_servers), simulation.shuffler), path
        )
        with Federation.connect(path) as federation:
            some = federation.of(["party-1", "party-3"])
            assert some.oracle("shared", 1).answer(["smoker"])[0].reports == 100
            assert federation.budgets().remaining == {Epsilon.requested(1): 100, Epsilon.requested(3): 100}
            assert some.budgets().remaining == {Epsilon.requested(1): 100}
            assert not some.budgets().exact
            with pytest.raises(InvalidParameter, match="all of its parties"):
                some.oracle("shuffled", 1)
        with pytest.raises(InvalidParameter, match="closed"):
            some.oracle("local", 1)


def test_parties_that_share_processes_answer_like_parties_in_this_one() -> None:
    answers = []
    for processes in (False, 2):
        with Federation.launch(
            PEOPLE, parties=5, budget=30, processes=processes, insecure_seed=7
        ) as federation:
            answers.append(asked(federation))
            found = dict(federation.process_ids)
    assert answers[0] == answers[1]
    assert list(found) == ["server-0", "server-1", *(f"party-{number}" for number in range(5))]
    own = [found[f"party-{number}"] for number in range(5)]
    assert own[0] == own[1] != own[2] == own[3] == own[4]
    assert len(set(found.values())) == 4
    assert not any(Path(f"/proc/{pid}").exists() for pid in found.values())


def test_parties_that_share_a_process_are_gone_together() -> None:
    with Federation.launch(PEOPLE, parties=4, processes=2, insecure_seed=7) as federation:
        os.kill(federation.process_ids["party-0"], signal.SIGKILL)
        result = federation.round("smoker", 1, quorum=0.4, deadline_seconds=3)
        assert (result.answered.people, result.asked.people) == (100, 200)


@pytest.mark.parametrize("processes", [0, -1, 5])
def test_there_are_as_many_processes_as_parties_at_most(processes: int) -> None:
    with pytest.raises(InvalidParameter, match="1 to 4 processes"):
        Federation.launch(PEOPLE, parties=4, processes=processes)


@pytest.mark.nightly
def test_two_thousand_parties_in_four_processes_answer() -> None:
    people = made_up_people(20_000, SeededSource(1))
    with Federation.launch(people, parties=2000, processes=4, insecure_seed=7) as federation:
        assert len(set(federation.process_ids.values())) == 6
        for model in ("local", "shared"):
            answer = federation.oracle(model, 1).answer(["smoker"])[0]
            assert answer.reports == 20_000
            assert abs(answer.value - people.column("smoker").mean()) < 6 * answer.standard_error


def test_who_connects_has_the_same_federation_and_the_same_answers(tmp_path: Path) -> None:
    path = tmp_path / "parties.json"
    with Federation.launch(PEOPLE, parties=2, insecure_seed=7) as launched:
        launched.write_addresses(path)
        first = asked(launched, ("local", "shared"))
        with Federation.connect(path, insecure_seed=7) as connected:
            assert connected.schema == launched.schema
            assert connected.parties == launched.parties
            # The same oracles ask under the same identifiers: a party repeats what it said, and charges nothing.
            assert asked(connected, ("local",)) == first[: len(first) // 2]
            assert connected.budgets().remaining == {Epsilon.requested(3): 200}
            assert str(connected.budgets()) == "200 people have at least epsilon 3 left"
            fresh = connected.oracle("shared", 1)
            assert "answers come with proofs" in fresh.claim.statement()
            assert "nothing is proved" in connected.oracle("shared", 1, tier="additive").claim.statement()
            with pytest.raises(TooFewReports, match="nobody was charged"):
                connected.oracle("shared", 1, minimum_batch=201).answer(["smoker"])
            assert abs(fresh.answer(["smoker"])[0].value - PEOPLE.column("smoker").mean()) < 0.3
            for model in ("exact", "curator"):
                with pytest.raises(InvalidParameter, match="keep their records to themselves"):
                    connected.oracle(model, 1)
            with pytest.raises(InvalidParameter):
                connected.budgets("curator")


def test_a_running_shuffler_mixes_for_who_connects(tmp_path: Path) -> None:
    path = tmp_path / "parties.json"
    promise = Promise(Epsilon.requested(2))
    with Simulation(dealt(PEOPLE, 2), budget=Epsilon.requested(30), shuffler=promise) as simulation:
        write_state(
            State(tuple(simulation.agents), tuple(simulation.share_servers), simulation.shuffler), path
        )
        with Federation.connect(path) as federation:
            oracle = federation.oracle("shuffled", 2)
            assert oracle.answer(["smoker"])[0].reports == 200
            assert oracle.claim.model == "shuffled"
            (left,) = federation.budgets().remaining
            assert left == Epsilon.requested(
                10
            )  # and not 28: a single report says more than the mixed ones
            with pytest.raises(PolicyRefused):
                federation.oracle("shuffled", 3)


def test_a_round_does_without_who_is_gone_if_a_quorum_answers() -> None:
    told: list[Event] = []
    with Federation.launch(PEOPLE, parties=[150, 50], insecure_seed=7) as federation:
        federation.events.subscribe(told.append)
        assert federation.round("smoker", 1, deadline_seconds=20).complete
        os.kill(federation.process_ids["party-1"], signal.SIGKILL)
        result = federation.round("smoker", 1, quorum=0.7, deadline_seconds=3)
        assert (result.answered.people, result.asked.people) == (150, 200)
        assert sum(federation.events.missing.values()) == 50
        with pytest.raises(QuorumMissed):
            federation.round("smoker", 1, quorum="0.8", deadline_seconds=2)
        assert federation.events.failures == {"quorum_missed": 1}
        assert [event.kind for event in told if event.kind != "party answered"] == [
            "round started",
            "round ended",
            "round started",
            "round ended",
            "round started",
            "round failed",
        ]


def test_a_round_can_be_asked_from_within_an_event_loop_as_in_a_notebook() -> None:
    with Federation.launch(PEOPLE, parties=1) as federation:

        async def cell() -> int:
            return federation.round("smoker", 1, deadline_seconds=20).answered.people

        assert asyncio.run(cell()) == 200


def test_a_file_that_is_not_there_or_leads_nowhere_is_told(tmp_path: Path) -> None:
    with pytest.raises(InvalidParameter, match="localdp parties up"):
        Federation.connect(tmp_path / "none.json")
    path = tmp_path / "parties.json"
    with Federation.launch(PEOPLE, parties=1) as federation:
        federation.write_addresses(path)
    with pytest.raises(Unreachable, match="party-0"):
        Federation.connect(path)


SCRIPT = """
import sys
from localdp.experiments.population import made_up_people
from localdp.randomness.hazmat import SeededSource
from parties.federation import Federation
federation = Federation.launch(made_up_people(50, SeededSource(1)), parties=2)
print("up", flush=True)
{ending}
"""
ENDINGS = {
    "the script ends": "",
    "waits to be killed": "import time; time.sleep(60)",
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_no_process_outlives_the_script(tmp_path: Path, ending: str) -> None:
    with stage(tmp_path) as made:
        process = made.popen(
            [sys.executable, "-c", SCRIPT.format(ending=ENDINGS[ending])],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        with process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"up\n"
            if ending == "waits to be killed":
                wait_until(lambda: len(made.process_ids()) >= 6, "everybody is there")
                process.kill()
            process.wait(20)
        _nothing_is_left(made)


def _nothing_is_left(made: Stage) -> None:
    wait_until(lambda: not made.process_ids(), "no process is left", 15)
    wait_until(lambda: not made.leftovers(), "no temporary file is left", 15)


def test_a_forgotten_federation_ends_its_processes() -> None:
    federation = Federation.launch(PEOPLE, parties=1)
    started = list(federation.process_ids.values())
    assert len(started) == 3
    del federation
    gc.collect()
    wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in started), "they are gone", 15)
