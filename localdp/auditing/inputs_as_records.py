"""The inputs of a randomizer as records, and the query that reads them off: so that a real party can be asked about them.

Every kind of input that `Question` knows has a row here.  The inputs of randomizers of open domains are the labels "0", "1"
and so on, which a party turns into fingerprints by itself.

Checked in tests/unit/auditing/test_inputs_as_records.py: a party reads off the very inputs, for every randomizer of the
catalogue.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from localdp.auditing.drawing import values_of
from localdp.auditing.result import Input
from localdp.domains import BitDomain, CategoryDomain, RealDomain, Records, Schema
from localdp.domains.columns import Domain
from localdp.party.question import FINGERPRINTED, MEANS
from localdp.randomizers.coordinate_sampling import CoordinateSampling
from localdp.randomizers.marginals import HadamardMarginals
from localdp.randomizers.priv_unit import PrivUnit

MOST_LABELS = 64  # of an open domain


@dataclass(frozen=True, slots=True)
class Asked:
    """A query, and the schema of the records that hold its inputs."""

    query: str
    schema: Schema
    scale: float = 1.0  # what an input is divided by
    digits: bool = False  # an input is written in bits, one column each

    def records(self, randomizer: Any, rows: Sequence[Input]) -> Records:
        """One record for each of these inputs."""
        values = np.concatenate([values_of(randomizer, row) for row in rows]).reshape(len(rows), -1)
        if self.digits:
            values = values >> np.arange(len(self.schema)) & 1
        columns = values / self.scale if self.scale != 1 else values
        return Records.from_columns(
            self.schema, {name: columns[:, place] for place, name in enumerate(self.schema.names)}
        )


def asked_of(randomizer: Any) -> Asked:
    """What to ask a party so that it hands its inputs to this randomizer."""
    match randomizer:
        case CoordinateSampling() | PrivUnit():
            schema = _columns(randomizer.dimension, RealDomain(-1.0, 1.0))
            kind, each = ("ball", "{}") if isinstance(randomizer, PrivUnit) else ("vector", "clip({})")
            parts = ", ".join(each.format(name) for name in schema.names)
            return Asked(f"{kind}({parts})", schema, float(randomizer.resolution))
        case HadamardMarginals():
            schema = _columns(randomizer.bits, BitDomain())
            bits = ", ".join(schema.names)
            if randomizer.labelled:  # the label is the last bit
                bits = "; ".join(bits.rsplit(", ", 1))
            return Asked(f"parities({randomizer.order}, {bits})", schema, digits=True)
    if isinstance(randomizer, MEANS):
        if randomizer.resolution == 1:
            return Asked("value", Schema({"value": BitDomain()}))
        return Asked("clip(value)", Schema({"value": RealDomain(0.0, 1.0)}), float(randomizer.resolution))
    number = MOST_LABELS if isinstance(randomizer, FINGERPRINTED) else randomizer.inputs
    return Asked("value", Schema({"value": CategoryDomain(tuple(str(label) for label in range(number)))}))


def _columns(number: int, domain: Domain) -> Schema:
    return Schema({f"part_{place}": domain for place in range(number)})
