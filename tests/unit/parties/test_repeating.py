"""Which failures are repeated, how often, after which pauses and until when; with failures that nobody had to wait for."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import grpc
import pytest

from localdp import errors
from parties.repeating import Patience, Persistence, Trials, UnaryCall, answers, is_passing
from parties.status import details

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


@pytest.mark.parametrize(
    ("failures", "begun"), [(0, 1), (2, 3), (9, 4)], ids=["there", "away twice", "away for good"]
)
def test_calls_in_a_row_are_begun_again_from_the_first_one(failures: int, begun: int) -> None:
    given: list[float] = []

    def work(seconds: float) -> str:
        given.append(seconds)
        if len(given) <= failures:
            raise Failure
        return "answer"

    persistence = Persistence(QUICK)
    if failures < QUICK.attempts:
        assert persistence.result_of(work, "party", 5.0) == "answer"
    else:
        with pytest.raises(errors.Unreachable, match="party cannot be reached"):
            persistence.result_of(work, "party", 5.0)
    assert len(given) == begun == persistence.repeated + 1
    assert given == sorted(given, reverse=True) and given[0] <= 5.0  # one deadline for all of them


def test_trials_of_a_clock_that_has_run_out_have_no_time_left() -> None:
    clock: Callable[[], float] = lambda: 7.0  # noqa: E731
    trials = Trials(QUICK, 6.0, clock)
    assert trials.seconds_left == 0.0 and trials.pause_after(Failure()) is None
