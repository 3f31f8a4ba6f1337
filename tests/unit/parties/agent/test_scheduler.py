"""The worker: callers take turns, and results leave at times that follow from what was predicted alone."""

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from localdp.errors import DeadlineMissed, PolicyRefused, Unreachable
from parties.agent.scheduler import FairWorker, Turns, rest_until, slot_seconds
from tests.support.broken_work import FirstComeFirstServed, FirstComeTurns, Impatient

QUANTUM = 0.010
SECONDS = 20.0  # until a test that hangs gives up


def order(turns: Turns[str]) -> list[str]:
    """In which order waiting items are taken: many of one caller, then one of each of two others."""
    for number in range(5):
        turns.put("loud", f"loud {number}")
    turns.put("honest", "honest")
    turns.put("other", "other")
    taken = []
    while turns:
        taken.append(turns.take())
    return taken


def test_callers_take_turns() -> None:
    assert order(Turns())[:3] == ["loud 0", "honest", "other"]
    assert order(FirstComeTurns()).index("honest") == 5


def test_what_one_caller_sends_stays_in_order() -> None:
    assert [one for one in order(Turns()) if one.startswith("loud")] == [f"loud {n}" for n in range(5)]


def test_what_was_begun_comes_before_what_is_new() -> None:
    """So no more than a few calls of a caller are read and wait, however many it sends."""
    turns: Turns[str] = Turns()
    for item, begun in (("read 1", False), ("read 2", False), ("charge 0", True), ("part 0", True)):
        turns.put("a", item, begun=begun)
    assert [turns.take() for _ in range(4)] == ["charge 0", "part 0", "read 1", "read 2"]


def test_reading_a_call_and_its_first_step_are_one_turn() -> None:
    """Else an honest caller would wait for two jobs of a loud one."""

    async def served() -> list[str]:
        worker, begun, gate = FairWorker(), list[str](), threading.Event()

        def job(name: str) -> Callable[[], None]:
            return lambda: begun.append(name) if gate.wait(SECONDS) else None

        loud = [asyncio.ensure_future(worker.run("loud", job("loud"), 0.0)) for _ in range(20)]
        read = asyncio.ensure_future(worker.run("honest", job("read"), None))
        await asyncio.sleep(0)
        gate.set()
        await read
        await worker.run("honest", job("step"), 0.0)
        await asyncio.gather(*loud)
        await worker.close()
        return begun

    order = asyncio.run(served())
    assert order.index("step") == order.index("read") + 1 <= 3


def test_whoever_comes_back_waits_behind_those_who_wait() -> None:
    turns: Turns[str] = Turns()
    turns.put("a", "a 0")
    turns.put("b", "b 0")
    assert turns.take() == "a 0"
    turns.put("a", "a 1")
    assert [turns.take(), turns.take()] == ["b 0", "a 1"]


@pytest.mark.parametrize(
    ("seconds", "slot"), [(0.0, 0.01), (0.001, 0.01), (0.008, 0.01), (0.009, 0.02), (0.1, 0.12)]
)
def test_a_slot_is_a_multiple_of_the_quantum(seconds: float, slot: float) -> None:
    assert slot_seconds(seconds, QUANTUM) == pytest.approx(slot)
    assert slot_seconds(seconds, 0.0) == 0.0


def test_results_leave_at_the_end_of_the_slot_or_at_a_later_quantum() -> None:
    assert rest_until(5.0, 5.001, 0.02, QUANTUM) == rest_until(5.0, 5.0199, 0.02, QUANTUM) == 5.02
    assert rest_until(5.0, 5.0231, 0.02, QUANTUM) == pytest.approx(5.03)
    assert rest_until(5.0, 5.0231, 0.0, 0.0) == 5.0231


