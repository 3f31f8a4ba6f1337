"""Tables of numbers for tests of learners: people drawn by a seed, and oracles about them with fixed secrets."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from localdp.domains import BitDomain, RealDomain, Records, Schema
from localdp.oracles.curator import CuratorOracle
from localdp.oracles.definition import StatisticalQueryOracle
from localdp.oracles.local import LocalOracle
from localdp.oracles.lr import InProcessLROracle
from tests.support.people import KEYRING, ONE, party_of

Floats = NDArray[np.float64]


def table_of(features: Floats, bound: float, target: NDArray[Any] | None = None) -> Records:
    """Columns x0, x1, ... clipped to the bound, and a target that is a bit or a number in [-1, 1]."""
    columns: dict[str, Any] = {f"x{place}": column for place, column in enumerate(features.T)}
    domains: dict[str, Any] = {name: RealDomain(-bound, bound) for name in columns}
    columns = {name: np.clip(column, -bound, bound) for name, column in columns.items()}
    if target is not None:
        domains["target"] = BitDomain() if target.dtype == np.bool_ else RealDomain(-1.0, 1.0)
        columns["target"] = target if target.dtype == np.bool_ else np.clip(target, -1.0, 1.0)
    return Records(Schema(domains), columns)


def matrix_of(records: Records) -> Floats:
    """The features of such a table again."""
    names = [name for name in records.schema.names if name != "target"]
    return np.column_stack([records.column(name) for name in names])


def oracle_about(records: Records, trust: str, purpose: str) -> StatisticalQueryOracle:
    """An oracle at epsilon = 1 whose coins depend on the purpose alone."""
    source = KEYRING.source("learners", trust, purpose)
    if trust == "curator":
        return CuratorOracle(records, ONE, source)
    return LocalOracle(InProcessLROracle([party_of(records, budget=ONE)]), ONE, source)
