"""The time of an answer, at its caller, says nothing of the values behind it; on agents as they were, it says everything.

Two measures: the attack that read people's bits off the time of free repetitions (`tests.support.timing_attack`), and
Welch's t of first answers and repetitions for a query of each family (`tests.support.time_on_the_wire`).

In `make test` ranks stand for means, because a loaded machine does not move them.  The broken agents are asked about groups
of people who are alike, because what a masked assignment tells grows with the group; they are measured again while they
are not caught.  For the sound agent it is a smoke test: 300 measurements of each kind are 4.5 standard deviations from
chance where an answer about a true person is slower than one about a false person in 65 of 100 cases.  The nightly tests
have 26,000 repetitions, and 100,000 measurements of each family, half of them first answers, at a quantum of 1 ms: they
see 0.03 standard deviations of an answer's time.
"""

from __future__ import annotations

import fcntl
import json
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from parties.agent.config import load_config
from parties.agent.state import init_storage
from tests.support.agents import running
from tests.support.processes import module, read_line, stage
from tests.support.time_on_the_wire import (
    FAMILIES,
    LEAST,
    LONG,
    Asking,
    Kind,
    Measured,
    classes,
    mann_whitney,
    measured,
    measured_together,
    welch,
)
from tests.support.timing_attack import Target, among, area_under_curve, of_one, times_of

MOST_T = 4.5
GROUP, GROUPS = 200_000, 2
ROUNDS, BATCHES, SMOKE = 20, 12, 300
VICTIMS, REPETITIONS = 100, 260
FEWER, MOST_TIMES = 16, 6  # people on an agent as it was, and how often they are measured again
AGENTS, EACH = 4, 100_000  # agents that are asked at the same time; measurements of each family
PEOPLE = 64

# The limits of work are for an hour of an ordinary caller, and the attack is for more.  30 is the largest budget.
CONFIG = """
name = "clinic"
[data]
path = "patients.csv"
[schema]
smoker = {{ kind = "bit" }}
age = {{ kind = "integer", low = 0, high = 120 }}
[budget]
total = 30
[policy]
most_requests = 10000000
most_requests_of_caller = 10000000
minimum_cohort = {minimum_cohort}
[work]
quantum_milliseconds = {quantum}
caller_seconds = 86400
total_seconds = 86400
"""


def made(
    directory: Path,
    smokers: NDArray[np.bool_],
    ages: NDArray[np.int64],
    quantum: float = 10,
    minimum_cohort: int = 1,
) -> Path:
    """A new agent about these people; returns its configuration."""
    directory.mkdir()
    rows = "".join(f"{int(smoker)},{age}\n" for smoker, age in zip(smokers, ages, strict=True))
    (directory / "patients.csv").write_text("smoker,age\n" + rows)
    path = directory / "agent.toml"
    path.write_text(CONFIG.format(quantum=quantum, minimum_cohort=minimum_cohort))
    init_storage(load_config(path))
    return path


@contextmanager
def served(config: Path, variant: str = "sound") -> Iterator[str]:
    """The address of an agent that runs: `localdp agent run`, or a broken one."""
    with stage(config.parent) as here:
        if variant == "sound":
            with running(here, config) as (_, address):
                yield address
            return
        with module(here, "tests.fault.timing_process", variant, str(config)) as process:
            yield json.loads(read_line(process))


def told_by(found: list[Measured], truth: NDArray[np.bool_]) -> tuple[float, float]:
    """How far first answers and repetitions are from chance, in standard deviations."""
    truths = [truth] * len(found)
    return mann_whitney(found, 0, [Kind.FIRST], truths), mann_whitney(found, 0, [Kind.REPEATED], truths)


def test_the_time_of_an_answer_does_not_tell(tmp_path: Path) -> None:
    truth = classes(PEOPLE)
    with served(made(tmp_path / "sound", truth, np.full(PEOPLE, 50), quantum=1)) as address:
        found = [measured(Asking(address, ("which",), PEOPLE, SMOKE, 1))]
    first, repeated = told_by(found, truth)
    assert max(abs(first), abs(repeated)) < MOST_T


def grouped(
    directory: Path, variant: str, is_caught: Callable[[float, float], bool]
) -> tuple[float, float]:
    """The same for a broken agent, asked about groups of people who are alike until it is caught."""
    truth, found = classes(GROUPS), list[Measured]()
    config = made(directory, np.repeat(truth, GROUP), np.full(GROUPS * GROUP, 50))
    with served(config, variant) as address:
        for batch in range(BATCHES):
            found.append(measured(Asking(address, (LONG,), GROUPS, ROUNDS, batch, GROUP)))
            if is_caught(*told_by(found, truth)):
                break
    return told_by(found, truth)


