"""Many calls at once: in order, within the window, each with its share of the time that is left."""

from __future__ import annotations

import threading

import pytest

from localdp import errors
from parties.rounds.asking import fan_out, reason_of, share_of

FAR = float("inf")  # a deadline that nothing of this is about


def test_every_outcome_is_in_its_place_and_no_more_run_at_once_than_the_window_allows() -> None:
    running = most = 0
    counting, full = threading.Lock(), threading.Barrier(4)

    def work(item: int, seconds: float) -> int:
        nonlocal running, most
        with counting:
            running += 1
            most = max(most, running)
        full.wait(20)  # all of a window are begun before any ends
        with counting:
            running -= 1
        if item % 10 == 0:
            raise errors.PolicyRefused("no")
        return item

    outcomes = fan_out(range(100), work, FAR, window=4)
    assert most == 4
    assert [outcome for outcome in outcomes if isinstance(outcome, int)] == [
        item for item in range(100) if item % 10
    ]
    assert all(isinstance(outcomes[item], errors.PolicyRefused) for item in range(0, 100, 10))


def test_the_time_that_is_left_is_divided_by_the_windows_to_come() -> None:
    # The first of ten has four windows of three to come, its own included; the nine after it have three, two and one.
    assert [share_of(place, 10, 3, 12.0) for place in (0, 1, 3, 4, 6, 7, 9)] == [3, 4, 4, 6, 6, 12, 12]
    assert share_of(0, 1, 3, -1.0) == 0.0


def test_even_if_all_hang_everybody_is_begun_before_the_deadline() -> None:
    now = 0.0
    given: list[float] = []

    def work(item: int, seconds: float) -> None:
        nonlocal now
        given.append(seconds)
        now += seconds  # it hangs, until gRPC ends it
        raise errors.DeadlineMissed("did not answer in time")

    outcomes = fan_out(range(4), work, 12.0, window=1, clock=lambda: now)
    assert given == pytest.approx([3.0] * 4) and now == pytest.approx(12.0)
    assert {reason_of(o) for o in outcomes if isinstance(o, errors.LocalDpError)} == {"deadline_missed"}


def test_who_is_quick_leaves_time_to_the_others() -> None:
    given: list[float] = []
    fan_out(range(4), lambda item, seconds: given.append(seconds), 12.0, window=1, clock=lambda: 0.0)
    assert given == [3.0, 4.0, 6.0, 12.0]


def test_nobody_to_ask_is_no_wait() -> None:
    def work(item: int, seconds: float) -> None:
        raise AssertionError

    assert fan_out([], work, FAR) == []


def test_a_mistake_of_our_own_is_not_taken_for_somebodys_refusal_and_ends_what_runs() -> None:
    ended = threading.Event()

    def work(item: int, seconds: float) -> None:
        if item == 1:
            raise ZeroDivisionError
        assert ended.wait(20)

    with pytest.raises(ZeroDivisionError):
        fan_out([0, 1, 2], work, FAR, give_up=ended.set)
    assert ended.is_set()


def test_a_reason_is_a_word_and_says_nothing_of_whom() -> None:
    assert reason_of(errors.BudgetExhausted("3 of 5 people")) == "budget_exhausted"
    assert reason_of(errors.Unreachable("party-3")) == "unreachable"
