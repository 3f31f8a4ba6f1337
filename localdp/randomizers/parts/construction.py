"""What constructions say of themselves, so that nobody else needs to know their classes.

A construction is a frozen dataclass that is made from its fields: epsilons, whole numbers, or a dataclass of such.  From
these follow its canonical text and what travels of it, and `registry.py` has a row for it; that is all that the codec, the
audit, the party and the contract suite look at.  Beside the common base stand those of some inputs and reports that several
constructions share.

Checked for every construction in tests/contract/test_randomizer.py and tests/unit/parties/test_randomizer_codec.py.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import asdict, fields, is_dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self, cast

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.shuffling import ShuffledAs
from localdp.randomizers.definition import DrawCost, LocalRandomizer, Parameters, Reports
from localdp.randomizers.input_kinds import CategoryInput, FingerprintInput, GridInput, InputKind
from localdp.randomizers.parts.packing import Unsigned, bits_below, pack_integers, unpack_integers
from localdp.randomness.source import WORD_RANGE

_EPSILONS = {"requested": "epsilon_nanonats", "requested_permanent": "permanent_nanonats"}


class Construction(ABC):
    """What a construction says of itself unless it says otherwise."""

    __slots__ = ()
    name: ClassVar[str]
    memoised: ClassVar[bool] = False
    shuffled_as: ClassVar[ShuffledAs] = "any"

    @property
    def canonical(self) -> str:
        """Name and parameters as text: equal exactly for equal randomizers."""
        return f"{self.name}({','.join(_told(self._made_from()))})"

    @property
    def takes(self: LocalRandomizer) -> InputKind:
        """One of so many values."""
        return CategoryInput(self.inputs)

    @property
    def likely(self) -> Fraction:
        """A half, which stands for nothing that is known (`accounting/shuffling.py`)."""
        return Fraction(1, 2)

    def at(self, epsilon: Epsilon) -> Self:
        """The same at another epsilon."""
        return self.from_parameters({**self.parameters, "epsilon_nanonats": epsilon.nanonats})

    @property
    @abstractmethod
    def draw_cost(self) -> DrawCost:
        """What a draw takes, whatever the inputs."""

    @property
    def parameters(self) -> Parameters:
        """What it is made from, under the names that its message has on the wire."""
        return {_EPSILONS.get(name, name): _as_data(value) for name, value in self._made_from().items()}

    @classmethod
    def from_parameters(cls, parameters: Parameters) -> Self:
        """The construction again: its constructor checks the parameters, and derives the law."""
        epsilons = {name: Epsilon(parameters[key]) for name, key in _EPSILONS.items() if key in parameters}
        rest = {name: value for name, value in parameters.items() if name not in _EPSILONS.values()}
        return cls(**epsilons, **rest)

    def _made_from(self) -> dict[str, Any]:
        return {part.name: getattr(self, part.name) for part in fields(cast(Any, self)) if part.init}


def _told(made_from: dict[str, Any]) -> list[str]:
    told = []
    for name, value in made_from.items():
        if isinstance(value, Epsilon):
            told.append(f"epsilon={value}")
        else:
            data = _as_data(value)
            told += _told(data) if isinstance(data, dict) else [f"{name}={data}"]
    return told


def _as_data(value: Any) -> Any:
    if isinstance(value, Epsilon):
        return value.nanonats
    return asdict(cast(Any, value)) if is_dataclass(value) else value


class OnGrid(Construction):
    """Takes a number on a grid of [0, 1]."""

    __slots__ = ()
    resolution: int

    @property
    def inputs(self) -> int:
        """The points of the grid."""
        return self.resolution + 1

    @property
    def takes(self) -> InputKind:
        """A number on the grid."""
        return GridInput(self.resolution)


class OfFingerprints(Construction):
    """Takes the fingerprint of a value, and so has an open domain."""

    __slots__ = ()

    @property
    def inputs(self) -> int:
        """Every 64-bit fingerprint is an input."""
        return WORD_RANGE

    @property
    def takes(self) -> InputKind:
        """The fingerprint of a value."""
        return FingerprintInput()


class IntegerReports(Construction):
    """Reports one of 0 .. outputs - 1."""

    __slots__ = ()

    @property
    @abstractmethod
    def outputs(self) -> int:
        """The size of the output alphabet."""

    @property
    def report_bits(self) -> int:
        """Size of one packed report."""
        return bits_below(self.outputs)

    def pack(self, reports: Reports) -> bytes:
        """Each report in `report_bits` bits, without gaps."""
        return pack_integers(reports, self.report_bits)

    def unpack(self, data: bytes, count: int) -> Unsigned:
        """The reports again, if they are exactly `count`, each of the alphabet."""
        return unpack_integers(data, count, self.report_bits, self.outputs)