def test_an_agent_as_it_was_is_caught(tmp_path: Path) -> None:
    first, repeated = grouped(tmp_path / "broken", "as-it-was", lambda *told: min(told) > MOST_T)
    assert min(first, repeated) > MOST_T


def test_a_masked_assignment_without_a_quantum_is_caught_by_first_answers_alone(tmp_path: Path) -> None:
    first, repeated = grouped(tmp_path / "broken", "masked", lambda first, _: first > MOST_T)
    assert first > MOST_T > abs(repeated)  # a repetition is answered from what was sent


def bits(people: int) -> NDArray[np.bool_]:
    """Half of them true, in random order."""
    return np.random.default_rng(people).permutation(np.arange(people) < people // 2)


def victims(directory: Path, form: str, through_cohort: bool, people: int) -> tuple[Path, list[Target]]:
    """An agent, and what is asked about each of its people: alone, or through a cohort of all of them."""
    config = made(
        directory, bits(people), np.arange(people), minimum_cohort=people if through_cohort else 1
    )
    asked = [among(people, age, form) if through_cohort else of_one(age, form) for age in range(people)]
    return config, asked


@contextmanager
def machine(*, alone: bool) -> Iterator[None]:
    """Wait until no other of these tests runs that would drown a difference of one part in a hundred."""
    with (Path(tempfile.gettempdir()) / "localdp-time-on-the-wire.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        yield


def attacked(directory: Path, form: str, through_cohort: bool) -> float:
    """The area under the curve of the attack on a sound agent."""
    config, asked = victims(directory / f"{form}-{through_cohort}", form, through_cohort, VICTIMS)
    with served(config) as address:
        return area_under_curve(times_of(address, asked, REPETITIONS, LEAST, 1), bits(VICTIMS))


@pytest.mark.nightly
def test_nobody_is_read_off_a_sound_agent(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    # At the same time, to save some: an agent rests for most of an answer's time.
    cases = [(form, through) for form in ("which", "nearest") for through in (False, True)]
    with machine(alone=False), ThreadPoolExecutor(len(cases)) as pool:
        areas = list(pool.map(lambda case: attacked(tmp_path, *case), cases))
    record_property("areas", dict(zip(cases, areas, strict=True)))
    assert all(0.3 <= area <= 0.7 for area in areas), areas


def every_family(directory: Path, rounds: int) -> dict[str, list[float]]:
    """Welch's t of every family, for first answers, repetitions and both, after so many rounds in all."""
    truths = [classes(PEOPLE) ^ (number % 2 == 1) for number in range(AGENTS)]
    askings = []
    with ExitStack() as stack:
        for number, truth in enumerate(truths):
            config = made(directory / str(number), truth, np.where(truth, 80, 20), quantum=1)
            address = stack.enter_context(served(config))
            askings.append(Asking(address, tuple(FAMILIES), PEOPLE, rounds // AGENTS, number))
        found = measured_together(askings)
    kinds = ([Kind.FIRST], [Kind.REPEATED], list(Kind))
    return {
        name: [welch(found, place, kind, truths) for kind in kinds] for place, name in enumerate(FAMILIES)
    }


@pytest.mark.nightly
def test_the_time_of_an_answer_tells_nothing_for_a_query_of_each_family(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    with machine(alone=False):
        told = every_family(
            tmp_path, EACH // len(Kind) * len(FAMILIES)
        )  # a round is a measurement of each kind
    record_property("told", told)
    assert all(abs(t) < MOST_T for family in told.values() for t in family), told


# Last, because they wait until the machine is theirs: before that, two workers have the two tests above.
@pytest.mark.nightly
@pytest.mark.parametrize("form", ["which", "nearest"])
def test_single_people_are_read_off_an_agent_as_it_was(tmp_path: Path, form: str) -> None:
    config, asked = victims(tmp_path / "broken", form, False, FEWER)
    times, area = np.empty((FEWER, 0)), 0.0
    with machine(alone=True), served(config, "as-it-was") as address:
        while area < 0.9 and times.shape[1] < MOST_TIMES * REPETITIONS:
            times = np.hstack([times, times_of(address, asked, REPETITIONS, LEAST, 1)])
            area = area_under_curve(times, bits(FEWER))
    assert area >= 0.9
