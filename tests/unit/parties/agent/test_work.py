"""Limits of work: what is refused, what is counted, and for how long; and the yardstick of a machine."""

from typing import Any

import pytest

from localdp.errors import Busy, InvalidParameter, WorkRefused
from parties.agent.work import Places, WorkAccounts, WorkLimits
from parties.agent.yardstick import slowness, yardstick

SMALL = WorkLimits(request_seconds=10, caller_seconds=20, total_seconds=50, window_seconds=100)


@pytest.mark.parametrize(
    "wrong", [{"part_seconds": 0}, {"quantum_seconds": -1}, {"quantum_seconds": 2}, {"answers_in_all": 0}]
)
def test_limits_are_numbers_above_nothing(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter):
        WorkLimits(**wrong)


def test_a_request_is_refused_by_itself_with_the_number_and_the_remedy() -> None:
    SMALL.require_request(10.0, 0.1)
    with pytest.raises(WorkRefused, match=r"11 s of work.*10 s.*fewer people"):
        SMALL.require_request(11.0, 0.1)
    with pytest.raises(WorkRefused, match=r"0.3 s that cannot be cut.*0.25 s.*shorter query"):
        SMALL.require_request(1.0, 0.3)
    WorkLimits.unbounded().require_request(1e9, 1e9)


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_caller_has_so_many_seconds_within_the_window() -> None:
    clock = Clock()
    accounts = WorkAccounts(SMALL, clock)
    for _ in range(2):
        with accounts.promised("a", 9.0) as done:
            done(9.0)
    with pytest.raises(WorkRefused, match=r"3 s of work.*20 s for a caller within 100 s, and too little"):
        accounts.require("a", 3.0)
    accounts.require("b", 3.0)
    clock.now = 90.0
    with pytest.raises(WorkRefused):
        accounts.require("a", 3.0)
    clock.now = 102.0
    accounts.require("a", 20.0)
    assert accounts.used() == 0 and not accounts._done


def test_all_callers_together_have_so_many_seconds() -> None:
    accounts = WorkAccounts(SMALL, Clock())
    for caller in "abc":
        with accounts.promised(caller, 15.0) as done:
            done(15.0)
    with pytest.raises(Busy, match="ask later"):
        accounts.require("d", 6.0)


def test_what_is_promised_counts_until_it_is_done_or_given_up() -> None:
    accounts = WorkAccounts(SMALL, Clock())
    with accounts.promised("a", 15.0) as done:
        with pytest.raises(WorkRefused), accounts.promised("a", 6.0):
            pass
        done(2.0)
        assert accounts.used("a") == pytest.approx(15.0)
    assert accounts.used("a") == pytest.approx(2.0)  # what was done, and no more


def test_what_took_longer_than_was_promised_is_counted() -> None:
    accounts = WorkAccounts(SMALL, Clock())
    with accounts.promised("a", 1.0) as done:
        done(3.0)
    assert accounts.used("a") == 3.0 and not accounts._promised


def test_places_are_bounded_by_caller_and_in_all() -> None:
    places = Places("answers", 2, 3)
    with places.take("a"), places.take("a"):
        with pytest.raises(Busy, match="2 answers in progress for this caller"):
            places.take("a")
        with places.take("b"), pytest.raises(Busy, match="3 answers in progress, and no more"):
            places.take("c")
        with places.take("c"):
            pass
    assert places._taken == 0 and not places._by_caller


def test_bytes_in_progress_are_bounded_as_well() -> None:
    places = Places("bytes of requests", 10, 15)
    with places.take("a", 8):
        with pytest.raises(Busy, match="10 bytes of requests"):
            places.take("a", 3)
        with pytest.raises(Busy, match="15 bytes of requests"):
            places.take("b", 9)
        with places.take("b", 7):
            pass


def test_an_answer_that_nobody_reads_takes_its_own_callers_place_alone() -> None:
    places = Places("answers", 1, 1)
    with places.take("a") as place:
        with pytest.raises(Busy):
            places.take("b")
        place.stall()
        with places.take("b"):
            pass
        with pytest.raises(Busy):
            places.take("a")
    assert places._taken == 0 and not places._by_caller


def test_a_machine_that_takes_twice_as_long_is_twice_as_slow() -> None:
    def ticking(step: float) -> float:
        times = iter(range(1000))
        return slowness(lambda: step * next(times))

    assert ticking(2.4e-3) == pytest.approx(2 * ticking(1.2e-3)) == pytest.approx(2.0)
    assert ticking(1e-9) == 0.5  # no machine is taken to be much faster
    assert yardstick() == yardstick()
