"""Many calls at once: in order, within the window, ended at the deadline; on a clock that only moves when all wait."""

from __future__ import annotations

import asyncio

import pytest

from localdp import errors
from parties.rounds.asking import fan_out, reason_of
from tests.support.waitless import run


def test_every_outcome_is_in_its_place_and_no_more_run_at_once_than_the_window_allows() -> None:
    running = most = 0

    async def work(item: int, until: float) -> int:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.01 * (item % 7))
        running -= 1
        if item % 10 == 0:
            raise errors.PolicyRefused("no")
        return item

    outcomes, _ = run(fan_out(range(100), work, deadline=60.0, window=8))
    assert most == 8
    assert [outcome for outcome in outcomes if isinstance(outcome, int)] == [
        item for item in range(100) if item % 10
    ]
    assert all(isinstance(outcomes[item], errors.PolicyRefused) for item in range(0, 100, 10))


def test_whoever_hangs_is_given_up_at_the_deadline_and_the_others_count() -> None:
    async def work(item: int, until: float) -> int:
        await asyncio.sleep(1000.0 if item == 2 else 1.0)
        return item

    outcomes, ended = run(fan_out(range(4), work, deadline=10.0))
    assert ended == pytest.approx(10.0)
    assert [reason_of(o) if isinstance(o, errors.LocalDpError) else o for o in outcomes] == [
        0,
        1,
        "deadline_missed",
        3,
    ]


def test_even_if_all_hang_everybody_is_begun_before_the_deadline() -> None:
    begun: list[tuple[int, float]] = []

    async def work(item: int, until: float) -> None:
        begun.append((item, until))
        await asyncio.sleep(1000.0)

    outcomes, ended = run(fan_out(range(10), work, deadline=12.0, window=3))
    assert ended == pytest.approx(12.0)
    assert [item for item, _ in begun] == list(range(10))
    # The first of ten has four windows to come, its own included; the nine after it have three.
    assert [until for _, until in begun[:3]] == pytest.approx([12 / 4, 12 / 3, 12 / 3])
    assert max(until for _, until in begun) == pytest.approx(12.0)
    assert {reason_of(o) for o in outcomes if isinstance(o, errors.LocalDpError)} == {"deadline_missed"}


def test_nobody_to_ask_is_no_wait() -> None:
    async def work(item: int, until: float) -> None:
        raise AssertionError

    assert run(fan_out([], work, deadline=5.0)) == ([], 0.0)


def test_a_mistake_of_our_own_is_not_taken_for_somebodys_refusal() -> None:
    async def work(item: int, until: float) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run(fan_out([1], work, deadline=5.0))


def test_a_reason_is_a_word_and_says_nothing_of_whom() -> None:
    assert reason_of(errors.BudgetExhausted("3 of 5 people")) == "budget_exhausted"
    assert reason_of(errors.Unreachable("party-3")) == "unreachable"
