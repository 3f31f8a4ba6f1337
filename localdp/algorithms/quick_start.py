"""From arrays to an oracle in one call, for a first try: everybody's row in this process, secrets from the system.

Features become columns x0, x1, ... (or keep the names of a data frame), labels the column `target`.  What kind of column it
is depends on the type of the array and never on its values, which would leak: truth values are bits, numbers are clipped to
the bounds.  The labels of a classifier are bits: of numbers, those above zero are true, so that 0 / 1 and -1 / 1 both do.

Checked in tests/unit/algorithms/test_quick_start.py.
"""

from __future__ import annotations

import os
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from localdp.accounting.epsilon import LARGEST_EPSILON_NATS, Epsilon
from localdp.accounting.ledger import MemoryLedger
from localdp.domains import BitDomain, Domain, RealDomain, Records, Schema
from localdp.errors import InvalidParameter
from localdp.oracles.curator import CuratorOracle
from localdp.oracles.definition import StatisticalQueryOracle
from localdp.oracles.exact import ExactOracle
from localdp.oracles.local import LocalOracle
from localdp.oracles.lr import InProcessLROracle
from localdp.oracles.shared import InProcessShareServers, SharedOracle, default_tier
from localdp.oracles.shuffled import ShuffledOracle, Shuffler
from localdp.party.party import Party
from localdp.party.policy import Policy
from localdp.randomness.keystream import KeystreamSource
from localdp.randomness.source import RandomSource
from localdp.sharing.share_server import ShareServer
from localdp.sharing.vault import MemoryVault

Trust = Literal["exact", "curator", "local", "shuffled", "shared"]
Bounds = tuple[float, float]
SECRET_BYTES = 32
LARGEST_REPORT = Epsilon.requested(LARGEST_EPSILON_NATS)


def records_of_arrays(features: Any, labels: Any, bounds: Bounds, *, classes: bool = False) -> Records:
    """A table with a column for each feature, and one for the labels if there are any; `classes` makes those bits."""
    table = np.asarray(features)
    if table.ndim != 2 or table.dtype.kind not in "biuf":
        raise InvalidParameter("features are a table of numbers: one row per person")
    names = [str(name) for name in getattr(features, "columns", [f"x{i}" for i in range(table.shape[1])])]
    made = {name: _column(table[:, place], bounds) for place, name in enumerate(names)}
    if labels is not None:
        told = np.asarray(labels)
        made["target"] = _column(told > 0 if classes and told.dtype.kind in "iuf" else told, bounds)
    schema = Schema({name: domain for name, (domain, _) in made.items()})
    return Records(schema, {name: values for name, (_, values) in made.items()})


def _column(values: NDArray[Any], bounds: Bounds) -> tuple[Domain, NDArray[Any]]:
    if values.ndim != 1 or values.dtype.kind not in "biuf":
        raise InvalidParameter("features and labels are numbers or truth values")
    if values.dtype == np.bool_:
        return BitDomain(), values
    if not np.isfinite(values).all():
        raise InvalidParameter("features and labels are finite numbers")
    low, high = bounds
    return RealDomain(low, high), np.clip(values.astype(np.float64), low, high)


def oracle_of_records(
    records: Records, epsilon: Epsilon | float | None, trust: Trust = "local"
) -> StatisticalQueryOracle:
    """An oracle about these records, in this process, with a budget of one epsilon for each person.

    Behind a shuffler a single report costs more than epsilon, so there the budget is 30 nats of single reports, and what
    counts against the aggregator is the oracle's claim.
    """
    if trust == "exact":
        return ExactOracle(records)
    if epsilon is None:
        raise InvalidParameter("every trust model but the exact one needs an epsilon")
    spent = Epsilon.requested(epsilon)
    source = KeystreamSource(os.urandom(SECRET_BYTES))
    if trust == "curator":
        return CuratorOracle(records, spent, source)
    party = Party("everybody", records, os.urandom(SECRET_BYTES), MemoryLedger(records.people, spent))
    if trust == "local":
        return LocalOracle(InProcessLROracle([party]), spent, source)
    if trust == "shuffled":
        return _shuffled(records, spent, source)
    if trust == "shared":
        servers = [
            ShareServer(name, MemoryVault(os.urandom(SECRET_BYTES))) for name in ("server-0", "server-1")
        ]
        tier = default_tier(simulated=True)
        return SharedOracle(InProcessShareServers([party], servers), spent, source, tier=tier)
    raise InvalidParameter("a trust model is exact, curator, local, shuffled or shared")


def _shuffled(records: Records, epsilon: Epsilon, source: RandomSource) -> ShuffledOracle:
    """A single report may cost more than epsilon: mixing is what brings it down."""
    ledger = MemoryLedger(records.people, LARGEST_REPORT)
    policy = Policy(largest_epsilon=LARGEST_REPORT)
    party = Party("everybody", records, os.urandom(SECRET_BYTES), ledger, policy)
    shuffler = Shuffler(InProcessLROracle([party]), KeystreamSource(os.urandom(SECRET_BYTES)))
    return ShuffledOracle(shuffler, epsilon, source)


def oracle_of_arrays(
    features: Any,
    labels: Any,
    epsilon: Epsilon | float | None,
    trust: Trust,
    bounds: Bounds,
    *,
    classes: bool = False,
) -> StatisticalQueryOracle:
    """An oracle about the people whose rows these are."""
    return oracle_of_records(records_of_arrays(features, labels, bounds, classes=classes), epsilon, trust)
