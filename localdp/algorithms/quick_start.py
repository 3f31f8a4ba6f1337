"""From arrays to an oracle in one call, for a first try: everybody's row in this process, secrets from the system.

Features become columns x0, x1, ... (or keep the names of a data frame), labels the column `target`.  What kind of column it
is depends on the type of the array and never on its values, which would leak: truth values are bits, numbers are clipped to
the bounds.  The labels of a classifier are bits: of numbers, those above zero are true, so that 0 / 1 and -1 / 1 both do.

Checked in tests/unit/algorithms/test_quick_start.py.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localdp.accounting.epsilon import LARGEST_EPSILON_NATS, Epsilon
from localdp.domains import BitDomain, Domain, RealDomain, Records, Schema
from localdp.errors import InvalidParameter
from localdp.oracles.definition import StatisticalQueryOracle
from localdp.oracles.lr import InProcessLROracle
from localdp.oracles.models import DEFAULT_MODEL, ModelName, Parties, TrustModel, model_named, oracle_of
from localdp.oracles.shared import InProcessShareServers
from localdp.oracles.simulated import simulated_parties, simulated_servers
from localdp.randomness.keystream import KeystreamSource

Bounds = tuple[float, float]
SECRET_BYTES = 32
LARGEST_REPORT = Epsilon.requested(LARGEST_EPSILON_NATS)
_SERVERS = 2


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
    records: Records, epsilon: Epsilon | float | None, trust: ModelName = DEFAULT_MODEL
) -> StatisticalQueryOracle:
    """An oracle about these records, in this process, with a budget of one epsilon for each person.

    Behind a shuffler a single report costs more than epsilon, so there the budget is 30 nats of single reports, and what
    counts against the aggregator is the oracle's claim.
    """
    model = model_named(trust)
    if epsilon is None and model.spends:
        raise InvalidParameter("every trust model but the exact one needs an epsilon")
    spent = None if epsilon is None else Epsilon.requested(epsilon)
    return oracle_of(trust, _at_hand(records, model, spent), spent, _coins)


def _at_hand(records: Records, model: TrustModel, epsilon: Epsilon | None) -> Parties:
    """Everybody as one party, where the model asks any."""
    if epsilon is None or not model.needs_agents:
        return Parties(records=records)
    budget = LARGEST_REPORT if model.needs_mixer else epsilon
    parties = simulated_parties([records], _Fresh(), budget, name=lambda number: "everybody")
    shares = InProcessShareServers(parties, simulated_servers(_SERVERS, _Fresh()))
    return Parties(InProcessLROracle(parties), shares, records=records)


class _Fresh:
    """A new secret for whoever needs one."""

    def party(self, number: int) -> bytes:
        """Of the system's randomness."""
        return os.urandom(SECRET_BYTES)

    server = party


def _coins(purpose: str) -> KeystreamSource:
    return KeystreamSource(os.urandom(SECRET_BYTES))


def oracle_of_arrays(
    features: Any,
    labels: Any,
    epsilon: Epsilon | float | None,
    trust: ModelName,
    bounds: Bounds,
    *,
    classes: bool = False,
) -> StatisticalQueryOracle:
    """An oracle about the people whose rows these are."""
    return oracle_of_records(records_of_arrays(features, labels, bounds, classes=classes), epsilon, trust)
