"""Which failures are repeated, how often, after which pauses and until when; with failures that nobody had to wait for."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any

import grpc
import pytest

from localdp import errors
from parties.repeating import Patience, Persistence, Trials, UnaryCall, answers, is_passing
from parties.status import details
from tests.support.waitless import run

QUICK = Patience(4, 0.001, 0.002)


class Failure(grpc.RpcError):
    """A call that failed, with a status alone or with the name of an error in it."""

    def __init__(
        self, code: grpc.StatusCode = grpc.StatusCode.UNAVAILABLE, trailing: tuple[Any, ...] = ()
    ) -> None:
        super().__init__()
        self._code, self._trailing = code, trailing

    def code(self) -> grpc.StatusCode:
        return self._code

    def trailing_metadata(self) -> tuple[Any, ...]:
        return self._trailing


def named(error: errors.LocalDpError) -> Failure:
    code, _, trailing = details(error)
    return Failure(code, trailing)


class Scripted:
    """A peer that fails as the script says, then answers; it keeps the time that each attempt was given."""

    def __init__(self, *failures: Failure) -> None:
        self._failures = list(failures)
        self.given: list[float] = []

    def begin(self, seconds: float) -> Scripted:
        self.given.append(seconds)
        return self

    def result(self) -> str:
        if self._failures:
            raise self._failures.pop(0)
        return "answer"


def ask(*peers: Scripted, patience: Patience = QUICK, seconds: float = 5.0) -> list[str]:
    calls = [UnaryCall(f"party {number}", peer.begin) for number, peer in enumerate(peers)]
    return answers(calls, seconds, Persistence(patience))


@pytest.mark.parametrize("code", [grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED])
def test_a_peer_that_said_nothing_may_be_back(code: grpc.StatusCode) -> None:
    assert is_passing(Failure(code))


def test_an_agent_that_could_not_reach_a_share_server_may_reach_it_the_next_time() -> None:
    assert is_passing(named(errors.Unreachable("share server server-0 cannot be reached")))


def test_an_agent_that_was_busy_may_have_time_the_next_time() -> None:
    assert is_passing(named(errors.Busy("the party has 16 answers in progress for this caller")))


@pytest.mark.parametrize(
    "failure",
    [
        Failure(grpc.StatusCode.DEADLINE_EXCEEDED),
        Failure(grpc.StatusCode.INTERNAL),
        Failure(grpc.StatusCode.UNIMPLEMENTED),
        Failure(grpc.StatusCode.RESOURCE_EXHAUSTED),
        named(errors.BudgetExhausted("no")),
        named(errors.PolicyRefused("no")),
        named(errors.WorkRefused("no")),
        named(errors.StorageFailed("no")),  # it travels as UNAVAILABLE, and is an answer
        named(errors.DeadlineMissed("no")),
    ],
    ids=[
        "too late",
        "a bug",
        "no such call",
        "too large",
        "no budget",
        "not allowed",
        "too much work",
        "no storage",
        "too late there",
    ],
)
def test_an_answer_is_not_repeated_whatever_it_is(failure: Failure) -> None:
    assert not is_passing(failure)
    peer = Scripted(failure)
    with pytest.raises(errors.LocalDpError):
        ask(peer)
    assert len(peer.given) == 1


def test_a_peer_that_is_away_twice_is_asked_three_times_and_the_others_once() -> None:
    peers = Scripted(), Scripted(Failure(), Failure()), Scripted(Failure())
    assert ask(*peers) == ["answer"] * 3
    assert [len(peer.given) for peer in peers] == [1, 3, 2]


def test_one_that_stays_away_is_unreachable_after_the_stated_attempts() -> None:
    peer = Scripted(*[Failure()] * 100)
    with pytest.raises(errors.Unreachable, match="party 0 cannot be reached"):
        ask(peer)
    assert len(peer.given) == QUICK.attempts


def test_all_attempts_share_one_deadline() -> None:
    peer = Scripted(Failure(), Failure())
    ask(peer, patience=Patience(4, 0.02, 0.02), seconds=5.0)
    assert peer.given[0] <= 5.0 and peer.given[2] <= 5.0 - 2 * 0.01


def test_a_pause_that_would_outlast_the_deadline_is_not_begun() -> None:
    peer, began = Scripted(*[Failure()] * 100), time.monotonic()
    with pytest.raises(errors.Unreachable):
        ask(peer, patience=Patience(100, 60.0, 60.0), seconds=5.0)
    assert len(peer.given) == 1 and time.monotonic() - began < 5.0


def test_pauses_double_up_to_the_longest_and_half_of_each_is_chance() -> None:
    patience = Patience(10, 0.25, 1.0)
    for failures, full in enumerate([0.25, 0.5, 1.0, 1.0], 1):
        drawn = [patience.pause_seconds(failures) for _ in range(200)]
        assert full / 2 <= min(drawn) < max(drawn) < full
        assert max(drawn) - min(drawn) > full / 4  # missed by 200 fair draws with probability below 1e-50


@pytest.mark.parametrize("wrong", [(0, 0.1, 0.2), (101, 0.1, 0.2), (3, 0.0, 0.2), (3, 0.3, 0.2)])
def test_patience_has_bounds(wrong: tuple[int, float, float]) -> None:
    with pytest.raises(errors.InvalidParameter):
        Patience(*wrong)


def test_whoever_is_told_to_stop_during_a_pause_does_not_wait_for_its_end() -> None:
    persistence = Persistence(Patience(3, 60.0, 60.0))
    peer, began = Scripted(*[Failure()] * 3), time.monotonic()
    stopper = threading.Timer(0.05, persistence.stop)
    stopper.start()
    with pytest.raises(errors.Unreachable):
        answers([UnaryCall("party", peer.begin)], 600.0, persistence)
    stopper.join()
    assert len(peer.given) == 1 and time.monotonic() - began < 30.0


def test_repetitions_are_counted() -> None:
    persistence, peers = Persistence(QUICK), [Scripted(Failure(), Failure()), Scripted(Failure())]
    answers([UnaryCall("party", peer.begin) for peer in peers], 5.0, persistence)
    assert persistence.repeated == 3


def on_loop(failures: int, patience: Patience, seconds: float) -> tuple[int, float, str]:
    """How often work was begun on an event loop, when that ended by its clock, and what came of it."""
    begun, again = 0, 0

    async def work() -> str:
        nonlocal begun
        begun += 1
        if begun <= failures:
            raise Failure
        return "answer"

    def count() -> None:
        nonlocal again
        again += 1

    async def ask() -> str:
        try:
            return await Persistence(patience).result_of(work, seconds, count)
        except Failure:
            return "away"

    result, ended = run(ask())
    assert again == begun - 1
    return begun, ended, result


@pytest.mark.parametrize(
    ("failures", "seconds", "begun", "result"),
    [(0, 9.0, 1, "answer"), (2, 9.0, 3, "answer"), (9, 9.0, 4, "away"), (9, 1.0, 2, "away")],
    ids=["there", "away twice", "away for good", "away, and no time"],
)
def test_on_an_event_loop_it_is_the_same(failures: int, seconds: float, begun: int, result: str) -> None:
    patience = Patience(4, 1.0, 4.0)  # pauses of 0.5 to 1, 1 to 2, 2 to 4 seconds, by the clock of the loop
    did, ended, got = on_loop(failures, patience, seconds)
    assert (did, got) == (begun, result)
    assert ended < seconds


def test_work_that_is_cancelled_is_not_begun_again() -> None:
    begun = 0

    async def work() -> None:
        nonlocal begun
        begun += 1
        await asyncio.sleep(1000.0)

    async def ask() -> None:
        async with asyncio.timeout(1.0):
            await Persistence().result_of(work, 500.0)

    with pytest.raises(TimeoutError):
        run(ask())
    assert begun == 1


def test_trials_of_a_clock_that_has_run_out_have_no_time_left() -> None:
    clock: Callable[[], float] = lambda: 7.0  # noqa: E731
    trials = Trials(QUICK, 6.0, clock)
    assert trials.seconds_left == 0.0 and trials.pause_after(Failure()) is None
