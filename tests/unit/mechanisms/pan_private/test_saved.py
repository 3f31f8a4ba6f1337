"""A state that is written down and taken up again is the same state, and what is written is no more than it."""

from __future__ import annotations

import json

import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.errors import BudgetExhausted, InvalidParameter
from localdp.mechanisms.pan_private import OneKeeper, PanPrivateCounter
from localdp.mechanisms.pan_private.counter import RunningPanPrivate
from localdp.mechanisms.pan_private.saved import APPEARANCES, Plain, Running, restored, saved
from localdp.randomness.hazmat import SeededSource

ONE = Epsilon.requested(1)


def begun(kind: str, seed: int = 1) -> Running:
    source = SeededSource(seed)
    if kind == "counter":
        return PanPrivateCounter(8, ONE, source).start()
    return APPEARANCES[kind](40, ONE, OneKeeper(source), source, 1 if kind == "density" else 3).start()


def go_on(running: Running) -> None:
    if isinstance(running, RunningPanPrivate):
        running.update(np.ones(3, np.int64))
        return
    running.appear([1, 2, 2, 39])


@pytest.mark.parametrize("kind", [*APPEARANCES, "counter"])
def test_it_goes_on_as_if_it_had_never_been_put_down(kind: str) -> None:
    running = begun(kind)
    go_on(running)
    written: Plain = json.loads(json.dumps(saved(running)))
    other = restored(written, SeededSource(9))
    assert saved(other) == saved(running)
    assert other.claim == running.claim


@pytest.mark.parametrize("kind", [*APPEARANCES, "counter"])
def test_an_intrusion_is_remembered(kind: str) -> None:
    running = begun(kind)
    running.seen()
    with pytest.raises(BudgetExhausted):
        go_on(restored(saved(running), SeededSource(2)))


def test_what_was_told_is_told_again() -> None:
    running = begun("density")
    go_on(running)
    told = running.tell()  # type: ignore[union-attr]
    again = restored(saved(running), SeededSource(7))
    assert again.tell() == told  # type: ignore[union-attr]


def test_what_hides_the_first_step_is_not_in_the_file_before_it() -> None:
    running = begun("counter")
    assert saved(running)["alive"] == []
    assert saved(restored(saved(running), SeededSource(8)))["alive"] == []
    go_on(running)
    assert len(saved(running)["alive"]) == 3  # type: ignore[arg-type]


def test_a_counter_goes_on_counting() -> None:
    running = begun("counter")
    for _ in range(4):
        running.update(np.ones(50, np.int64))  # type: ignore[union-attr]
        running = restored(saved(running), SeededSource(2))
    assert saved(running)["step"] == 4
    assert abs(running.told - 200) <= running.mechanism.largest_error(1e-6)  # type: ignore[union-attr, operator]


@pytest.mark.parametrize("field", ["format", "kind", "numbers", "elements", "noticed", "state"])
def test_what_is_no_state_is_refused(field: str) -> None:
    whole = saved(begun("density"))
    for broken in ({name: one for name, one in whole.items() if name != field}, {**whole, field: "x"}):
        with pytest.raises(InvalidParameter):
            restored(broken, SeededSource(1))


def test_the_state_of_share_servers_is_not_written_into_one_file() -> None:
    with pytest.raises(InvalidParameter, match="each its own"):
        saved(PanPrivateCounter(8, ONE, SeededSource(1), 2).start())
