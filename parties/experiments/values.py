"""Values of an experiment file, each checked and refused at its line: numbers, lists of them, choices, epsilons."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter
from parties.toml_file import Key, TomlFile

_Value = TypeVar("_Value")
MOST_VALUES = 1000  # of one sweep


class Section:
    """One section of the file, whose keys are all known."""

    def __init__(self, file: TomlFile, key: Key, known: Sequence[str], required: bool = False) -> None:
        self._file = file
        self._key = key
        self._table = file.section(key, known, required)

    def __contains__(self, name: str) -> bool:
        return name in self._table

    def raw(self, name: str) -> Any:
        """The value as it stands there."""
        return self._table[name]

    def wrong(self, name: str, reason: str) -> InvalidParameter:
        """What is wrong with a key."""
        return self._file.wrong((*self._key, name), reason)

    def missing(self, name: str, example: str) -> InvalidParameter:
        """That a key is needed, and how it is written."""
        return self.wrong(name, f"missing; write {example}")

    def text(self, name: str) -> str | None:
        """A text, or None where the key is not given."""
        if name not in self:
            return None
        value = self.raw(name)
        if not isinstance(value, str) or not value:
            raise self.wrong(name, "a text in quotes")
        return value

    def whole(self, name: str, low: int, high: int, default: int) -> int:
        """A whole number within bounds."""
        return self._whole(name, self.raw(name), low, high) if name in self else default

    def wholes(self, name: str, low: int, high: int) -> tuple[int, ...] | None:
        """One whole number, or a list of different ones."""
        return self._several(name, lambda value: self._whole(name, value, low, high))

    def epsilons(self, name: str) -> tuple[Epsilon, ...] | None:
        """One amount in nats, or a list of different ones."""
        return self._several(name, lambda value: self._epsilon(name, value))

    def epsilon(self, name: str) -> Epsilon | None:
        """One amount in nats."""
        return self._epsilon(name, self.raw(name)) if name in self else None

    def fraction(self, name: str) -> float:
        """A fraction from 0 up to and not including 1; 0 where it is not given."""
        value = self.raw(name) if name in self else 0
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1:
            raise self.wrong(name, "a fraction from 0 up to and not including 1, such as 0.1")
        return float(value)

    def flag(self, name: str, meaning: str) -> bool:
        """True or false; false where it is not given."""
        value = self.raw(name) if name in self else False
        if not isinstance(value, bool):
            raise self.wrong(name, meaning)
        return value

    def choices(self, name: str, among: Sequence[str]) -> tuple[str, ...] | None:
        """Some of the known words, each once."""
        return self._several(name, lambda value: self._choice(name, value, among))

    def _several(self, name: str, checked: Callable[[object], _Value]) -> tuple[_Value, ...] | None:
        if name not in self:
            return None
        value = self.raw(name)
        listed = value if isinstance(value, list) else [value]
        if not 1 <= len(listed) <= MOST_VALUES:
            raise self.wrong(name, f"one value, or a list of 1 to {MOST_VALUES}")
        values = tuple(checked(one) for one in listed)
        if len(set(values)) < len(values):
            raise self.wrong(name, "the same value stands there twice")
        return values

    def _whole(self, name: str, value: Any, low: int, high: int) -> int:
        # 1e5 is a float in TOML, and the handiest way to write a hundred thousand.
        whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
        if isinstance(value, bool) or not whole or not low <= value <= high:
            raise self.wrong(name, f"a whole number from {low} to {high}")
        return int(value)

    def _epsilon(self, name: str, value: object) -> Epsilon:
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise self.wrong(name, "a number of nats, such as 1 or 0.5")
        try:
            return Epsilon.requested(value)
        except InvalidParameter as error:
            raise self.wrong(name, str(error)) from None

    def _choice(self, name: str, value: object, among: Sequence[str]) -> str:
        if value not in among:
            raise self.wrong(name, f"{value!s:.40} is none of {', '.join(among)}")
        return str(value)