class Clock:
    """A clock that moves when somebody works or rests."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now

    def rest(self, seconds: float) -> None:
        self.now += seconds

    def work(self, seconds: float, error: Exception | None = None) -> Callable[[], float]:
        def job() -> float:
            self.now += seconds
            if error is not None:
                raise error
            return seconds

        return job


def left_after(
    make: type[FairWorker], taken: float, predicted: float | None, error: Exception | None = None
) -> tuple[float, int]:
    """When a result has left, by the clock, and how many steps were late."""
    clock, late = Clock(), list[int]()

    async def measured() -> float:
        worker = make(QUANTUM, lambda: late.append(1), clock, clock.rest)
        try:
            await worker.run("", clock.work(taken, error), predicted)
        except PolicyRefused:
            pass
        finally:
            await worker.close()
        return clock.now - 100.0

    return round(asyncio.run(measured()), 9), len(late)


def test_a_result_leaves_at_the_same_time_however_long_it_took() -> None:
    """Two records of which one takes a thousand times as long; a refusal, too, takes its slot."""
    times = {left_after(FairWorker, taken, 0.03) for taken in (0.0001, 0.02, 0.0399)}
    times.add(left_after(FairWorker, 0.0001, 0.03, PolicyRefused("no")))
    assert times == {(0.04, 0)}
    assert len({left_after(Impatient, taken, 0.03) for taken in (0.0001, 0.02)}) == 2


def test_a_late_result_leaves_at_the_next_quantum_and_is_counted() -> None:
    assert left_after(FairWorker, 0.0401, 0.03) == left_after(FairWorker, 0.0499, 0.03) == (0.05, 1)


def test_what_has_to_do_with_the_request_alone_need_not_wait() -> None:
    assert left_after(FairWorker, 0.0042, None) == (0.0042, 0)


def test_without_a_quantum_nothing_waits() -> None:
    async def timed() -> float:
        worker, began = FairWorker(), time.monotonic()
        await worker.run("", lambda: None, 10.0)
        await worker.close()
        return time.monotonic() - began

    assert asyncio.run(timed()) < 1.0


def waited(make: type[FairWorker]) -> list[str]:
    """The order in which a real worker serves many jobs of one caller and one of another, who comes last."""

    async def served() -> list[str]:
        worker, begun, gate = make(), list[str](), threading.Event()

        def job(name: str) -> Callable[[], None]:
            return lambda: begun.append(name) if gate.wait(SECONDS) else None

        loud = [asyncio.ensure_future(worker.run("loud", job("loud"), 0.0)) for _ in range(20)]
        await asyncio.sleep(0)
        honest = asyncio.ensure_future(worker.run("honest", job("honest"), 0.0))
        await asyncio.sleep(0)
        gate.set()
        await asyncio.gather(honest, *loud)
        await worker.close()
        return begun

    return asyncio.run(served())


def test_an_honest_caller_waits_for_one_job_of_a_loud_one() -> None:
    assert waited(FairWorker).index("honest") <= 2
    assert waited(FirstComeFirstServed).index("honest") == 20


def test_a_job_whose_caller_has_gone_is_not_begun() -> None:
    async def asked() -> list[str]:
        worker, begun = FairWorker(), list[str]()
        with pytest.raises(DeadlineMissed):
            await worker.run("", lambda: begun.append("gone"), 0.0, lambda: True)
        gate = threading.Event()
        blocked = asyncio.ensure_future(worker.run("", lambda: gate.wait(SECONDS), 0.0))
        waiting = asyncio.ensure_future(worker.run("", lambda: begun.append("cancelled"), 0.0))
        await asyncio.sleep(0)
        waiting.cancel()
        gate.set()
        await blocked
        await worker.run("", lambda: begun.append("asked"), 0.0)
        await worker.close()
        return begun

    assert asyncio.run(asked()) == ["asked"]


def test_closing_ends_what_was_begun_and_begins_nothing() -> None:
    async def closed() -> tuple[list[Any], float]:
        worker, begun, gate = FairWorker(), threading.Event(), threading.Event()

        def job() -> None:
            begun.set()
            gate.wait(SECONDS)

        jobs = [asyncio.ensure_future(worker.run("", job, 0.0)) for _ in range(100)]
        await asyncio.to_thread(begun.wait, SECONDS)
        began, closing = time.monotonic(), asyncio.ensure_future(worker.close())
        await asyncio.sleep(0)
        gate.set()
        await closing
        seconds = time.monotonic() - began
        with pytest.raises(Unreachable):
            await worker.run("", lambda: None, 0.0)
        return await asyncio.gather(*jobs, return_exceptions=True), seconds

    outcomes, seconds = asyncio.run(closed())
    assert seconds < 1.0 and outcomes.count(None) <= 2
    assert all(isinstance(one, Unreachable) for one in outcomes if one is not None)


def test_an_exception_reaches_whoever_waits_and_the_worker_goes_on() -> None:
    async def asked() -> int:
        worker = FairWorker()
        with pytest.raises(ZeroDivisionError):
            await worker.run("", lambda: 1 // 0, 0.0)
        answer = await worker.run("", lambda: 7, 0.0)
        await worker.close()
        return answer

    assert asyncio.run(asked()) == 7


def test_many_callers_wait_in_bounded_memory() -> None:
    turns: Turns[int] = Turns()
    for number in range(1000):
        turns.put(str(number), number)
        assert turns.take() == number
    assert not turns and turns._waiting == {}
