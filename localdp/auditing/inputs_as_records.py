"""The inputs of a randomizer as records, and the query that reads them off: so that a real party can be asked about them.

Every kind of input has a case here, as in `Question`.  The inputs of randomizers of open domains are the labels "0", "1"
and so on, which a party turns into fingerprints by itself.

Checked in tests/unit/auditing/test_inputs_as_records.py: a party reads off the very inputs, for every randomizer of the
registry.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from localdp.auditing.drawing import values_of
from localdp.domains import BitDomain, CategoryDomain, RealDomain, Records, Schema
from localdp.domains.columns import Domain
from localdp.randomizers.definition import LocalRandomizer
from localdp.randomizers.input_kinds import (
    BallInput,
    BitsInput,
    CategoryInput,
    CubeInput,
    FingerprintInput,
    GridInput,
    Input,
)

MOST_LABELS = 64  # of an open domain


@dataclass(frozen=True, slots=True)
class Asked:
    """A query, and the schema of the records that hold its inputs."""

    query: str
    schema: Schema
    scale: float = 1.0  # what an input is divided by
    digits: bool = False  # an input is written in bits, one column each

    def records(self, randomizer: LocalRandomizer, rows: Sequence[Input]) -> Records:
        """One record for each of these inputs."""
        values = np.concatenate([values_of(randomizer, row) for row in rows]).reshape(len(rows), -1)
        if self.digits:
            values = values >> np.arange(len(self.schema)) & 1
        columns = values / self.scale if self.scale != 1 else values
        return Records.from_columns(
            self.schema, {name: columns[:, place] for place, name in enumerate(self.schema.names)}
        )


def asked_of(randomizer: LocalRandomizer) -> Asked:
    """What to ask a party so that it hands its inputs to this randomizer."""
    match randomizer.takes:
        case GridInput(1):
            return Asked("value", Schema({"value": BitDomain()}))
        case GridInput(resolution):
            return Asked("clip(value)", Schema({"value": RealDomain(0.0, 1.0)}), float(resolution))
        case CubeInput(dimension, resolution):
            return _vector("vector", "clip({})", dimension, resolution)
        case BallInput(dimension, resolution):
            return _vector("ball", "{}", dimension, resolution)
        case BitsInput(bits, order, labelled):
            schema = _columns(bits, BitDomain())
            names = ", ".join(schema.names)
            if labelled:  # the label is the last bit
                names = "; ".join(names.rsplit(", ", 1))
            return Asked(f"parities({order}, {names})", schema, digits=True)
        case CategoryInput(values):
            return Asked("value", _labels(values))
        case FingerprintInput():
            return Asked("value", _labels(MOST_LABELS))


def _vector(kind: str, each: str, dimension: int, resolution: int) -> Asked:
    schema = _columns(dimension, RealDomain(-1.0, 1.0))
    parts = ", ".join(each.format(name) for name in schema.names)
    return Asked(f"{kind}({parts})", schema, float(resolution))


def _labels(number: int) -> Schema:
    return Schema({"value": CategoryDomain(tuple(str(label) for label in range(number)))})


def _columns(number: int, domain: Domain) -> Schema:
    return Schema({f"part_{place}": domain for place in range(number)})
