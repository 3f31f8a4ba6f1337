"""Projected answers through an oracle: consistent, better than what they come from, and refused where they drown."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.algorithms.release.projected import ProjectedQueries, ProjectedRelease
from localdp.domains import BitDomain, Records, Schema
from localdp.errors import InvalidParameter, SignalTooWeak
from localdp.oracles.curator import CuratorOracle
from localdp.oracles.definition import StatisticalQueryOracle
from localdp.oracles.exact import ExactOracle
from localdp.oracles.local import LocalOracle
from localdp.oracles.lr import InProcessLROracle
from localdp.oracles.shared import InProcessShareServers, SharedOracle
from tests.support.people import KEYRING, ONE, parties_of, servers_of

BITS = [f"b{number}" for number in range(6)]
SCHEMA = Schema({name: BitDomain() for name in BITS})
QUERIES = [
    " and ".join(sign + name for sign, name in zip(signs, three, strict=True))
    for three in combinations(BITS, 3)
    for signs in (("", "", ""), ("not ", "", ""), ("", "not ", "not "))
]


def people(number: int) -> Records:
    generator = np.random.default_rng(3)
    common = generator.random(number) < 0.4
    columns = {
        name: np.where(generator.random(number) < 0.6, common, generator.random(number) < 0.5)
        for name in BITS
    }
    return Records(SCHEMA, columns)


RECORDS = people(2000)
TRUTH = np.array([answer.value for answer in ExactOracle(RECORDS).answer(QUERIES)])


def errors(found: ProjectedRelease) -> float:
    return found.measures(found, RECORDS)["root_mean_square_error"]


def test_exact_answers_are_their_own_projection() -> None:
    found = ProjectedRelease(QUERIES).fit(ExactOracle(RECORDS))
    assert found.answers_ == pytest.approx(TRUTH, abs=1e-9)
    assert found.distribution_.mean("b0 and b1") == pytest.approx(
        ExactOracle(RECORDS).answer(["b0 and b1"])[0].value, abs=1e-9
    )


def test_projection_makes_errors_smaller_under_every_trust_model_that_adds_noise() -> None:
    vector = f"vector({', '.join(QUERIES)})"
    servers = InProcessShareServers(parties_of(RECORDS, 2), servers_of(2))
    oracles: dict[str, StatisticalQueryOracle] = {
        "curator": CuratorOracle(RECORDS, ONE, KEYRING.source("projected"), budget=ONE * 2),
        "shared": SharedOracle(servers, ONE, KEYRING.source("projected"), tier="additive"),
        "local": LocalOracle(InProcessLROracle(parties_of(RECORDS, 2)), ONE, KEYRING.source("projected")),
    }
    for name, oracle in oracles.items():
        raw = float(np.sqrt(np.mean((oracle.answer_vectors([vector])[0].values - TRUTH) ** 2)))
        found = ProjectedRelease(QUERIES, check_signal=False).fit(oracle)
        assert errors(found) < 0.8 * raw, name
        assert found.distribution_.masses.sum() == pytest.approx(1)


def test_whoever_sees_records_adds_noise_for_how_far_one_person_moves_all_answers() -> None:
    mechanism = ProjectedQueries.of(("b0", "not b0"), "cells(b0)", np.array([[0.0, 1.0], [1.0, 0.0]]))
    assert mechanism.sensitivity == 2
    numbers = ProjectedQueries.of(("clip(1/2)",), "cells(b0)", np.array([[0.0, 0.5]]))
    assert (numbers.resolution, numbers.sensitivity) == (1024, 512)
    found = ProjectedRelease(QUERIES, check_signal=False).fit(
        CuratorOracle(RECORDS, ONE, KEYRING.source("plan"))
    )
    assert "sensitivity of" in found.plan_.rows[0].how
    vector = CuratorOracle(RECORDS, ONE, KEYRING.source("plan")).plan([f"vector({', '.join(QUERIES)})"])
    assert found.plan_.rows[0].standard_error < 0.7 * vector.rows[0].standard_error


def test_what_would_drown_or_is_no_list_is_refused() -> None:
    oracle = CuratorOracle(people(50), Epsilon.requested("0.1"), KEYRING.source("weak"))
    with pytest.raises(SignalTooWeak):
        ProjectedRelease(QUERIES).fit(oracle)
    wrongs: list[Any] = [[], "b0"]
    for wrong in wrongs:
        with pytest.raises(InvalidParameter):
            ProjectedRelease(wrong).fit(oracle)
    assert oracle.cost.rounds == 0
