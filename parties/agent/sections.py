"""The sections and keys of a configuration, taken out one by one: what is left over in the end is unknown, and refused.

Every refusal names its key and says what would be accepted.  Checked in tests/unit/parties/agent/test_agent_config.py.
"""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path
from typing import TypeVar

from localdp.accounting.epsilon import Epsilon
from localdp.domains.spelling import suggestion
from localdp.errors import InvalidParameter
from parties.durable import Data
from parties.toml_file import TomlFile

_EXAMPLES = {  # of what has no default
    ("data", "path"): 'path = "patients.csv"',
    ("budget", "total"): "total = 10",
    ("dial", "coordinator"): 'coordinator = "coordinator.example:7100"',
    ("tls", "directory"): 'directory = "keys/north"',
    ("witness", "address"): 'address = "witness.example:7300"',
}
_Kind = TypeVar("_Kind")
_Default = TypeVar("_Default")
_ADDRESS = re.compile(r"[^\s/]+:[0-9]{1,5}")


class Sections:
    """The tables of a TOML file."""

    def __init__(self, file: TomlFile) -> None:
        self._file = file
        self.table = file.table
        self._known: dict[str, list[str]] = {}  # what was looked for, by section

    def take(self, section: str, key: str, kind: type[_Kind], *default: _Default) -> _Kind | _Default:
        """A value of a kind, or its default; what has none is missed."""
        table = self.table.get(section, {})
        if not isinstance(table, dict):
            raise self.wrong(section, "a section, written as [" + section + "]")
        self._known.setdefault(section, []).append(key)
        if key not in table:
            if default:
                return default[0]
            raise self.missing(section, key, table)
        value = table.pop(key)
        if not isinstance(value, kind) or isinstance(value, bool):
            raise self.wrong(f"{section}.{key}", f"expected {kind.__name__}")
        return value

    def missing(self, section: str, key: str, table: Data) -> InvalidParameter:
        """The refusal of a key that has to be there."""
        for other in table:  # is it there under another name?
            if meant := suggestion(other, [key]):
                return self.wrong(f"{section}.{other}", f"unknown{meant}")
        return self.wrong(f"{section}.{key}", f"missing; write {_EXAMPLES[section, key]} under [{section}]")

    def epsilon(self, section: str, key: str, *default: float | str) -> Epsilon:
        """An epsilon."""
        return self._epsilon(section, key, self.take(section, key, object, *default))

    def optional_epsilon(self, section: str, key: str) -> Epsilon | None:
        """An epsilon, or none."""
        value = self.take(section, key, object, None)
        return None if value is None else self._epsilon(section, key, value)

    def optional_delta(self, section: str, key: str) -> Fraction | None:
        """A delta, or none."""
        value = self.take(section, key, object, None)
        if value is None:
            return None
        try:
            delta = Fraction(str(value))
        except (ValueError, ZeroDivisionError):
            delta = Fraction(0)
        if not 0 < delta < 1:
            raise self.wrong(f"{section}.{key}", "is a probability above 0 and below 1, such as 1e-6")
        return delta

    def _epsilon(self, section: str, key: str, value: object) -> Epsilon:
        try:
            return Epsilon.requested(value if isinstance(value, int | float | str) else str(value))
        except InvalidParameter as error:
            raise self.wrong(f"{section}.{key}", str(error)) from None

    def count(self, section: str, key: str, default: int) -> int:
        """A whole number from 1 on."""
        value = self.take(section, key, int, default)
        if not 1 <= value <= 1 << 32:
            raise self.wrong(f"{section}.{key}", "a whole number from 1 on")
        return value

    def number(self, section: str, key: str, default: float, most: float) -> float:
        """A number from 0 to `most`."""
        value = self.take(section, key, object, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= most:
            raise self.wrong(f"{section}.{key}", f"a number from 0 to {most:g}")
        return float(value)

    def flag(self, section: str, key: str) -> bool:
        """True or false; false, if not given."""
        table = self.table.get(section, {})
        self._known.setdefault(section, []).append(key)
        value = table.pop(key, False) if isinstance(table, dict) else False
        if not isinstance(value, bool):
            raise self.wrong(f"{section}.{key}", "true or false")
        return value

    def names(self, section: str, key: str) -> frozenset[str] | None:
        """A list of texts, or none."""
        values = self.take(section, key, list, None)
        if values is None:
            return None
        if not all(isinstance(value, str) for value in values):
            raise self.wrong(f"{section}.{key}", "a list of texts")
        return frozenset(values)

    def address(self, section: str, key: str, *default: str | None) -> str | None:
        """A host and a port."""
        value = self.take(section, key, str, *default)
        if value is not None and not _ADDRESS.fullmatch(value):
            raise self.wrong(f"{section}.{key}", "a host and a port, such as 127.0.0.1:7000")
        return value

    def optional_path(self, section: str, key: str) -> Path | None:
        """A path beside the file, or none."""
        value = self.take(section, key, str, None)
        return None if value is None else self.beside(value)

    def beside(self, text: str) -> Path:
        """A path relative to the file."""
        return self._file.path.parent / text

    def refuse_leftovers(self) -> None:
        """Refuse what nobody asked for."""
        for section, table in self.table.items():
            for key in table if isinstance(table, dict) else ():
                known = self._known.get(section, [])
                told = f"unknown{suggestion(key, known)}; [{section}] has {', '.join(known)}"
                raise self.wrong(f"{section}.{key}", told)

    def wrong(self, key: str, reason: str) -> InvalidParameter:
        """The refusal of a key."""
        return self._file.wrong(key.split("."), reason)
