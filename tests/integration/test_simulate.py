"""`localdp simulate` on every executor: the same digest, also when a worker is killed in the middle."""

import json
import os
import signal
from pathlib import Path

import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.experiments import crowd_reports
from localdp.experiments.crowd import Crowd
from localdp.experiments.crowd_reports import BlockRange, CrowdReports, sums_digest
from localdp.randomizers.definition import Tally
from localdp.randomizers.registry import entry_of
from parties.executors.chosen import HERE, ChosenExecutor
from parties.executors.running import merged
from parties.experiments.simulating import run_crowd
from tests.contract.test_executors import QUIET
from tests.support.processes import localdp

PEOPLE = 40 << 20
KILLED = 17  # the block of the task that a worker does not survive


def reports(people: int = PEOPLE) -> CrowdReports:
    made = entry_of("one-bit").made(Epsilon.requested(1), 2)
    return CrowdReports(Crowd.by_law(people, 2, "0.3"), made, bytes(32))


def killed_once(marker: Path, of: CrowdReports, task: BlockRange) -> Tally:
    """The tally of a task; the first worker that has one of the blocks is killed when it has made half of it."""
    if task.first <= KILLED < task.last and not marker.exists():
        of.tally(BlockRange(task.first, task.first + 1))
        marker.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return of.tally(task)


class Killing:
    """Picklable, where a closure is not."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __call__(self, task: BlockRange) -> Tally:
        return killed_once(self.marker, reports(), task)


@pytest.mark.parametrize(
    "chosen",
    [
        ChosenExecutor("processes", 1),
        ChosenExecutor("processes", 2),
        pytest.param(ChosenExecutor("dask", 2), marks=QUIET),
    ],
    ids=["one worker", "two workers", "dask"],
)
def test_the_digest_is_that_of_this_process_also_after_kill_9_in_the_middle(
    chosen: ChosenExecutor, tmp_path: Path
) -> None:
    marker = tmp_path / "killed"
    total = merged(Killing(marker), reports().tasks(chosen.workers), Tally.merge, chosen=chosen)
    assert total is not None and marker.exists()
    assert total.reports == PEOPLE and sums_digest(total) == sums_digest(run_crowd(reports(), HERE))


def test_the_command_tells_estimate_and_digest_and_takes_any_executor(tmp_path: Path) -> None:
    told = [
        json.loads(
            localdp(tmp_path, "simulate", "--people", "3e6", "--insecure-seed", "7", "--json", *how).stdout
        )["data"]
        for how in (("--executor", "here"), ("--workers", "2"))
    ]
    assert told[0]["digest"] == told[1]["digest"] is not None
    assert told[0]["people"] == 3_000_000 and abs(told[0]["estimates"][0] - 0.3) < 0.005


def test_the_command_tells_people_a_table(tmp_path: Path) -> None:
    shown = localdp(
        tmp_path,
        "simulate",
        "--people",
        "1e5",
        "--randomizer",
        "k-ary",
        "--inputs",
        "12",
        "--law",
        "uniform",
    )
    assert "100,000 people by formula, uniform" in shown.stdout and shown.stdout.count("input") == 11
    assert "root mean square error of 12 estimates" in shown.stdout


def test_half_a_table_is_refused(tmp_path: Path) -> None:
    refused = localdp(tmp_path, "simulate", "--table", "x.csv")
    assert refused.returncode == 2 and "--schema" in refused.stderr


@pytest.mark.nightly
def test_a_billion_people_take_constant_memory_and_few_seconds_of_a_core() -> None:
    import resource

    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    tally = run_crowd(reports(10**9), ChosenExecutor("processes", 2))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    assert tally.reports == 10**9 and after.ru_maxrss < 300 * 1024
    assert spent < 6.0  # twice of what is asked for on a quiet machine
    assert crowd_reports.BLOCK == 1 << 20
