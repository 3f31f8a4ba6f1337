"""A pan-private state as plain data, and from it again: what is kept of it is all of it, and nothing else.

There is no key in it: noise that is still to be drawn comes from wherever the state is taken up again.
Checked in tests/unit/mechanisms/pan_private/test_saved.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TypeAlias

import numpy as np

from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter
from localdp.mechanisms.pan_private.appearances import (
    PanPrivateAppearances,
    PanPrivateCroppedMean,
    PanPrivateDensity,
    PanPrivateHeavyHitters,
    RunningAppearances,
)
from localdp.mechanisms.pan_private.coins import Division
from localdp.mechanisms.pan_private.counter import PanPrivateCounter, RunningPanPrivate
from localdp.mechanisms.pan_private.keepers import OneKeeper
from localdp.mechanisms.pan_private.promise import Intrusions
from localdp.randomness.source import Integers, RandomSource

Plain: TypeAlias = dict[str, str | int | float | list[int] | None]
Running: TypeAlias = RunningAppearances | RunningPanPrivate

APPEARANCES: Mapping[str, type[PanPrivateAppearances]] = MappingProxyType(
    {
        "density": PanPrivateDensity,
        "cropped-mean": PanPrivateCroppedMean,
        "heavy-hitters": PanPrivateHeavyHitters,
    }
)
COUNTER = "counter"
FORMAT = "localdp pan-private state v1"


def saved(running: Running) -> Plain:
    """All of the state, of somebody who keeps it alone."""
    seen = running.intrusions
    told: Plain = {"format": FORMAT, "noticed": seen.noticed, "renewed": seen.renewed}
    return told | (
        _of_counter(running) if isinstance(running, RunningPanPrivate) else _of_appearances(running)
    )


def _of_appearances(running: RunningAppearances) -> Plain:
    one = running.mechanism
    (numbers,) = running.kept.seen()
    return {
        "kind": next(name for name, kind in APPEARANCES.items() if type(one) is kind),
        "elements": one.elements,
        "most": one.most,
        "state": one.parts.state.nanonats,
        "output": one.parts.output.nanonats,
        "numbers": numbers.tolist(),
        "places": running.places.tolist() if one.most > 1 else [],
        "bits": running.bits.astype(int).tolist(),
        "told": running.told,
    }


def _of_counter(running: RunningPanPrivate) -> Plain:
    one = running.mechanism
    if one.servers != 1:
        raise InvalidParameter("the state of share servers is theirs to keep, each its own")
    ((counter, alive),) = running.held
    return {
        "kind": COUNTER,
        "steps": one.steps,
        "bound": one.bound,
        "epsilon": one.epsilon.nanonats,
        "step": running.step,
        "counter": counter,
        "alive": list(alive),
        "told": running.told,
    }


def restored(data: Plain, source: RandomSource) -> Running:
    """The state again; `source` is where noise comes from from now on."""
    try:
        if data["format"] != FORMAT:
            raise InvalidParameter("this is not a state, or one of another version")
        running = _counter(data, source) if data["kind"] == COUNTER else _appearances(data, source)
        running.intrusions = Intrusions(_whole(data, "noticed"), _whole(data, "renewed"))
        return running
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, InvalidParameter):
            raise
        raise InvalidParameter(f"this is not a state ({type(error).__name__})") from None


def _appearances(data: Plain, source: RandomSource) -> RunningAppearances:
    division = Division(Epsilon(_whole(data, "state")), Epsilon(_whole(data, "output")))
    kind, elements, most = APPEARANCES[str(data["kind"])], _whole(data, "elements"), _whole(data, "most")
    running = kind(
        elements, division.state + division.output, OneKeeper(source), source, most, division
    ).start()
    running.kept.put(np.arange(elements), _numbers(data, "numbers", elements))
    if most > 1:
        running.places[:] = _numbers(data, "places", elements)
        running.bits[:] = _numbers(data, "bits", elements).astype(np.bool_)
    told = data["told"]
    running.told = float(told) if isinstance(told, int | float) else None
    return running


def _counter(data: Plain, source: RandomSource) -> RunningPanPrivate:
    mechanism = PanPrivateCounter(
        _whole(data, "steps"), Epsilon(_whole(data, "epsilon")), source, bound=_whole(data, "bound")
    )
    running = mechanism.start()
    begins = data["alive"] == []  # no noise of a state that begins is drawn yet
    alive = _numbers(data, "alive", 0 if begins else len(mechanism.lengths)).tolist()
    running.held = [(_whole(data, "counter"), alive)]
    running.step, running.told = _whole(data, "step"), _whole(data, "told")
    return running


def _whole(data: Plain, name: str) -> int:
    value = data[name]
    if not isinstance(value, int):
        raise TypeError(name)
    return value


def _numbers(data: Plain, name: str, count: int) -> Integers:
    found = np.array(data[name], np.int64)
    if found.shape != (count,):
        raise ValueError(name)
    return found
