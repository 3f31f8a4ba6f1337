"""Broken twins of every randomizer in the catalogue, made from the randomizer itself."""

import copy
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from numpy.typing import NDArray

from localdp.accounting.epsilon import Epsilon
from localdp.auditing.drawing import CountingSource, values_of
from localdp.randomizers.input_kinds import Input
from localdp.randomizers.rappor import symmetric_rounds
from localdp.randomizers.registry import ENTRIES, REGISTRY
from localdp.randomness.source import RandomSource
from tests.support.broken_twins import BrokenTwin, EpsilonDoubled

NAMES = tuple(entry.name for entry in ENTRIES)
EPSILON = Epsilon.requested(1)


def small(name: str, epsilon: Epsilon = EPSILON) -> Any:
    """The randomizer of this name at its small size."""
    entry = REGISTRY[name]
    return entry.made(epsilon, entry.small)


def tried(name: str, sound: Any) -> Sequence[Input] | None:
    """The inputs on which it is audited."""
    return REGISTRY[name].tried(sound, REGISTRY[name].small)


class OneInputKept(BrokenTwin):
    """`ItemKept` for any randomizer: adds no noise to one of its inputs."""

    def __init__(self, sound: Any, kept: Input) -> None:
        super().__init__(sound)
        self.kept = values_of(sound, kept)[0]

    def randomize(self, values: NDArray[Any], source: RandomSource) -> NDArray[Any]:
        """Sound reports, but for the people who hold that input."""
        reports: NDArray[Any] = self.sound.randomize(values, source)
        bare = self.sound.randomize(values, _Noiseless(source))
        chosen = (values == self.kept).reshape(len(values), -1).all(axis=1)
        reports[chosen] = bare[chosen]
        return reports


class _Noiseless(CountingSource):
    """The first outcome of every draw, but for wide words, which are the seeds that a report carries."""

    def __init__(self, source: RandomSource) -> None:
        super().__init__()
        self.raw = source.raw  # type: ignore[method-assign]


def item_kept(name: str, sound: Any) -> OneInputKept:
    """The twin that adds no noise to the first of the inputs that are tried."""
    return OneInputKept(sound, (tried(name, sound) or [0])[0])


def epsilon_times(name: str, sound: Any, factor: float) -> EpsilonDoubled:
    """Claims to be the sound randomizer, and draws with another epsilon, in reports of the same form."""
    louder = Epsilon.requested(float(sound.epsilon) * factor)
    return EpsilonDoubled(sound, _LOUDER.get(name, _requested)(sound, louder))


def _requested(sound: Any, epsilon: Epsilon) -> Any:
    return replace(sound, requested=epsilon)


def _window(sound: Any, epsilon: Epsilon) -> Any:
    return _changed(sound, window=replace(sound.window, requested=epsilon))


def _hybrid(sound: Any, epsilon: Epsilon) -> Any:
    return _changed(sound, bit=_requested(sound.bit, epsilon), piecewise=_window(sound.piecewise, epsilon))


def _rounds(sound: Any, epsilon: Epsilon) -> Any:
    return replace(sound, rounds=symmetric_rounds(epsilon * 2, epsilon))


def _memoised(sound: Any, epsilon: Epsilon) -> Any:
    return replace(sound, requested=epsilon, permanent=replace(sound.permanent, requested=epsilon * 2))


def _memoised_hashing(sound: Any, epsilon: Epsilon) -> Any:
    return replace(sound, requested=epsilon, requested_permanent=epsilon * 2)


def _channel(sound: Any, epsilon: Epsilon) -> Any:
    return REGISTRY["finite-channel"].made(epsilon, sound.inputs)


def _changed(sound: Any, **parts: Any) -> Any:
    changed = copy.copy(sound)
    for name, part in parts.items():
        object.__setattr__(changed, name, part)
    return changed


_LOUDER: dict[str, Callable[[Any, Epsilon], Any]] = {
    "piecewise": _window,
    "square-wave": _window,
    "hybrid": _hybrid,
    "basic-rappor": _rounds,
    "bloom-rappor": _rounds,
    "memoised-symmetric-unary": _memoised,
    "memoised-optimized-unary": _memoised,
    "memoised-hashing": _memoised_hashing,
    "finite-channel": _channel,
}
